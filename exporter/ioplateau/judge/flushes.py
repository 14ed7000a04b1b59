"""Writes without data, which only make a disk write down what it holds: does its limit count them?

The kernel counts them as writes, and as flushes. A provider may not count them, and says nothing of it. A
flush may also come with a write that has data, so it is only known how many they are at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from operator import add, sub

from ioplateau.judge import parameters as number
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.window import Level, Recent, level, regime


def empty_writes(tick: FlowTick) -> float:
    """As many per second as there are at most."""
    flushes, writes = tick.flush_operations_per_second, tick.write_operations_per_second
    return flushes if flushes < writes else writes


def without_empty_writes(tick: FlowTick) -> FlowTick:
    """What is done, but for these; all of it where there is nothing else."""
    empty = empty_writes(tick)
    if tick.operations_per_second <= empty:
        return tick
    return tick._replace(write_operations_per_second=tick.write_operations_per_second - empty)


class EmptyWrites(Recent):
    """Those of one flow in the blocks that it keeps, per second, and whether they count on its limit: they do until a
    rate is flat without them.
    """

    __slots__ = ("_reads", "are_counted")

    def __init__(self, blocks: int, *, are_counted: bool = True) -> None:
        """blocks: how many the flow keeps by now, in which there were none."""
        super().__init__()
        self.values = [0.0] * blocks
        self._reads = Recent()
        self._reads.values = [0.0] * blocks
        self.are_counted = are_counted

    def note(self, empty: float, reads: float) -> None:
        """One block: empty writes and reads, per second."""
        self.add(empty)
        self._reads.add(reads)

    def forget(self) -> None:
        super().forget()
        self._reads.forget()

    def look(self, operations: list[float], dt: float) -> bool:
        """Decide while requests wait, by the newest blocks. operations: of the flow in those, per second, as it
        counts them so far; changed in place if that was wrong. Returns whether it was.

        A limit holds only what it counts, so that of the two sums one is flat and the other moves as flushes come:
        log-odds by likelihoods of normal values, each with the spread that it shows. It may hold writes alone, beside
        reads that move: of both sums what is flatter, with reads or without, is held against the other.
        """
        others = [*map(sub if self.are_counted else add, operations, self.values)]
        other = self._flatter(others)
        if other.count < number.LEVEL_LEAST or other.spread > number.OFF_LEVEL:
            return False
        spread = self._flatter(operations, other.count).spread
        least = max(number.SAMPLING_SECONDS / dt, other.spread)
        if spread <= least or (other.count - 1) * log(spread / least) <= number.ASKED:
            return False
        self.are_counted = not self.are_counted
        operations[:] = others
        return True

    def _flatter(self, operations: Sequence[float], blocks: int | None = None) -> Level:
        """Of these, with reads and without, what stands stiller. blocks: the newest so many, not only those of one level."""
        whole = level(regime(operations) if blocks is None else operations[-blocks:])
        reads = self._reads.values
        if not any(reads):
            return whole
        writes = [*map(sub, operations, reads)]
        alone = level(regime(writes) if blocks is None else writes[-blocks:])
        return min(whole, alone, key=_unrest)


def _unrest(held: Level) -> tuple[bool, float]:
    return held.count < number.LEVEL_LEAST, held.spread
