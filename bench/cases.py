"""What the judge is asked, kept: a machine's rates tick by tick, with what is true of it.

Simulating a machine takes longer than judging it, and a change to the judge changes no machine. So
each is simulated once, taken the whole way of a live tick, and what reaches the judge is kept in a
file; from then on an hour of a machine is judged in a second.

The machines are those of a laboratory that is no part of this project: `sim/` (an examiner with
families of scenarios) and `traces/` (recorded requests behind a known limiter; needs numpy and numba).
"""

from __future__ import annotations

import collections
import importlib
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "exporter"))

import score_adapter
from ioplateau.engine import Engine
from ioplateau.judge.judge import Judge
from ioplateau.limits.budgets import Budget, BudgetKey, Kind, Verdict, Word

# How a trace's limits are told, and a machine without one: as if its limits were far away.
TRACE_WAYS = ("known", "unknown", "high10", "low10")
Heard = tuple[float, float | None, int, Any, Any]  # at, elapsed, which budgets, flows, witness
Said = dict[str, Any]  # by resource: the kind of limit and the value


@dataclass(slots=True)
class Case:
    """One machine's time: what the judge heard each tick, by each way of telling the limits."""

    name: str
    family: str
    truth: Any
    ticks: list[Heard]
    budgets: dict[str, list[Mapping[BudgetKey, Budget]]] = field(default_factory=dict)


class Listener(Judge):
    """A judge that keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Heard] = []
        self.seats: list[Mapping[BudgetKey, Budget]] = []

    def observe(
        self, at: float, elapsed: float | None, budgets: Any, flows: Any, witness: Any = None
    ) -> Mapping[BudgetKey, Verdict]:
        if not self.seats or self.seats[-1] is not budgets:
            self.seats.append(budgets)
        self.heard.append((at, elapsed, len(self.seats) - 1, dict(flows), witness))
        return super().observe(at, elapsed, budgets, flows, witness)


def heard(config: Mapping[str, Any], records: Iterable[Mapping[str, Any]]) -> Listener:
    """What reaches the judge of raw texts."""
    listener = Listener()
    engine = Engine(score_adapter.settings(config), listener)
    static = score_adapter.machine(config)
    for record in records:
        engine.observe(score_adapter.snapshot(record, static))
    return listener


def said(case: Case, way: str, make: Callable[[], Judge] = Judge) -> list[Said]:
    """What a new judge says of a case, tick by tick: who is throttled, by which kind of limit."""
    judge, seats, found = make(), case.budgets[way], []
    for at, elapsed, seat, flows, witness in case.ticks:
        verdicts = judge.observe(at, elapsed, seats[min(seat, len(seats) - 1)], flows, witness)
        found.append(throttled(verdicts))
    return found


def throttled(verdicts: Mapping[BudgetKey, Verdict]) -> Said:
    """The examiner's words for who is held back."""
    answers: Said = {}
    for key, verdict in verdicts.items():
        if verdict.word is not Word.THROTTLED or verdict.dimension is None:
            continue
        resource = score_adapter.resource_of(key)
        if resource not in answers or key.kind is Kind.VOLUME:
            answers[resource] = score_adapter.answer(verdict)
    return answers


# -- the laboratory


def laboratory(place: Path, part: str, name: str) -> ModuleType:
    """A module of the laboratory, under a name of its own: both parts have a `score`."""
    folder = str(place / part)
    sys.path.insert(0, folder)
    try:
        for each in ("engine", "scenarios", "score", "sim", "scen"):
            sys.modules.pop(each, None)
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)


def kept(path: Path, make: Callable[[], Case]) -> Case:
    """The case in this file, made first if there is none, or if values have another shape by now."""
    with suppress(FileNotFoundError, TypeError, AttributeError, ImportError):
        found: Case = pickle.loads(path.read_bytes())
        return found
    case = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_bytes(pickle.dumps(case, pickle.HIGHEST_PROTOCOL))
    fresh.replace(path)
    return case


def traces(lab: Path, keep: Path, seed: int, every: int = 1) -> Iterator[Case]:
    """Recorded requests behind a limiter, or behind none, or on a device too slow for them."""
    scen = laboratory(lab, "traces", "scen")
    sim = laboratory(lab, "traces", "sim")
    for one in scen.scenarios(seed)[::every]:
        yield kept(
            keep / f"traces-{seed}" / f"{one['id']}.pkl", lambda one=one: _trace(scen, sim, one)
        )


def _trace(scen: ModuleType, sim: ModuleType, one: dict[str, Any]) -> Case:
    found = sim.simulate(one)
    records = list(_records(one, found))
    listener = heard(scen.told(one, found, "known"), records)
    ways = (*TRACE_WAYS, "far") if one["family"].startswith("never") else TRACE_WAYS
    seats = {way: heard(scen.told(one, found, way), records[:3]).seats for way in ways}
    truth = {"scn": one, "T": found["T"], "frac": found["frac"]}
    return Case(one["id"], one["family"], truth, listener.heard, seats)


