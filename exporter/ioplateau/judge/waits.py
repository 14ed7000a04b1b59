"""What a plateau is looked for in, and how long its requests took while they waited."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import NamedTuple, Protocol

from ioplateau.judge import parameters as number
from ioplateau.judge.signals import Queue
from ioplateau.judge.window import IOPS, THROUGHPUT, Level, Recent, level_blocks
from ioplateau.limits.budgets import Dimension


class Drawn(Protocol):
    """What a plateau is looked for in: one flow, or a sum of them."""

    operations: float
    bytes: float
    read_operations_per_second: float
    write_operations_per_second: float
    read_bytes_per_second: float
    write_bytes_per_second: float
    busy: float
    excess: float
    outstanding: float
    waiting: float
    came: float
    left: float
    stays: int
    queue: Queue
    queued: int
    own: bool
    emptied: bool
    is_held: bool
    is_ordinary: bool
    was_idle: bool
    recent_latency: Recent

    @property
    def is_counted(self) -> bool: ...
    @property
    def busy_most(self) -> float: ...

    @property
    def parts(self) -> Sequence[tuple[float, float]]: ...
    @property
    def was_alone(self) -> bool: ...
    @property
    def is_locked(self) -> bool: ...
    @property
    def crowd(self) -> float: ...
    def values_of(self, dimension: Dimension) -> list[float]: ...
    def level_of(self, dimension: Dimension) -> Level: ...
    def flat_latency(self) -> Level: ...


def drawn_rate(drawn: Drawn, dimension: Dimension) -> float:
    """Operations or bytes per second."""
    return drawn.operations if dimension is IOPS else drawn.bytes


def drawn_rates(drawn: Drawn) -> tuple[tuple[Dimension, float], tuple[Dimension, float]]:
    """Operations and bytes per second."""
    return (IOPS, drawn.operations), (THROUGHPUT, drawn.bytes)


class Run(NamedTuple):
    """What was done in one block in which requests waited. waited: seconds for which they had, by its end; held:
    seconds that those which were answered took, in all.
    """

    operations: float
    bytes: float
    seconds: float
    waited: float
    held: float


class Wait:
    """Blocks in a row in which requests waited while as many were done: operations per second, bytes of
    a request and seconds that it took, on average. until: seconds in which requests had waited, by its end.
    """

    __slots__ = ("blocks", "latency", "operations", "size", "until")

    def __init__(self) -> None:
        self.blocks = 0
        self.operations = self.size = self.latency = self.until = 0.0

    def add(self, drawn: Drawn, run: Run) -> None:
        """One block more."""
        self.blocks += 1
        self.until = run.waited
        self.operations += (drawn.operations - self.operations) / self.blocks
        self.size += (drawn.bytes / drawn.operations - self.size) / self.blocks
        self.latency += (drawn.outstanding / drawn.operations - self.latency) / self.blocks


class WaitTimes:
    """How long requests took while they waited, at each rate that stayed for some blocks."""

    __slots__ = ("_kept", "_newest")

    def __init__(self) -> None:
        self._kept: list[Wait] = []
        self._newest = 0.0  # operations per second, in the block before; 0: nothing waited

    def add(self, drawn: Drawn, run: Run) -> None:
        """One block in which they waited, and what was done in it."""
        if not (drawn.operations and drawn.outstanding):
            return  # of a sum, all of which waits for an answer
        kept = self._kept
        if not self._goes_on(drawn):
            if kept and kept[-1].blocks < level_blocks(run.seconds):
                kept.pop()
            kept.append(Wait())
        self._newest = drawn.operations
        kept[-1].add(drawn, run)
        while run.waited - kept[0].until > number.VISITS:
            del kept[0]

    def end(self) -> None:
        """A block in which they did not."""
        self._newest = 0.0

    def _goes_on(self, drawn: Drawn) -> bool:
        """Whether as many are done as in the block before, in which requests waited, too."""
        return abs(drawn.operations - self._newest) <= number.OFF_LEVEL * drawn.operations

    def as_long(self, drawn: Drawn) -> Wait | None:
        """When requests of this size took as long while they waited at quite another rate: then it is what
        the device takes by now. At a limit the time follows from how many wait (Little's law), and nobody waits
        below it.
        """
        if not self._kept or not self._goes_on(drawn):
            return None
        *others, now = self._kept
        far = log(1 + number.LEAST_PART)
        for other in others:
            off = abs(log(other.operations / now.operations))
            longer = abs(log(other.latency / now.latency))
            larger = abs(other.size - now.size)
            if (
                off >= far
                and longer <= min(far, number.SHARE_WAITING * off)
                and larger <= number.LEAST_PART * now.size
            ):
                return other
        return None
