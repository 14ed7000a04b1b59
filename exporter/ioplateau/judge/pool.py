"""Several flows that draw on one budget: their sum, and whether they wait together."""

from __future__ import annotations

from collections.abc import Container
from math import inf, log, sqrt

from ioplateau.judge import parameters as number
from ioplateau.judge.signals import DEEP, NONE, STRONG, WEAK, Queue, WatchedFlow, is_deep
from ioplateau.judge.window import Level, Levels, Recent
from ioplateau.limits.budgets import BudgetKey, Kind

NO_STEP = (0.0, 0.0)  # of a block that says nothing of it


class Member:
    """One flow's part in a pool: all of it, or only one direction (host caches)."""

    __slots__ = ("group", "key", "name", "rates", "reads", "watched", "writes")

    def __init__(
        self, name: str, watched: WatchedFlow, *, reads: bool, writes: bool, group: int = 0
    ) -> None:
        self.name = name
        self.key = BudgetKey(Kind.DISK, name)
        self.group = group  # members of one stripe share their demand, and count as one
        self.watched = watched
        self.reads = reads
        self.writes = writes
        self.rates = (0.0, 0.0)  # operations, bytes


class Pool(Levels):
    """The sum of its members, block by block; reads like a WatchedFlow."""

    asleep = False
    is_single = was_idle = emptied = False  # that is asked of one flow only
    __slots__ = (
        "_groups",
        "_last",
        "_locked",
        "_longer",
        "_pressed",
        "_steps",
        "_weighed",
        "active_members",
        "alike",
        "busy",
        "busy_most",
        "bytes",
        "came",
        "doubtful_bytes",
        "doubtful_operations",
        "excess",
        "flushing_operations",
        "hidden_bytes",
        "hidden_operations",
        "is_cache",
        "is_held",
        "is_longer",
        "is_ordinary",
        "is_sampled",
        "known",
        "left",
        "may_miss",
        "median_delay",
        "members",
        "moving",
        "near",
        "operations",
        "outstanding",
        "own",
        "queue",
        "queued",
        "read_bytes_per_second",
        "read_operations_per_second",
        "still",
        "waiting",
        "waiting_members",
        "write_bytes_per_second",
        "write_operations_per_second",
    )  # fmt: skip

    def __init__(self, members: list[Member], *, is_cache: bool = False) -> None:
        self.members: list[Member] = []
        self.take(members)
        self.is_cache = is_cache
        self.recent_operations = Recent()
        self.recent_bytes = Recent()
        self.recent_latency = Recent()
        # Squares of the newest steps from block to block: of the sum, and of the groups. Operations, bytes.
        self._steps: list[list[tuple[float, float]]] = [[], []]
        self._weighed: list[Member] = []  # whose requests are the pool's in this block
        # Of the newest blocks: requests outstanding beyond what they would be while nobody waits, and the
        # spread of that.
        self._longer: list[tuple[float, float]] = []
        self._pressed = 0  # blocks in a row in which members waited, for sure or not
        self.queued = self.still = 0
        self._locked: bool | None = False  # None: nobody asked in this block
        self.near = False
        self.known = True
        self.alike = False
        self.is_sampled = False  # what says so is a member with one request at a time
        self.median_delay = 0.0
        self._clear()

    stays = 0  # only of a mount it tells what its looks do not

    @property
    def is_counted(self) -> bool:
        """Whether what is outstanding is counted at each tick."""
        return all(member.watched.is_counted for member in self.moving)

    def take(self, members: list[Member]) -> None:
        """Let these draw on it from now on; what was seen of the sum, and of those that stay, is kept."""
        before = {member.watched: member.rates for member in self.members}
        for member in members:
            member.rates = before.get(member.watched, member.rates)
        self.members = members
        self.moving = members  # of this block: all but those that are asleep
        # Rates of the block before, of those that draw on it still: who came or went is no step of the others.
        count = 1 + max((member.group for member in members), default=0)
        self._groups = _by_group(members, count)
        self._last = [sum(rates) for rates in zip(*self._groups, strict=True)]

    def _clear(self) -> None:
        self.operations = self.bytes = 0.0
        self.read_operations_per_second = self.write_operations_per_second = 0.0
        self.read_bytes_per_second = self.write_bytes_per_second = 0.0
        self.hidden_operations = self.hidden_bytes = 0.0  # reads a host's cache may answer
        self.flushing_operations = 0.0
        # Writes through a read-only cache, which a provider may count on it or not, and empty ones.
        self.doubtful_operations = self.doubtful_bytes = 0.0
        self.waiting = self.excess = self.outstanding = self.busy = self.busy_most = 0.0
        self.came = self.left = 0.0
        # Members whose reads are taken to wait for it, as some miss a host's cache.
        self.may_miss: Container[str] = ()
        self.is_held = False  # some member waits, though its own limit may explain it
        self.own = False  # some member that waits has been faster
        self.is_longer = False  # requests take longer than they ever do while nobody waits
        self.is_ordinary = False  # they take no longer than on average while nobody waits
        self.queue = NONE
        self.waiting_members = self.active_members = 0
        self.operations_level: Level | None = None
        self.bytes_level: Level | None = None
        self.latency_level: Level | None = None

    def add_up(self) -> None:
        """The sums of one block."""
        self._clear()
        # One that was never read counts as if it were not there yet, unless all are.
        self.known = any(member.watched.was_looked_at for member in self.members)
        self.moving = [member for member in self.members if not member.watched.asleep]
        reads = read = writes = written = 0.0  # operations and bytes per second
        for member in self.moving:
            watched = member.watched
            if not watched.known:
                self.known = self.known and not watched.was_looked_at
                continue
            operations = volume = 0.0
            if watched.active:
                if member.reads:
                    operations = watched.read_operations_per_second
                    volume = watched.read_bytes_per_second
                    reads += operations
                    read += volume
                else:
                    self.hidden_operations += watched.read_operations_per_second
                    self.hidden_bytes += watched.read_bytes_per_second
                if member.writes:
                    rate, size = watched.write_operations_per_second, watched.write_bytes_per_second
                    operations += rate
                    volume += size
                    writes += rate
                    written += size
                    if member.reads and self.is_cache:
                        self.doubtful_operations += rate
                        self.doubtful_bytes += size
                    elif doubtful := watched.doubtful_operations:
                        self.doubtful_operations += doubtful
                        self.flushing_operations += doubtful
                    else:
                        self.flushing_operations += watched.empty_operations
            member.rates = (operations, volume)
        self.read_operations_per_second, self.read_bytes_per_second = reads, read
        self.write_operations_per_second, self.write_bytes_per_second = writes, written
        self.operations, self.bytes = reads + writes, read + written
        self.recent_operations.add(self.operations)
        self.recent_bytes.add(self.bytes)

    def weigh(
        self, explained: set[str], told: Container[str] = (), may_miss: Container[str] = ()
    ) -> None:
        """Whether the members wait for something they share. explained: members whose own limit
        already holds them back. told: those of them whose limit somebody told. may_miss: members that
        may draw on the pool by reads that miss a host's cache, and are weighed by these.
        """
        self.may_miss = may_miss
        free, strong, weak = self._add_waiting(explained)
        if self.active_members > 1:
            self._correlate(told)
        else:
            # One request at a time, now and then, is enough: while nobody else asks, it holds.
            self._locked = False
            self.alike = self.alike and self.is_sampled and self.is_held
            self.median_delay = 0.0
        waits = weak or strong > 0
        for member in self.moving:
            member.watched.beside_queue = waits
        if waits:
            self._hold_against_alone(explained)
        else:
            self._longer.clear()
        self.queue = self._queue(free, strong, weak=weak)
        is_pressed = self.is_longer and self.waiting >= number.QUEUE_WAITING
        self._pressed = self._pressed + 1 if is_pressed else 0
        if self.queue >= STRONG:
            # What shows by now that they wait for one limit was so in those blocks as well.
            is_longer = self._pressed > self.queued + 1 and self.is_locked
            self.queued = self._pressed if is_longer else self.queued + 1
            self.still = 0
        elif min(self.came, self.left) < 1.0:
            self.still += 1
            if self.still > 1:
                self.queued = 0
        self.recent_latency.add(self.outstanding / self.operations if self.operations else 0.0)

    def _add_waiting(self, explained: set[str]) -> tuple[float, float, bool]:
        """Add up what waits. Operations per second of members that no limit of their own explains, of those
        among them that surely wait, and whether others may.
        """
        free = strong = base = outstanding = waiting = came = left = 0.0
        weak = False
        self._weighed = []
        for member in self.moving:
            watched = member.watched
            if not watched.known:
                continue
            operations = self._weighed_rate(member)
            if operations < 1.0:
                # Requests outstanding of which none was answered yet still wait.
                if watched.in_flight and watched.delay:
                    self.active_members += 1
                    if member.name not in explained:
                        came += watched.came
                        left += watched.left
                continue
            self.active_members += 1
            self.is_held = self.is_held or watched.queue >= STRONG
            if watched.waiting > 0:
                self.busy_most = min(1.0, self.busy_most + watched.busy)  # one after the other
            if member.name in explained:
                continue
            free += operations
            self._weighed.append(member)
            held, waits = watched.outstanding, watched.waiting
            outstanding += held
            if waits > 0:
                self.busy = max(self.busy, watched.busy)
            waiting += waits
            came += watched.came
            left += watched.left
            if held > waits:
                base += held - waits
            if watched.queue >= STRONG:
                strong += operations
                self.waiting_members += 1
                self.own = self.own or watched.own
            elif watched.queue is WEAK or (
                watched.waiting >= number.QUEUE_WAITING and watched.is_slow
            ):
                weak = True
        self.outstanding, self.waiting, self.came, self.left = outstanding, waiting, came, left
        # Not signals.excess_of: a sum none of which is in service, though some wait, is as full as can be.
        self.excess = waiting / base if base > 0 else (inf if waiting > 0 else 0.0)
        return free, strong, weak

    def _weighed_rate(self, member: Member) -> float:
        """Operations per second of which it counts how they wait: what draws on the pool, or else may draw on it."""
        operations = member.rates[0]
        if operations >= 1.0 or member.name not in self.may_miss:
            return operations
        return member.watched.read_operations_per_second

    @property
    def may_hold_misses(self) -> bool:
        """Whether reads may wait for it that a host's cache may answer: nothing that surely draws on it is served
        at once.
        """
        return self.hidden_operations >= 1.0 and not any(map(_is_served_at_once, self.moving))

    @property
    def parts(self) -> list[tuple[float, float]]:
        """Of reads and of writes: requests outstanding, and those of them that wait."""
        reads = [each.watched.parts[0] for each in self._weighed if each.reads]
        writes = [each.watched.parts[1] for each in self._weighed if each.writes]
        return [
            (sum([held for held, _ in part]), sum([waiting for _, waiting in part]))
            for part in (reads, writes)
        ]

    def _queue(self, free: float, strong: float, *, weak: bool) -> Queue:
        many = (
            self.waiting >= number.OVERWHELMING_WAITING
            and self.excess >= number.QUEUE_EXCESS
            and (strong >= number.LEAST_PART * free or weak)
        )
        if many or (strong > 0 and strong >= 0.5 * free):
            return DEEP if is_deep(self) else STRONG
        if not weak and not strong:
            return NONE
        if self.is_longer and self.waiting >= number.QUEUE_WAITING and self.is_locked:
            return STRONG
        return WEAK

    def _hold_against_alone(self, explained: set[str]) -> None:
        """Hold how long requests take against how long they take while nobody waits, in the newest blocks: two
        standard deviations more is longer, each member varying by itself. explained: members that are left out.
        """
        alone = variance = 0.0
        for member in self.moving:
            is_weighed = member.watched.known and self._weighed_rate(member) >= 1.0
            if is_weighed and member.name not in explained:
                requests, square = member.watched.alone()
                alone += requests
                variance += square
        newest = self._longer
        newest.append((self.outstanding - alone, sqrt(variance)))
        del newest[: -number.SUM_BLOCKS]
        longer, spread = map(sum, zip(*newest, strict=True))
        self.is_longer = longer > 2 * spread
        self.is_ordinary = variance > 0 and max(longer, self.outstanding - alone) <= 0

    @property
    def is_locked(self) -> bool:
        """Whether what one member gains the others lose."""
        if self._locked is None:
            self._locked = any(map(_are_locked, self._steps))
        return self._locked

    @property
    def those_waiting(self) -> list[Member]:
        """The members that wait, whatever explains it."""
        return [member for member in self.moving if member.watched.queue >= STRONG]

    @property
    def was_alone(self) -> bool:
        """Whether requests of any member were seen one at a time."""
        return any(member.watched.was_alone for member in self.moving)

    @property
    def crowd(self) -> float:
        """How many equals that move by themselves make as smooth a sum: it ripples by the root of so many
        less than each. Members of one stripe are one.
        """
        if self.active_members < 2 or self.is_locked:
            return 1.0
        squares = sum([operations * operations for operations, _ in self._groups])
        return max(1.0, self.operations**2 / squares) if squares else 1.0

    def _correlate(self, told: Container[str]) -> None:
        """Whether the members move against each other (one cap over all) or each by itself."""
        groups = self._groups
        now = _by_group(self.moving, len(groups))
        self._locked = None
        for index, total in enumerate((self.operations, self.bytes)):
            step = total - self._last[index]
            self._last[index] = total
            telling = NO_STEP
            if abs(step) <= number.STEP * total:  # else the demand changed
                moved = [
                    rates[index] - before[index] for rates, before in zip(now, groups, strict=True)
                ]
                apart = sum([x * x for x in moved])
                if apart > (number.SAME_LEVEL * total) ** 2:  # else all stand
                    telling = (step * step, apart)
            steps = self._steps[index]
            steps.append(telling)
            del steps[: -2 * number.SUM_BLOCKS]
        self._groups = now
        self._compare_delays([m for m in self.moving if m.name not in told])

    def _compare_delays(self, members: list[Member]) -> None:
        """Whether these members wait equally long: one queue, one delay. A member with one request
        at a time says so too, but less exactly; one that its own told limit holds back says nothing.
        """
        by_group: dict[int, float] = {}
        light = []
        for member in members:
            watched = member.watched
            if watched.queue >= STRONG:
                by_group[member.group] = max(by_group.get(member.group, 0.0), watched.delay)
            elif watched.delay > 0:
                light.append(member)
        self.is_sampled = False
        delays = sorted(by_group.values())
        longer = 1 / (1 - number.LEAST_PART)  # the shorter by less than the least part that counts
        self.median_delay = median = delays[len(delays) // 2] if delays else 0.0
        if len(delays) > 1:
            near = _near(delays, median, longer)
            self.alike = near > 1 and near > 0.5 * len(delays)
            return
        # A stripe's members, or one that waits among others with one request at a time.
        others = [m.watched.delay for m in light if m.group not in by_group]
        if others:
            self.alike = _near(others, median, 1 + number.QUEUE_EXCESS) > 0.5 * len(others)
            self.is_sampled = True
            return
        whole = [m.watched.delay for m in members if m.group in by_group and m.rates[0] >= 1.0]
        near = _near(whole, median, longer)
        self.alike = near > 1 and near > 0.5 * len(whole)


def _is_served_at_once(member: Member) -> bool:
    """Whether a member surely draws on its pool, and waits for nothing."""
    watched = member.watched
    return member.rates[0] >= 1.0 and watched.queue is NONE and not watched.is_slow


def _by_group(members: list[Member], count: int) -> list[list[float]]:
    """Operations and bytes per second of each of so many groups."""
    groups = [[0.0, 0.0] for _ in range(count)]
    for member in members:
        rates = groups[member.group]
        rates[0] += member.rates[0]
        rates[1] += member.rates[1]
    return groups


def _are_locked(steps: list[tuple[float, float]]) -> bool:
    """Whether a sum moves less than its parts would by themselves: log-odds that its steps are normal with
    the variance that suits them best, against the variance of its parts together, of as many of the newest
    as say most. steps: squares, of the sum and of its parts.
    """
    whole = apart = count = 0.0
    for step, parts in reversed(steps):
        if not parts:  # NO_STEP
            continue
        whole += step
        apart += parts
        count += 1
        # So few steps never say enough where the sum moves by more than half of its parts.
        if count < number.LEVEL_LEAST or whole > number.SHARE_WAITING * apart:
            continue
        ratio = whole / apart
        if not ratio or count / 2 * (ratio - 1 - log(ratio)) > number.ASKED_DOUBT:
            return True
    return False


def _near(delays: list[float], middle: float, ratio: float) -> int:
    """How many of them are the same as one in their middle."""
    return sum([middle / ratio <= delay <= middle * ratio for delay in delays])
