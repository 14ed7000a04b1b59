"""Replay: the fold over a recording, told in the same words as live."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from ioplateau.engine import Engine, EngineSettings
from ioplateau.judge.budgets import BudgetKey, Verdict, Word
from ioplateau.run import recording
from ioplateau.state import State
from ioplateau.tell import plain, verdicts

# Worth a line when they begin and end; the other verdicts are the ordinary day.
NEWS = frozenset({Word.THROTTLED, Word.SATURATED, Word.STALLED})

HEIGHT = 0.95  # share of its limit from which on a budget is at its height


@dataclass(frozen=True, slots=True)
class Told:
    """What a replay came to."""

    snapshots: int
    was_throttled: bool


def states(path: Path | str, settings: EngineSettings | None = None) -> Iterator[State]:
    """One state a snapshot. The interval is the recording's own. Raises RecordingError."""
    header, snapshots = recording.read(path)
    engine = Engine(settings or EngineSettings()._replace(interval_seconds=header.interval_seconds))
    for snapshot in snapshots:
        yield engine.observe(snapshot)


def replay(path: Path | str, settings: EngineSettings, form: str, out: TextIO) -> Told:
    """Replay a file onto `out`: form "text" (episodes), "json" (a line a snapshot) or
    "metrics" (the exposition after the last snapshot). Raises RecordingError.
    """
    story = _Story(out) if form == "text" else None
    count, throttled, state = 0, False, None
    for state in states(path, settings):
        count += 1
        throttled = throttled or any(
            budget.verdict.word is Word.THROTTLED for budget in state.budgets.values()
        )
        if form == "json":
            print(verdicts.line(state), file=out)
        elif story is not None:
            story.tell(state)
    if state is not None and form == "metrics":
        from ioplateau.tell import prometheus

        out.write(prometheus.render(state).decode())
    if story is not None:
        story.end(state, count)
        for notice in state.notices if state is not None else ():
            print(f"note: {plain.valid(notice)}", file=out)
    return Told(count, throttled)


class _Story:
    """Episodes, a line each when they end."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._open: dict[BudgetKey, tuple[float, Verdict]] = {}
        self._begin: float | None = None
        self._episodes = 0

    def tell(self, state: State) -> None:
        if self._begin is None:
            self._begin = state.mono
        for key, budget in state.budgets.items():
            verdict, running = budget.verdict, self._open.get(key)
            if running is not None and verdict.word is running[1].word:
                # An episode ends a few seconds after its cause: the words of its height say more.
                if verdict.utilization is None or verdict.utilization >= HEIGHT:
                    self._open[key] = (running[0], verdict)
                continue
            if running is not None:
                self._close(key, state.mono)
            if verdict.word in NEWS:
                self._open[key] = (state.mono, verdict)

    def end(self, state: State | None, count: int) -> None:
        if state is None or self._begin is None:
            print("no snapshots", file=self._out)
            return
        for key in tuple(self._open):
            self._close(key, state.mono)
        length = plain.duration(state.mono - self._begin)
        print(f"{count} snapshots over {length}, {self._episodes} episodes", file=self._out)

    def _close(self, key: BudgetKey, now: float) -> None:
        start, verdict = self._open.pop(key)
        assert self._begin is not None
        self._episodes += 1
        span = f"{start - self._begin:7.1f} s .. {now - self._begin:7.1f} s"
        name = plain.valid(f"{key.kind} {key.name}")
        sentence = f": {plain.valid(verdict.sentence)}" if verdict.sentence else ""
        print(f"{span}  {name} {verdict.word}{sentence}", file=self._out)
