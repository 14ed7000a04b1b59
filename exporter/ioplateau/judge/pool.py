"""Several flows that draw on one budget: their sum, and whether they wait together."""

from __future__ import annotations

from math import inf

from ioplateau.judge.signals import (
    DEEP_EXCESS,
    DEEP_WAITING,
    Queue,
    Sense,
)
from ioplateau.judge.window import Level, Levels, Recent

EXCESS, WAITING = 0.4, 3.0
TOGETHER = 0.25  # variance of the sum over sum of variances: independent flows give 1
LOCKED = 0.12
LOCKED_WAITING = 1.5
MEMORY_SECONDS = 6.0  # of the variances
STEP = 0.12
MOVING = 0.015  # members must move this much of the sum to be compared
NEAR_DELAY = 1.25  # one queue, one delay
APART_DELAY = 1.6


class Member:
    """One flow's part in a pool: all of it, or only one direction (host caches)."""

    __slots__ = ("group", "name", "rates", "reads", "sense", "writes")

    def __init__(
        self, name: str, sense: Sense, *, reads: bool, writes: bool, group: int = 0
    ) -> None:
        self.name = name
        self.group = group  # members of one stripe share their demand, and count as one
        self.sense = sense
        self.reads = reads
        self.writes = writes
        self.rates = (0.0, 0.0)  # operations, bytes


