"""Views of this machine, sampled by a thread beside whoever draws."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from ioplateau.history.episodes import Episodes
from ioplateau.limits.budgets import BudgetKey, Kind
from ioplateau.measure.snapshot import Snapshot
from ioplateau.run.machine import machine
from ioplateau.run.settings import ServeSettings
from ioplateau.run.views import TickView, ViewSource
from ioplateau.state import State
from ioplateau.tell import lifting, view
from ioplateau.tell.view import BudgetView, View

WINDOW_SECONDS = 3.0  # of rates: a screen that is watched should move
TRAIL_TICKS = 900


class LocalViews(ViewSource):
    """Samples and judges by itself, from what the daemon remembers of limits."""

    def __init__(self, settings: ServeSettings) -> None:
        super().__init__()
        interval = settings.engine.interval_seconds
        window = min(settings.engine.rate_window_seconds, max(WINDOW_SECONDS, 2 * interval))
        engine = settings.engine._replace(rate_window_seconds=window)
        watched = machine(settings._replace(engine=engine))
        watched.recall()
        self._background = watched.background
        self._loop = watched.loop(self._after_tick)
        self._before: State | None = None
        self._episodes = Episodes()
        self._trails: dict[tuple[Kind, str], deque[float | None]] = {}
        self._lifts: dict[BudgetKey, tuple[str, ...]] = {}  # the longest ago looked for first

    def trail(self, budget: BudgetView) -> Sequence[float | None]:
        return tuple(self._trails.get(budget.key, ()))

    def _watch(self) -> None:
        self._loop.run()

    def _end(self) -> None:
        self._loop.stop()
        self._background.end()

    def _after_tick(self, state: State, _: Snapshot) -> None:
        self._background.consumers.want()
        self._look_for_lifts(state)
        before, self._before = self._before, state
        if before is None:  # there are no rates yet
            return
        seen = view.of(state, before, lambda _, one: self._lifts.get(one.budget.key, ()))
        self._remember(seen)
        self._episodes.observe(state, state.mono - before.mono)
        lately = self._episodes.between(0.0, state.wall)[::-1]
        self.put(TickView(seen._replace(episodes=lately), state))

    def _look_for_lifts(self, state: State) -> None:
        # One budget a tick: it takes 25 ms with sixteen disks, and this thread is the one that samples.
        held = [
            key
            for key, one in state.budgets.items()
            if any(limit.throttled for limit in one.limits)
        ]
        self._lifts = {key: steps for key, steps in self._lifts.items() if key in held}
        for key in [*(key for key in held if key not in self._lifts), *self._lifts][:1]:
            self._lifts.pop(key, None)
            self._lifts[key] = lifting.sentences(state, state.budgets[key])

    def _remember(self, seen: View) -> None:
        trails = {}
        for budget in seen.budgets:
            nearest = budget.nearest
            trail = self._trails.get(budget.key) or deque(maxlen=TRAIL_TICKS)
            trail.append(nearest.utilization if nearest else None)
            trails[budget.key] = trail
        self._trails = trails
