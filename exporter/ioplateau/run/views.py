"""Where the views of `top` come from, whoever makes them: a thread beside whoever draws."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from queue import SimpleQueue
from typing import Self

from ioplateau.tell.view import BudgetView, View
from ioplateau.threads import begin


class ViewSource:
    """Puts a view into `views` each second; None after the last. `origin` says where from."""

    origin = ""

    def __init__(self) -> None:
        self.views: SimpleQueue[View | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="watching", daemon=True)

    def __enter__(self) -> Self:
        begin(self._thread)
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def __iter__(self) -> Iterator[View]:
        """The views as they come; waits for each."""
        return iter(self.views.get, None)

    def trail(self, budget: BudgetView) -> Sequence[float | None]:  # noqa: ARG002
        """Shares of the budget's nearest limit, oldest first, as far as they are known."""
        return ()

    def _work(self) -> None:
        try:
            self._watch()
        finally:
            self.views.put(None)

    def _watch(self) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        """No more views, soon."""
