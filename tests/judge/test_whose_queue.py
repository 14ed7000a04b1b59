"""A queue at a told limit's rate is not always the limit's: batches, the other direction, a sibling's."""

import random

import pytest

from ioplateau.judge.flows import FlowTick
from ioplateau.judge.judge import Judge
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

LIMIT = 300.0


def judged(budgets, ticks):
    """Verdicts by second. ticks: by flow, for each second."""
    judge = Judge()
    return [
        judge.observe(100.0 + second, 1.0, budgets, flows) for second, flows in enumerate(ticks)
    ]


def disk(name, *limits):
    key, flow = BudgetKey(Kind.DISK, name), FlowKey("disk", name)
    return key, flow, Budget(key, (flow,), limits)


def told(value, direction=Direction.TOTAL):
    return Limit(Dimension.IOPS, direction, value, Origin.CONFIGURED)


def steady(rate, depth, *, writes=False, in_flight=None):
    """As many requests under way all the time."""
    ways = {
        "write_operations_per_second": rate,
        "write_bytes_per_second": rate * 4096,
        "write_await_seconds": depth / rate,
    }
    if not writes:
        ways = {name.replace("write", "read"): value for name, value in ways.items()}
    there = round(depth) if in_flight is None else in_flight
    return FlowTick(1.0, **ways, queue_length=depth, in_flight=there, busy_ratio=min(1.0, depth))


