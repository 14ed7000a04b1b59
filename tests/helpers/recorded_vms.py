"""Recorded machines that are scraped as if they lived: a path each, a second of theirs a second.

vms = [RecordedVm("vm1", told("vm_group_d4s", CONFIG), start=60)]
with serving_vms(vms) as address: ...   # /vm1
"""

from __future__ import annotations

import argparse
import contextlib
import re
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from ioplateau.cli.settings import serve_settings as settings_of
from ioplateau.config.loading import settings_from
from ioplateau.engine import Engine
from ioplateau.measure.snapshot import Snapshot
from ioplateau.run import recording
from ioplateau.tell import prometheus
from live_prometheus import serving

MACHINES = Path(__file__).parent.parent / "machines"
PROTOCOL = "HTTP/1.1"

_SOCKET = re.compile(
    r"^ESTAB +(\d+) +(\d+) +(\S+):(\d+) +(\S+):(\d+)[^\n]*\n([^\n]*)", re.MULTILINE
)


def told(machine: str, config: str) -> list[bytes]:
    """What the exporter with this configuration (TOML) exposes at each second of a recording."""
    header, snapshots = recording.read(MACHINES / machine / "recording.jsonl.gz")
    settings = settings_of(settings_from(tomllib.loads(config), argparse.Namespace(), {})).engine
    engine = Engine(settings._replace(interval_seconds=header.interval_seconds))
    return [prometheus.render(engine.observe(with_tcp(snapshot))) for snapshot in snapshots]


def with_tcp(snapshot: Snapshot) -> Snapshot:
    """The recordings have the text of `ss`; the daemon asks the kernel for the same numbers."""
    listing = snapshot.blobs.get("ss")
    if not listing:
        return snapshot
    sockets = [_socket(*found) for found in _SOCKET.findall(listing["out"])]
    return snapshot._replace(blobs={**snapshot.blobs, "tcp": sockets})


def _socket(
    unread: str, unsent: str, here: str, port: str, there: str, server_port: str, info: str
) -> dict[str, Any]:
    def number(name: str, scale: float = 1) -> int | None:
        found = re.search(rf"\b{name}[: ]([\d.]+)", info)
        return round(float(found[1]) * scale) if found else None

    return {
        "local_address": here,
        "local_port": int(port),
        "remote_address": there,
        "remote_port": int(server_port),
        "state": "ESTABLISHED",
        "rtt_microseconds": number("rtt", 1000),
        "min_rtt_microseconds": number("minrtt", 1000),
        "congestion_window": number("cwnd"),
        "segment_bytes": number("mss"),
        "retransmits": 0,
        "delivery_rate_bytes_per_second": number("delivery_rate", 1 / 8),
        "bytes_sent": number("bytes_sent"),
        "bytes_received": number("bytes_received"),
        "busy_microseconds": number("busy", 1000) or 0,
        "receiver_limited_microseconds": number("rwnd_limited", 1000) or 0,
        "sender_limited_microseconds": number("sndbuf_limited", 1000) or 0,
        "receive_queue_bytes": int(unread),
        "send_queue_bytes": int(unsent),
    }


@dataclass(frozen=True, slots=True)
class RecordedVm:
    """start: the second of the recording at which it begins to be scraped.

    change: what makes one VM's exposition another's.
    """

    name: str
    expositions: Sequence[bytes]
    start: int = 0
    change: Callable[[bytes], bytes] = bytes


@contextlib.contextmanager
def serving_vms(vms: Sequence[RecordedVm]) -> Iterator[str]:
    """Serve each at /NAME, from now on a second of the recording a second; "host:port"."""
    by_path = {f"/{vm.name}": vm for vm in vms}
    began = time.monotonic()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = PROTOCOL

        def do_GET(self) -> None:
            vm = by_path[self.path]
            second = min(vm.start + int(time.monotonic() - began), len(vm.expositions) - 1)
            body = vm.change(vm.expositions[second])
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with serving(Handler) as address:
        yield address
