"""What the web server may be told. Imports next to nothing."""

from __future__ import annotations

from typing import NamedTuple


class WebSettings(NamedTuple):
    """Where we listen, and what one client may take."""

    listen_addresses: tuple[str, ...] = (":10049",)
    # Take the sockets that systemd opened (sd_listen_fds) instead of addresses of our own.
    systemd_socket: bool = False
    telemetry_path: str = "/metrics"
    # web-config.yml of the exporter convention: TLS and passwords.
    config_file: str | None = None
    # All of one connection: waiting, asking, being answered. Prometheus' own default
    # scrape_timeout; whoever needs longer has given up already.
    deadline_seconds: float = 10.0
    # A handful of scrapers and people; 64 descriptors are far below any limit.
    connections: int = 64
    # Of the descriptors that the process may have, so many are left to the rest of it: it opens a file or a
    # socket or two on each thread at a time, and beside many control groups keeps some of each.
    spare_descriptors: int = 24
    # Most servers' caps. A scrape has half a KiB, a browser with large cookies some KiB.
    header_bytes: int = 16 << 10
    request_line_bytes: int = 8 << 10
    # After an answer we wait this long for the client to close, reading what it still sends:
    # closing with unread bytes resets the connection and may destroy the answer on its way.
    linger_seconds: float = 1.0
    # Handlers hold the interpreter lock: two, so that a slow one does not stop /-/healthy.
    workers: int = 2
    # Of those that may wait for a disk. More of them would wait for the same disk.
    slow_workers: int = 1