def batch(count, device_rate):
    """All of a second at once, between two looks, as fast as the device can."""
    seconds = count / device_rate
    return FlowTick(
        1.0, write_operations_per_second=count, write_bytes_per_second=count * 4096,
        write_await_seconds=seconds / 2, queue_length=count * seconds / 2, in_flight=0,
        busy_ratio=seconds,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_batches_that_a_device_drains_at_four_times_a_limit_are_not_held_by_it(seed):
    """Not after the limit has bound, either; a bucket of a second has room for them."""
    numbers = random.Random(seed)
    key, flow, budget = disk("sda", told(LIMIT))
    quiet = [steady(40.0, 0.2, writes=True)] * 10
    held = [steady(LIMIT * numbers.gauss(1.0, 0.004), 16, writes=True) for _ in range(30)]
    low, high = numbers.choice([(0.4, 0.6), (0.5, 0.9), (0.95, 0.99)])
    batches = [batch(LIMIT * numbers.uniform(low, high), 4 * LIMIT) for _ in range(120)]

    said = judged({key: budget}, [{flow: tick} for tick in (*quiet, *held, *batches)])
    words = [each[key].word for each in said]

    assert Word.THROTTLED in words[:40]
    assert Word.THROTTLED not in words[45:]


@pytest.mark.parametrize("share", [0.97, 0.99])
@pytest.mark.parametrize("seed", range(3))
def test_nor_are_batches_whose_sum_is_near_a_limit_that_never_bound(seed, share):
    numbers = random.Random(seed)
    key, flow, budget = disk("sda", told(LIMIT))
    batches = [batch(share * LIMIT * numbers.gauss(1.0, 0.002), 5 * LIMIT) for _ in range(120)]

    said = judged({key: budget}, [{flow: tick} for tick in batches])

    assert all(each[key].word is not Word.THROTTLED for each in said)


@pytest.mark.parametrize("seed", range(3))
def test_disks_that_wait_one_after_the_other_are_held_by_their_vms_limit_all_the_same(seed):
    """Each a quarter of each second: together all of it."""
    numbers = random.Random(seed)
    vm, limit = BudgetKey(Kind.VM_UNCACHED, "vm"), 800.0
    disks = [disk(name, told(5000.0)) for name in ("sda", "sdb", "sdc", "sdd")]
    budgets = {key: budget._replace(parents=(vm,)) for key, _, budget in disks}
    budgets[vm] = Budget(vm, tuple(flow for _, flow, _ in disks), (told(limit),))
    calm = [{flow: steady(20.0, 0.04, in_flight=0) for _, flow, _ in disks}] * 15
    held = [
        {flow: batch(limit / 4 * numbers.gauss(1.0, 0.004), limit) for _, flow, _ in disks}
        for _ in range(30)
    ]

    said = judged(budgets, [*calm, *held])

    assert [each[vm].word for each in said[20:]] == [Word.THROTTLED] * 25


def both(reads, read_seconds, writes, write_seconds, in_flight):
    held = reads * read_seconds + writes * write_seconds
    return FlowTick(
        1.0, reads, writes, reads * 4096, writes * 4096, read_seconds, write_seconds,
        queue_length=held, in_flight=in_flight, busy_ratio=1.0,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_reads_near_a_limit_of_reads_are_not_held_while_only_writes_wait(seed):
    numbers = random.Random(seed)
    key, flow, budget = disk("sda", told(LIMIT, Direction.READ))
    calm = [both(100.0, 0.002, 100.0, 0.002, 0)] * 10
    beside = []
    for _ in range(120):
        writes = 800.0 * numbers.gauss(1.0, 0.03)
        beside.append(both(0.97 * LIMIT, 0.002, writes, 16 / writes, 16))

    said = judged({key: budget}, [{flow: tick} for tick in (*calm, *beside)])

    assert all(each[key].word is not Word.THROTTLED for each in said)


def beside_writes_that_wait(numbers, limit, depth, *, reads):
    """Reads at a limit of reads, as many at a time, none of which waits if they are few; and on another disk 32 writes
    that wait. reads: whether these are writes, and those reads, instead.
    """
    rate = limit * numbers.gauss(1.0, 0.004)
    slow = 200.0 * numbers.gauss(1.0, 0.1)
    return steady(rate, depth, writes=not reads), steady(slow, 32, writes=reads)


@pytest.mark.parametrize(("depth", "word"), [(0.6, Word.HEALTHY), (16, Word.THROTTLED)])
@pytest.mark.parametrize("dimension", [Dimension.IOPS, Dimension.THROUGHPUT])
@pytest.mark.parametrize("reads", [True, False])
def test_a_vms_limit_of_one_direction_holds_only_if_its_requests_wait(
    reads, dimension, depth, word
):
    numbers = random.Random(1)
    vm, direction = BudgetKey(Kind.VM_UNCACHED, "vm"), Direction.READ if reads else Direction.WRITE
    limit = told(LIMIT, direction)
    if dimension is Dimension.THROUGHPUT:
        limit = limit._replace(dimension=dimension, value=LIMIT * 4096)
    disks = [disk(name) for name in ("sda", "sdb")]
    budgets = {key: budget._replace(parents=(vm,)) for key, _, budget in disks}
    budgets[vm] = Budget(vm, tuple(flow for _, flow, _ in disks), (limit,))
    calm = [(steady(100.0, 0.2, writes=not reads), steady(100.0, 0.2, writes=reads))] * 10
    pressed = [beside_writes_that_wait(numbers, LIMIT, depth, reads=reads) for _ in range(60)]
    flows = [flow for _, flow, _ in disks]

    said = judged(budgets, [dict(zip(flows, each, strict=True)) for each in (*calm, *pressed)])

    assert {each[vm].word for each in said[15:]} == {word}


@pytest.mark.parametrize(
    ("ripple", "word", "origin"),
    [(0.003, Word.THROTTLED, Origin.LEARNED), (0.1, Word.SATURATED, None)],
)
@pytest.mark.parametrize("reads", [True, False])
def test_what_does_not_wait_in_the_direction_of_the_vms_limit_is_judged_by_itself(
    reads, ripple, word, origin
):
    """One disk at a limit of reads; on another writes wait for something else, and on a third both wait."""
    numbers = random.Random(2)
    vm, direction = BudgetKey(Kind.VM_UNCACHED, "vm"), Direction.READ if reads else Direction.WRITE
    disks = [disk(name) for name in ("sda", "sdb", "sdc")]
    (held, first, _), (free, second, _), (mixed, third, _) = disks
    budgets = {key: budget._replace(parents=(vm,)) for key, _, budget in disks}
    budgets[vm] = Budget(vm, (first, second, third), (told(LIMIT, direction),))
    calm = {
        first: steady(60.0, 0.12, writes=not reads),
        second: steady(60.0, 0.12, writes=reads),
        third: both(30.0, 0.002, 30.0, 0.002, 0),
    }
    ticks = [calm] * 10
    for _ in range(60):
        part, wait, slow = LIMIT * numbers.gauss(0.7, 0.02), 20 / LIMIT, 200.0
        ways = [(LIMIT - part, wait), (100.0 * numbers.gauss(1.0, 0.1), 0.04)]
        (r, read_wait), (w, write_wait) = ways if reads else reversed(ways)
        slow *= numbers.gauss(1.0, ripple)
        ticks.append(
            {
                first: steady(part, part * wait, writes=not reads),
                second: steady(slow, 32, writes=reads),
                third: both(r, read_wait, w, write_wait, round(r * read_wait + w * write_wait)),
            }
        )

    said = judged(budgets, ticks)[-1]

    assert (said[vm].word, said[vm].direction) == (Word.THROTTLED, direction)
    assert [said[key].parent for key in (held, mixed, free)] == [vm, vm, None]
    assert (said[free].word, said[free].origin) == (word, origin)
    assert said[vm].sufferers == (first, third)


@pytest.mark.parametrize(("count", "depth"), [(5, 1), (12, 1), (1, 2)])
@pytest.mark.parametrize("direction", Direction)
def test_few_requests_at_a_time_wait_because_of_the_vms_limit_all_the_same(count, depth, direction):
    """But for those of a disk that is as fast as ever, and of one that only does the other direction's."""
    numbers = random.Random(3)
    vm, writes = BudgetKey(Kind.VM_UNCACHED, "vm"), direction is Direction.WRITE
    disks = [disk(f"sd{letter}") for letter in "abcdefghijklmn"[: count + 2]]
    budgets = {key: budget._replace(parents=(vm,)) for key, _, budget in disks}
    flows = [flow for _, flow, _ in disks]
    budgets[vm] = Budget(vm, tuple(flows), (told(LIMIT, direction),))
    own = 0.1 * LIMIT
    ticks = [[steady(20.0, 0.02, in_flight=0, writes=writes) for _ in range(count + 2)]] * 20
    for _ in range(40):
        rest = LIMIT - own * (1 if direction is not Direction.TOTAL else 2)
        ways = [
            steady(rest / count * numbers.gauss(1.0, 0.001), depth, writes=writes)
            for _ in range(count)
        ]
        calm = own * numbers.gauss(1.0, 0.01)
        ways.append(steady(calm, calm * 0.001, in_flight=0, writes=writes))
        ways.append(steady(own, own * 0.001, in_flight=0, writes=not writes))
        ticks.append(ways)

    said = judged(budgets, [dict(zip(flows, each, strict=True)) for each in ticks])

    assert {each[vm].word for each in said[-20:]} == {Word.THROTTLED}
    assert {each[vm].sufferers for each in said[-20:]} == {tuple(flows[:count])}
    assert {each[key].parent for each in said[-20:] for key, _, _ in disks[:count]} == {vm}
    assert {each[key].parent for each in said for key, _, _ in disks[count:]} == {None}


@pytest.mark.parametrize("seed", range(3))
def test_two_reads_that_wait_at_a_limit_of_reads_are_held_whatever_writes_run_beside(seed):
    numbers = random.Random(seed)
    key, flow, budget = disk("sda", told(LIMIT, Direction.READ))
    calm = [both(100.0, 0.002, 1500.0, 0.005, 7)] * 10
    held = []
    for _ in range(60):
        reads = LIMIT * numbers.gauss(1.0, 0.004)
        held.append(both(reads, 2 / reads, 1500.0 * numbers.gauss(1.0, 0.03), 0.005, 9))

    said = judged({key: budget}, [{flow: tick} for tick in (*calm, *held)])

    assert [each[key].word for each in said[16:]] == [Word.THROTTLED] * 54


@pytest.mark.parametrize("empty", [150.0, 300.0, 900.0])
def test_writes_without_data_have_no_part_in_a_limit_of_reads(empty):
    """More reads than it allows, less those writes, do not stand at it."""
    key, flow, budget = disk("sda", told(LIMIT, Direction.READ))
    calm = [both(100.0, 0.002, 50.0, 0.002, 0)] * 10
    reads = LIMIT + empty
    flushed = both(reads, 16 / reads, empty, 0.0005, 16)
    flushed = flushed._replace(flush_operations_per_second=empty, write_bytes_per_second=0.0)

    said = judged({key: budget}, [{flow: tick} for tick in (*calm, *[flushed] * 40)])

    assert all(each[key].origin is not Origin.CONFIGURED for each in said)


@pytest.mark.parametrize("seed", range(3))
def test_a_disk_at_its_own_limit_is_to_blame_from_the_first_block_that_shows_it(seed):
    """Not the VM, of whose limit both disks together are just short."""
    numbers = random.Random(seed)
    (sda, first, own), (sdb, second, free) = disk("sda", told(500.0)), disk("sdb", told(5000.0))
    vm = BudgetKey(Kind.VM_UNCACHED, "vm")
    budgets = {
        sda: own._replace(parents=(vm,)),
        sdb: free._replace(parents=(vm,)),
        vm: Budget(vm, (first, second), (told(1.03 * 800.0),)),
    }
    beside = steady(300.0, 0.6)
    calm = [{first: steady(100.0, 0.2), second: beside}] * 15
    held = [
        {first: steady(500.0 * numbers.gauss(1.0, 0.003), 16), second: beside} for _ in range(30)
    ]

    said = judged(budgets, [*calm, *held])

    assert all(each[vm].word is not Word.THROTTLED for each in said)
    assert all(each[sda].word is Word.THROTTLED for each in said[18:])
