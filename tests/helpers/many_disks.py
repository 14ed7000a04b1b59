"""Several disks that are asked at once, with a limit of the VM over all of them or with none.

Every parameter is drawn at random; nothing here knows how the judge decides, and nobody tells it a limit.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import NamedTuple

from ioplateau.judge.flows import FlowTick
from ioplateau.judge.judge import Judge
from ioplateau.judge.witness import Witness
from ioplateau.limits.budgets import Budget, BudgetKey, FlowKey, Kind, Word
from queue_book import wander

SECONDS = 400


class Disks(NamedTuple):
    """places: seconds of an unloaded request, and the factor by which they wander, by disk. outstanding:
    requests in all. scatter: of a second's rate, as a share.
    """

    places: list[tuple[float, Callable[[], float]]]
    outstanding: int
    size: float
    scatter: float

    def unloaded(self) -> list[float]:
        """Seconds of an unloaded request in the next second, by disk."""
        return [seconds * factor() for seconds, factor in self.places]


def _drawn(draw: random.Random) -> Disks:
    many, base = draw.choice([3, 4, 6, 8, 12]), draw.uniform(0.0006, 0.006)
    share, time = draw.choice([0.02, 0.05, 0.1, 0.2]), draw.uniform(2, 30)
    return Disks(
        [
            (base * draw.uniform(0.8, 1.25), wander(draw, share, time, step_seconds=1.0))
            for _ in range(many)
        ],
        many * draw.randint(2, 8),
        draw.choice([4096.0, 8192.0, 65536.0]),
        draw.uniform(0.005, 0.03),
    )


def vm_throttled_seconds(
    seed: int, *, is_shared: bool, is_limited: bool = False, is_paced: bool = False
) -> list[int]:
    """In which seconds after the load came the VM is called throttled. is_shared: requests move from disk
    to disk, as those of workers do who look for work; else each disk has its own, which come and go.
    is_limited: by a limit over all disks, of half to 85 percent of what they would do; each then gives by
    how many requests it has. is_paced: the application does so much a second and no more, of a third to
    two thirds of what the disks would do.
    """
    draw = random.Random(f"many {is_shared} {seed}")
    disks = _drawn(draw)
    pace = draw.uniform(0.3, 0.7) if is_paced else 0.0
    middle = sum(disks.unloaded()) / len(disks.places)
    limit = disks.outstanding / middle * draw.uniform(0.5, 0.85) if is_limited else math.inf
    ripple, shares = draw.uniform(0.001, 0.01), [draw.random() for _ in disks.places]
    flows = [FlowKey("disk", f"sd{chr(ord('c') + place)}") for place in range(len(shares))]
    lane = BudgetKey(Kind.VM_UNCACHED, "vm")
    budgets = {
        BudgetKey(Kind.DISK, flow.name): Budget(BudgetKey(Kind.DISK, flow.name), (flow,))
        for flow in flows
    }
    budgets[lane] = Budget(lane, tuple(flows))
    judge, found = Judge(), []
    judge.observe(0.0, None, budgets, {}, Witness())
    calm = draw.randint(20, 50)
    for second in range(-calm, SECONDS):
        shares = [max(0.05, min(1.0, share + draw.gauss(0, 0.12))) for share in shares]
        unloaded = disks.unloaded()
        if second < 0:
            depths = [draw.uniform(0.2, 0.6) for _ in shares]
        elif is_paced:
            whole = pace * disks.outstanding / middle * draw.gauss(1, ripple) / sum(shares)
            depths = [whole * share * wait for share, wait in zip(shares, unloaded, strict=True)]
        else:
            whole = sum(shares) if is_shared else len(shares) / 2
            depths = [disks.outstanding * share / whole for share in shares]
        rates = [
            depth / seconds * draw.gauss(1, disks.scatter)
            for depth, seconds in zip(depths, unloaded, strict=True)
        ]
        if sum(rates) > limit:
            each = limit * draw.gauss(1, ripple) / sum(depths)
            rates = [each * depth for depth in depths]
        ticks = {
            flow: _tick(rate, depth, disks.size, draw)
            for flow, rate, depth in zip(flows, rates, depths, strict=True)
        }
        verdicts = judge.observe(second + calm + 1.0, 1.0, budgets, ticks, Witness())
        if verdicts[lane].word is Word.THROTTLED:
            found.append(second)
    return found


def _tick(rate: float, depth: float, size: float, draw: random.Random) -> FlowTick:
    in_flight = max(0, round(depth + draw.gauss(0, math.sqrt(depth))))
    busy = 1.0 if depth >= 4 else 1 - math.exp(-depth - 0.3)
    return FlowTick(
        1.0, rate, 0.0, rate * size, 0.0, depth / rate, None, depth, in_flight, busy
    )  # fmt: skip
