"""What the judge sees of one flow over one tick, in base units, whatever it is made of."""

from __future__ import annotations

from typing import NamedTuple


class FlowTick(NamedTuple):
    """One flow over one tick. Rates are per second; times are means per operation.

    Disks: operations as the kernel counts them (after merging and splitting), `await` of
    requests, `in_flight` at the end of the tick, `busy_ratio` of the tick. NFS: READ and
    WRITE calls of the superblock, payload bytes, `rtt_*` on the wire, `queue_*` on the
    client without what the server asked to wait for, `later_per_second` answers 'come back later';
    `in_flight` is unknown (None). NIC: bytes only, write = transmitted. None: not known, never 0.
    """

    elapsed_seconds: float
    read_operations_per_second: float = 0.0
    write_operations_per_second: float = 0.0
    read_bytes_per_second: float = 0.0
    write_bytes_per_second: float = 0.0
    read_await_seconds: float | None = None
    write_await_seconds: float | None = None
    queue_length: float | None = None
    in_flight: int | None = None
    busy_ratio: float | None = None
    discard_operations_per_second: float = 0.0
    flush_operations_per_second: float = 0.0
    read_rtt_seconds: float | None = None
    write_rtt_seconds: float | None = None
    read_queue_seconds: float | None = None
    write_queue_seconds: float | None = None
    later_per_second: float = 0.0

    @property
    def operations_per_second(self) -> float:
        return self.read_operations_per_second + self.write_operations_per_second

    @property
    def bytes_per_second(self) -> float:
        return self.read_bytes_per_second + self.write_bytes_per_second
