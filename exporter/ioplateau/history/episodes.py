"""Episodes: a budget was held back from then until then, by which limit, and how hard."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from ioplateau.history.consumption import ConsumerTotal, Tally, drew_most
from ioplateau.judge import words
from ioplateau.limits.budgets import BudgetKey, Dimension, Direction, Kind, Origin, Verdict, Word
from ioplateau.measure.mappings import LazyMapping
from ioplateau.state import State

# One that comes back this soon was not over: a word may flap at its threshold.
REJOIN_SECONDS = 10.0
# One that a restart cut off goes on if the budget is held again this soon after.
REJOIN_RESTART_SECONDS = 120.0
# Cells are of whole seconds, and that of a tick begins up to one after it (History._set_clock): the end of the
# last one may lie ahead of a restart that was quick.
AHEAD_SECONDS = 2.0
MOST_KEPT = 400  # about 1 KiB each
# Share of its limit by which an episode's words to keep may be off it: from there on they tell what gets through.
MOST_OFF = words.OFF


class Episode(NamedTuple):
    """One budget at its limit (`word` throttled), saturated or stalled.

    Times are UNIX seconds; ended None: it goes on. held_seconds: within it, without the
    interruptions, each tick for as long as it was (`Meter.throttled_seconds` counts alike). Shares are of the
    limit, 1.0 at it. requests_waiting: mean number; waited_seconds: what all requests together waited
    beyond their time. victims: flows that suffer; drew_most: the control group, process or flow that took
    most of it; "" where it is not known. drawn: while it goes on, what is known of how much each took.
    """

    kind: Kind
    name: str
    word: Word
    began: float
    ended: float | None = None
    dimension: Dimension | None = None
    direction: Direction | None = None
    limit: float | None = None
    origin: Origin | None = None
    source: str = ""
    peak_share: float | None = None
    mean_share: float | None = None
    requests_waiting: float | None = None
    most_requests_waiting: float | None = None
    waited_seconds: float = 0.0
    held_seconds: float = 0.0
    interruptions: int = 0
    victims: tuple[str, ...] = ()
    drew_most: str = ""
    lift: str = ""  # what would lift it
    sentence: str = ""
    cut_off: bool = False  # its end was not seen: the daemon ended first
    lane: str = ""  # of the VM over its disks: which of them; "": not known
    drawn: tuple[ConsumerTotal, ...] = ()

    @property
    def key(self) -> BudgetKey:
        return BudgetKey(self.kind, self.name)


class Change(NamedTuple):
    """An episode that began or ended now."""

    episode: Episode
    is_end: bool


class KeptVerdict:
    """The verdict whose sentence an episode keeps: of the limit that held longest, the nearest to that limit."""

    # An episode ends a few seconds after its cause, and may go on at another limit: the
    # sentence from when it was nearest to its limit says more than the last.
    __slots__ = ("_seconds", "verdict")

    def __init__(self, verdict: Verdict | None) -> None:
        self.verdict = verdict  # None: its own, as an earlier run told them
        self._seconds: dict[object, float] = {}  # by limit

    def add(self, verdict: Verdict, dt: float) -> None:
        """One verdict of the same word, which held for dt seconds."""
        kept, limit, seconds = self.verdict, _limit_of(verdict), self._seconds
        seconds[limit] = seconds.get(limit, 0.0) + dt
        if kept is None or (before := _limit_of(kept)) == limit:
            is_better = _is_nearer(verdict, kept)
        else:
            is_better = seconds[limit] > seconds.get(before, 0.0)
        if is_better:
            self.verdict = verdict


def _limit_of(verdict: Verdict) -> object:
    return verdict.dimension, verdict.direction, verdict.origin is Origin.LEARNED


def _is_nearer(verdict: Verdict, kept: Verdict | None) -> bool:
    """Whether it is at its limit, or nearer to it than what is kept. kept None: it must be at it."""
    share = verdict.utilization
    if share is not None:
        off, before = abs(share - 1), None if kept is None else kept.utilization
        return off <= MOST_OFF or (before is not None and off <= abs(before - 1))
    calls = verdict.evidence.get("waiting_calls")
    most = None if kept is None else kept.evidence.get("waiting_calls")
    return not (isinstance(calls, int | float) and isinstance(most, int | float)) or calls >= most


class _Running:
    """An episode while it goes on."""

    __slots__ = (
        "consumer", "episode", "kept", "left_at", "lift", "most", "peak", "seconds", "shares", "tally", "waits",
    )  # fmt: skip

    def __init__(self, episode: Episode, verdict: Verdict | None = None) -> None:
        self.episode = episode
        self.left_at: float | None = None  # wall seconds; None: it holds
        self.kept = KeptVerdict(verdict)
        self.consumer = ""  # who drew most, as an earlier run saw it
        self.tally = Tally(episode.drawn)
        self.lift = episode.lift  # told by another thread than the one that ticks
        self.seconds = episode.held_seconds
        self.waits = episode.waited_seconds
        self.shares = (episode.mean_share or 0.0) * episode.held_seconds
        self.peak = episode.peak_share
        self.most = episode.most_requests_waiting

    def add(self, verdict: Verdict, dt: float) -> None:
        """One tick at which it holds, dt seconds long (0: a gap, of which nothing is counted)."""
        self.seconds += dt
        waiting = verdict.evidence.get("waiting")
        if isinstance(waiting, (int, float)):
            self.waits += waiting * dt
            self.most = max(self.most or 0.0, waiting)
        share = verdict.utilization
        if share is not None:
            self.shares += share * dt
            self.peak = max(self.peak or 0.0, share)
        self.kept.add(verdict, dt)

    def standing(self) -> Callable[..., Episode]:
        """What puts together, on any thread, what is known by now."""
        return partial(
            _put_together,
            self.episode,
            self.kept.verdict,
            (self.seconds, self.waits, self.shares, self.peak, self.most),
            self.tally,
            self.consumer,
            self.lift,
        )

    def now(self, ended: float | None = None) -> Episode:
        """What is known by now."""
        return self.standing()(ended)


class Episodes:
    """Follows the verdicts. Written by one thread, read by any."""

    def __init__(self) -> None:
        self._running: dict[BudgetKey, _Running] = {}
        self._over: deque[Episode] = deque(maxlen=MOST_KEPT)

    @property
    def has_running(self) -> bool:
        """Whether one goes on, or ended so lately that it may."""
        return bool(self._running)

    def observe(self, state: State, dt: float) -> list[Change]:
        """One tick, dt seconds after the one before (0: a gap lies between)."""
        changes: list[Change] = []
        running = self._running
        held, wall, consumers = state.held, state.wall, state.consumers
        for verdict in held:
            found = running.get(verdict.key)
            if found is not None and found.episode.word is not verdict.word:
                self._end(found, min(found.left_at or wall, wall), changes)
                found = None
            if found is None:
                found = running[verdict.key] = self._begin(verdict, state)
                changes.append(Change(found.now(), is_end=False))
                found.add(verdict, dt)
                found.tally = found.tally.plus(verdict.key, consumers)
                continue
            if found.left_at is not None:
                found.left_at = None
                found.episode = found.episode._replace(
                    interruptions=found.episode.interruptions + 1, cut_off=False
                )
            found.add(verdict, dt)
            found.tally = found.tally.plus(verdict.key, consumers)
        if len(running) > len(held):
            self._leave({verdict.key for verdict in held}, wall, changes)
        return changes

    def _begin(self, verdict: Verdict, state: State) -> _Running:
        # A word may hold since before our own start: the judge remembers.
        since = state.wall - max(state.mono - verdict.since, 0.0)
        key = verdict.key
        before = [each.ended for each in self._over if each.key == key and each.ended is not None]
        if before:  # a clock may have been set back meanwhile
            since = min(max(since, before[-1]), state.wall)
        lane = state.budgets[key].budget.lane if key.kind is Kind.VM_UNCACHED else ""
        return _Running(Episode(key.kind, key.name, verdict.word, since, lane=lane), verdict)

    def _leave(self, held: set[BudgetKey], wall: float, changes: list[Change]) -> None:
        for key, found in tuple(self._running.items()):
            if key in held:
                continue
            if found.left_at is None:
                found.left_at = wall
            patience = REJOIN_RESTART_SECONDS if found.episode.cut_off else REJOIN_SECONDS
            # A clock that was set back must not keep it open.
            if not -AHEAD_SECONDS <= wall - found.left_at < patience:
                self._end(found, found.left_at, changes)

    def _end(self, found: _Running, at: float, changes: list[Change]) -> None:
        episode = found.now(max(at, found.episode.began))
        del self._running[episode.key]
        self._over.append(episode)
        changes.append(Change(episode, is_end=True))

    def move(self, seconds: float) -> None:
        """The wall clock was set ahead by so much (below 0: back): what goes on has its times by it."""
        for found in self._running.values():
            found.episode = found.episode._replace(began=found.episode.began + seconds)
            if found.left_at is not None:
                found.left_at += seconds

    def tell_lift(self, key: BudgetKey, words: str) -> None:
        """What would lift the limit that holds this budget now. From any thread."""
        found = self._running.get(key)
        if found is not None:
            found.lift = words

    def restore(self, episodes: Iterable[Episode], last_seen: float) -> None:
        """Take up what an earlier run told. What went on then was cut off at `last_seen`."""
        for episode in episodes:
            if episode.ended is not None:
                self._over.append(episode)
                continue
            found = _Running(episode._replace(cut_off=True))
            found.left_at = max(last_seen, episode.began)
            found.consumer = episode.drew_most  # until somebody has looked again
            self._running[episode.key] = found

    def running(self) -> tuple[Episode, ...]:
        """Those that go on, the oldest first."""
        found = [each.now() for each in list(self._running.values()) if each.left_at is None]
        return tuple(sorted(found, key=lambda episode: episode.began))

    def unfinished(self) -> Mapping[BudgetKey, Episode]:
        """Those that go on or ended too lately to be sure, for a store, put together when it asks."""
        standing = [(key, each.standing()) for key, each in list(self._running.items())]
        return LazyMapping(lambda: {key: put_together() for key, put_together in standing})

    def between(self, since: float, until: float) -> tuple[Episode, ...]:
        """Those that touch a span of time, the oldest first; those that go on have no end."""
        lately = [each.now(each.left_at) for each in list(self._running.values())]
        found = [
            episode
            for episode in (*tuple(self._over), *lately)
            if episode.began <= until and (episode.ended is None or episode.ended >= since)
        ]
        return tuple(sorted(found, key=lambda episode: episode.began))


def _put_together(
    episode: Episode,
    verdict: Verdict | None,
    sums: tuple[float, float, float, float | None, float | None],
    tally: Tally,
    consumer: str,
    lift: str,
    ended: float | None = None,
) -> Episode:
    """verdict: whose words it has; None: its own. sums, lift: as of `_Running`."""
    seconds, waits, shares, peak, most = sums
    if verdict is not None:
        episode = _with_verdict(episode, verdict)
    totals = tally.totals(episode.key)
    return episode._replace(
        ended=ended,
        peak_share=peak,
        mean_share=shares / seconds if seconds and peak is not None else None,
        requests_waiting=waits / seconds if seconds and most is not None else None,
        most_requests_waiting=most,
        waited_seconds=waits,
        held_seconds=seconds,
        drew_most=drew_most(totals, episode.dimension) or consumer or episode.drew_most,
        lift=lift,
        drawn=totals if ended is None else (),
    )


def _with_verdict(episode: Episode, verdict: Verdict) -> Episode:
    evidence = verdict.evidence
    shares = [
        (share, name.removeprefix("share:"))
        for name, share in evidence.items()
        if name.startswith("share:") and isinstance(share, float)
    ]
    return episode._replace(
        dimension=verdict.dimension,
        direction=verdict.direction,
        limit=verdict.limit,
        origin=verdict.origin,
        source=str(evidence.get("source", "")),
        victims=tuple(flow.name for flow in verdict.sufferers),
        drew_most=max(shares)[1] if len(shares) > 1 else "",
        sentence=verdict.sentence,
    )
