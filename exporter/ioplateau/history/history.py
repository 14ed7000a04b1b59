"""History: what was found, remembered within a stated size. observe(State) each tick, ask any time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from math import floor
from operator import itemgetter
from typing import NamedTuple, TypeVar

from ioplateau.history.episodes import Change, Episode, Episodes
from ioplateau.history.events import Event, What, turned_sources
from ioplateau.history.records import CELLS, Block, HistoryPart, InForce
from ioplateau.history.rings import NO_LOCK, Lock, Rings
from ioplateau.history.series import Series, Steps, series
from ioplateau.limits import units
from ioplateau.limits.budgets import BudgetKey, Dimension, Direction, Kind, LimitPlace, Origin
from ioplateau.state import GAP_INTERVALS, BudgetState, LimitState, State, has_moved

CLOCK_SECONDS = 1.0  # a wall clock that moved further than this was set, or the machine slept
MOST_EVENTS = 400
GAPS_SECONDS = 60.0  # gaps after one that was told are told together
MOST_PLACES = 2000  # of limits that are remembered by time
# How often they changed: of all together, of one at least and at most.
MOST_STEPS, LEAST_OF_ONE, MOST_OF_ONE = 16_384, 8, 256
MOST_GONE = 200  # of places whose budget is not there at the moment

NO_CHANGES: tuple[Change, ...] = ()

T = TypeVar("T")


class _Turn(NamedTuple):
    """Ten seconds are over: their first UNIX second, and what stands as the next ten begin."""

    before: int | None  # None: nothing lies before
    now: int
    wall: float
    budgets: Mapping[BudgetKey, BudgetState]


class _Moved(NamedTuple):
    """Some limits in force changed within ten seconds."""

    second: int
    wall: float
    budgets: Mapping[BudgetKey, BudgetState]
    keys: tuple[BudgetKey, ...]


class History:
    """Ticks are observed by one thread, which never waits; any may ask.

    A tick is kept as it is, and what began or ended with it is told at once. All else is worked off by
    `settle`, after ten seconds each: on the thread of whoever takes or asks.

    Rates take 2.9 MB at most, whatever comes and goes, and limits in force half a KiB each.
    """

    def __init__(
        self, when_over: Callable[[History], None] | None = None, lock: Lock = NO_LOCK
    ) -> None:
        """when_over: told at the first tick after ten seconds each, on the thread of the ticks; it has
        `take` called for what must survive a restart. None: nobody takes anything. lock: for more than
        one thread that takes or asks; one that a thread may hold twice.
        """
        self._when_over = when_over
        self._ended: deque[Episode] = deque()  # these four are not taken yet
        self._events_to_take: deque[Event] = deque()
        self._blocks: list[Block] = []
        self._in_force: list[InForce] = []
        self._turns: deque[_Turn | _Moved] = deque()  # not settled yet
        self._lock = lock  # of blocks, limits and what was learned
        self.rings = Rings(lock=lock)
        self._episodes = Episodes()
        self._events: deque[Event] = deque(maxlen=MOST_EVENTS)
        self._gaps: tuple[float, ...] = ()  # seconds of each that is not told yet
        self._gap_told = -GAPS_SECONDS  # monotonic seconds
        self._limits: dict[LimitPlace, Steps] = {}
        self._learned: dict[LimitPlace, float] = {}
        self._met: set[BudgetKey] = set()
        self._down: dict[str, float] = {}  # when each failing source was last seen to fail
        self._state: State | None = None
        self._mono = self._longest = 0.0  # of the last tick, and how long after it is no gap
        self._offset = 0.0  # wall - mono
        self._asleep: float | None = None  # boot - mono; None: not known
        self.clock_set_seconds = 0.0  # ahead (below 0: back), all together since the first tick
        self._lead = 0.5  # how long before it is full a UNIX second begins here
        self._period: int | None = None  # the UNIX second at which the present ten began

    def observe(self, state: State) -> Sequence[Change]:
        """One tick; which episodes began or ended with it."""
        mono, wall, interval, counted, held, moved, are_sources_well = _of_tick(state)
        dt = mono - self._mono
        if not 0.0 < dt <= self._longest or abs(wall - mono - self._offset) > CLOCK_SECONDS:
            dt = self._elapsed(dt, state)
        self._mono, self._longest = mono, GAP_INTERVALS * interval
        self._state = state
        second = self._second(mono)
        # Where a tick was missed, the next one tells of all seconds since the one before.
        first = min(self._second(mono - dt) + 1, second)
        begun = [each for each in range(first, second + 1) if self.rings.add(each, counted)]
        if self._down or not are_sources_well:
            self._watch_sources(state)
        changes: Sequence[Change] = NO_CHANGES
        if held or self._episodes.has_running:
            changes = self._episodes.observe(state, dt)
            if self._when_over is not None:
                self._ended += [change.episode for change in changes if change.is_end]
        for each in begun:
            self._turn(each - each % 10, state)
        if moved:
            self._turns.append(_Moved(second, wall, state.budgets, moved))
        return changes

    def settle(self) -> None:
        """Work off the tens of seconds that are over. From any thread."""
        with self._lock:
            self._settle()

    def note(self, what: What, sentence: str, at: float, subject: str = "") -> None:
        """Remember an event. at: UNIX seconds."""
        event = Event(at, what, sentence, subject)
        self._events.append(event)
        if self._when_over is not None:
            self._events_to_take.append(event)

    def take(self, *, is_last: bool = False) -> HistoryPart:
        """What has come since it was taken last. is_last: with the ten seconds that go on. From any thread."""
        with self._lock:
            self._settle()
            if is_last and self._period is not None:
                self.rings.settle_all()
                self._cut_block(0, self._period, 10)
            blocks, self._blocks = tuple(self._blocks), []
            in_force, self._in_force = tuple(self._in_force), []
        # In this order: what ends meanwhile is told as both, and an end counts more.
        unfinished = self._episodes.unfinished()
        ended, events = _drained(self._ended), _drained(self._events_to_take)
        return HistoryPart(blocks, ended, unfinished, events, in_force)

    def restore(self, parts: Iterable[HistoryPart]) -> None:
        """Take up what an earlier run gave, in its order, before the first tick."""
        last = None
        known: dict[tuple[BudgetKey, float], Episode] = {}
        events: dict[Event, None] = {}
        for one in parts:
            for block in one.blocks:
                self.rings.restore(block)
                if block.step_seconds == 1:
                    last = one
            known |= {(episode.key, episode.began): episode for episode in one.ended}
            events |= dict.fromkeys(one.events)
            for limit in one.limits:
                self._add_step((limit.key, limit.dimension, limit.direction), limit.at, limit.value)
        self.rings.fill()
        self._events.extend(sorted(events, key=lambda event: event.at))
        seen = 0.0
        if last is not None:
            fine = [block for block in last.blocks if block.step_seconds == 1]
            # The last ten seconds of a clean stop are not over yet.
            seen = float(max(block.start + block.seen.rfind(1) + 1 for block in fine))
            for episode in last.unfinished.values():
                known.setdefault((episode.key, episode.began), episode)
        self._episodes.restore(known.values(), seen)

    def episodes(self, since: float = 0.0, until: float = float("inf")) -> tuple[Episode, ...]:
        """Those that touch a span of UNIX seconds, the oldest first."""
        return self._episodes.between(since, until)

    def open_episodes(self) -> tuple[Episode, ...]:
        """Those that go on, the oldest first."""
        return self._episodes.running()

    def tell_lift(self, key: BudgetKey, words: str) -> None:
        """What would lift the limit that holds this budget now. From any thread."""
        self._episodes.tell_lift(key, words)

    def events(self, since: float = 0.0, until: float = float("inf")) -> tuple[Event, ...]:
        """Events of a span of UNIX seconds, the oldest first."""
        events, gaps, state = tuple(self._events), self._gaps, self._state
        if gaps and state is not None:
            events += (Event(state.wall, What.GAP, _said(gaps), ""),)
        return tuple(event for event in events if since <= event.at <= until)

    def series(
        self,
        kind: str,
        name: str,
        dimension: str,
        seconds: float = 900,
        direction: str | None = None,
    ) -> Series | None:
        """The last `seconds` of a budget, as finely as they are kept; None: no such budget.

        direction None: that of its limit, else total. Raises ValueError for a kind, dimension or
        direction that there is none of.
        """
        self.settle()
        state = self._state
        key, way = BudgetKey(Kind(kind), name), Dimension(dimension)
        found = state.budgets.get(key) if state is not None else None
        if state is None or found is None:
            return None
        side = _direction(found, way) if direction is None else Direction(direction)
        levels = self.rings.levels
        reach = [level.span.keep_seconds >= seconds for level in levels[:-1]]
        number = reach.index(True) if True in reach else len(reach)
        last = self._second(state.mono)
        step = levels[number].span.step_seconds
        return series(
            found.budget,
            way,
            side,
            self.rings.cells(number, found.budget.members, last - int(seconds) + 1, last),
            self._limits.get((key, way, side)),
            step,
            state.interval_seconds,
        )

    def _elapsed(self, dt: float, state: State) -> float:
        """Seconds since the last tick, where a clock is odd; 0: nobody looked in between."""
        offset = state.wall - state.mono
        if self._state is None:
            self._set_clock(offset, state)
            return 0.0
        if abs(offset - self._offset) > CLOCK_SECONDS:
            self._jump(offset - self._offset, state)
            self._set_clock(offset, state)
        if state.is_gap(dt):
            self._gaps += (dt,)
            self._tell_gaps(state)
            return 0.0
        return dt

    def _jump(self, jumped: float, state: State) -> None:
        """Note that the wall clock jumped by so many seconds, and why; what goes on moves with it if it
        was set, and is longer if the machine slept.
        """
        ahead = "ahead" if jumped > 0 else "back"
        if state.boot is None or self._asleep is None:
            was_set = min(jumped, 0.0)
            why = "it was set, or the machine slept" if jumped > 0 else "it was set"
        else:
            slept = state.boot - state.mono - self._asleep
            was_set = jumped - slept
            reasons = [f"the machine slept for {slept:,.0f} s"] if slept > CLOCK_SECONDS else []
            reasons += ["it was set"] if abs(was_set) > CLOCK_SECONDS or not reasons else []
            why = " and ".join(reasons)
        words = f"the wall clock jumped {ahead} by {abs(jumped):,.0f} s: {why}"
        self.note(What.CLOCK, words, state.wall)
        self.clock_set_seconds += was_set
        self._episodes.move(was_set)

    def _tell_gaps(self, state: State) -> None:
        """At once, but for those soon after another."""
        if self._gaps and state.mono - self._gap_told >= GAPS_SECONDS:
            self.note(What.GAP, _said(self._gaps), state.wall)
            self._gaps, self._gap_told = (), state.mono

    def _set_clock(self, offset: float, state: State) -> None:
        # A second begins half an interval away from the ticks: they come a little early or late, and
        # where they come as it begins, one would have two of them and the next none.
        self._offset = offset
        self._asleep = None if state.boot is None else state.boot - state.mono
        self._lead = 1.0 - (state.wall + min(state.interval_seconds, 1.0) / 2) % 1.0

    def _second(self, mono: float) -> int:
        """The UNIX second that a tick belongs to."""
        return floor(mono + self._offset + self._lead)

    def _watch_sources(self, state: State) -> None:
        for source in turned_sources(state, self._down):
            name = source.name
            if source.up:
                self.note(What.SOURCE_RECOVERED, f"{name} can be read again", state.wall, name)
            else:
                why = f"{name} cannot be read: {source.why}"
                self.note(What.SOURCE_FAILED, why, state.wall, name)

    def _turn(self, now: int, state: State) -> None:
        """Ten seconds are over."""
        self._tell_gaps(state)
        before, self._period = self._period, now
        self._turns.append(_Turn(before, now, state.wall, state.budgets))
        if self._when_over is None:
            self.settle()
        elif before is not None:
            self._when_over(self)

    def _settle(self) -> None:
        self.rings.settle()
        while self._turns:
            turn = self._turns.popleft()
            if isinstance(turn, _Moved):
                for key in turn.keys:
                    self._book_budget(key, turn.budgets[key], turn.second, turn.wall)
                continue
            before, now, _, budgets = turn
            self.rings.settle()  # what ended since: a turn is told after its ten seconds
            is_new_minute = before is None or now - now % 60 != before - before % 60
            if before is not None and self._when_over is not None:
                self._cut_block(0, before, 10)
                if is_new_minute:
                    self._cut_coarse_blocks(before, now)
            if is_new_minute:
                _forget_gone(self._limits, budgets)
                _forget_gone(self._learned, budgets)
            self._book_limits(turn)

    def _cut_block(self, number: int, start: int, count: int) -> None:
        found = self.rings.block(number, start, count)
        if found is not None:
            self._blocks.append(found)

    def _cut_coarse_blocks(self, before: int, now: int) -> None:
        for number, level in enumerate(self.rings.levels[1:], start=1):
            start = before - before % level.chunk_seconds
            if now - now % level.chunk_seconds != start:
                self._cut_block(number, start, CELLS)
                self._in_force = [*map(_last, self._limits.items())]  # beside cells of that age

    def _book_limits(self, turn: _Turn) -> None:
        for key, budget in turn.budgets.items():
            self._book_budget(key, budget, turn.now, turn.wall)
        self._met = set(turn.budgets)

    def _book_budget(self, key: BudgetKey, budget: BudgetState, second: int, wall: float) -> None:
        for limit in budget.limits:
            if limit.effective_origin is Origin.LEARNED:
                self._learn(key, limit, wall, budget.budget.lane, silent=key not in self._met)
            if limit.utilization:
                place = (key, limit.dimension, limit.direction)
                is_new_value = self._add_step(place, second, limit.effective)
                if is_new_value and self._when_over is not None:
                    self._in_force.append(InForce(*place, second, limit.effective))

    def _add_step(self, place: LimitPlace, second: int, value: float) -> bool:
        """Note what is in force; whether it is another value than before."""
        steps = self._limits.get(place)
        if steps is None:
            if len(self._limits) >= MOST_PLACES:
                del self._limits[next(iter(self._limits))]
            steps = self._limits[place] = Steps()
        share = MOST_STEPS // len(self._limits)
        return steps.add(second, value, min(max(share, LEAST_OF_ONE), MOST_OF_ONE))

    def _learn(
        self, key: BudgetKey, limit: LimitState, wall: float, lane: str, *, silent: bool
    ) -> None:
        """Note a limit that nobody told, or another level than was told."""
        place, value = (key, limit.dimension, limit.direction), limit.effective
        before = self._learned.get(place)
        if before is not None and not has_moved(before, value):
            return
        self._learned[place] = value
        if silent:  # of an earlier run, or of a budget that has just come back
            return
        (kind, name), dimension, direction = place
        shown = units.rate(value, dimension, ".0f")
        one_way = "" if direction is Direction.TOTAL else f" of {direction}s"
        is_told = limit.limit.origin is not Origin.LEARNED
        told = f", told {units.rate(limit.limit.value, dimension, '.0f')}" if is_told else ""
        # The kind's own word is Azure's.
        what = f"{name} ({lane})" if kind is Kind.VM_UNCACHED else f"{kind} {name}"
        self.note(
            What.LEARNED,
            f"learned: {what} is held at {shown}{one_way}{told}",
            wall,
            f"{kind} {name}",
        )


def _forget_gone(places: dict[LimitPlace, T], budgets: Container[BudgetKey]) -> None:
    """Keep of what is gone as many as may come back: those noted last."""
    gone = [place for place in places if place[0] not in budgets]
    for place in gone[:-MOST_GONE]:
        del places[place]


def _said(gaps: Sequence[float]) -> str:
    parts = f" in {len(gaps)} parts" if len(gaps) > 1 else ""
    return f"no samples for {sum(gaps):,.0f} s{parts}"


def _drained(waiting: deque[T]) -> tuple[T, ...]:
    """All that waits by now; more may come meanwhile, from another thread."""
    return tuple([waiting.popleft() for _ in range(len(waiting))])


# What each tick is asked for: by place it takes a quarter of the time that names take.
_of_tick = itemgetter(
    *map(
        State._fields.index,
        ("mono", "wall", "interval_seconds", "counted", "held", "moved", "are_sources_well"),
    )
)


def _last(noted: tuple[LimitPlace, Steps]) -> InForce:
    place, steps = noted
    return InForce(*place, steps.at[-1], steps.values[-1])


def _direction(found: BudgetState, dimension: Dimension) -> Direction:
    limits = [limit for limit in found.limits if limit.dimension is dimension]
    nearest = max(limits, key=lambda limit: limit.utilization or 0.0, default=None)
    return Direction.TOTAL if nearest is None else nearest.direction
