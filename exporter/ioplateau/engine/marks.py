"""What stands under each name: a disk or a mount point may be another's after a restart, or after a tick."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from ioplateau.limits.budgets import FlowKey
from ioplateau.measure.nothing import NO_ENTRIES
from ioplateau.saved import as_row


@as_row
class SavedMark(NamedTuple):
    """What stood under a name, as "what:value"."""

    flow: FlowKey
    mark: str


class Marks:
    """By what each flow was last known. Marks of different kinds, or none, say nothing."""

    def __init__(self) -> None:
        self._marks: dict[FlowKey, str] = {}
        self._diskseqs: Mapping[FlowKey, int] = NO_ENTRIES
        self._awaited: set[FlowKey] = set()  # of the last run, not seen in this one

    def look(
        self, now: Mapping[FlowKey, str], diskseqs: Mapping[FlowKey, int] = NO_ENTRIES
    ) -> list[FlowKey]:
        """Take up what stands where; the names under which another stands than before. A disk that has
        the diskseq it had in this run is the same, renamed or grown.
        """
        before = self._marks
        same = {flow for flow, number in diskseqs.items() if self._diskseqs.get(flow) == number}
        others = [
            flow
            for flow, mark in now.items()
            if flow not in same and _is_other(before.get(flow, ""), mark)
        ]
        self._diskseqs = diskseqs
        self._awaited -= now.keys()
        self._marks = {flow: before[flow] for flow in self._awaited}
        for flow, mark in now.items():
            if known := mark or before.get(flow):
                self._marks[flow] = known
        return others

    @property
    def awaited(self) -> set[str]:
        """The names of what was restored and has not appeared yet."""
        return {flow.name for flow in self._awaited}

    def let_go(self, names: Collection[str]) -> None:
        """These are waited for no more."""
        for flow in [flow for flow in self._awaited if flow.name in names]:
            self._awaited.discard(flow)
            del self._marks[flow]

    def memory(self) -> tuple[SavedMark, ...]:
        """What must survive a restart."""
        return tuple([SavedMark(*item) for item in self._marks.items()])

    def restore(self, saved: Iterable[SavedMark]) -> None:
        """Take up what was saved."""
        self._marks = dict(saved)
        self._awaited = set(self._marks)


def _is_other(before: str, now: str) -> bool:
    what, _, value = before.partition(":")
    what_now, _, value_now = now.partition(":")
    return what == what_now and value != value_now
