"""Where a budget stood while requests waited: a limit stands at one level whenever it binds; a device that
is only slow does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, exp, inf, log

from ioplateau.judge import parameters as number
from ioplateau.judge.known import burst_seconds, follows
from ioplateau.judge.levels import Ceilings
from ioplateau.judge.memory import SavedMoves, SavedStand
from ioplateau.judge.signals import STRONG
from ioplateau.judge.waits import Drawn, Run
from ioplateau.judge.window import DIMENSIONS, IOPS, THROUGHPUT
from ioplateau.limits.budgets import Dimension


class Stands:
    """Seconds in which requests waited, by the level at which they did; what is long ago counts less."""

    __slots__ = ("_bins", "_changes", "_last", "_lost", "_scale")

    def __init__(self) -> None:
        self._bins: dict[int, float] = {}  # by level, in steps of STANDING
        self._scale = 1.0  # what a second counts now; old ones stay as they were
        self._last = 0.0  # the level at which it stood last
        self._changes = 0.0  # of it, by a step
        # Seconds' worth, by level in the same steps. Not kept over a restart: where it lacks, it soon lacks again.
        self._lost: dict[int, float] = {}

    def add(self, value: float, seconds: float) -> None:
        """Seconds at this level, while requests wait."""
        if self._last and abs(log(value / self._last)) > number.STEP:
            self._changes += self._scale
        self._last = value
        name = round(log(value) / number.STANDING)
        self._bins[name] = self._bins.get(name, 0.0) + seconds * self._scale
        if len(self._bins) > number.VISITS // 2:
            del self._bins[min(self._bins, key=self._bins.__getitem__)]
        self._scale *= 1 + seconds * log(2) / number.STANDS_HALF_SECONDS
        if self._scale > 2.0:
            least = self._scale  # of a second now
            self._bins = {n: s / self._scale for n, s in self._bins.items() if s > least}
            self._changes /= self._scale
            self._lost = {name: lost / self._scale for name, lost in self._lost.items()}
            self._scale = 1.0

    def lose(self, value: float, seconds: float) -> None:
        """So many seconds' worth of this level is missing in what was done; below zero: it was made up for."""
        name = round(log(value) / number.STANDING)
        self._lost[name] = self._lost.get(name, 0.0) + seconds * self._scale
        if len(self._lost) > number.VISITS // 2:
            del self._lost[min(self._lost, key=lambda each: abs(self._lost[each]))]

    def lost(self, value: float) -> float:
        """Seconds' worth that is missing in what was done around this level."""
        if not self._lost:
            return 0.0
        name, off = log(value) / number.STANDING, number.OFF_LEVEL / number.STANDING
        found = sum([lost for each, lost in self._lost.items() if abs(each - name) <= off])
        return max(0.0, found / self._scale)

    @property
    def changes(self) -> int:
        """How often it moved to another level by a step."""
        return round(self._changes / self._scale)

    def around(self, value: float) -> tuple[float, float]:
        """Seconds at this level, and at others that are not far from it."""
        name, far = log(value) / number.STANDING, log(2) / number.STANDING
        here = others = 0.0
        for each, seconds in self._bins.items():
            off = abs(each - name)
            if off <= 2:
                here += seconds
            elif off <= far:
                others += seconds
        return here / self._scale, others / self._scale

    def __bool__(self) -> bool:
        return bool(self._bins)

    def memory(self) -> tuple[tuple[SavedStand, ...], SavedMoves]:
        """Levels, and seconds at each; how often it moved."""
        stands = tuple(
            SavedStand(exp(name * number.STANDING), seconds / self._scale)
            for name, seconds in self._bins.items()
        )
        return stands, SavedMoves(self._changes / self._scale, self._last)

    def restore(self, saved: Sequence[SavedStand], moves: SavedMoves | None) -> None:
        """Take up what was saved. moves None: an older version did not count them."""
        for value, seconds in saved[-(number.VISITS // 2) :]:
            self._bins[round(log(value) / number.STANDING)] = seconds
        if moves is not None:
            self._changes, self._last = moves


class Standing:
    """What was done in the blocks in which requests waited, and the levels at which it stood."""

    __slots__ = ("_booked", "_ceilings", "_runs", "_stands", "_stood", "_waited", "_wholes")

    def __init__(self, ceilings: Ceilings) -> None:
        self._ceilings = ceilings
        self._runs: list[Run] = []  # the last ones in a row
        self._wholes: list[Run] = []  # the last ones all of which waited
        self._stood: list[Run] = []  # the last ones in a row at both of whose ends many stood
        self._waited = 0.0  # seconds in which requests waited, in all
        # Up to which of them it is booked where they stood.
        self._booked = {IOPS: 0.0, THROUGHPUT: 0.0}
        self._stands = {IOPS: Stands(), THROUGHPUT: Stands()}

    @property
    def newest(self) -> Run:
        """The last block in which requests waited."""
        return self._runs[-1]

    def add(self, drawn: Drawn, dt: float) -> None:
        """A block in which requests waited."""
        self._waited += dt
        held = drawn.outstanding * dt
        run = Run(drawn.operations * dt, drawn.bytes * dt, dt, self._waited, held)
        self._runs.append(run)
        del self._runs[: -number.SUM_BLOCKS]
        self._stand(drawn, run)

    def add_silence(self, drawn: Drawn, dt: float) -> None:
        """A block in which none of those outstanding was answered, of which it is not known otherwise that they wait."""
        self._stand(drawn, Run(0.0, 0.0, dt, self._waited, 0.0))

    def _stand(self, drawn: Drawn, run: Run) -> None:
        if _many_wait(drawn):
            self._stood.append(run)
            del self._stood[: -max(number.LEVEL_LEAST, ceil(number.SUM_BLOCKS / run.seconds))]
        else:
            self._stood.clear()

    def end(self) -> None:
        """A block in which they did not."""
        self._runs.clear()

    def rest(self) -> None:
        """A block of which it is not known how many stood."""
        self._stood.clear()

    def pass_over(self) -> None:
        """What was done up to now was another's: it is not booked."""
        self._booked = dict.fromkeys(DIMENSIONS, self._waited)
        self._stood.clear()

    def book(self, drawn: Drawn, dt: float, dimensions: Sequence[Dimension]) -> None:
        """Book where it stands in these, while requests wait: gusts do not stand anywhere."""
        if drawn.operations and drawn.bytes and drawn.outstanding:
            for dimension in dimensions:
                self._book_losses(dimension)
        is_whole = min(drawn.came, drawn.left) >= 1.0
        if is_whole:
            self._wholes.append(self._runs[-1])
            del self._wholes[: -number.SUM_BLOCKS]
        runs = self._runs
        if len(runs) < number.SUM_BLOCKS:
            runs = self._wholes[-max(number.LEVEL_LEAST, ceil(number.SUM_BLOCKS / dt)) :]
            if not is_whole or not _lasts(runs):
                return
        for dimension in dimensions:
            which = DIMENSIONS.index(dimension)
            rates = [run[which] / run.seconds for run in runs]
            mean = sum(rates) / len(rates)
            off = number.OFF_LEVEL * mean
            if mean > 0 and max(rates) - mean <= off and mean - min(rates) <= off:
                self._stands[dimension].add(mean, self._unbooked(dimension, runs, dt))

    def _book_losses(self, dimension: Dimension) -> None:
        """Book what is missing since as much was done as now, while many waited: a limit lets all pass that it gives,
        and a bucket repays what the device could not do. Nothing is missing of what may have waited for a limit of
        the other dimension, nor while fewer were outstanding than then and now (Little's law). All of it is where
        more than half passed on top of this level.
        """
        if not self._stood:
            return
        *before, now = self._stood
        this = DIMENSIONS.index(dimension)
        lost, above, seconds, held = 0.0, 0.0, now.seconds, now.held
        for run in reversed(before):
            share, other = [
                run[each] / run.seconds * now.seconds / now[each] for each in (this, 1 - this)
            ]
            if abs(share - 1) <= number.SAME_LEVEL:
                if above > seconds:
                    lost = seconds
                elif lost > 0 and run.held:
                    fewest = min(now.held / now.seconds, run.held / run.seconds)
                    lost = max(0.0, lost - max(0.0, seconds - held / fewest))
                if abs(lost) > number.LEAST_PART:
                    self._stands[dimension].lose(now[this] / now.seconds, lost)
                return
            seconds += run.seconds
            held += run.held
            lost += run.seconds * (1 - max(share, min(1.0, other)))
            above += run.seconds * (share - 1)

    def _unbooked(self, dimension: Dimension, runs: Sequence[Run], dt: float) -> float:
        """Seconds for which it stood there and which were not booked before, beyond those it takes to be
        seen standing: blocks of many seconds show it late, when it has stood there for longer.
        """
        booked = self._booked[dimension]
        seconds = sum([run.seconds for run in runs if run.waited > booked])
        self._booked[dimension] = self._waited
        return max(dt, seconds - number.SUM_BLOCKS)

    def follows(self, drawn: Drawn, dimension: Dimension, value: float) -> bool:
        """Whether what was done in sum followed this level up to now."""
        which = DIMENSIONS.index(dimension)
        runs = [(run[which], run.seconds) for run in self._runs]
        same = number.SAME_LEVEL
        return follows(runs, value, burst_seconds(drawn), (same, same))

    def is_behind(self, drawn: Drawn, dimension: Dimension, value: float) -> bool:
        """Whether less was done while requests waited than a limit of this value lets pass but for one burst. Nothing
        is missing of what may have waited for a limit of the other dimension, where that does as much as it did.
        """
        this = DIMENSIONS.index(dimension)
        most = max([run[1 - this] / run.seconds for run in self._runs], default=0.0) or inf
        behind = [run.seconds - max(run[this] / value, run[1 - this] / most) for run in self._runs]
        return sum(behind) > burst_seconds(drawn)

    def is_elsewhere(self, dimension: Dimension, value: float) -> bool:
        """Whether requests waited at other levels for longer than at this one: then it is none."""
        return self.moved(dimension, value) > 2 * number.ASKED

    def moved(self, dimension: Dimension, value: float) -> float:
        """Seconds elsewhere, beyond those that are outweighed here. Each second's worth that is missing here is a
        doubt. Those at another limit that was met are no more than one, which is outweighed here, too: credits
        were spent, or somebody bought another size. Nobody buys a little of it, but a device that wanders passes
        by levels that are near each other.
        """
        stands = self._stands[dimension]
        here, others = stands.around(value)
        moved = others - number.STANDS_HERE * here + number.ASKED_DOUBT * stands.lost(value)
        if moved <= 0:
            return moved
        met = [each.value for each in self._ceilings.long_met(dimension)]
        twice = log(2) + 2 * number.STANDING  # wherever in its bin either stands
        bought = [there for there in met if number.STEP < abs(log(there / value)) <= twice]
        if max(len(bought), stands.changes) >= number.LEVEL_LEAST:
            return moved  # nobody buys that often
        unmet = moved - sum([stands.around(there)[0] for there in bought])
        doubts = number.ASKED_DOUBT * max(1, stands.changes) - number.STANDS_HERE * here
        return min(moved, max(unmet, 0.0) + max(0.0, doubts))

    def elsewhere_seconds(self, dimension: Dimension, value: float) -> float | None:
        """Seconds in which requests waited at other levels than this; None: it never stood anywhere."""
        stands = self._stands[dimension]
        return stands.around(value)[1] if stands else None

    def memory(self) -> dict[Dimension, tuple[tuple[SavedStand, ...], SavedMoves]]:
        """What must survive a restart."""
        return {dimension: stands.memory() for dimension, stands in self._stands.items()}

    def restore(
        self,
        saved: Mapping[Dimension, Sequence[SavedStand]],
        moves: Mapping[Dimension, SavedMoves],
    ) -> None:
        """Take up what was saved."""
        for dimension, stands in self._stands.items():
            stands.restore(saved.get(dimension, ()), moves.get(dimension))


def _many_wait(drawn: Drawn) -> bool:
    """Whether many requests waited from beginning to end: as counted at both ticks, of a mount on the wire, or on
    average on a disk that was busy all the time.
    """
    many = number.OVERWHELMING_WAITING
    if not drawn.is_counted:
        return drawn.stays - number.IN_SERVICE * (drawn.outstanding - drawn.waiting) >= many
    waits = drawn.queue >= STRONG and drawn.busy >= 1 - number.LITTLE and drawn.waiting >= many
    return waits or min(drawn.came, drawn.left) >= many


def _lasts(runs: Sequence[Run]) -> bool:
    """Whether these are enough to stand somewhere: SUM_BLOCKS of them, or of as many seconds."""
    seconds = sum([run.seconds for run in runs])
    return len(runs) >= number.SUM_BLOCKS or (
        len(runs) >= number.LEVEL_LEAST and seconds >= number.SUM_BLOCKS
    )