def _records(one: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What a daemon would have read each second."""
    netdev = "Inter-|\n face |\n  eth0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
    for tick, at in enumerate(found["T"]):
        lines = ["   8       0 sda 100 0 800 100 100 0 800 100 0 200 200 0 0 0 0 0 0"]
        for disk in range(len(one["disks"])):
            c = [int(v) & 0xFFFFFFFF if i in {2, 5, 7, 8} else int(v)
                 for i, v in enumerate(found["C"][tick, disk])]  # fmt: skip
            lines.append(
                f"   8 {16 * (disk + 1):7d} sd{'bcde'[disk]} {c[0]} 0 {c[1]} {c[2]} {c[3]} 0 {c[4]}"
                f" {c[5]} {c[6]} {c[7]} {c[8]} 0 0 0 0 0 0"
            )
        yield {
            "t": round(float(at), 6), "diskstats": "\n".join(lines) + "\n", "netdev": netdev
        }  # fmt: skip


def examined(
    lab: Path, keep: Path, split: str, seed: int | None, *, per: int, tick: float = 1.0,
    only: Callable[[str], bool] = lambda _family: True,
) -> Iterator[Case]:  # fmt: skip
    """The examiner's scenarios."""
    engine = laboratory(lab, "sim", "engine")
    scenarios = laboratory(lab, "sim", "scenarios")
    for one in scenarios.list_scenarios(split, seed, per):
        if not only(one["family"]):
            continue
        one["tick"] = tick
        name = f"{one['family']}-{one['id']}".replace("/", "_").replace(":", "_")
        path = keep / f"sim-{split}-{seed}-{tick}" / f"{name}.pkl"
        yield kept(path, lambda one=one: _examined(engine, one))


def _examined(engine: ModuleType, one: dict[str, Any]) -> Case:
    records, truths = [], []
    for record, truth in engine.simulate(one):
        records.append(record)
        truths.append(truth)
    listener = heard(engine.public_config(one), records)
    assert len(listener.heard) == len(records)
    truth = {"scn": one, "T": [record["t"] for record in records], "truths": truths}
    return Case(one["id"], one["family"], truth, listener.heard, {"told": listener.seats})


# -- figures


def of_traces(
    lab: Path, answers: Mapping[tuple[str, str], tuple[Case, list[Said]]]
) -> dict[str, float]:
    """F1 per tick and with five seconds of tolerance by way of telling; alarms in a day."""
    score = laboratory(lab, "traces", "score")
    totals: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for (_, way), (case, found) in answers.items():
        flags = [{r: v["limit"] for r, v in each.items()} for each in found]
        z = {"scn": case.truth["scn"], "sim": case.truth, "P": {("ioplateau", way): flags}}
        family = case.family
        group = "slow" if family == "never_slow" else "never" if family.startswith("never") else ""
        totals[f"{group}_{way}" if group else way].update(score.score(z, "ioplateau", way)[0])
    figures = {}
    for name, total in sorted(totals.items()):
        if name.startswith(("slow", "never")):
            figures[f"{name}_alarms_24h"] = total["pev"] / (total["s"] / 86400)
        else:
            figures[f"{name}_f1"] = score.f1(total)
            figures[f"{name}_f1_5s"] = score.f1(total, "t")
    return figures


def of_examiner(lab: Path, answers: Iterable[tuple[Case, list[Said]]]) -> dict[str, float]:
    """F1 and attribution over all scenarios, and alarms in a day where nothing binds."""
    score = laboratory(lab, "sim", "score")
    total: collections.Counter[str] = collections.Counter()
    by_family: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    right = [0, 0]
    alarms = hours = 0.0
    for case, found in answers:
        times = case.truth["T"]
        counts, *_, owner = score.evaluate(case.truth["scn"], times, case.truth["truths"], found)
        total.update(counts)
        right[0] += owner[0]
        right[1] += owner[1]
        by_family[case.family].update(counts)
        if not case.truth["scn"]["positive"]:
            alarms += counts["false_alarms"]
            hours += (times[-1] - times[0]) / 3600
    macro = [_f1(c) for family, c in by_family.items() if not family.startswith("neg_")]
    return {
        "f1": _f1(total),
        "macro_f1": sum(macro) / max(1, len(macro)),
        "attribution": right[0] / max(1, right[1]),
        "alarms_24h": alarms / hours * 24 if hours else 0.0,
    }


def _f1(counts: Mapping[str, int]) -> float:
    total = 2 * counts["tp"] + counts["fp"] + counts["fn"]
    return 2 * counts["tp"] / total if total else 1.0
