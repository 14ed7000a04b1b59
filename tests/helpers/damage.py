"""Readings and files that something happened to: a seed, and the same damage each time.

for snapshot in damaged_machine(random.Random(7), ticks=1000): engine.observe(snapshot)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from almost_right import ODD_WORDS
from ioplateau.engine import Engine
from ioplateau.engine.fold import parse_memory
from ioplateau.measure.snapshot import Snapshot
from ioplateau.run import recording
from ioplateau.tell import page, prometheus, screen, verdicts, view

MACHINES = Path(__file__).parent.parent / "machines"
NAN, INFINITY = float("nan"), float("inf")
ODD_VALUES = (
    *(None, True, False, 0, -1, 1, 0.5, -0.0, 1e308, -1e308, 5e-324, NAN, INFINITY, -INFINITY),
    *(2**31, 2**63, 2**64 - 1, -(2**64), 10**400, 10**4000),
    *(
        "",
        "a",
        "sda",
        "disk",
        "total",
        "-1",
        "nan",
        "9" * 400,
        "\x1b[31m",
        "\udcff",
        "\n",
        "x" * 5000,
    ),
    *([], [[]], [[], {}], {}, {"a": 1}, [1, 2, 3], [None]),
)
FILES = {"/proc/sys/sunrpc/tcp_max_slot_table_entries": "65536", "/sys/class/net/eth0/type": "1"}
# What a machine without NFS, control groups and providers lacks.
BLOBS: Mapping[str, Any] = {
    "cgroups": [
        {
            "path": "/db.service",
            "files": {
                "io.max": "8:0 rbps=max wbps=1000000 riops=500 wiops=max\n",
                "io.stat": "8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n",
                "io.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\nfull total=1\n",
            },
        },
        {
            "path": "/batch",
            "files": {
                "blkio.throttle.read_iops_device": "8:0 500\n",
                "blkio.throttle.io_serviced": "8:0 Read 12\n8:0 Write 3\nTotal 15\n",
                "blkio.throttle.io_service_bytes": "8:0 Read 49152\nTotal 49152\n",
            },
        },
    ],
    "consumers": {
        "groups": {
            "seconds": 3.0,
            "busiest": [
                {
                    "group": "/db.service",
                    "device": "8:0",
                    "read_bytes": 4096,
                    "write_bytes": 8192,
                    "reads": 1,
                    "writes": 2,
                }
            ],
            "device_bytes": {"8:0": 12_288},
            "seen": 1,
            "device_requests": {"8:0": 3},
        },
        "processes": {
            "seconds": 3.0,
            "busiest": [
                {
                    "pid": 7,
                    "name": "postgres",
                    "group": "/db.service",
                    "read_bytes": 4096,
                    "write_bytes": 8192,
                    "devices": ["8:0"],
                }
            ],
            "seen": 1,
            "unreadable": 0,
            "is_cut": False,
        },
        "next_seconds": 3.0,
    },
    "ebs": {"nvme0n1": [1] * 11, "nvme1n1": "permission denied"},
    "allowances": {"eth0": {"bw_in_allowance_exceeded": 5, "pps_allowance_exceeded": 1}},
    "interfaces": {"eth0": {"speed_mbit": 1000, "up": True, "mtu": 1500}},
    "tcp": [
        {
            "local_address": "10.0.0.9",
            "local_port": 871,
            "remote_address": "10.0.0.4",
            "remote_port": 2049,
            "state": "ESTABLISHED",
            "rtt_microseconds": 900,
            "retransmits": 3,
            "receive_queue_bytes": 0,
            "send_queue_bytes": 4096,
        }
    ],
}


def damaged_bytes(text: bytes, random: Random) -> bytes:
    """A text with a few things wrong: words, lines, single bytes, its end."""
    for _ in range(random.randint(1, 4)):
        how = random.randrange(7)
        if how == 0:
            text = text[: random.randint(0, len(text))]
        elif how == 1 and text:
            at = random.randrange(len(text))
            text = text[:at] + random.randbytes(random.randint(0, 3)) + text[at + 1 :]
        elif how == 2:
            lines = text.split(b"\n")
            at = random.randrange(len(lines))
            lines[at : at + 1] = random.choice(([], [lines[at]] * 2, lines[:5]))
            text = b"\n".join(lines)
        elif how == 3:
            at = random.randint(0, len(text))
            text = text[:at] + random.choice(ODD_WORDS) + text[at:]
        else:
            words = text.split(b" ")
            words[random.randrange(len(words))] = random.choice(ODD_WORDS)
            text = b" ".join(words)
    return text


def damaged_value(value: Any, random: Random) -> Any:
    """A copy of a JSON value with one thing in it replaced, lost, doubled or cut."""
    places = list(_places(value))
    if not places or random.random() < 0.02:
        return random.choice(ODD_VALUES)
    value = _copied(value)
    path = random.choice(places)
    holder = value
    for step in path[:-1]:
        holder = holder[step]
    last, how = path[-1], random.randrange(10)
    if how == 0:
        del holder[last]
    elif how == 1 and isinstance(holder, list):
        holder.insert(last, random.choice(ODD_VALUES))
    elif how == 2 and isinstance(holder, dict):
        holder[random.choice(("", "a", "disk:sda", "\x1b[31m", last * 2))] = holder.pop(last)
    elif how == 3 and isinstance(holder[last], str):
        holder[last] = _damaged_text(holder[last], random)
    else:
        holder[last] = random.choice(ODD_VALUES)
    return value


def _damaged_text(text: str, random: Random) -> str:
    raw = text.encode("utf-8", "surrogatepass")
    return damaged_bytes(raw, random).decode("utf-8", "surrogateescape")


def damaged_json(value: Any, random: Random) -> bytes:
    """The text of a value with damage in the value, in the text, or in both."""
    for _ in range(random.randint(0, 2)):
        value = damaged_value(value, random)
    text = json.dumps(value).encode()
    return damaged_bytes(text, random) if random.random() < 0.3 else text


def damaged_machine(random: Random, ticks: int) -> Iterator[Snapshot]:
    """So many snapshots of recorded machines, one after another, most of them damaged."""
    while ticks > 0:
        machine = random.choice(sorted(MACHINES.iterdir()))
        _, snapshots = recording.read(machine / "recording.jsonl.gz")
        for snapshot in snapshots:
            if ticks <= 0:
                return
            yield damaged_snapshot(snapshot, random) if random.random() < 0.8 else snapshot
            ticks -= 1


def damaged_snapshot(snapshot: Snapshot, random: Random) -> Snapshot:
    """Its texts and blobs damaged or lost, its clocks as any kernel's might be."""
    texts, blobs, failed = dict(snapshot.texts), {**BLOBS, **snapshot.blobs}, dict(snapshot.failed)
    for path in list(texts):
        chance = random.random()
        if chance < 0.3:
            texts[path] = damaged_bytes(texts[path], random)
        elif chance < 0.33:
            failed[path] = f"{path}: {texts.pop(path)[:20]!r}"
    for name in list(blobs):
        chance = random.random()
        if chance < 0.3:
            blobs[name] = _recorded(damaged_value(blobs[name], random), blobs[name])
        elif chance < 0.5:
            del blobs[name]
    static = snapshot.static
    if random.random() < 0.2:
        static = static._replace(
            mountinfo=damaged_bytes(static.mountinfo or b"", random),
            files={path: _damaged_text(text, random) for path, text in FILES.items()},
            block=_texts_only(damaged_value(_copied(static.block), random)),
            documents={"azure/instance": damaged_json({"compute": {"vmSize": "x"}}, random).decode(
                "utf-8", "replace"
            )},
        )  # fmt: skip
    jump = random.choice((0.0,) * 30 + (0.001, 3.0, 100.0))
    return snapshot._replace(
        texts=texts, blobs=blobs, failed=failed, static=static,
        mono=snapshot.mono + jump, mono_end=snapshot.mono_end + jump,
    )  # fmt: skip


