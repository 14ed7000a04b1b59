"""Where the views of `top` come from, whoever makes them: a thread beside whoever draws."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from queue import Empty, Full, Queue
from typing import NamedTuple, Self

from ioplateau.state import State
from ioplateau.tell.view import BudgetView, View
from ioplateau.threads import begin

MOST_WAITING = 60  # views that whoever draws has not taken yet


class TickView(NamedTuple):
    """A view, and the state it was made of where that is here."""

    view: View
    state: State | None = None


class ViewSource:
    """Puts what is seen into `views` each second; None after the last. `origin` says where from.

    For whoever is slow the newest MOST_WAITING are kept.
    """

    origin = ""

    def __init__(self) -> None:
        self.views: Queue[TickView | None] = Queue(MOST_WAITING)
        self._thread = threading.Thread(target=self._work, name="watching", daemon=True)

    def __enter__(self) -> Self:
        begin(self._thread)
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def __iter__(self) -> Iterator[TickView]:
        """What is seen, as it comes; waits for each."""
        return iter(self.views.get, None)

    def put(self, seen: TickView | None) -> None:
        """Called by one thread. Never waits: the oldest goes if there are too many."""
        while True:
            try:
                return self.views.put_nowait(seen)
            except Full:
                with suppress(Empty):  # it was taken meanwhile
                    self.views.get_nowait()

    def trail(self, budget: BudgetView) -> Sequence[float | None]:  # noqa: ARG002
        """Shares of the budget's nearest limit, oldest first, as far as they are known."""
        return ()

    def _work(self) -> None:
        try:
            self._watch()
        finally:
            self.put(None)

    def _watch(self) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        """No more views, soon."""
