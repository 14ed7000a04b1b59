"""Draws the pictures of docs/how-it-decides.md from recordings: rate against limit, waiting, verdict.

make pictures
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.patches import Patch

from ioplateau.engine import EngineSettings
from ioplateau.limits.budgets import BudgetKey, Dimension, Kind, Word
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.run.replay import Replayed

HERE = Path(__file__).parent
MACHINES = HERE.parent / "tests/machines"
COLOURS = {
    Word.IDLE: "#eceff1",
    Word.HEALTHY: "#c8e6c9",
    Word.APP_LIMITED: "#a5d6a7",
    Word.LATENCY_BOUND: "#b3e5fc",
    Word.THROTTLED: "#e53935",
    Word.SATURATED: "#ffb74d",
    Word.STALLED: "#6d4c41",
    Word.AFFECTED: "#ce93d8",
    Word.UNKNOWN: "#ffffff",
}


@dataclass(frozen=True)
class Picture:
    """One recording as one budget saw it."""

    machine: str
    budget: BudgetKey
    title: str
    limits: tuple[ConfiguredLimit, ...] = ()  # the first is drawn
    dimension: Dimension = Dimension.IOPS


PICTURES = (
    Picture(
        "disk_iops_p10",
        BudgetKey(Kind.DISK, "sda"),
        "A 500 IOPS disk: below, near, then over at depth 4, 16 and 64",
        (ConfiguredLimit(disk="sda", iops=500.0),),
    ),
    Picture(
        "qd1_latency_bound",
        BudgetKey(Kind.DISK, "sda"),
        "No limit at all: synchronous I/O, 100 % busy, flat, and not throttled",
    ),
    Picture(
        "nfs_mbps_nc4_v41",
        BudgetKey(Kind.VOLUME, "/mnt/a"),
        "A 10 MB/s NFS volume: reads at depth 2 and 16, writes, both",
        (ConfiguredLimit(mount="/mnt/a", bytes_per_second=10e6),),
        Dimension.THROUGHPUT,
    ),
    Picture(
        "nfs_server_stall",
        BudgetKey(Kind.VOLUME, "/mnt/a"),
        "A server that freezes for 20 s, twice: stalled, which is not throttled",
    ),
    Picture(
        "vm_group_d4s",
        BudgetKey(Kind.VM_UNCACHED, "vm"),
        "Four 2,300 IOPS disks under one VM limit of 6,400 IOPS and 96 MB/s; one disk alone at 63 s",
        (
            ConfiguredLimit(vm="uncached", iops=6400.0, bytes_per_second=96e6),
            ConfiguredLimit(disk="sd*", iops=2300.0, bytes_per_second=150e6),
        ),
    ),
)


def draw(picture: Picture) -> None:
    """Write docs/pictures/MACHINE.png."""
    rules = Rules(picture.limits)
    at, rate, waited, words = _series(picture, rules)
    figure, (top, middle, band) = plt.subplots(
        3, 1, sharex=True, figsize=(9, 5.2), height_ratios=(4, 3, 0.6), layout="constrained"
    )
    scale, unit = (1e6, "MB/s") if picture.dimension is Dimension.THROUGHPUT else (1.0, "IOPS")
    top.plot(at, [value / scale for value in rate], color="#1565c0", linewidth=1.3)
    limit = _limit(picture)
    if limit is not None:
        top.axhline(limit / scale, color="#c62828", linestyle="--", linewidth=1.2)
        top.annotate(
            f"limit {limit / scale:,.0f}",
            (at[0], limit / scale),
            color="#c62828",
            xytext=(2, 3),
            textcoords="offset points",
            fontsize=8,
        )
    top.set_ylabel(unit)
    top.set_ylim(bottom=0)
    top.set_title(picture.title, loc="left", fontsize=11)
    middle.plot(at, waited, color="#ef6c00", linewidth=1.3)
    middle.set_ylabel("mean time\nper request, ms")
    middle.set_yscale("symlog", linthresh=1)
    middle.set_ylim(bottom=0)
    for start, end, word in _runs(at, words):
        band.axvspan(start, end, color=COLOURS[word], linewidth=0)
    band.set_yticks([])
    band.set_ylabel("verdict", rotation=0, ha="right", va="center")
    band.set_xlabel("seconds")
    band.set_xlim(at[0], at[-1])
    shown = [word for word in COLOURS if word in words and word is not Word.UNKNOWN]
    figure.legend(
        handles=[Patch(facecolor=COLOURS[word], edgecolor="#90a4ae", label=word) for word in shown],
        loc="outside lower center",
        ncols=len(shown),
        fontsize=8,
        frameon=False,
    )
    for axes in (top, middle):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / f"pictures/{picture.machine}.png", dpi=110)
    plt.close(figure)


def _series(picture: Picture, rules: Rules):
    """Seconds, rates, mean milliseconds per request, words: one of each a tick."""
    at, rate, waited, words = [], [], [], []
    begin, before = None, {}
    recording = MACHINES / picture.machine / "recording.jsonl.gz"
    for state in Replayed(recording, EngineSettings(rules=rules)):
        begin = state.mono if begin is None else begin
        now = _counters(state, picture.budget)
        if before:
            elapsed = state.mono - before["mono"]
            moved = now["bytes"] - before["bytes"]
            done = now["operations"] - before["operations"]
            spent = now["milliseconds"] - before["milliseconds"]
            at.append(state.mono - begin)
            rate.append((moved if picture.dimension is Dimension.THROUGHPUT else done) / elapsed)
            waited.append(spent / done if done else 0.0)
            words.append(state.budgets[picture.budget].verdict.word)
        before = now | {"mono": state.mono}
    return at, rate, waited, words


def _counters(state, key: BudgetKey) -> dict[str, float]:
    operations = moved = milliseconds = 0.0
    for flow in state.budgets[key].budget.members:
        if flow.kind == "disk":
            disk = state.disks[flow.name].now
            operations += disk.reads + disk.writes
            moved += (disk.read_sectors + disk.write_sectors) * 512
            milliseconds += disk.read_milliseconds + disk.write_milliseconds
        else:
            mount = state.mounts[flow.name].now
            moved += mount.bytes[4] + mount.bytes[5]
            for name in ("READ", "WRITE"):
                if name in mount.operations:
                    operations += mount.operations[name].operations
                    milliseconds += mount.operations[name].execute_milliseconds
    return {"operations": operations, "bytes": moved, "milliseconds": milliseconds}


def _limit(picture: Picture) -> float | None:
    if not picture.limits:
        return None
    is_data = picture.dimension is Dimension.THROUGHPUT
    return picture.limits[0].bytes_per_second if is_data else picture.limits[0].iops


def _runs(at, words):
    start = 0
    for place in range(1, len(words) + 1):
        if place == len(words) or words[place] is not words[start]:
            yield at[start], at[min(place, len(at) - 1)], words[start]
            start = place


if __name__ == "__main__":
    for one in PICTURES:
        draw(one)