def endured(random: Random, ticks: int) -> int:
    """Fold damaged ticks, and now and then tell them in every form; how many of them were told.

    Raises whatever the engine or a teller raises, and AssertionError for a number that is none.
    """
    engine, last, count = Engine(), None, 0
    for number, snapshot in enumerate(damaged_machine(random, ticks)):
        state = engine.observe(snapshot)
        if number % 20:
            continue
        count += 1
        verdicts.line(state)
        seen = view.of(state, last)
        screen.lines(seen)
        last = state
        page.page(seen, page.Around())
        for line in prometheus.render(state).decode().split("\n"):
            assert line.startswith("#") or not line.endswith(("Inf", "NaN")), line
        if number % 100 == 0:
            parse_memory(json.loads(json.dumps(engine.memory(), allow_nan=False)))
    return count


def _recorded(value: Any, otherwise: Any) -> Any:
    """As it comes out of a recording, which refuses numbers that no kernel counts to."""
    try:
        return recording.json_of(json.dumps(value).encode())
    except ValueError:
        return otherwise


def _texts_only(block: Any) -> dict[str, dict[str, str]]:
    """As the host gives it: attributes are always text."""
    if not isinstance(block, dict):
        return {}
    return {
        str(name): {str(key): str(value) for key, value in attributes.items()}
        for name, attributes in block.items()
        if isinstance(attributes, dict)
    }


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _copied(each) for name, each in value.items()}
    return [_copied(each) for each in value] if isinstance(value, list | tuple) else value


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    pairs = (
        value.items()
        if isinstance(value, Mapping)
        else enumerate(value)
        if isinstance(value, list | tuple)
        else ()
    )
    for name, each in pairs:
        yield (*path, name)
        yield from _places(each, (*path, name))