class Pool(Levels):
    """The sum of its members, block by block; reads like a flow's Sense."""

    __slots__ = (
        "_apart",
        "_groups",
        "_last",
        "_sum",
        "active_members",
        "alike",
        "bytes",
        "doubtful_bytes",
        "doubtful_operations",
        "excess",
        "hidden_bytes",
        "hidden_operations",
        "is_cache",
        "known",
        "median_delay",
        "members",
        "near",
        "operations",
        "outstanding",
        "own",
        "queue",
        "queued",
        "read_bytes",
        "read_operations",
        "still",
        "together",
        "waiting",
        "waiting_members",
        "write_bytes",
        "write_operations",
    )  # fmt: skip

    def __init__(self, members: list[Member], *, is_cache: bool = False) -> None:
        self.members = members
        self.is_cache = is_cache
        self.recent_operations = Recent()
        self.recent_bytes = Recent()
        self.recent_latency = Recent()
        count = 1 + max((member.group for member in members), default=0)
        self._groups = [[0.0, 0.0] for _ in range(count)]  # rates of the block before
        self._last = [0.0, 0.0]
        self._sum = [0.0, 0.0]  # squared steps of the sum, smoothed: operations, bytes
        self._apart = [0.0, 0.0]  # squared steps of the groups
        self.queued = self.still = 0
        self.together: float | None = None
        self.near = False
        self.known = True
        self.alike = False
        self.median_delay = 0.0
        self._clear()

    def _clear(self) -> None:
        self.operations = self.bytes = 0.0
        self.read_operations = self.write_operations = 0.0
        self.read_bytes = self.write_bytes = 0.0
        self.hidden_operations = self.hidden_bytes = 0.0  # reads a host's cache may answer
        # Writes through a read-only cache, which a provider may count on it or not.
        self.doubtful_operations = self.doubtful_bytes = 0.0
        self.waiting = self.excess = self.outstanding = 0.0
        self.own = False  # some member that waits has been faster
        self.queue = Queue.NONE
        self.waiting_members = self.active_members = 0
        self.operations_level: Level | None = None
        self.bytes_level: Level | None = None
        self.latency_level: Level | None = None

    def add_up(self) -> None:
        """The sums of one block."""
        self._clear()
        self.known = True
        for member in self.members:
            sense = member.sense
            if not sense.known:
                self.known = False
                continue
            operations = volume = 0.0
            if sense.active:
                if member.reads:
                    operations += sense.read_operations
                    volume += sense.read_bytes
                    self.read_operations += sense.read_operations
                    self.read_bytes += sense.read_bytes
                else:
                    self.hidden_operations += sense.read_operations
                    self.hidden_bytes += sense.read_bytes
                if member.writes:
                    operations += sense.write_operations
                    volume += sense.write_bytes
                    self.write_operations += sense.write_operations
                    self.write_bytes += sense.write_bytes
                    if member.reads and self.is_cache:
                        self.doubtful_operations += sense.write_operations
                        self.doubtful_bytes += sense.write_bytes
            member.rates = (operations, volume)
        self.operations = self.read_operations + self.write_operations
        self.bytes = self.read_bytes + self.write_bytes

    def weigh(self, dt: float, explained: set[str]) -> None:
        """Whether the members wait for something they share. explained: members whose own limit
        already holds them back.
        """
        free = strong = base = waiting = 0.0
        weak = False
        for member in self.members:
            sense = member.sense
            operations = member.rates[0]
            if operations < 1.0 or not sense.known:
                continue
            self.active_members += 1
            if member.name in explained:
                continue
            free += operations
            self.outstanding += sense.outstanding
            waiting += sense.waiting
            base += max(0.0, sense.outstanding - sense.waiting)
            if sense.queue >= Queue.STRONG:
                strong += operations
                self.waiting_members += 1
                self.own = self.own or sense.own
            elif sense.queue is Queue.WEAK:
                weak = True
        self.waiting = waiting
        self.excess = waiting / base if base > 0 else (inf if waiting > 0 else 0.0)
        if self.active_members > 1:
            self._correlate(dt)
        else:
            self.together = None
            self.alike = False
            self.median_delay = 0.0
        self.queue = self._queue(free, strong, weak=weak)
        if self.queue >= Queue.STRONG:
            self.queued += 1
            self.still = 0
        else:
            self.still += 1
            if self.still > 1:
                self.queued = 0
        self.recent_operations.add(self.operations)
        self.recent_bytes.add(self.bytes)
        self.recent_latency.add(self.outstanding / self.operations if self.operations else 0.0)

    def _queue(self, free: float, strong: float, *, weak: bool) -> Queue:
        many = self.waiting >= WAITING and self.excess >= EXCESS and (strong >= 0.2 * free or weak)
        if many or (strong > 0 and strong >= 0.5 * free):
            deep = self.excess >= DEEP_EXCESS and self.waiting >= DEEP_WAITING
            return Queue.DEEP if deep else Queue.STRONG
        if not weak and not strong:
            return Queue.NONE
        if self.is_locked and self.waiting >= LOCKED_WAITING:
            return Queue.STRONG
        return Queue.WEAK

    @property
    def is_locked(self) -> bool:
        """Whether what one member gains the others lose."""
        return self.together is not None and self.together < LOCKED

    def _correlate(self, dt: float) -> None:
        """Whether the members move against each other (one cap over all) or each by itself."""
        groups = self._groups
        now = [[0.0, 0.0] for _ in groups]
        for member in self.members:
            rates = now[member.group]
            rates[0] += member.rates[0]
            rates[1] += member.rates[1]
        weight = min(1.0, dt / MEMORY_SECONDS)
        self.together = None
        for index, total in enumerate((self.operations, self.bytes)):
            step = total - self._last[index]
            self._last[index] = total
            if abs(step) > STEP * total:
                continue  # the demand changed; that says nothing
            moved = [
                rates[index] - before[index] for rates, before in zip(now, groups, strict=True)
            ]
            apart = sum([x * x for x in moved])
            self._sum[index] += weight * (step * step - self._sum[index])
            self._apart[index] += weight * (apart - self._apart[index])
        for index, total in enumerate((self.operations, self.bytes)):
            if self._apart[index] > (MOVING * total) ** 2:
                ratio = self._sum[index] / self._apart[index]
                if self.together is None or ratio < self.together:
                    self.together = ratio
        self._groups = now
        self._compare_delays()

    def _compare_delays(self) -> None:
        """Whether the members wait equally long: one queue, one delay. A member with one request
        at a time says so too, but less exactly.
        """
        by_group: dict[int, float] = {}
        light = []
        for member in self.members:
            sense = member.sense
            if sense.queue >= Queue.STRONG:
                by_group[member.group] = max(by_group.get(member.group, 0.0), sense.delay)
            elif sense.delay > 0:
                light.append(member)
        delays = sorted(by_group.values())
        self.median_delay = median = delays[len(delays) // 2] if delays else 0.0
        if len(delays) > 1:
            near = [d for d in delays if median / NEAR_DELAY <= d <= median * NEAR_DELAY]
            self.alike = len(near) > 1 and len(near) >= 0.6 * len(delays)
            return
        # A stripe's members, or one that waits among others with one request at a time.
        others = [m.sense.delay for m in light if m.group not in by_group]
        if others:
            near = [d for d in others if median / APART_DELAY <= d <= median * APART_DELAY]
            self.alike = len(near) > 0.5 * len(others)
            return
        whole = [m.sense.delay for m in self.members if m.sense.queue >= Queue.STRONG]
        near = [d for d in whole if d >= median / NEAR_DELAY]
        self.alike = len(near) > 1 and len(near) >= 0.6 * len(whole)
