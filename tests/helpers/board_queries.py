"""What Grafana asks for when a board is opened with 3 hours, and what that costs Prometheus."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import synthetic_fleet as fleet
from boards_and_rules import Shown
from live_prometheus import Prometheus, started_prometheus

RANGE_SECONDS = fleet.HOURS * 3600
# A panel asks for as many points as it has pixels: some 65 for a column of the grid, at 1600.
PIXELS_OF_A_COLUMN = 65
CHOSEN = {
    "instance": fleet.LARGE_VM,
    "device": fleet.disks(0)[0],
    "mount": fleet.MOUNT,
    "volume": fleet.volume(0)["volume"],
}


class Cost(NamedTuple):
    """seconds: of evaluation; samples: touched, those of "@ end()" once for each point of a line;
    peak_samples: held at once.
    """

    seconds: float
    samples: int
    peak_samples: int


@contextlib.contextmanager
def prometheus_of_the_fleet(directory: Path, step: int) -> Iterator[Prometheus]:
    """A Prometheus over the synthetic fleet, with a sample each `step` seconds."""
    fleet.make(directory, step=step)
    with started_prometheus(directory, {"scrape_configs": []}) as prometheus:
        prometheus.wait_until(lambda: bool(prometheus.get("query", query="1")), 60, "an answer")
        yield prometheus


def is_instant(shown: Shown) -> bool:
    """Whether it is asked for at one time; else over the range."""
    return any(
        target.get("instant", False)
        for target in shown.panel["targets"]
        if target["expr"] == shown.expr
    )


def ask(prometheus: Prometheus, shown: Shown, step: int) -> tuple[list[dict[str, Any]], Cost]:
    """The series of an expression: of every VM on the fleet's board, of one thing on the others."""
    expr = _chosen(shown, step)
    if is_instant(shown):
        found = prometheus.get("query", query=expr, time=fleet.NOW, stats="all")
    else:
        width = shown.panel["gridPos"]["w"] * PIXELS_OF_A_COLUMN
        every = max(step, RANGE_SECONDS // width)
        begin = fleet.NOW - RANGE_SECONDS + fleet.MINUTE
        found = prometheus.get(
            "query_range",
            query=expr.replace("$__interval", f"{every}s"),
            start=begin,
            end=fleet.NOW,
            step=every,
            stats="all",
        )
    stats = found["stats"]
    samples = stats["samples"]
    cost = Cost(
        stats["timings"]["evalTotalTime"], samples["totalQueryableSamples"], samples["peakSamples"]
    )
    return found["result"], cost


def _chosen(shown: Shown, step: int) -> str:
    # Grafana's shortest: four scrapes.
    expr = shown.expr.replace("$__rate_interval", f"{4 * step}s")
    expr = expr.replace("$__range", f"{RANGE_SECONDS}s")
    return re.sub(
        r"\$([a-z]+)\b", lambda name: ".+" if shown.board == "fleet" else CHOSEN[name[1]], expr
    )
