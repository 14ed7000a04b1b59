"""Limits of reads alone, or of writes, that nobody told: some providers sell one for each direction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ioplateau.judge import parameters as number
from ioplateau.judge.known import Claim
from ioplateau.judge.learned import Plateau
from ioplateau.judge.levels import Met
from ioplateau.judge.memory import SavedPlateau
from ioplateau.judge.signals import (
    DEEP,
    NO_PART,
    NONE,
    STRONG,
    Queue,
    WatchedFlow,
    excess_of,
    is_deep,
    is_strong,
)
from ioplateau.judge.window import DIMENSIONS, Levels, Recent
from ioplateau.limits.budgets import Direction


class Side(Levels):
    """One direction of a flow: what a limit of it alone is looked for in."""

    __slots__ = (
        "_still",
        "busy",
        "bytes",
        "came",
        "direction",
        "emptied",
        "excess",
        "is_apart",
        "is_counted",
        "left",
        "operations",
        "outstanding",
        "own",
        "parts",
        "plateau",
        "queue",
        "queued",
        "read_bytes_per_second",
        "read_operations_per_second",
        "waiting",
        "was_alone",
        "was_idle",
        "write_bytes_per_second",
        "write_operations_per_second",
    )
    is_held = is_locked = is_ordinary = False
    crowd = 1.0

    def __init__(self, direction: Direction) -> None:
        self.direction = direction
        self.plateau = Plateau()
        self.recent_operations = Recent()
        self.recent_bytes = Recent()
        self.recent_latency = Recent()
        self._still = 0  # consecutive blocks in which none of them waits
        self.queued = 0  # blocks in which they do
        self.left = 0.0
        self.queue: Queue = NONE
        self.is_counted = False
        self.is_apart = False  # requests of the other direction do not wait with these

    stays = 0  # which of those outstanding are of this direction nobody counts

    @property
    def busy_most(self) -> float:
        """Of one flow as much as of all its requests."""
        return self.busy

    def look(self, flow: WatchedFlow) -> None:
        """One block of the flow, in which something was done."""
        write = self.direction is Direction.WRITE
        if write:
            operations, volume = flow.write_operations_per_second, flow.write_bytes_per_second
        else:
            operations, volume = flow.read_operations_per_second, flow.read_bytes_per_second
        held, waiting = flow.parts[write]
        self.operations, self.bytes = operations, volume
        self.read_operations_per_second = 0.0 if write else operations
        self.read_bytes_per_second = 0.0 if write else volume
        self.write_operations_per_second = operations if write else 0.0
        self.write_bytes_per_second = volume if write else 0.0
        self.outstanding, self.waiting = held, waiting
        self.parts: Sequence[tuple[float, float]] = (
            (NO_PART, (held, waiting)) if write else ((held, waiting), NO_PART)
        )
        self.excess = excess_of(held, waiting)
        self.came = self.left
        self.left = flow.left * held / flow.outstanding if flow.outstanding else 0.0
        self.busy, self.was_idle, self.emptied = flow.busy, flow.was_idle, flow.emptied
        self.own, self.was_alone = flow.own, flow.was_alone
        self.is_counted = flow.is_counted
        self.operations_level = self.bytes_level = self.latency_level = None
        self.recent_operations.add(operations)
        self.recent_bytes.add(volume)
        self.recent_latency.add(held / operations if operations else 0.0)
        self.is_apart = not _waits_with(flow, write, waiting / operations if operations else 0.0)
        self._weigh(flow)

    def forget_levels(self) -> None:
        """Begin anew: a block was not looked at."""
        self.queued = 0
        self.left = 0.0
        for recent in (self.recent_operations, self.recent_bytes, self.recent_latency):
            recent.forget()

    def _weigh(self, flow: WatchedFlow) -> None:
        self.queue = NONE
        if flow.stands and is_strong(self):
            self.queue = DEEP if is_deep(self) else STRONG
        if self.queue >= STRONG:
            self.queued += 1
            self._still = 0
        else:
            self._still += 1
            if self._still > 1:
                self.queued = 0

    def is_rougher(self, flow: WatchedFlow) -> bool:
        """Whether both directions together are flatter than this one: then the limit is one of both."""
        return _is_flatter(flow, self)

    def is_flatter(self, flow: WatchedFlow) -> bool:
        """Whether this direction, whose requests alone wait, is flatter than both together: then it is its limit."""
        return self.queue >= STRONG and self.is_apart and _is_flatter(self, flow)


def _is_flatter(one: Levels, other: Levels) -> bool:
    """Whether one is twice as flat as the other, in operations or bytes."""
    return any(
        one.level_of(each).spread < number.SHARE_WAITING * other.level_of(each).spread
        for each in DIMENSIONS
    )


def _waits_with(flow: WatchedFlow, write: bool, delay: float) -> bool:
    """Whether requests of the other direction wait as well: what is held back by one limit stands in one queue.
    delay: seconds for which a request of this one waits.
    """
    held, waiting = flow.parts[not write]
    if not held:
        return False
    rate = flow.read_operations_per_second if write else flow.write_operations_per_second
    is_short = waiting <= number.LEAST_PART * delay * rate
    is_none = waiting < max(number.SHARE_WAITING, number.QUEUE_EXCESS * (held - waiting))
    return not (is_short and is_none)


def is_one_sided(flow: WatchedFlow) -> bool:
    """Whether requests of one direction wait, and those of the other do not."""
    rates = flow.read_operations_per_second, flow.write_operations_per_second
    return (
        flow.stands
        and flow.waiting >= number.QUEUE_WAITING
        and min(rates) > 0
        and any(
            waiting >= max(number.QUEUE_WAITING, number.QUEUE_EXCESS * (held - waiting))
            and not _waits_with(flow, write, waiting / rates[write])
            for write, (held, waiting) in zip((False, True), flow.parts, strict=True)
        )
    )


class Sides:
    """Reads and writes of one flow, each by itself."""

    __slots__ = ("_sides",)

    def __init__(self) -> None:
        self._sides = Side(Direction.READ), Side(Direction.WRITE)

    def look(self, flow: WatchedFlow) -> None:
        """One block of the flow, in which something was done."""
        for side in self._sides:
            side.look(flow)

    def step(
        self,
        flow: WatchedFlow,
        dt: float,
        *,
        allowed: bool,
        told: Sequence[Claim],
        doubts: int,
        settled: bool,
    ) -> None:
        """One block; see Plateau.step. More is asked before one is learned unless requests wait for so long as on no
        device: few limits are of one direction, and what it did before, while nobody waited, nobody watched.
        """
        is_mixed = bool(flow.read_operations_per_second and flow.write_operations_per_second)
        # Where both wait, each at a limit of its own that is known, it is no third one of both.
        are_both = all(side.plateau.standing(side) is not None for side in self._sides)
        for side in self._sides:
            is_its_own = allowed and (side.is_apart or are_both)
            side.plateau.step(
                side,
                dt,
                told=told,
                doubts=doubts if side.excess >= 2 * number.STEEP else doubts + 1,
                allowed=is_its_own,
                settled=settled and is_mixed and not side.is_rougher(flow),
                recurs=is_its_own,
            )

    def rest(self, dt: float) -> None:
        """A block of the flow in which nothing is done, or nothing of it is this flow's."""
        for side in self._sides:
            side.forget_levels()
            side.plateau.rest(dt)

    def drop(self) -> None:
        """Nothing is outstanding any more."""
        for side in self._sides:
            side.forget_levels()
            side.plateau.belief.drop()

    @property
    def met(self) -> Side | None:
        """The direction that a limit of its own holds now."""
        return next((side for side in self._sides if side.plateau.on), None)

    def learned(self) -> Iterator[tuple[Met, Direction]]:
        """The limits of reads alone, or of writes, that are trusted, each side's longest met first."""
        for side in self._sides:
            yield from ((met, side.direction) for met in side.plateau.met())

    def are_flatter(self, flow: WatchedFlow) -> bool:
        """Whether one direction is, so that nothing is learned of both."""
        return any(side.is_flatter(flow) for side in self._sides)

    @property
    def is_believed(self) -> bool:
        """Whether evidence for a limit is left."""
        return any(side.plateau.belief.seconds for side in self._sides)

    def memory(self) -> tuple[SavedPlateau, ...]:
        """What must survive a restart: of reads, and of writes."""
        return tuple(side.plateau.memory() for side in self._sides)

    def restore(self, saved: Sequence[SavedPlateau]) -> None:
        """Take up what was saved."""
        for side, plateau in zip(self._sides, saved, strict=False):
            side.plateau.restore(plateau)

    def of(self, direction: Direction) -> Side:
        """Reads, or writes."""
        return self._sides[direction is Direction.WRITE]
