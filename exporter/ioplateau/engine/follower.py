"""What remembers one source between ticks: it takes what was read, and gives flows and rejects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ioplateau.judge.flows import FlowTick
from ioplateau.limits.budgets import FlowKey
from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.measure.ratewindow import Readings
from ioplateau.measure.snapshot import Snapshot, Static

C = TypeVar("C")
Flows: TypeAlias = Mapping[FlowKey, FlowTick | None]


class Moment(NamedTuple):
    """at: when the source was read; mono: the tick's own time, both CLOCK_MONOTONIC. gap: no rate
    can be made from the tick before; is_late: of this source alone, which was away for a while.
    """

    at: float
    mono: float
    static: Static
    gap: bool
    is_late: bool

    @property
    def is_broken(self) -> bool:
        """Whether nothing can be told of the time before."""
        return self.gap or self.is_late


class Outcome(NamedTuple):
    """What came of a source. rejects: reasons for what was left out of it, beside the parser's."""

    flows: Flows = NO_ENTRIES
    rejects: tuple[str, ...] = ()


NOTHING = Outcome()


class Follower:
    """Remembers one source. is_always_asked: also at ticks at which the source was not read."""

    is_always_asked = False

    def parse(self, content: Any) -> Any:
        """The content, understood; with `rejects` if some of it is left out. Raises FormatError for nonsense."""
        return content

    def follow(self, found: Any, moment: Moment) -> Outcome:  # noqa: ARG002
        """One tick. found: what `parse` gave; None: it could not be read, or had no content."""
        return NOTHING

    def content(self, snapshot: Snapshot, key: str) -> Any:
        """What was read of the source at this tick; None: nothing."""
        text = snapshot.texts.get(key)
        return snapshot.blobs.get(key) if text is None else text

    def outcome_without_content(self, snapshot: Snapshot, key: str) -> Outcome | None:  # noqa: ARG002
        """What came of a source that was read and had no content; None: it was not due."""
        return None


class Latest(Follower):
    """A source of which the last reading holds until the next. corrected: what holds of a reading after
    another one; None: the reading itself.
    """

    def __init__(
        self, parse: Callable[[bytes], Any], corrected: Callable[[Any, Any], Any] | None = None
    ) -> None:
        self._parse = parse
        self._corrected = corrected
        self.value: Any = None

    def parse(self, content: Any) -> Any:
        return self._parse(content)

    def follow(self, found: Any, moment: Moment) -> Outcome:  # noqa: ARG002
        if self._corrected is not None and self.value is not None and found is not None:
            found = self._corrected(self.value, found)
        self.value = found
        return NOTHING


class StatusOnly(Follower):
    """A source of which we only tell whether it can be read. is_well: it can, unless a reading failed."""

    def __init__(self, *, is_well: bool = False) -> None:
        self.is_always_asked = self._is_well = is_well
        self._has_failed = False

    def content(self, snapshot: Snapshot, key: str) -> Any:  # noqa: ARG002
        return None

    def follow(self, found: Any, moment: Moment) -> Outcome:  # noqa: ARG002
        self._has_failed = True
        return NOTHING

    def outcome_without_content(self, snapshot: Snapshot, key: str) -> Outcome | None:
        is_well_again = self._is_well and self._has_failed
        if key not in snapshot.took and not is_well_again:
            return None
        self._has_failed = False
        return NOTHING


def follow(
    at: float,
    history: Readings[C],
    now: C,
    rates: Callable[[C, C, float], FlowTick | None],
    *,
    gap: bool,
) -> FlowTick | None:
    """What a flow did since its last reading, and this one in its history; None: it begins anew, after a
    gap, or as `rates` finds another device or counters that were reset.
    """
    readings = history.timed
    tick = None
    if readings and not gap and at > readings[-1][0]:
        before_at, before = readings[-1]
        tick = rates(before, now, at - before_at)
    if tick is None:
        history.restart(at, now)
    else:
        history.push(at, now)
    return tick
