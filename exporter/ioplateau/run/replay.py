"""Replay: the fold over a recording, told in the same words as live."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TextIO

from ioplateau.engine import EngineSettings
from ioplateau.history.episodes import Episodes, KeptVerdict
from ioplateau.limits.budgets import HELD, BudgetKey, Word
from ioplateau.run import provenance, recording
from ioplateau.run.machine import engine
from ioplateau.run.provenance import NOWHERE, Provenance
from ioplateau.saved import UNSOUND
from ioplateau.state import State
from ioplateau.tell import failedsources, formatting, verdicts
from ioplateau.tell.failedsources import Unseen


class ReplayResult(NamedTuple):
    """What a replay came to."""

    snapshots: int
    was_throttled: bool
    left_out: int = 0  # lines that are damaged or no snapshots
    why: str = ""  # of the first of them
    unseen: tuple[str, ...] = ()  # what could not be seen, a sentence each
    is_storage_unreadable: bool = (
        False  # nothing of the storage could be read, in none of the snapshots
    )


class Replayed:
    """A recording, judged again: iterate for one state a snapshot. The interval, and where this run
    says nothing the configuration and what had been learned, are the recording's own.

    `left_out` is told of each line that is none, and of what differs here from where it was
    recorded. Raises RecordingError, also while iterating.
    """

    def __init__(
        self,
        path: Path | str,
        settings: EngineSettings | None = None,
        left_out: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.header, self._snapshots = recording.read(path, left_out)
        self.notes: tuple[str, ...] = ()
        made = self.header.provenance
        wanted = provenance.applied(made, settings or EngineSettings())
        settings = wanted._replace(interval_seconds=self.header.interval_seconds)
        try:
            self._engine = engine(settings, made.learned if wanted.rules == made.rules else None)
        except UNSOUND as error:
            left_out(f"line 1: what had been learned: {error}")
            self._engine = engine(settings)

    def __iter__(self) -> Iterator[State]:
        for snapshot in self._snapshots:
            state = self._engine.observe(snapshot)
            recorded = snapshot.blobs.get(provenance.LIMITS)
            if recorded is not None:
                self.notes = provenance.differences(recorded, self._engine.budgets())
            yield state


def replay(path: Path | str, settings: EngineSettings, form: str, out: TextIO) -> ReplayResult:
    """Replay a file onto `out`: form "text" (when what was held), "json" (a line a snapshot) or
    "metrics" (the exposition after the last snapshot). Raises RecordingError.
    """
    printer = _HeldPrinter(out) if form == "text" else None
    count, throttled, state = 0, False, None
    unseen: dict[str, Unseen] = {}
    is_storage_unreadable = True
    odd = _LeftOut()
    replayed = Replayed(path, settings, odd)
    for state in replayed:
        if printer is not None and printer.is_new(state):
            # The header is the first one's.
            printer.begin(NOWHERE if count else replayed.header.provenance, state)
        count += 1
        throttled = throttled or state.is_throttled
        failedsources.add_unseen(unseen, state)
        is_storage_unreadable = is_storage_unreadable and failedsources.is_storage_unreadable(state)
        if form == "json":
            print(verdicts.line(state), file=out)
        elif printer is not None:
            printer.tell(state)
    if state is not None and form == "metrics":
        from ioplateau.tell import prometheus

        for sample in prometheus.render(state).decode().split("\n")[:-1]:
            print(formatting.printable(sample), file=out)
    if printer is not None:
        printer.end(state, count)
        for notice in (*replayed.notes, *(state.notices if state is not None else ())):
            print(f"note: {formatting.printable(notice)}", file=out)
    sentences = tuple(each.sentence for each in unseen.values())
    return ReplayResult(
        count, throttled, odd.count, odd.first, sentences, is_storage_unreadable and bool(count)
    )


class _LeftOut:
    """Counts lines that were left out, and keeps the first reason."""

    def __init__(self) -> None:
        self.count, self.first = 0, ""

    def __call__(self, why: str) -> None:
        self.first = self.first or why
        self.count += 1


class _HeldPrinter:
    """A line for each time that a verdict held, when it ends; and how many episodes that were, as history
    counts them.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._open: dict[BudgetKey, tuple[float, Word, KeptVerdict, str]] = {}  # its name is last
        self._begin: float | None = None
        self._last = 0.0  # monotonic seconds of the last state
        self._length = 0.0  # seconds of the recordings before, where several follow one another
        self._episodes = Episodes()  # of this recording
        self._began = 0  # episodes of all

    def is_new(self, state: State) -> bool:
        """Whether a recording begins with this state."""
        return self._begin is None or state.mono < self._last

    def begin(self, made: Provenance, state: State) -> None:
        """Say when, and as far as it is told where and by whom, it was recorded."""
        self._end_one()
        self._begin = self._last = state.mono
        self._episodes = Episodes()
        if state.wall <= 0:  # nobody told the time
            return
        words = [f"recorded {formatting.date(state.wall)}"]
        if made.host:
            words.append(f"on {formatting.printable(made.host)}")
        if made.version:
            words.append(f"by ioplateau {formatting.printable(made.version)}")
        print(" ".join(words), file=self._out)

    def tell(self, state: State) -> None:
        elapsed, self._last = state.mono - self._last, state.mono
        changes = self._episodes.observe(state, elapsed)
        self._began += sum([not change.is_end for change in changes])
        for gone in [key for key in self._open if key not in state.budgets]:
            self._close(gone, state.mono)
        for key, budget in state.budgets.items():
            verdict, running = budget.verdict, self._open.get(key)
            if running is not None and verdict.word is running[1]:
                running[2].add(verdict, elapsed)
                continue
            if running is not None:
                self._close(key, state.mono)
            if verdict.word in HELD:
                name = f"{key.kind} {key.name}{formatting.mapper(budget.budget.info)}"
                self._open[key] = (state.mono, verdict.word, KeptVerdict(verdict), name)

    def end(self, state: State | None, count: int) -> None:
        if state is None or self._begin is None:
            print("no snapshots", file=self._out)
            return
        self._end_one()
        length = formatting.duration(self._length)
        words = formatting.counted(count, "snapshot"), formatting.counted(self._began, "episode")
        print(f"{words[0]} over {length}, {words[1]}", file=self._out)

    def _end_one(self) -> None:
        if self._begin is not None:
            for key in tuple(self._open):
                self._close(key, self._last)
            self._length += self._last - self._begin

    def _close(self, key: BudgetKey, now: float) -> None:
        start, word, kept, name = self._open.pop(key)
        assert self._begin is not None
        span = f"{start - self._begin:7.1f} s .. {now - self._begin:7.1f} s"
        sentence = "" if kept.verdict is None else kept.verdict.sentence
        why = f": {formatting.printable(sentence)}" if sentence else ""
        print(f"{span}  {formatting.printable(name)} {word}{why}", file=self._out)
