"""/proc/diskstats: one line a block device. Grammar and meaning: Documentation/admin-guide/iostats.rst.

Rates follow iostat -x (sysstat), in base units. Times are of whole requests, from
allocation to completion, so a cloud's throttling delay is inside.

https://docs.kernel.org/admin-guide/iostats.html
https://github.com/sysstat/sysstat/blob/master/iostat.c
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from operator import ne, sub
from typing import NamedTuple

from ioplateau.measure import native
from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.measure.parsing import FormatError

SECTOR_BYTES = 512  # always, whatever the device's block size
U31, U32, U64 = 2**31, 2**32, 2**64


class DiskCounters(NamedTuple):
    """One block device, cumulative, exactly as the kernel counts it.

    None: columns this kernel lacks (discards before 4.18, flushes before 5.5), all of a kind.
    """

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


class DiskTable(NamedTuple):
    """Every device we understood, by name, and a reason for every line we did not."""

    disks: Mapping[str, DiskCounters] = NO_ENTRIES
    rejects: tuple[str, ...] = ()
    # The parsed lines, so that the next parse can pass over those that did not change.
    lines: Sequence[bytes] = ()


class KindRates(NamedTuple):
    """One kind of operation (read, write, discard or flush) over an interval.

    What was counted, and columns of iostat from it, in base units, computed when asked for.
    """

    operations: int
    sectors: int  # 0 for flushes, which carry nothing
    merges: int
    milliseconds: int
    elapsed_seconds: float

    @property
    def operations_per_second(self) -> float:
        """r/s, w/s, d/s, f/s."""
        return self.operations / self.elapsed_seconds

    @property
    def bytes_per_second(self) -> float:
        """rkB/s, ..."""
        return self.sectors * SECTOR_BYTES / self.elapsed_seconds

    @property
    def await_seconds(self) -> float | None:
        """r_await, ... None: no operation completed, so nobody knows (iostat: 0)."""
        return self.milliseconds / self.operations / 1000 if self.operations else None

    @property
    def request_bytes(self) -> float | None:
        """rareq-sz, ... None: no operation completed (iostat: 0)."""
        return self.sectors * SECTOR_BYTES / self.operations if self.operations else None


class DiskRates(NamedTuple):
    """One block device over one interval, in base units; `rates` checks that its counters go on.

    Every property computes when asked: keep what you use twice.
    """

    before: DiskCounters
    after: DiskCounters
    grown: Sequence[int]  # of `grown`
    elapsed_seconds: float

    @property
    def read(self) -> KindRates:
        return self._kind(_READS)

    @property
    def write(self) -> KindRates:
        return self._kind(_WRITES)

    @property
    def discard(self) -> KindRates | None:
        """None: this kernel does not count them."""
        if self.before.discards is None or self.after.discards is None:
            return None
        return self._kind(_DISCARDS)

    @property
    def flush(self) -> KindRates | None:
        """None: this kernel does not count them."""
        if self.before.flushes is None or self.after.flushes is None:
            return None
        flushes, milliseconds = self.grown[_FLUSHES : _FLUSHES + 2]
        return KindRates(flushes, 0, 0, milliseconds, self.elapsed_seconds)

    def _kind(self, first: int) -> KindRates:
        operations, merges, sectors, milliseconds = self.grown[first : first + 4]
        return KindRates(operations, sectors, merges, milliseconds, self.elapsed_seconds)

    @property
    def queue_length(self) -> float:
        """aqu-sz, flushes included: mean requests outstanding, of those that completed."""
        return self.grown[_WEIGHTED] / self.elapsed_seconds / 1000

    @property
    def busy_ratio(self) -> float:
        """%util. Not clamped: the kernel may count a little more than the interval."""
        return self.grown[_BUSY] / self.elapsed_seconds / 1000

    @property
    def in_flight(self) -> int:
        return in_flight(self.after)


def parse(text: bytes, last: DiskTable | None = None) -> DiskTable:
    """Every device of the file; lines that stand in `last` letter by letter are not parsed again."""
    if (
        native.scan is not None
        and last is not None
        and (same := native.scan.disks(text, tuple(last.lines), last.disks, DiskCounters))
    ):
        return DiskTable(same[0], (), same[1])
    # Every line ends in a newline, so what follows the last one is empty, or was cut off
    # somewhere, perhaps inside a number.
    *whole, cut = text.split(b"\n")
    known: Mapping[bytes, DiskCounters] = {}
    if last is not None and len(last.lines) == len(last.disks):  # no name stands there twice
        if not cut and (moved := _moved(whole, last)) is not None:
            return moved
        known = dict(zip(last.lines, last.disks.values(), strict=True))
    disks: dict[str, DiskCounters] = {}
    lines: list[bytes] = []
    rejects: list[str] = []
    for line in whole:
        disk = known.get(line)
        if disk is None:
            words = line.split()
            if not words or len(words) == 7:  # a partition before 2.6.25
                continue
            try:
                disk = _device(words)
            except FormatError as error:
                rejects.append(f"diskstats: {error}: {line[:120]!r}")
                continue
        lines.append(line)
        disks[disk.name] = disk
    if cut:
        rejects.append(f"diskstats: cut off, want a newline at the end: {cut[:120]!r}")
    return DiskTable(disks, tuple(rejects), tuple(lines))


def _moved(lines: Sequence[bytes], last: DiskTable) -> DiskTable | None:
    """The table `last` with other numbers in some lines; None if more than that happened."""
    if len(lines) != len(last.lines):
        return None
    disks = dict(last.disks)
    is_other = [*map(ne, lines, last.lines)]
    for name, line in zip(compress(last.disks, is_other), compress(lines, is_other), strict=True):
        try:
            disks[name] = disk = _device(line.split())
        except FormatError:
            return None
        if disk.name != name:
            return None
    return DiskTable(disks, (), tuple(lines))


def _device(words: list[bytes]) -> DiskCounters:
    if len(words) < 14:
        raise FormatError(f"{len(words)} words, want 14 or more")
    # Newer kernels append columns: what is known is taken, in groups as they came.
    known = 20 if len(words) >= 20 else 18 if len(words) >= 18 else 14
    name = words.pop(2)
    del words[known - 1 :]
    # int() alone would take "1_000" and "+1"; one look at all words is five times faster
    # than one at each.
    if not b"".join(words).isdigit():
        odd = next(word for word in words if not word.isdigit())
        raise FormatError(f"{odd[:24]!r}, want a number")
    try:
        major, minor, *numbers = map(int, words)
    except ValueError:  # Python refuses numbers of thousands of digits
        raise FormatError(f"a number of {max(map(len, words))} digits, want 20 at most") from None
    if max(numbers) >= U64:
        raise FormatError(f"{max(numbers)}, want a 64-bit number")
    return DiskCounters(name.decode("utf-8", "replace"), (major, minor), *numbers)


def grown(before: DiskCounters, after: DiskCounters) -> Sequence[int] | None:
    """By how much each column grew, from `reads` on, 0 for `in_flight`; None: the counters began anew:
    other device numbers, or a column went back.

    A time column wraps at 2**32 ms, so it went back if it seems to have grown by more than
    half of that: no interval of ours has 24 days of waiting in it. (Counts wrap at 2**32 too
    on 32-bit kernels; there a wrap costs one interval.)
    """
    if before.device != after.device:
        return None
    scan = native.scan
    if scan is not None and (seen := scan.grown(before, after, *_COLUMNS)) is not None:
        return seen
    if before.flushes is None or after.flushes is None:  # the last of those that older kernels lack
        pairs = zip(before[2:], after[2:], strict=True)
        found = [0 if was is None else (now or 0) - was for was, now in pairs]
    else:
        found = [*map(sub, after[2:], before[2:])]
    found[_IN_FLIGHT] = 0
    if min(found) < 0 or max(found) >= U31:
        for column in _TIMES:
            found[column] %= U32
            if found[column] >= U31:
                return None
        if min(found) < 0:
            return None
    return found


# Columns of grown().
_READS, _WRITES, _DISCARDS, _FLUSHES, _IN_FLIGHT, _BUSY, _WEIGHTED = (
    DiskCounters._fields.index(name) - 2
    for name in (
        "reads", "writes", "discards", "flushes",
        "in_flight", "busy_milliseconds", "weighted_milliseconds",
    )
)  # fmt: skip
_COLUMNS = (2, len(DiskCounters._fields), _IN_FLIGHT + 2)  # of DiskCounters
_TIMES = tuple(
    place for place, name in enumerate(DiskCounters._fields[2:]) if name.endswith("_milliseconds")
)


def rates(before: DiskCounters, after: DiskCounters, elapsed_seconds: float) -> DiskRates | None:
    """Rates between two readings by iostat's formulas, or None if the counters began anew."""
    if elapsed_seconds <= 0 or (found := grown(before, after)) is None:
        return None
    return DiskRates(before, after, found, elapsed_seconds)


def in_flight(counters: DiskCounters) -> int:
    """Requests outstanding; older kernels may print a passing negative as unsigned."""
    return counters.in_flight if counters.in_flight < U31 else 0
