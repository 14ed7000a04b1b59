"""What requests take that do not wait: the floor, by direction and size. It is a running minimum, as BBR's
filter of the smallest round trip.

https://github.com/torvalds/linux/blob/v6.1/net/ipv4/tcp_bbr.c
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from math import exp, inf, log, sqrt
from sys import maxsize
from typing import NamedTuple

from ioplateau.judge import parameters as number
from ioplateau.judge.memory import SavedAlone, SavedFloor

PRIORS = number.PRIOR_SECONDS, number.PRIOR_SECONDS
# Where the half octaves of size + 1 end, in bytes, of any size that a machine's word can tell.
_HALF_OCTAVES = [2 ** ((place + 1 / 2) / 2) - 1 for place in range(2 * maxsize.bit_length())]

# The kernel cuts a total of seconds to its unit as it tells it. Of so much that is less than a fifth.
KNOWN_SECONDS = number.COUNTED_SECONDS / number.LEAST_PART


class Few(NamedTuple):
    """Few requests of some blocks in a row: seconds that they took together, how many they were, and
    blocks. alone: one at a time.
    """

    seconds: float = 0.0
    requests: float = 0.0
    counts: float = 0.0
    alone: bool = False


class Floors:
    """Lowest latency by direction and half octave of request size.

    priors: seconds of a read and of a write that nobody has seen yet. Where they differ, a host's
    cache answers one direction, which then says nothing of the other. way: seconds that the way to
    where requests are served takes there and back, 0 if nobody told; no prior is below it.
    """

    __slots__ = ("_alone", "_classes", "_few", "_least_prior", "_priors", "way")

    def __init__(self, priors: tuple[float, float] = PRIORS) -> None:
        self._priors = priors
        self._least_prior = min(priors)
        self.way = 0.0
        # class -> [floor seconds, monotonic seconds of that floor, blocks seen, bytes,
        # blocks of one request at a time]
        self._classes: dict[int, list[float]] = {}
        # class -> [blocks of one request at a time, mean logarithm of their seconds, mean square off it]
        self._alone: dict[int, list[float]] = {}
        # class -> what few requests took, until it is known well enough
        self._few: dict[int, Few] = {}

    def observe(
        self,
        write: bool,
        size: float,
        seconds: float,
        at: float,
        alone: bool = False,
        counts: float = 1.0,
        requests: float = inf,
    ) -> tuple[float, float | None]:
        """Learn one block's mean. What such a request should take by all we know, and by this
        class's own history alone (None: it is too short). alone: one request at a time, so that
        this is what the device takes, and no guess is needed any more. counts: for so many blocks
        this one counts, each second of a long one for one. requests: of how many it is the mean.
        """
        name = bisect(_HALF_OCTAVES, size) * 2 + write  # class_of()
        own = self._classes.get(name)
        if seconds * requests < KNOWN_SECONDS:
            few = self._take_few(name, Few(seconds * requests, requests, counts, alone))
            if few.seconds < KNOWN_SECONDS:
                most = (few.seconds + number.COUNTED_SECONDS) / few.requests
                if own is None:
                    return min(most, self._bound(name, write, size)), None
                return self._by_all(name, own, min(own[0], most), write, size)
            seconds, counts = few.seconds / few.requests, few.counts
        if own is None:
            own = self._classes[name] = [seconds, at, counts, size, 0.0]
            floor = seconds
        else:
            floor = own[0] * (1 + (at - own[1]) / number.FLOOR_RISE_SECONDS)
            own[1] = at
            if seconds < floor:  # half way down: one lucky block is not the floor yet
                floor = (floor + seconds) / 2
            own[0] = floor
            own[2] += counts
        if alone:
            own[4] += counts
        return self._by_all(name, own, floor, write, size)

    def _take_few(self, name: int, few: Few) -> Few:
        """These requests with those of the blocks before, until together they are known well enough."""
        before = self._few.pop(name, None)
        if before is not None and before.alone is few.alone:
            few = Few(
                before.seconds + few.seconds,
                before.requests + few.requests,
                before.counts + few.counts,
                few.alone,
            )
        if few.seconds < KNOWN_SECONDS:
            self._few[name] = few
        return few

    def _by_all(
        self, name: int, own: list[float], floor: float, write: bool, size: float
    ) -> tuple[float, float | None]:
        """What observe() tells of a class whose own floor this is."""
        history = floor if own[2] >= number.LEVEL_LEAST else None
        if own[4] >= number.LEVEL_LEAST and self._priors[write] >= number.PRIOR_SECONDS:
            return floor, history
        return min(floor, self._bound(name, write, size)), history

    def _bound(self, name: int, write: bool, size: float) -> float:
        """What the prior and the other classes say this class cannot be slower than."""
        prior = self._priors[write]
        apart = inf if self._priors[0] != self._priors[1] else number.COUNTED_SECONDS / 2
        least, pace = number.LEVEL_LEAST, number.BYTES_PER_SECOND
        is_seen, bound = False, inf
        for other, (floor, _, blocks, other_size, alone) in self._classes.items():
            # The host's cache, or one of the disk's controller, answers the other direction, and not this one.
            if floor < apart and (other & 1) != write:
                continue
            if alone >= least:
                is_seen = True
            if blocks >= least and other != name:
                longest = floor + (size - other_size) / pace if size > other_size else floor
                if longest < bound:
                    bound = longest
        if is_seen and prior >= number.PRIOR_SECONDS:
            return bound  # what was seen, and no guess; a cache has two speeds
        return min(max(prior, self.way) + size / number.BYTES_PER_SECOND, bound)

    def believe(self, name: int) -> None:
        """What this class has shown is what the device takes, as if it had been asked for one at a time."""
        own = self._classes.get(name)
        if own is not None:
            own[4] = max(own[4], float(number.LEVEL_LEAST))

    def note_alone(self, write: bool, size: float, seconds: float) -> None:
        """One more block of one request at a time while nobody waits; old ones count less."""
        name, now = class_of(write, size), log(seconds)
        own = self._alone.get(name)
        if own is None:
            self._alone[name] = [1.0, now, 0.0]
            return
        own[0] = blocks = min(own[0] + 1, number.VISITS)
        off = now - own[1]
        own[1] = mean = own[1] + off / blocks
        own[2] += (off * (now - mean) - own[2]) / blocks

    def alone(self, write: bool, size: float) -> tuple[float, float] | None:
        """Seconds that a request of this class takes while nobody waits, on average, and their spread from
        block to block, as a share. None: too few were seen.
        """
        own = self._alone.get(class_of(write, size))
        if own is None or own[0] < 2 * number.LEVEL_LEAST:
            return None
        return exp(own[1]), sqrt(own[2])

    @property
    def was_alone(self) -> bool:
        """Whether any class was seen one request at a time: else requests that take as long as the floor may
        wait as well.
        """
        return any(each[4] >= number.LEVEL_LEAST for each in self._classes.values())

    def is_guess(self, floor: float) -> bool:
        """Whether a floor that was told rests on the prior: nobody saw one request at a time, and
        nothing faster.
        """
        return floor >= self._least_prior and not self.was_alone

    def memory(self) -> tuple[SavedFloor, ...]:
        """What must survive a restart."""
        return tuple(SavedFloor(name, *values) for name, values in self._classes.items())

    def memory_alone(self) -> tuple[SavedAlone, ...]:
        """The same of how long requests take while nobody waits."""
        return tuple(SavedAlone(name, *values) for name, values in self._alone.items())

    def restore(self, saved: Sequence[SavedFloor], at: float) -> None:
        """Take up saved floors, as of now."""
        for name, seconds, _, *seen in saved:
            if seconds > 0:  # before 0.2 what took less than the kernel's unit was saved as nothing
                self._classes[name] = [seconds, at, *seen]

    def restore_alone(self, saved: Sequence[SavedAlone]) -> None:
        """Take up what was saved of requests while nobody waits."""
        for name, *values in saved:
            self._alone[name] = values


def class_of(write: bool, size: float) -> int:
    """The class of requests of this direction and size in bytes."""
    return bisect(_HALF_OCTAVES, size) * 2 + write
