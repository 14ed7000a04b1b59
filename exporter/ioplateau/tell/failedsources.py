"""Sources that cannot be read, in one sentence each, the same on every screen, page and in the log."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from ioplateau.limits.budgets import Word
from ioplateau.state import BudgetState, SourceState, State

# What is not seen without a source; its flows, if it has any.
SUBJECTS = {
    "diskstats": "the disks",
    "mountstats": "the NFS mounts",
    "netdev": "the network interfaces",
    "sysfs": "what the disks are",
    "mountinfo": "the mount table",
    "cgroups": "the limits of control groups",
    "pressure": "the pressure on I/O",
    "stat": "the time of the CPUs",
    "meminfo": "the pages that wait to be written",
    "sockets": "the sockets of NFS",
    "interfaces": "the links of the interfaces",
    "ebs": "what EC2 volumes count themselves",
    "allowances": "what the network driver counts itself",
}
# Without these, budgets are unknown or missing; the others are evidence that can be done without.
VITAL = frozenset({"diskstats", "mountstats", "netdev", "sysfs", "mountinfo"})
# Of these, one that says something makes a reading of the storage.
STORAGE = frozenset({"diskstats", "mountstats"})
SOURCES = {"disk": "diskstats", "nfs": "mountstats", "nic": "netdev", "cgroup": "cgroups"}


class FailedSource(NamedTuple):
    """A source that cannot be read. why: the path that was tried, and what came of it."""

    source: str
    why: str
    is_vital: bool
    sentence: str


class Unseen(NamedTuple):
    """What could not be seen over a while. seconds: of that while; None: not known."""

    sentence: str
    seconds: float | None = None


def failed(state: State) -> tuple[FailedSource, ...]:
    """Every source that cannot be read now, the vital ones first."""
    found = [_of(source) for source in state.sources.values() if not source.up]
    return tuple(sorted(found, key=lambda each: (not each.is_vital, *_place(each.source))))


def vital(state: State) -> tuple[str, ...]:
    """Sentences for what a headline and readiness must not be silent about."""
    return tuple(each.sentence for each in failed(state) if each.is_vital)


def is_storage_unreadable(state: State) -> bool:
    """Whether no disk and no NFS mount is seen, and some of them because they cannot be read."""
    if state.are_sources_well:
        return False
    down = [each.name for each in state.sources.values() if not each.up]
    return is_unreadable(down, disks=len(state.disks), mounts=len(state.mounts))


def is_unreadable(down: Collection[str], *, disks: int, mounts: int) -> bool:
    """The same of sources that cannot be read, and how many disks and mounts are known of."""
    has_disks = disks > 0 and "diskstats" not in down
    has_mounts = mounts > 0 and "mountstats" not in down
    return not (STORAGE.isdisjoint(down) or has_disks or has_mounts)


def add_unseen(unseen: dict[str, Unseen], state: State, elapsed_seconds: float = 0.0) -> None:
    """Add to what could not be seen, by source, the vital ones that cannot be read now."""
    if state.are_sources_well:
        return
    for each in failed(state):
        if each.is_vital:
            before = unseen.get(each.source)
            seconds = (before and before.seconds) or 0.0
            unseen[each.source] = Unseen(each.sentence, seconds + elapsed_seconds)


def sentence(source: str, why: str) -> str:
    """Like "cannot see the disks: /nonexistent/diskstats: no such file or directory"."""
    where, colon, reason = why.rpartition(": ")
    # strerror() begins with a capital; abbreviations (NFS, I/O) keep theirs.
    if reason[:1].isupper() and reason[1:2].islower():
        reason = reason[0].lower() + reason[1:]
    return f"cannot see {SUBJECTS.get(source, source)}: {where}{colon}{reason}"


def of_budget(state: State, budget: BudgetState) -> str:
    """The sentence of a budget: its verdict's, or why it is unknown."""
    verdict = budget.verdict
    if verdict.word is Word.UNKNOWN:
        for kind in dict.fromkeys(member.kind for member in budget.budget.members):
            source = state.sources.get(SOURCES.get(kind, ""))
            if source is not None and not source.up:
                return sentence(source.name, source.why)
    return verdict.sentence


def _of(source: SourceState) -> FailedSource:
    name = source.name
    return FailedSource(name, source.why, name in VITAL, sentence(name, source.why))


def _place(name: str) -> tuple[int, str]:
    names = tuple(SUBJECTS)
    return (names.index(name) if name in SUBJECTS else len(names), name)
