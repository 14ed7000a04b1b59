"""Which disk or volume each name belongs to: another one may have it after a restart, or at the next tick."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from ioplateau.limits.budgets import FlowKey
from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.saved import as_row


@as_row
class SavedIdentity(NamedTuple):
    """What a name belonged to, as "what:value": "serial:x", "device:server:/path"."""

    flow: FlowKey
    identity: str


class Identities:
    """The last known identity of each flow. Identities of different kinds, or none, say nothing."""

    def __init__(self) -> None:
        self._identities: dict[FlowKey, str] = {}
        self._diskseqs: Mapping[FlowKey, int] = NO_ENTRIES
        # Of the last run, not seen in this one, or gone in this one.
        self._awaited: set[FlowKey] = set()

    def gone(self, now: Mapping[FlowKey, str]) -> set[str]:
        """The names of those that are gone and would be told from others if they came back: they are awaited."""
        gone = self._identities.keys() - now.keys() - self._awaited
        if gone:
            gone &= self._diskseqs.keys() | {*_alone(self._identities).values()}
            self._awaited |= gone
        return {flow.name for flow in gone}

    def hand_over(
        self, now: Mapping[FlowKey, str], diskseqs: Mapping[FlowKey, int] = NO_ENTRIES
    ) -> dict[str, str]:
        """The new name, by the old one, of what is awaited and stands under another name now. Where another
        stands under its name and it does not stand anywhere, it is awaited under its identity.
        """
        if not self._awaited:
            return {}
        places, standing = _alone(now), {*now.values()}
        moved: dict[FlowKey, FlowKey] = {}
        for identity, flow in _alone(self._identities).items():
            place = places.get(identity, flow)
            if identity not in standing and _is_other(identity, now.get(flow, "")):
                place = FlowKey(flow.kind, identity)
            # The kernel gives a disk that comes anew another diskseq.
            may_be = self._diskseqs.get(flow) in (None, diskseqs.get(place))
            if flow in self._awaited and place != flow and may_be:
                moved[flow] = place
        self._identities = {
            **{flow: identity for flow, identity in self._identities.items() if flow not in moved},
            **{place: self._identities[flow] for flow, place in moved.items()},
        }
        self._awaited = {moved.get(flow, flow) for flow in self._awaited}
        # What stands there now is what was handed over, whatever stood there before.
        taken = {*moved.values()}
        self._diskseqs = {flow: one for flow, one in self._diskseqs.items() if flow not in taken}
        return {flow.name: place.name for flow, place in moved.items()}

    def update(
        self, now: Mapping[FlowKey, str], diskseqs: Mapping[FlowKey, int] = NO_ENTRIES
    ) -> list[FlowKey]:
        """Take up what stands where; the names under which another stands than before. A disk is the same,
        renamed or grown, while it has the diskseq it had in this run.
        """
        before, numbers = self._identities, self._diskseqs
        others = [
            flow
            for flow, identity in now.items()
            if (
                diskseqs[flow] != numbers[flow]
                if flow in diskseqs and flow in numbers
                else _is_other(before.get(flow, ""), identity)
            )
        ]
        self._awaited -= now.keys()
        last = {
            flow: number for flow, number in numbers.items() if flow in now or flow in self._awaited
        }
        self._diskseqs = {**last, **diskseqs}
        self._identities = {flow: before[flow] for flow in self._awaited}
        for flow, identity in now.items():
            if known := identity or before.get(flow):
                self._identities[flow] = known
        return others

    @property
    def awaited(self) -> set[str]:
        """The names of what was restored and has not appeared yet, or is gone."""
        return {flow.name for flow in self._awaited}

    def let_go(self, names: Collection[str]) -> None:
        """Forget these."""
        for flow in [flow for flow in self._awaited if flow.name in names]:
            self._awaited.discard(flow)
            del self._identities[flow]

    def memory(self) -> tuple[SavedIdentity, ...]:
        """What must survive a restart."""
        return tuple([SavedIdentity(*item) for item in self._identities.items()])

    def restore(self, saved: Iterable[SavedIdentity]) -> None:
        """Take back what `memory` gave."""
        self._identities = dict(saved)
        self._awaited = set(self._identities)


def _is_other(before: str, now: str) -> bool:
    what, _, value = before.partition(":")
    what_now, _, value_now = now.partition(":")
    return what == what_now and value != value_now


def _alone(identities: Mapping[FlowKey, str]) -> dict[str, FlowKey]:
    """The identities that tell one from all others, and where that stands: a size does not, nor a serial number
    that a virtual machine gives to several disks.
    """
    times = Counter(identities.values())
    return {
        identity: flow
        for flow, identity in identities.items()
        if times[identity] == 1 and identity.partition(":")[0] not in ("", "size")
    }
