"""Signs of a queue: latency held against the best this flow has shown, by size and direction.

A limit that denies demand makes requests wait; near a limit nobody waits, and a queue without
a limit is an overloaded device. Waiting requests are Vegas' estimate of a queue: rate times the latency
above the floor.

https://doi.org/10.1109/49.464716
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from math import inf
from typing import NamedTuple, Protocol, TypeAlias

from ioplateau.judge import parameters as number
from ioplateau.judge.floors import PRIORS, Floors, class_of
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.flushes import EmptyWrites, empty_writes, without_empty_writes
from ioplateau.judge.memory import SavedFlow
from ioplateau.judge.window import Level, Levels, Recent


class Queue(IntEnum):
    """How sure we are that requests wait."""

    NONE = 0
    WEAK = 1
    STRONG = 2
    DEEP = 3


# Each flow asks at each tick, and an attribute of an enumeration is dear before Python 3.12.
NONE, WEAK, STRONG, DEEP = Queue
NO_PART = (0.0, 0.0)

# Reads, or writes: whether they are writes, operations per second, seconds each took, bytes per second.
OneWay: TypeAlias = tuple[bool, float, float | None, float]
# The same of NFS calls: seconds each was on the wire, and waited on this client, before bytes per second.
OneWayOnWire: TypeAlias = tuple[bool, float, float | None, float | None, float]


class Served(NamedTuple):
    """What a flow did for some seconds: classes of requests, operations per second of all, operations and bytes
    per second of reads and of writes, and seconds each request took.
    """

    classes: tuple[int, ...]
    operations: float
    rates: tuple[float, float, float, float]
    latency: float

    def exceeds(self, other: Served, ratio: float) -> bool:
        """Whether so many times as much was done, of whatever was, and took as long."""
        pairs = zip(self.rates, other.rates, strict=True)
        is_more = all(now >= ratio * was for now, was in pairs)
        return is_more and self.latency * ratio >= other.latency


class Times(Protocol):
    """How long requests took: of a flow, or of one direction of it."""

    waiting: float
    excess: float
    own: bool

    @property
    def was_alone(self) -> bool: ...


def is_far(rate: float, busy: float, told: float) -> bool:
    """Whether a limit that was told had no part in a rate: it allows more, and what was done while something was
    outstanding is not what it allows then (utilization law).
    """
    at_it = busy * told
    return rate < (1 - number.STEP) * told and not (
        (1 - number.STEP) * at_it <= rate <= (1 + number.STEP) * at_it
    )


def excess_of(held: float, waiting: float) -> float:
    """Excess of requests outstanding, of which so many wait; 0 where none of them is in service."""
    return waiting / (held - waiting) if held > waiting else 0.0


def is_strong(times: Times) -> bool:
    """Whether requests wait for long, if something was outstanding all the time."""
    waiting, excess = times.waiting, times.excess
    if excess < number.QUEUE_EXCESS:
        return False
    if waiting < number.QUEUE_WAITING:
        # Of two at a time no more can wait: then it is how long they do, which is longer than
        # a device takes that serves one after the other.
        return times.own and waiting >= 1.0 and waiting * excess >= number.QUEUE_WAITING
    # Of two at a time a little less than two wait, however long they do.
    return (
        times.own
        or (excess >= number.STEEP and times.was_alone)
        or waiting >= number.OVERWHELMING_WAITING
        or (excess >= 2 * number.QUEUE_EXCESS and waiting >= 2.0)
    )


def is_deep(times: Times) -> bool:
    """Whether so many wait, and for so long, that one block of it proves it."""
    return (
        times.excess >= number.OVERWHELMING_EXCESS and times.waiting >= number.OVERWHELMING_WAITING
    )


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
        "clear_seconds",
        "cleared",
        "clears",
        "delay",
        "doubtful_operations",
        "emptied",
        "empty_operations",
        "empty_writes",
        "excess",
        "floors",
        "in_flight",
        "is_counted",
        "is_late",
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
        "stands",
        "stays",
        "still",
        "told_bytes",
        "told_operations",
        "waiting",
        "was_idle",
        "was_looked_at",
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
        self.empty_writes: EmptyWrites | None = None  # from the first flush on
        self.was_looked_at = False  # some block had rates, of this run
        self.queued = 0  # blocks since strong evidence began
        self.resting = 0  # consecutive blocks without any operation
        self.still = 0  # consecutive blocks without it
        self.stalled_seconds = 0.0
        self.clears = ""  # "discards" or "flushes", or both, which are held against no limit
        # How many a second, and what each took, where something was outstanding at both looks; 0: nothing was.
        self.cleared = self.clear_seconds = 0.0
        self.watched_seconds = 0.0  # without a gap, a miss or a stall
        self.in_flight = 0
        self.is_counted = False  # what is outstanding, at each look
        self._ended = 0  # requests outstanding as the last block ended
        # Of those as it began and ended the fewer; of a mount 0 where they are not known.
        self.stays = 0
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
        # Writes without data: those that a provider may count or not, and those that it does not.
        self.doubtful_operations = self.empty_operations = 0.0
        # Of reads and of writes: requests outstanding, and those of them that wait.
        self.parts = [NO_PART, NO_PART]
        self.came = self.left = 0.0
        self.was_idle = False  # for a part of the block, not at its ends
        self.stands = False  # something was outstanding all the time, as far as it can be seen
        self.own = False
        self.is_late = False  # all that was answered had waited for the end of a stall
        self.emptied = False  # hardly anything was outstanding as this block began, but several before and since
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

    @property
    def has_waited_before(self) -> bool:
        """Whether its calls have waited on the client since before a stall ended, or the first look: for that, too."""
        return self.active and self.queue_load >= self.watched_seconds * self.operations

    def look(self, tick: FlowTick, at: float, dt: float, on_wire: int | None = None) -> None:
        """One block. on_wire: calls of a mount that are sent and not answered as it ends; None: unknown."""
        # At once: a field of a named tuple is dear before Python 3.12.
        (
            _, reads, writes, read_bytes, write_bytes, read_wait, write_wait, _,
            in_flight, busy_ratio, discards, flushes, read_rtt, write_rtt,
            read_queue, write_queue, later,
        ) = tick  # fmt: skip
        self.was_looked_at = True
        before, cleared = self.in_flight, self.clears
        operations = reads + writes
        self._take_clears(tick, discards, flushes)
        self._count_outstanding(in_flight or 0, operations, dt, on_wire)
        if operations <= 0:
            self._rest()
            self.asleep = self.asleep and not (cleared or self.clears)
            return
        self._take_rates(reads, writes, read_bytes, write_bytes, busy_ratio)
        if flushes:
            self._take_empty_writes(tick)
        was_several = self.outstanding >= 2.0
        alone = self._is_alone(reads * (read_wait or 0.0) + writes * (write_wait or 0.0))
        sides = (False, reads, read_wait, read_bytes), (True, writes, write_wait, write_bytes)
        base = self._hold_against_floors(sides, at, dt, alone)
        held = self.outstanding
        self.came = self.left
        self.is_counted = in_flight is not None
        if in_flight is None:
            self.emptied = False
            is_left = self.excess >= number.QUEUE_EXCESS and on_wire != 0
            self.left = self.waiting if is_left else 0.0
        else:
            # Half of those in service: where a queue stands there are more.
            self.emptied = (
                was_several and held >= 2.0 and before <= max(1.0, number.SHARE_WAITING * base)
            )
            beyond = in_flight - number.IN_SERVICE * base
            self.left = beyond if beyond > 0 else 0.0
        # What takes longer than a block is outstanding at a look whenever it came, and counted late: as it is
        # known by the times, or because more were outstanding than were answered.
        least = self.stays
        if self.latency >= dt or least > operations * dt:
            least = 0
        if least or self._looks:
            self._compare_looks(least)
        self.later = later
        if read_rtt is not None or write_rtt is not None:
            self._look_at_wire(
                (
                    (False, reads, read_rtt, read_queue, read_bytes),
                    (True, writes, write_rtt, write_queue, write_bytes),
                ),
                at,
                dt,
                alone,
            )
        may_be_idle = busy_ratio is None or busy_ratio < 1 - number.LITTLE
        self.was_idle = may_be_idle and (
            self.busy < number.SHARE_WAITING or held < (1 - number.LEAST_PART) * least
        )
        if not may_be_idle:
            self.stands = not self._comes_in_step(number.SHARE_WAITING)
        elif busy_ratio is None:
            self.stands = on_wire != 0 and not self._comes_in_step(1 - number.LEAST_PART)
        else:
            self.stands = (
                min(self.came, self.left) >= number.QUEUE_WAITING
                and busy_ratio >= number.SHARE_WAITING
                and not self._comes_in_step(1 - number.LEAST_PART)
            )
        self._weigh(dt)
        self._keep(self.operations, self.bytes, self.latency)
        if self.empty_writes is not None and self.queue >= STRONG:
            self._decide_on_empty_writes(dt)

    def _take_clears(self, tick: FlowTick, discards: float, flushes: float) -> None:
        self.cleared = self.clear_seconds = 0.0
        if not discards and not flushes:
            self.clears = ""
            return
        self.clears = (
            "discards and flushes"
            if discards and flushes
            else "discards"
            if discards
            else "flushes"
        )
        if self.in_flight and tick.in_flight:
            held = (tick.queue_length or 0.0) - (
                tick.read_operations_per_second * (tick.read_await_seconds or 0.0)
                + tick.write_operations_per_second * (tick.write_await_seconds or 0.0)
            )
            self.cleared = discards + flushes
            self.clear_seconds = max(held, 0.0) / self.cleared

    def _count_outstanding(
        self, in_flight: int, operations: float, dt: float, on_wire: int | None
    ) -> None:
        """What is outstanding as the block ends, and whether nothing was answered since it began."""
        before, self.in_flight = self.in_flight, in_flight
        began = self._ended
        self._ended = ended = in_flight or on_wire or 0
        self.stays = began if began < ended else ended
        if before and in_flight and operations == 0 and not self.clears:
            # Times are added when a request ends: in a stall only in_flight tells.
            self.stalled_seconds += dt
        elif operations > 0 or not in_flight:
            self.stalled_seconds = 0.0
        self.watched_seconds = 0.0 if self.stalled_seconds else self.watched_seconds + dt

    def _take_rates(
        self,
        reads: float,
        writes: float,
        read_bytes: float,
        write_bytes: float,
        busy_ratio: float | None,
    ) -> None:
        self.known = self.active = True
        self.asleep = self.is_late = False
        self.resting = 0
        self.operations_level = self.bytes_level = self.latency_level = None
        self.operations = reads + writes
        self.read_operations_per_second = reads
        self.write_operations_per_second = writes
        self.read_bytes_per_second = read_bytes
        self.write_bytes_per_second = write_bytes
        self.bytes = read_bytes + write_bytes
        self.doubtful_operations = self.empty_operations = 0.0
        self.busy = 1.0 if busy_ratio is None else busy_ratio
        self.busy_counted = busy_ratio or 0.0

    def _take_empty_writes(self, tick: FlowTick) -> None:
        """Leave out of the rates what is known not to count."""
        if self.empty_writes is not None and not self.empty_writes.are_counted:
            counted = without_empty_writes(tick).write_operations_per_second
            self.empty_operations = self.write_operations_per_second - counted
            self.operations -= self.empty_operations
            self.write_operations_per_second = counted
        if not self.empty_operations:
            self.doubtful_operations = empty_writes(tick)

    def _is_alone(self, outstanding: float) -> bool:
        """Whether requests were served one at a time, or nearly so, and far from any limit: by population
        while busy.
        """
        return (
            not self.near
            and self.in_flight <= 2
            and outstanding <= (1 + number.QUEUE_EXCESS) * (self.busy if self.busy < 1 else 1.0)
            and is_far(self.operations, self.busy, self.told_operations)
            and is_far(self.bytes, self.busy, self.told_bytes)
        )

    def _hold_against_floors(
        self, sides: Iterable[OneWay], at: float, dt: float, alone: bool
    ) -> float:
        """What is outstanding, and which part of it waits (Little's law); how many would be outstanding if none
        waited.
        """
        base = waiting = held = usual = 0.0
        parts = self.parts = [NO_PART, NO_PART]
        counts = dt if dt > 1.0 else 1.0
        for write, rate, wait, volume in sides:
            if rate <= 0 or wait is None:
                continue
            size, requests, outstanding = volume / rate, rate * dt, rate * wait
            # Time that a limit takes for so many bytes is none of the device's: a server that reads
            # ahead fills it with one request at a time.
            is_own = alone and volume < number.SHARE_WAITING * rate * wait * self.told_bytes
            floor, own = self.floors.observe(write, size, wait, at, is_own, counts, requests)
            if is_own and not self.beside_queue:
                # The kernel counts milliseconds: of few requests the time is known no better.
                least = number.COUNTED_SECONDS / requests
                self.floors.note_alone(write, size, max(wait, least))
            held += outstanding
            base += rate * floor
            usual += outstanding if own is None else rate * own
            delayed = rate * (wait - floor) if wait > floor else 0.0
            waiting += delayed
            parts[write] = outstanding, delayed
        # Whether its own history says so too, and not only the prior or another class.
        self.risen = held / usual - 1 if usual > 0 else 0.0
        self.own = self.risen >= number.QUEUE_EXCESS
        self.outstanding = held
        self.waiting = waiting
        self.latency = held / self.operations
        self.excess = waiting / base if base > 0 else 0.0
        return base

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
        self.is_late = True
        self.waiting = self.excess = self.risen = self.came = self.delay = 0.0
        self.own = self.stands = False
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
        if self.empty_writes is not None:
            self.empty_writes.forget()

    def _keep(self, operations: float, volume: float, latency: float) -> None:
        values = self.recent_operations.values
        values.append(operations)
        volumes = self.recent_bytes.values
        volumes.append(volume)
        latencies = self.recent_latency.values
        latencies.append(latency)
        if len(values) > 2 * number.SUM_BLOCKS:
            del values[0], volumes[0], latencies[0]
        if self.empty_writes is None and self.doubtful_operations:
            self.empty_writes = EmptyWrites(len(values) - 1)
        if self.empty_writes is not None:
            are_counted = self.empty_writes.are_counted
            self.empty_writes.note(
                self.doubtful_operations if are_counted else self.empty_operations,
                self.read_operations_per_second if operations else 0.0,
            )

    def _decide_on_empty_writes(self, dt: float) -> None:
        """Whether they count on the limit at which requests wait."""
        assert self.empty_writes is not None
        if self.empty_writes.look(self.recent_operations.values, dt):
            self.operations_level = None

    def _look_at_wire(
        self, sides: Iterable[OneWayOnWire], at: float, dt: float, alone: bool
    ) -> None:
        """NFS: the time on the wire apart from the time spent waiting on this client."""
        load = base = waited = 0.0
        for write, rate, rtt, queue, volume in sides:
            if rate > 0 and rtt is not None:
                load += rate * rtt
                floor, _ = self.rtt_floors.observe(
                    write, volume / rate, rtt, at, alone, requests=rate * dt
                )
                base += rate * floor
                waited += rate * (queue or 0.0)
        self.rtt_load = load
        self.rtt_excess = load / base - 1 if base > 0 else 0.0
        self.queue_load = waited
        self.queue_share = waited / self.outstanding if self.outstanding > 0 else 0.0

    def _weigh(self, dt: float) -> None:
        excess, waiting = self.excess, self.waiting
        self._follow_steadiness(dt)
        if (
            self.risen < number.QUEUE_EXCESS <= excess
            and self.busy_counted >= 1 - number.LITTLE
            and self.bytes
            < number.SHARE_WAITING * self.outstanding * self.told_bytes  # see _hold_against_floors
        ):
            self._doubt_guess()
        queue = NONE
        if self.stands:
            if is_strong(self):
                queue = DEEP if is_deep(self) else STRONG
            elif self.is_bounded:
                # A device at its floor may be as steady; a limit shows above it.
                queue = STRONG if self.risen >= number.LEAST_PART else WEAK
            elif excess >= number.LEAST_PART and waiting >= number.SHARE_WAITING:
                queue = WEAK
        if queue is NONE and number.LEAST_PART <= waiting < number.QUEUE_WAITING and self.is_slow:
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
                class_of(write, volume / rate)
                for write, rate, volume in (
                    (False, reads, self.read_bytes_per_second),
                    (True, writes, self.write_bytes_per_second),
                )
                if rate > 0
            ]
        )
        rates = reads, writes, self.read_bytes_per_second, self.write_bytes_per_second
        now = Served(classes, self.operations, rates, self.latency)
        if then is not None and now.exceeds(then, more):
            for each in then.classes:
                self.floors.believe(each)
        is_lower = then is None or then.classes != classes or now.operations < then.operations
        if is_lower and self.standing_seconds >= number.SETTLED_SECONDS:
            self._lowest = now

    def held_back(self) -> None:
        """A limit holds it in this block: what it does now is less than the device would do."""
        self._lowest = None

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

    @property
    def counts_empty_writes(self) -> bool:
        """Whether writes without data count on the limits of this flow, as far as it is known."""
        return self.empty_writes is None or self.empty_writes.are_counted

    @property
    def flushing_operations(self) -> float:
        """Writes that flush, counted so far or not: those of them that have data count on any limit."""
        return self.doubtful_operations or self.empty_operations

    hidden_operations = hidden_bytes = 0.0
    doubtful_bytes = 0.0
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
        return (
            self.outstanding >= 2.0
            and self.busy >= 1 - number.LITTLE
            and self.standing_seconds >= number.SETTLED_SECONDS
            and self.rate_steps < number.STANDING
            and self.latency_steps < number.STANDING
        )

    @property
    def is_single(self) -> bool:
        """Whether one request at a time is always outstanding."""
        return 1 - number.LITTLE <= self.outstanding < 2.0 and self.busy >= 1 - number.LITTLE

    def memory(self) -> SavedFlow:
        """What must survive a restart."""
        return SavedFlow(
            self.floors.memory(),
            self.rtt_floors.memory(),
            self.floors.memory_alone(),
            self.counts_empty_writes,
        )

    def restore(self, saved: SavedFlow, at: float) -> None:
        """Take up a saved memory. at: CLOCK_MONOTONIC seconds now."""
        self.floors.restore(saved.floors, at)
        self.rtt_floors.restore(saved.rtt_floors, at)
        self.floors.restore_alone(saved.alone)
        if not saved.counts_empty_writes:
            blocks = len(self.recent_operations.values)
            self.empty_writes = EmptyWrites(blocks, are_counted=False)
