"""/proc/diskstats: one line a block device. Grammar and meaning: Documentation/admin-guide/iostats.rst.

Rates follow iostat -x (sysstat), in base units. Times are of whole requests, from
allocation to completion, so a cloud's throttling delay is inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice

SECTOR_BYTES = 512  # always, whatever the device's block size
U32 = 2**32


@dataclass(frozen=True, slots=True)
class DiskCounters:
    """One block device, cumulative, exactly as the kernel counts it. None: a column this
    kernel lacks (discards before 4.18, flushes before 5.5)."""

    name: str
    device: tuple[int, int]
    reads: int
    read_merges: int
    read_sectors: int
    read_milliseconds: int
    writes: int
    write_merges: int
    write_sectors: int
    write_milliseconds: int
    in_flight: int
    busy_milliseconds: int
    weighted_milliseconds: int
    discards: int | None = None
    discard_merges: int | None = None
    discard_sectors: int | None = None
    discard_milliseconds: int | None = None
    flushes: int | None = None
    flush_milliseconds: int | None = None


@dataclass(frozen=True, slots=True)
class DiskTable:
    """Every device we understood, by name, and a reason for every line we did not."""

    disks: Mapping[str, DiskCounters] = field(default_factory=dict)
    rejects: tuple[str, ...] = ()
    # The parsed lines, so that the next parse can pass over those that did not change.
    lines: Mapping[bytes, DiskCounters] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KindRates:
    """One kind of operation (read, write, discard, flush) over an interval, in base units."""

    operations_per_second: float
    bytes_per_second: float
    merged_per_second: float
    merged_ratio: float  # 0 if nothing was asked for, as iostat prints
    await_seconds: float | None  # None: no operation completed
    request_bytes: float | None


@dataclass(frozen=True, slots=True)
class DiskRates:
    """One block device over one interval, in base units. None: unknown or nothing done."""

    elapsed_seconds: float
    read: KindRates
    write: KindRates
    discard: KindRates | None
    flush: KindRates | None
    operations_per_second: float  # iostat's tps: reads, writes and discards
    bytes_per_second: float
    merged_per_second: float
    await_seconds: float | None  # of reads, writes and discards, as iostat -s
    request_bytes: float | None
    queue_length: float  # aqu-sz: flushes included
    busy_ratio: float  # not clamped: the kernel may count a little more than the interval
    in_flight: int


def parse(text: bytes, last: DiskTable | None = None) -> DiskTable:
    """Every device of the file; lines that stand in `last` letter by letter are not parsed again."""
    known = last.lines if last is not None else {}
    disks: dict[str, DiskCounters] = {}
    lines: dict[bytes, DiskCounters] = {}
    rejects: list[str] = []
    for line in text.split(b"\n"):
        disk = known.get(line)
        if disk is None:
            words = line.split()
            if not words or len(words) == 7:  # a partition before 2.6.25
                continue
            disk = _device(words, rejects)
            if disk is None:
                continue
        lines[line] = disk
        disks[disk.name] = disk
    return DiskTable(disks, tuple(rejects), lines)


def _device(words: list[bytes], rejects: list[str]) -> DiskCounters | None:
    if len(words) < 14:
        rejects.append(f"diskstats: {len(words)} words, want 14 or more: {_quote(words)}")
        return None
    try:
        # Newer kernels append columns: what is known is taken, in groups as they came.
        count = 17 if len(words) >= 20 else 15 if len(words) >= 18 else 11
        numbers = [_number(word) for word in islice(words, 3, 3 + count)]
        device = (_number(words[0]), _number(words[1]))
    except ValueError as error:
        rejects.append(f"diskstats: {error}: {_quote(words)}")
        return None
    return DiskCounters(words[2].decode("utf-8", "replace"), device, *numbers)


def _number(word: bytes) -> int:
    # int() alone would take "1_000", "+1" and other alphabets' digits.
    if not word.isdigit():
        raise ValueError(f"{word[:24]!r} is not a number")
    return int(word)


def _quote(words: list[bytes]) -> str:
    return repr(b" ".join(words)[:120])


def is_continuous(before: DiskCounters, after: DiskCounters) -> bool:
    """Whether both readings are one story: no 64-bit column fell, same device numbers."""
    return (
        before.device == after.device
        and after.reads >= before.reads
        and after.writes >= before.writes
        and after.read_sectors >= before.read_sectors
        and after.write_sectors >= before.write_sectors
        and after.read_merges >= before.read_merges
        and after.write_merges >= before.write_merges
        and (after.discards or 0) >= (before.discards or 0)
        and (after.discard_sectors or 0) >= (before.discard_sectors or 0)
        and (after.flushes or 0) >= (before.flushes or 0)
    )


def rates(
    before: DiskCounters, after: DiskCounters, elapsed_seconds: float
) -> DiskRates | None:
    """Rates between two readings by iostat's formulas, or None if they are not one story."""
    if elapsed_seconds <= 0 or not is_continuous(before, after):
        return None
    t = elapsed_seconds
    reads, writes = after.reads - before.reads, after.writes - before.writes
    read_sectors = after.read_sectors - before.read_sectors
    write_sectors = after.write_sectors - before.write_sectors
    read_merges = after.read_merges - before.read_merges
    write_merges = after.write_merges - before.write_merges
    read_ms = _u32(before.read_milliseconds, after.read_milliseconds)
    write_ms = _u32(before.write_milliseconds, after.write_milliseconds)
    discard = flush = None
    discards = discard_sectors = discard_merges = discard_ms = 0
    if (
        after.discards is not None
        and before.discards is not None
        and after.discard_merges is not None
        and before.discard_merges is not None
        and after.discard_sectors is not None
        and before.discard_sectors is not None
        and after.discard_milliseconds is not None
        and before.discard_milliseconds is not None
    ):
        discards = after.discards - before.discards
        discard_sectors = after.discard_sectors - before.discard_sectors
        discard_merges = after.discard_merges - before.discard_merges
        discard_ms = _u32(before.discard_milliseconds, after.discard_milliseconds)
        discard = _kind(discards, discard_sectors, discard_merges, discard_ms, t)
    if (
        after.flushes is not None
        and before.flushes is not None
        and after.flush_milliseconds is not None
        and before.flush_milliseconds is not None
    ):
        flush_ms = _u32(before.flush_milliseconds, after.flush_milliseconds)
        flush = _kind(after.flushes - before.flushes, 0, 0, flush_ms, t)
    operations = reads + writes + discards
    sectors = read_sectors + write_sectors + discard_sectors
    total = _kind(
        operations,
        sectors,
        read_merges + write_merges + discard_merges,
        read_ms + write_ms + discard_ms,
        t,
    )
    return DiskRates(
        elapsed_seconds=t,
        read=_kind(reads, read_sectors, read_merges, read_ms, t),
        write=_kind(writes, write_sectors, write_merges, write_ms, t),
        discard=discard,
        flush=flush,
        operations_per_second=total.operations_per_second,
        bytes_per_second=total.bytes_per_second,
        merged_per_second=total.merged_per_second,
        await_seconds=total.await_seconds,
        request_bytes=total.request_bytes,
        queue_length=_u32(before.weighted_milliseconds, after.weighted_milliseconds) / t / 1000,
        busy_ratio=_u32(before.busy_milliseconds, after.busy_milliseconds) / t / 1000,
        in_flight=in_flight(after),
    )


def in_flight(counters: DiskCounters) -> int:
    """Requests outstanding; older kernels may print a passing negative as unsigned."""
    return counters.in_flight if counters.in_flight < 2**31 else 0


def _kind(operations: int, sectors: int, merges: int, milliseconds: int, t: float) -> KindRates:
    asked = operations + merges
    return KindRates(
        operations / t,
        sectors * SECTOR_BYTES / t,
        merges / t,
        merges / asked if asked else 0.0,
        milliseconds / operations / 1000 if operations else None,
        sectors * SECTOR_BYTES / operations if operations else None,
    )


def _u32(before: int, after: int) -> int:
    # diskstats_show() keeps nanoseconds in 64 bits but prints milliseconds through an
    # unsigned int, so every time column wraps at 2**32: every 12 h at queue depth 100.
    return (after - before) % U32
