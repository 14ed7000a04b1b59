"""Whatever disks and mounts do, in whatever order and however often one looks: the judge answers."""

import random

import pytest

from ioplateau.judge.flows import FlowTick
from ioplateau.judge.judge import Judge
from ioplateau.judge.witness import ClientWitness, Witness
from ioplateau.limits.budgets import (
    Budget,
    BudgetKey,
    Dimension,
    Direction,
    FlowKey,
    Kind,
    Limit,
    Origin,
    Word,
)

DISKS = [FlowKey("disk", f"sd{letter}") for letter in "abc"]
MOUNTS = [FlowKey("nfs", place) for place in ("/a", "/b")]
DOES = ("works", "works", "works", "rests", "stalls", "stalls", "trims", "is unknown")


def budgets(draw):
    """Disks, mounts, a VM and an NFS client, of some of which a limit is known."""

    def limits(*dimensions):
        return tuple(
            Limit(
                each,
                Direction.TOTAL,
                draw.choice((100.0, 500.0, 5000.0, 1e6, 1e8)),
                Origin.CONFIGURED,
            )
            for each in dimensions
            if draw.random() < 0.5
        )

    both = Dimension.IOPS, Dimension.THROUGHPUT
    found = [Budget(BudgetKey(Kind.DISK, flow.name), (flow,), limits(*both)) for flow in DISKS]
    found += [Budget(BudgetKey(Kind.VOLUME, flow.name), (flow,), limits(*both)) for flow in MOUNTS]
    found.append(Budget(BudgetKey(Kind.VM_UNCACHED, "vm"), tuple(DISKS), limits(*both)))
    found.append(Budget(BudgetKey(Kind.NFS_SLOTS, "filer"), tuple(MOUNTS)))
    return {budget.key: budget for budget in found}


def tick(draw, flow, does, seconds, rate, wait, size):
    """What a flow did in so many seconds; NFS counts neither busy time nor what is outstanding."""
    is_disk = flow.kind == "disk"
    match does:
        case "is unknown":
            return None
        case "rests":
            return FlowTick(seconds, in_flight=0 if is_disk else None)
        case "stalls":
            return FlowTick(
                seconds, in_flight=draw.choice((1, 8, 300)), busy_ratio=1.0 if is_disk else None
            )
        case "trims":
            return FlowTick(seconds, in_flight=8, discard_operations_per_second=90.0)
    reads = rate * draw.choice((0.0, 0.5, 1.0))
    writes = rate - reads
    found = FlowTick(
        seconds, reads, writes, reads * size, writes * size,
        wait if reads else None, wait if writes else None, rate * wait,
    )  # fmt: skip
    if is_disk:
        waiting = draw.choice((0, 1, round(rate * wait)))
        return found._replace(
            in_flight=waiting,
            busy_ratio=draw.choice((0.3, 1.0)),
            flush_operations_per_second=draw.choice((0.0, 0.0, 0.2, 1.0, 3.0)) * writes,
        )
    rtts = wait if reads else None, wait if writes else None
    return found._replace(read_rtt_seconds=rtts[0], write_rtt_seconds=rtts[1])


@pytest.mark.parametrize("seconds", [0.25, 0.5, 1.0, 2.0, 5.0, 60.0])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 5))]
)
def test_the_judge_answers(seed, seconds):
    draw, judge, at = random.Random(f"{seed} {seconds}"), Judge(), 100.0
    found, flows = budgets(draw), (*DISKS, *MOUNTS)
    does = dict.fromkeys(flows, "works")
    pace = dict.fromkeys(flows, (500.0, 0.01, 4096.0))
    for _ in range(300):
        at += seconds
        for flow in flows:
            if draw.random() < 0.15:
                does[flow] = draw.choice(DOES)
            if draw.random() < 0.05:
                rate = draw.choice((0.3, 3.0, 10.0, 100.0, 499.0, 500.0, 5000.0))
                pace[flow] = (
                    rate,
                    draw.choice((0.0, 0.0005, 0.01, 0.3, 2.0)),
                    draw.choice((0.0, 512.0, 1e6)),
                )
        ticks = {flow: tick(draw, flow, does[flow], seconds, *pace[flow]) for flow in flows}
        client = ClientWitness(
            4, draw.choice((None, 64)), draw.choice((None, 0.0, 3.0)), draw.choice((None, 0, 64)),
            draw.choice((None, 0.0, 100.0)), draw.choice((None, 0.5)), draw.choice((None, 0.0002)),
        )  # fmt: skip
        elapsed = seconds if draw.random() < 0.99 else None
        said = judge.observe(at, elapsed, found, ticks, Witness(clients={"filer": client}))

    assert said.keys() == found.keys()
    assert all(verdict.word in Word for verdict in said.values())


@pytest.mark.parametrize("seconds", [0.5, 1.0, 5.0])
def test_a_disk_that_trims_while_requests_wait_and_then_goes_on_is_judged(seconds):
    """Of as many values in a row without an operation there is no level."""
    key, judge, at = BudgetKey(Kind.DISK, "sda"), Judge(), 100.0
    held = FlowTick(seconds, 500.0, 0.0, 500.0 * 4096, 0.0, 0.064, None, 32.0, 32, 1.0)
    calm = FlowTick(seconds, 300.0, 0.0, 300.0 * 4096, 0.0, 0.002, None, 0.6, 1, 0.6)
    trim = FlowTick(seconds, in_flight=32, discard_operations_per_second=90.0)
    for each in (*[calm] * 20, *[held] * 4, *[trim] * 5, *[held] * 40):
        at += seconds
        said = judge.observe(at, seconds, {key: Budget(key, (DISKS[0],))}, {DISKS[0]: each})

    assert said[key].word is Word.THROTTLED
