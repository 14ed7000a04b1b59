"""Signs of a queue: latency held against the best this flow has shown, by size and direction.

A limit that denies demand makes requests wait; near a limit nobody waits, and a queue without
a limit is an overloaded device. The floor is a running minimum, as BBR's filter of the
smallest round trip (net/ipv4/tcp_bbr.c), and waiting requests are Vegas' estimate of a queue:
rate times the latency above the floor.

https://github.com/torvalds/linux/blob/v6.1/net/ipv4/tcp_bbr.c
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from enum import IntEnum
from math import exp, inf, log, sqrt
from sys import maxsize
from typing import NamedTuple

from ioplateau.judge import parameters as number
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.memory import SavedAlone, SavedFloor, SavedFlow
from ioplateau.judge.window import Level, Levels, Recent


class Queue(IntEnum):
    """How sure we are that requests wait."""

    NONE = 0
    WEAK = 1
    STRONG = 2
    DEEP = 3


# Each flow asks at each tick, and an attribute of an enumeration is dear before Python 3.12.
NONE, WEAK, STRONG, DEEP = Queue
_NO_PART = (0.0, 0.0)


PRIORS = number.PRIOR_SECONDS, number.PRIOR_SECONDS
# Where the half octaves of size + 1 end, in bytes, of any size that a machine's word can tell.
_HALF_OCTAVES = [2 ** ((place + 1 / 2) / 2) - 1 for place in range(2 * maxsize.bit_length())]


# The kernel cuts a total of seconds to its unit as it tells it. Of so much that is less than a fifth.
KNOWN_SECONDS = number.COUNTED_SECONDS / number.LEAST_PART


class Few(NamedTuple):
    """Few requests of some blocks in a row: seconds that they took together, how many they were, and blocks."""

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

    __slots__ = ("_alone", "_classes", "_few", "_priors", "way")

    def __init__(self, priors: tuple[float, float] = PRIORS) -> None:
        self._priors = priors
        self.way = 0.0
        # class -> [floor seconds, monotonic seconds of that floor, blocks seen, bytes]
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
        name = _class_of(write, size)
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
            own = self._classes[name] = [seconds, at, 0.0, size, 0.0]
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
        is_cached = self._priors[0] != self._priors[1]
        least, pace = number.LEVEL_LEAST, number.BYTES_PER_SECOND
        is_seen, bound = False, inf
        for other, (floor, _, blocks, other_size, alone) in self._classes.items():
            if alone >= least:
                is_seen = True
            if blocks < least or other == name or (is_cached and (other & 1) != write):
                continue
            longest = floor + (size - other_size) / pace if size > other_size else floor
            bound = min(bound, longest)
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
        name, now = _class_of(write, size), log(seconds)
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
        own = self._alone.get(_class_of(write, size))
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
        return floor >= min(self._priors) and not self.was_alone

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


def _class_of(write: bool, size: float) -> int:
    return bisect(_HALF_OCTAVES, size) * 2 + write


class Served(NamedTuple):
    """What a flow did for some seconds: classes of requests, operations and bytes per second, and seconds
    each took.
    """

    classes: tuple[int, ...]
    operations: float
    bytes: float
    latency: float


class WatchedFlow(Levels):
    """One flow over time: what it draws, and how sure we are that its requests wait."""

    __slots__ = (
        "_before",
        "_between",
        "_ended",
        "_looks",
        "_lowest",
        "_seen",
        "active",
        "asleep",
        "beside_queue",
        "blocks",
        "busy",
        "busy_counted",
        "bytes",
        "came",
        "clears",
        "delay",
        "emptied",
        "excess",
        "floors",
        "in_flight",
        "known",
        "latency",
        "latency_steps",
        "later",
        "left",
        "near",
        "operations",
        "outstanding",
        "own",
        "parts",
        "queue",
        "queue_load",
        "queue_share",
        "queued",
        "rate_steps",
        "read_bytes_per_second",
        "read_operations_per_second",
        "resting",
        "resumes",
        "risen",
        "rtt_excess",
        "rtt_floors",
        "rtt_load",
        "stalled_seconds",
        "standing_seconds",
        "still",
        "told_bytes",
        "told_operations",
        "waiting",
        "was_idle",
        "watched_seconds",
        "write_bytes_per_second",
        "write_operations_per_second",
    )  # fmt: skip

    def __init__(self, priors: tuple[float, float] = PRIORS) -> None:
        self.floors = Floors(priors)
        self.rtt_floors = Floors((inf, inf))  # what was seen, and no guess
        self.recent_operations = Recent()
        self.recent_bytes = Recent()
        self.recent_latency = Recent()
        self.queued = 0  # blocks since strong evidence began
        self.resting = 0  # consecutive blocks without any operation
        self.still = 0  # consecutive blocks without it
        self.stalled_seconds = 0.0
        self.clears = False  # discards or flushes, which are no operations that a limit counts
        self.watched_seconds = 0.0  # without a gap, a miss or a stall
        self.in_flight = 0
        self._ended = 0  # requests outstanding as the last block ended
        self._looks = 0  # blocks in a row at both of whose ends something was outstanding
        self._seen = self._between = 0.0  # requests then, on average: at the ends, and between them
        self.left = 0.0
        self.beside_queue = False  # others in its lane wait, and it may wait with them
        self.near = False  # some limit of this flow is close, so nothing here is the floor now
        # Bytes, and operations, per second of the least limits that were told of it.
        self.told_bytes = self.told_operations = inf
        self.delay = 0.0
        self.rate_steps = self.latency_steps = (
            number.OFF_LEVEL
        )  # mean step from block to block, a share
        self.standing_seconds = 0.0
        self._before = (0.0, 0.0)
        self._lowest: Served | None = None  # that stood, of requests that only a guess called slow
        self.resumes = False  # a stall has ended, and what waited for that is not all answered
        # At rest, and for so long that one block more of it changes nothing.
        self.asleep = False
        self.clear()

    def clear(self) -> None:
        """Nothing done in this block."""
        self.known = True
        self.active = False
        self.operations = self.bytes = 0.0
        self.read_operations_per_second = self.write_operations_per_second = 0.0
        self.read_bytes_per_second = self.write_bytes_per_second = 0.0
        self.latency = self.busy = self.busy_counted = 0.0
        self.outstanding = self.waiting = self.excess = 0.0
        # Of reads and of writes: requests outstanding, and those of them that wait.
        self.parts = [_NO_PART, _NO_PART]
        self.came = self.left = 0.0
        self.was_idle = False  # for a part of the block, not at its ends
        self.own = False
        self.emptied = False  # hardly anything was outstanding as this block began, and several before and since
        self.risen = 0.0  # latency over this flow's own history, a share
        self.queue = NONE
        self.queue_share = self.queue_load = self.rtt_load = self.rtt_excess = 0.0
        self.later = 0.0  # answers per second by which a server asked to come back later
        self.operations_level: Level | None = None
        self.bytes_level: Level | None = None
        self.latency_level: Level | None = None

    def miss(self) -> None:
        """A block without rates. One changes nothing; from the second on nothing is known."""
        if not self.known:
            self.clear()
        self.known = self.asleep = False
        self.watched_seconds = 0.0

    def unsettle(self) -> None:
        """A gap: nothing new is learned just after it."""
        self.watched_seconds = 0.0
        self.asleep = False

    def sleeps_on(self, tick: FlowTick) -> bool:
        """Whether it was asleep and this block does not wake it: no look is needed."""
        return self.asleep and not (
            tick.read_operations_per_second
            or tick.write_operations_per_second
            or tick.in_flight
            or tick.discard_operations_per_second
            or tick.flush_operations_per_second
        )

    def take_way(self, seconds: float) -> None:
        """A round trip that was seen on the way to its server. A queue lengthens those that follow,
        so the shortest of all is kept.
        """
        self.floors.way = min(self.floors.way or seconds, seconds)

    @property
    def is_settled(self) -> bool:
        return self.watched_seconds >= number.SETTLED_SECONDS

    def look(self, tick: FlowTick, at: float, dt: float, on_wire: int | None = None) -> None:
        """One block. on_wire: calls of a mount that are sent and not answered as it ends; None: unknown."""
        (
            _, reads, writes, read_bytes, write_bytes, read_await, write_await, _, in_flight,
            busy_ratio, discards, flushes, read_rtt, write_rtt, read_queue, write_queue, later,
        ) = tick  # fmt: skip
        operations = reads + writes
        before, self.in_flight = self.in_flight, in_flight or 0
        began, self._ended = self._ended, self.in_flight or on_wire or 0
        cleared, self.clears = self.clears, bool(discards or flushes)
        if before and self.in_flight and operations == 0 and not self.clears:
            # Times are added when a request ends: in a stall only in_flight tells.
            self.stalled_seconds += dt
        elif operations > 0 or not self.in_flight:
            self.stalled_seconds = 0.0
        self.watched_seconds = 0.0 if self.stalled_seconds else self.watched_seconds + dt
        if operations <= 0:
            self._rest()
            self.asleep = self.asleep and not (cleared or self.clears)
            return
        self.known = self.active = True
        self.asleep = False
        self.resting = 0
        self.operations_level = self.bytes_level = self.latency_level = None
        self.read_operations_per_second, self.write_operations_per_second = reads, writes
        self.read_bytes_per_second, self.write_bytes_per_second = read_bytes, write_bytes
        self.operations = operations
        self.bytes = total = read_bytes + write_bytes
        self.busy = busy = 1.0 if busy_ratio is None else busy_ratio
        self.busy_counted = busy_ratio or 0.0
        # Whether requests were served one at a time, or nearly so: by population while busy.
        population = reads * (read_await or 0.0) + writes * (write_await or 0.0)
        alone = (
            not self.near
            and self.in_flight <= 2
            and population <= (1 + number.QUEUE_EXCESS) * min(1.0, busy)
            and operations < (1 - number.STEP) * self.told_operations
            and total < (1 - number.STEP) * self.told_bytes
        )
        base = waiting = held = usual = 0.0
        parts = self.parts = [_NO_PART, _NO_PART]
        counts = max(1.0, dt)
        for write, rate, wait, volume in (
            (False, reads, read_await, read_bytes),
            (True, writes, write_await, write_bytes),
        ):
            if rate <= 0 or wait is None:
                continue
            # The kernel counts milliseconds: of few requests the time is known no better.
            least = number.COUNTED_SECONDS / (rate * dt)
            # Time that a limit takes for so many bytes is none of the device's: a server that reads
            # ahead fills it with one request at a time.
            is_own = alone and volume < number.SHARE_WAITING * rate * wait * self.told_bytes
            floor, own = self.floors.observe(
                write, volume / rate, wait, at, is_own, counts, rate * dt
            )
            if is_own and not self.beside_queue:
                self.floors.note_alone(write, volume / rate, max(wait, least))
            held += rate * wait
            base += rate * floor
            usual += rate * (wait if own is None else own)
            delayed = rate * (wait - floor) if wait > floor else 0.0
            waiting += delayed
            parts[write] = rate * wait, delayed
        # Whether its own history says so too, and not only the prior or another class.
        self.risen = held / usual - 1 if usual > 0 else 0.0
        self.own = self.risen >= number.QUEUE_EXCESS
        self.emptied = before <= 1 and held >= 2.0 <= self.outstanding and in_flight is not None
        self.outstanding = held
        self.waiting = waiting
        self.latency = held / operations
        self.excess = waiting / base if base > 0 else 0.0
        self.came = self.left
        self.left = (
            max(0.0, self.in_flight - number.IN_SERVICE * base)
            if in_flight is not None
            else (waiting if self.excess >= number.QUEUE_EXCESS and on_wire != 0 else 0.0)
        )
        # What takes longer than a block is outstanding at a look whenever it came, and counted late.
        least = min(began, self._ended) if self.latency < dt else 0
        self._compare_looks(least)
        self.later = later
        if read_rtt is not None or write_rtt is not None:
            reads_wire, writes_wire = (read_rtt, read_queue), (write_rtt, write_queue)
            self._look_at_wire(at, dt, held, alone, reads_wire, writes_wire)
        may_be_idle = busy_ratio is None or busy < 1 - number.LITTLE
        self.was_idle = may_be_idle and (
            busy < number.SHARE_WAITING or held < (1 - number.LEAST_PART) * least
        )
        if not may_be_idle:
            stands = not self._comes_in_step(number.SHARE_WAITING)
        elif busy_ratio is None:
            stands = on_wire != 0 and not self._comes_in_step(1 - number.LEAST_PART)
        else:
            stands = (
                min(self.came, self.left) >= number.QUEUE_WAITING
                and busy >= number.SHARE_WAITING
                and not self._comes_in_step(1 - number.LEAST_PART)
            )
        self._weigh(dt, stands=stands)
        self._keep(operations, total, self.latency)

    def resume(self, stalled: float, outstanding: int | None = None) -> None:
        """What is answered as a stall ends has waited for that, and for no limit: if nothing is left then,
        such a block tells of no queue, and levels begin anew. Nor does the next one, if it answers what was
        left. stalled: seconds of a stall until this block; a limiter's bucket alone may keep all waiting
        for a second, and a block may be cut by that. outstanding: requests as the block ended, where no
        count of this flow tells it.
        """
        if not self.active:
            return
        left = self.left
        if outstanding is not None:
            left = outstanding - number.IN_SERVICE * (self.outstanding - self.waiting)
        has_ended = stalled >= 2 * number.BURST_SECONDS + number.BLOCK_SECONDS
        is_late = has_ended or self.resumes
        self.resumes = has_ended and left >= 1.0
        if not is_late or left >= 1.0:
            return
        self.waiting = self.excess = self.risen = self.came = self.delay = 0.0
        self.own = False
        self.parts = [(held, 0.0) for held, _ in self.parts]
        self.queue = NONE
        self.queued = 0
        self._forget_levels()
        self._keep(self.operations, self.bytes, self.latency)

    def _rest(self) -> None:
        self.still += 1
        came = self.left
        if self.active or not self.known:
            self.clear()
        self.came, self.left = came, float(self.in_flight)
        self.resting += 1
        if self.resting <= 2 or self.in_flight:
            self._keep(0.0, 0.0, 0.0)
        elif self.recent_operations.values:
            self._forget_levels()
        if self.still > 1 and not self.in_flight:  # else what is outstanding still waits
            self.queued = 0
            self.delay = 0.0
        # From here on only times and blocks would be counted, which are long enough for anything.
        self.asleep = self.resting > 2 and self.is_settled and not (came or self.left)

    def _forget_levels(self) -> None:
        for recent in (self.recent_operations, self.recent_bytes, self.recent_latency):
            recent.forget()

    def _keep(self, operations: float, volume: float, latency: float) -> None:
        values = self.recent_operations.values
        values.append(operations)
        volumes = self.recent_bytes.values
        volumes.append(volume)
        latencies = self.recent_latency.values
        latencies.append(latency)
        if len(values) > 2 * number.SUM_BLOCKS:
            del values[0], volumes[0], latencies[0]

    def _look_at_wire(
        self,
        at: float,
        dt: float,
        held: float,
        alone: bool,
        reads: tuple[float | None, float | None],
        writes: tuple[float | None, float | None],
    ) -> None:
        """NFS: the time on the wire apart from the time spent waiting on this client. reads, writes:
        seconds of a call on the wire and before it.
        """
        load = base = waited = 0.0
        for write, rate, (rtt, queue), size in (
            (False, self.read_operations_per_second, reads, self.read_bytes_per_second),
            (True, self.write_operations_per_second, writes, self.write_bytes_per_second),
        ):
            if rate > 0 and rtt is not None:
                load += rate * rtt
                floor, _ = self.rtt_floors.observe(
                    write, size / rate, rtt, at, alone, requests=rate * dt
                )
                base += rate * floor
                waited += rate * (queue or 0.0)
        self.rtt_load = load
        self.rtt_excess = load / base - 1 if base > 0 else 0.0
        self.queue_load = waited
        self.queue_share = waited / held if held > 0 else 0.0

    def _weigh(self, dt: float, *, stands: bool) -> None:
        """stands: as far as it can be seen, something was outstanding all the time."""
        excess, waiting = self.excess, self.waiting
        self._follow_steadiness(dt)
        if (
            self.risen < number.QUEUE_EXCESS <= excess
            and self.busy_counted >= 1 - number.LITTLE
            and self.bytes
            < number.SHARE_WAITING * self.outstanding * self.told_bytes  # see is_own above
        ):
            self._doubt_guess()
        queue = NONE
        if stands:
            if self._is_strong():
                deep = (
                    excess >= number.OVERWHELMING_EXCESS and waiting >= number.OVERWHELMING_WAITING
                )
                queue = DEEP if deep else STRONG
            elif self.is_bounded and self.risen >= number.LEAST_PART:
                queue = STRONG  # a device at its floor may be as steady; a limit shows above it
            elif self.is_bounded or (
                excess >= number.LEAST_PART and waiting >= number.SHARE_WAITING
            ):
                queue = WEAK
        if queue is NONE and self.is_slow and number.LEAST_PART <= waiting < number.QUEUE_WAITING:
            queue = WEAK  # of one at a time that has something else to do, too
        self.queue = queue
        if queue >= STRONG or (
            excess >= number.OVERWHELMING_EXCESS
            and (waiting >= number.SHARE_WAITING or self.operations >= number.LEAST_OPERATIONS)
        ):
            # Also of one request at a time, which stands in a queue that others fill.
            delay = waiting / self.operations
            self.delay = (self.delay + delay) / 2 if self.delay else delay
        elif self.still and excess < number.OVERWHELMING_EXCESS:
            self.delay = 0.0
        if queue >= STRONG:
            self.queued += 1
            self.still = 0
        else:
            self.still += 1
            if self.still > 1:
                self.queued = 0

    def _compare_looks(self, least: int) -> None:
        """Hold what was outstanding at the looks against what was so between them (Little's law), both on
        average since something always was: more at the looks is a load that comes in step with them, as
        an application's that hands over once a second. least: requests, the less of both ends; 0: nothing to compare.
        """
        if not least:
            self._looks, self._seen, self._between = 0, 0.0, 0.0
            return
        self._looks = looks = min(self._looks + 1, number.SUM_BLOCKS)
        self._seen += (least - self._seen) / looks
        self._between += (self.outstanding - self._between) / looks

    def _comes_in_step(self, share: float) -> bool:
        """Whether less than this share of what was outstanding at the looks was so between them."""
        return self._between < share * self._seen

    def _doubt_guess(self) -> None:
        """Believe what was seen, and no guess, where much more is done by now and takes no longer: whatever
        was done before was held back by nothing.
        """
        then, more = self._lowest, 1 + number.QUEUE_EXCESS
        if then is not None and then.operations <= self.operations < more * then.operations:
            return
        reads, writes = self.read_operations_per_second, self.write_operations_per_second
        classes = tuple(
            [
                _class_of(write, volume / rate)
                for write, rate, volume in (
                    (False, reads, self.read_bytes_per_second),
                    (True, writes, self.write_bytes_per_second),
                )
                if rate > 0
            ]
        )
        now = Served(classes, self.operations, self.bytes, self.latency)
        if then is None or then.classes != classes or now.operations < then.operations:
            if self.standing_seconds >= number.SETTLED_SECONDS:
                self._lowest = now
        elif now.bytes >= more * then.bytes and now.latency * more >= then.latency:
            for each in classes:
                self.floors.believe(each)

    def alone(self) -> tuple[float, float]:
        """Requests that would be outstanding if each took as long as while nobody waits (Little's law), and
        the variance of that. Where that was not seen it is the floor, and nothing is known to vary.
        """
        requests = variance = 0.0
        for write, rate, volume in (
            (False, self.read_operations_per_second, self.read_bytes_per_second),
            (True, self.write_operations_per_second, self.write_bytes_per_second),
        ):
            if rate <= 0:
                continue
            seen = self.floors.alone(write, volume / rate)
            if seen is None:
                return self.outstanding - self.waiting, 0.0
            seconds, spread = seen
            requests += rate * seconds
            variance += (rate * seconds * spread) ** 2
        return requests, variance

    hidden_operations = hidden_bytes = 0.0
    doubtful_operations = doubtful_bytes = 0.0
    is_held = False  # only a sum has members that may wait while it does not
    is_locked = False  # only a sum has members that can move against each other
    is_ordinary = False  # that is asked of a sum only
    crowd = 1.0

    @property
    def was_alone(self) -> bool:
        """Whether its requests were seen one at a time, so that it is known what they take without a queue."""
        return self.floors.was_alone

    @property
    def busy_most(self) -> float:
        """Of a sum it is more than of each of its members."""
        return self.busy

    @property
    def is_slow(self) -> bool:
        """Whether requests take longer than they took before, or several times what they should."""
        return self.own or self.excess >= number.OVERWHELMING_EXCESS

    def _is_strong(self) -> bool:
        if self.excess < number.QUEUE_EXCESS:
            return False
        if self.waiting < number.QUEUE_WAITING:
            # Of two at a time no more can wait: then it is how long they do, which is longer than
            # a device takes that serves one after the other.
            long = self.waiting * self.excess >= number.QUEUE_WAITING
            return self.own and self.waiting >= 1.0 and long
        return (
            self.own
            or self.waiting >= number.OVERWHELMING_WAITING
            or (self.excess >= 2 * number.QUEUE_EXCESS and self.waiting >= 2.0)
        )

    def _follow_steadiness(self, dt: float) -> None:
        before_rate, before_latency = self._before
        rate, latency = self.operations, self.latency
        self._before = rate, latency
        if before_rate > 0 and before_latency > 0:
            off = abs(rate - before_rate) - 1 / dt  # one operation more or less is no step
            step = off / before_rate if off > 0 else 0.0
            if step >= number.OFF_LEVEL:  # another demand
                self.standing_seconds = 0.0
                return
            before = self.standing_seconds or dt  # two alike: the first of them stood as well
            self.standing_seconds = before + dt
            weight = min(1.0, dt / min(number.SETTLED_SECONDS, before))
            self.rate_steps += weight * (step - self.rate_steps)
            step = min(number.OFF_LEVEL, abs(latency / before_latency - 1))
            self.latency_steps += weight * (step - self.latency_steps)

    @property
    def is_bounded(self) -> bool:
        """Whether rate and latency both stand still with several requests outstanding: so do a
        bounded number of requests behind a limit, and few devices.
        """
        return self.outstanding >= 2.0 and self._stands

    @property
    def is_paced(self) -> bool:
        """Whether rate and latency both stand still with one request at a time that is always outstanding."""
        return 1 - number.LITTLE <= self.outstanding < 2.0 and self._stands

    @property
    def _stands(self) -> bool:
        return (
            self.busy >= 1 - number.LITTLE
            and self.standing_seconds >= number.SETTLED_SECONDS
            and self.rate_steps < number.STANDING
            and self.latency_steps < number.STANDING
        )

    def memory(self) -> SavedFlow:
        """What must survive a restart."""
        return SavedFlow(self.floors.memory(), self.rtt_floors.memory(), self.floors.memory_alone())

    def restore(self, saved: SavedFlow, at: float) -> None:
        """Take up a saved memory. at: CLOCK_MONOTONIC seconds now."""
        self.floors.restore(saved.floors, at)
        self.rtt_floors.restore(saved.rtt_floors, at)
        self.floors.restore_alone(saved.alone)
