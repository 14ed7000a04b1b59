"""Reads sources, and goes around one that does not answer.

What the kernel answers from its memory is read here and now. All else is read on a thread of its
own, which a tick without such a source does not even wake. If a read hangs, that thread is left
behind with it and a new one reads the rest. Nobody reads the source again until the hanging read
returns, so a source costs one thread, however long.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ioplateau.run.clock import Clock
from ioplateau.threads import lacks_cpu, started

UNREAD = "not read, no thread can be started for it"


LATE = "no answer within"  # why a source is gone on without, seconds behind it


class Source(NamedTuple):
    """Something read again and again. `name` is a path, or a key of the snapshot's blobs."""

    name: str
    # Bytes for a path, a JSON value for a blob, None if there is nothing new; raises OSError.
    read: Callable[[], Any]
    every_seconds: float = 0.0  # 0: every tick
    place: str = ""  # where it really lies, for a person; "": as it is named
    # Whether its next read cannot hang, so that no other thread needs to be asked.
    is_prompt: Callable[[], bool] = lambda: False


class Gathered:
    """What one round of reading gave, by source; the maps of a Snapshot."""

    __slots__ = ("at", "blobs", "failed", "texts", "took")

    def __init__(self) -> None:
        self.texts: dict[str, bytes] = {}
        self.blobs: dict[str, Any] = {}
        self.at: dict[str, float] = {}
        self.took: dict[str, float] = {}
        self.failed: dict[str, str] = {}

    def book(self, source: Source, answer: tuple[Any, str], at: float, took: float) -> None:
        """Take in what one source said, or why it did not."""
        value, why = answer
        self.at[source.name], self.took[source.name] = at, took
        if why:
            self.failed[source.name] = why
        elif isinstance(value, bytes):
            self.texts[source.name] = value
        elif value is not None:
            self.blobs[source.name] = value


class Reader:
    """`gather` is called by one thread. Raises nothing for a source."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # Why each source that hangs is not read. Changed under the lock of its task.
        self._stuck: dict[str, str] = {}
        self._thread = _Thread(clock, self._stuck)

    def gather(self, sources: Sequence[Source], answer_seconds: float) -> Gathered:
        """Read all, waiting less than twice `answer_seconds` for those that hang."""
        gathered = Gathered()
        todo = []
        for source in sources:
            why = self._stuck.get(source.name)
            if why is not None:
                gathered.failed[source.name] = why
            elif source.is_prompt():
                at = self._clock.mono()
                answer = _answer(source)
                gathered.book(source, answer, at, self._clock.mono() - at)
            else:
                todo.append(source)
        patience = answer_seconds
        while todo:
            task = _Task(todo, gathered)
            if not self._thread.run(task):
                gathered.failed |= {
                    each.name: f"{each.place or each.name}: {UNREAD}" for each in todo
                }
                break
            if task.done.wait(patience):
                break
            hung = task.abandon(self._stuck, self._thread.late(answer_seconds))
            if hung is None:  # it finished after all
                break
            self._thread.leave()
            self._thread = _Thread(self._clock, self._stuck)
            todo = todo[todo.index(hung) + 1 :]
            patience /= 2  # several that hang at once must not make a tick late
        return gathered


class _Task:
    """Sources to read in order. Whoever reads writes only while not abandoned."""

    def __init__(self, sources: Sequence[Source], gathered: Gathered) -> None:
        self.sources = sources
        self.done = threading.Event()
        self._gathered = gathered
        self._lock = threading.Lock()
        self._abandoned = False

    def end(
        self,
        source: Source,
        answer: tuple[Any, str],
        at: float,
        took: float,
        stuck: dict[str, str],
    ) -> bool:
        """Book one answer; False if nobody waits for it any more."""
        with self._lock:
            if self._abandoned:
                stuck.pop(source.name, None)  # it came back: the next tick may ask again
                return False
            self._gathered.book(source, answer, at, took)
            return True

    def abandon(self, stuck: dict[str, str], late: str) -> Source | None:
        """Stop waiting, and book the source that hangs, with `late` as the reason; None if there is none."""
        with self._lock:
            asked = self._gathered.at
            hung = next((each for each in self.sources if each.name not in asked), None)
            if hung is None:
                return None
            self._abandoned = True
            why = f"{hung.place or hung.name}: {late}"
            # One reason for as long as it hangs: the log tells it once.
            stuck[hung.name] = self._gathered.failed[hung.name] = why
            return hung


class _Thread:
    """Reads tasks until told to leave."""

    def __init__(self, clock: Clock, stuck: dict[str, str]) -> None:
        self._clock = clock
        self._stuck = stuck
        self._wake = threading.Semaphore(0)
        self._task: _Task | None = None
        self._thread: threading.Thread | None = None

    def run(self, task: _Task) -> bool:
        """Begin the task; False: there can be no thread for it now."""
        if self._thread is None:
            self._thread = started("reader", self._main)
            if self._thread is None:
                return False
        self._task = task
        self._wake.release()
        return True

    def late(self, waited_seconds: float) -> str:
        """Why what it reads now is gone on without."""
        lack = " for lack of CPU" if self._thread is not None and lacks_cpu(self._thread) else ""
        return f"{LATE} {waited_seconds:g} s{lack}, going on without it"

    def leave(self) -> None:
        """End, after the task that was given, if it was not even begun: whoever gave it up holds
        its first source for stuck until somebody has read it.
        """
        self._wake.release()

    def _main(self) -> None:
        while True:
            self._wake.acquire()
            task, self._task = self._task, None
            if task is None:  # told to leave
                return
            for source in task.sources:
                at = self._clock.mono()
                answer = _answer(source)
                if not task.end(source, answer, at, self._clock.mono() - at, self._stuck):
                    return
            task.done.set()


def _answer(source: Source) -> tuple[Any, str]:
    """What the source says, or why it does not."""
    try:
        return source.read(), ""
    except OSError as error:
        # pread() does not name its file, and a source of several files knows which it was.
        where = error.filename or source.place or source.name
        return None, f"{where}: {error.strerror or error}"
    except Exception as error:  # a defect in one source must not end the loop
        return None, f"{source.name}: {type(error).__name__}: {error}"
