"""Recordings of real machines, judged phase by phase: how much of each binding phase was found.

A recording is a directory with recording.jsonl.gz and labels.json (what was limited to what, and
which limit bound when). Ticks near the ends of a phase are left out: the load starts there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ioplateau.engine import Engine, EngineSettings
from ioplateau.limits.budgets import VM, BudgetKey, Dimension, Direction, Kind, Verdict, Word
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.run import recording

MACHINES = Path(__file__).resolve().parent.parent / "tests" / "machines"
SETTLING_SECONDS = 10.0  # without known limits, a plateau must be seen to be one
METRICS = {"iops": Dimension.IOPS, "MBps": Dimension.THROUGHPUT, "slots": Dimension.SLOTS}
Verdicts = Mapping[BudgetKey, Verdict]


@dataclass(frozen=True, slots=True)
class Truth:
    """What held from `start` to `end`, monotonic seconds; kinds empty: no limit bound."""

    start: float
    end: float
    kind: Kind | None = None
    names: tuple[str, ...] = ()
    dimension: Dimension | None = None
    word: Word = Word.THROTTLED


@dataclass(frozen=True, slots=True)
class Found:
    """One phase judged: ticks, those with the right verdict, those with a wrong alarm."""

    machine: str
    phase: str
    binding: bool
    ticks: int
    right: int
    wrong: int

    @property
    def share(self) -> float:
        return self.right / self.ticks if self.ticks else 1.0

    @property
    def wrong_share(self) -> float:
        return self.wrong / self.ticks if self.ticks else 0.0


def machines() -> list[Path]:
    """The directories that hold a labelled recording."""
    return sorted(path.parent for path in MACHINES.glob("*/labels.json"))


def words(machine: Path, key: BudgetKey) -> list[Word]:
    """What is said of one budget tick by tick where no limit is known."""
    labels = json.loads((machine / "labels.json").read_text())
    return [said[key].word for _, said in _told(machine, labels, Rules()) if key in said]


def _told(
    machine: Path, labels: Mapping[str, Any], rules: Rules
) -> Iterator[tuple[float, Verdicts]]:
    engine = Engine(EngineSettings(interval_seconds=1 / labels.get("hz", 1), rules=rules))
    _, snapshots = recording.read(machine / "recording.jsonl.gz")
    for snapshot in snapshots:
        state = engine.observe(snapshot)
        yield snapshot.mono, {key: b.verdict for key, b in state.budgets.items()}


@cache  # a test of each machine, and the scores of them all
def judged(machine: Path, *, with_limits: bool) -> list[Found]:
    """Every phase of one recording, with its limits configured or with none known."""
    labels = json.loads((machine / "labels.json").read_text())
    rules = Rules(limits=tuple(limits(labels["limits"]))) if with_limits else Rules()
    said = list(_told(machine, labels, rules))
    settling = 0.0 if with_limits else SETTLING_SECONDS
    return [
        _judge(machine.name, phase, said, labels["guard_s"], settling) for phase in labels["phases"]
    ]


def limits(labels: Mapping[str, Any]) -> Iterator[ConfiguredLimit]:
    """The labelled limits as an operator would have configured them."""
    for name, words in labels.items():
        ceiling: dict[str, Any] = {
            "iops": words.get("iops"),
            "bytes_per_second": words.get("bps") or _megabytes(words.get("MBps")),
            "burst_iops": words.get("iops_max"),
            "burst_bytes_per_second": words.get("bps_max"),
            "burst_seconds": words.get("iops_max_len"),
            "direction": Direction(words.get("direction", "total")),
            "source": "labels",
        }
        if not any(ceiling[key] for key in ("iops", "bytes_per_second")):
            continue
        if name == VM:
            yield ConfiguredLimit(vm="uncached", **ceiling)
        elif name.startswith("/"):
            yield ConfiguredLimit(mount=name, **ceiling)
        else:
            yield ConfiguredLimit(disk=name, **ceiling)


def _megabytes(value: float | None) -> float | None:
    return None if value is None else value * 1e6


def truths(phase: Mapping[str, Any], guard: float) -> list[Truth]:
    """What held when, ends left out."""
    start, end = phase["start_mono"] + guard, phase["end_mono"] - guard
    binding = phase["binding"]
    if binding is None:
        return [Truth(start, end)]
    segments = binding.get("segments") or [{}]
    found = []
    for segment in segments:
        what = {**binding, **segment}
        first = max(start, segment.get("start_mono", start) + (guard if segment else 0.0))
        last = min(end, segment.get("end_mono", end) - (guard if segment else 0.0))
        truth = _truth(what, first, last)
        if truth is not None and last > first:
            found.append(truth)
    return found


def _truth(what: Mapping[str, Any], start: float, end: float) -> Truth | None:
    names = tuple(what["devices"])
    scope = what["scope"]
    dimension = METRICS.get(what["metric"])
    if scope == "disk":
        return Truth(start, end, Kind.DISK, names, dimension)
    if scope == "vm":
        return Truth(start, end, Kind.VM_UNCACHED, (VM,), dimension)
    if scope == "nfs_volume":
        return Truth(start, end, Kind.VOLUME, names, dimension)
    if scope == "nfs_slots":
        return Truth(start, end, Kind.NFS_SLOTS, names, dimension)
    if scope == "nfs_server_stall":
        return Truth(start, end, Kind.VOLUME, names, None, Word.STALLED)
    if scope == "disk_stall":
        return Truth(start, end, Kind.DISK, names, None, Word.STALLED)
    return None


def _judge(
    machine: str,
    phase: Mapping[str, Any],
    said: Sequence[tuple[float, Verdicts]],
    guard: float,
    settling: float,
) -> Found:
    ticks = right = wrong = 0
    binding = phase["binding"] is not None
    for truth in truths(phase, guard):
        skip = settling if truth.kind is not None and truth.word is Word.THROTTLED else 0.0
        for at, verdicts in said:
            if truth.start + skip <= at <= truth.end:
                ticks += 1
                right += _is_right(truth, verdicts)
                wrong += _is_wrong(truth, verdicts)
    return Found(machine, phase["name"], binding, ticks, right, wrong)


def _is_right(truth: Truth, verdicts: Verdicts) -> bool:
    if truth.kind is None:
        return not _is_wrong(truth, verdicts)
    return any(
        key.kind is truth.kind
        and key.name in truth.names
        and verdict.word is truth.word
        and (truth.dimension is None or verdict.dimension is truth.dimension)
        for key, verdict in verdicts.items()
    )


def _is_wrong(truth: Truth, verdicts: Verdicts) -> bool:
    """Whether a budget is called throttled that is not. A stripe stands for its members."""
    return any(
        verdict.word is Word.THROTTLED
        and key.kind is not Kind.STRIPE
        and not (key.kind is truth.kind and key.name in truth.names)
        for key, verdict in verdicts.items()
    )
