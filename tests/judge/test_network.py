"""Limits of an interface, told, learned or counted by the provider, in either direction."""

import random

import pytest

from ioplateau.judge.flows import FlowTick
from ioplateau.judge.judge import Judge
from ioplateau.judge.witness import ClientWitness, EbsWitness, Witness
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

NIC, NETWORK = FlowKey("nic", "eth0"), BudgetKey(Kind.VM_NETWORK, "vm")
OTHER = FlowKey("nic", "ens5")
MOUNTS = FlowKey("nfs", "/a"), FlowKey("nfs", "/b")
VOLUMES = [BudgetKey(Kind.VOLUME, flow.name) for flow in MOUNTS]
HELD_BYTES, CALL_BYTES = 100e6, 65536
# Of two slots each, both taken: the others wait on this client.
SHORT = Witness(clients={flow.name: ClientWitness(1, 2, 14.0, 2, 760.0) for flow in MOUNTS})


def call(rate, wait, direction, queued=0.0):
    """16 or so calls at a time. queued: of the time of each, what passes before it is sent."""
    sent = wait - queued
    if direction is Direction.WRITE:
        return FlowTick(
            1.0, 0.0, rate, 0.0, rate * CALL_BYTES, None, wait, rate * wait,
            write_rtt_seconds=sent, write_queue_seconds=queued,
        )  # fmt: skip
    return FlowTick(
        1.0, rate, 0.0, rate * CALL_BYTES, 0.0, wait, None, rate * wait,
        read_rtt_seconds=sent, read_queue_seconds=queued,
    )  # fmt: skip


def with_back(tick, direction, back):
    """With this share of its calls the other way as well, each answered at once."""
    if direction is Direction.READ:
        rate = back * tick.read_operations_per_second
        return tick._replace(
            write_operations_per_second=rate, write_bytes_per_second=rate * CALL_BYTES,
            write_await_seconds=0.001, write_rtt_seconds=0.001,
        )  # fmt: skip
    rate = back * tick.write_operations_per_second
    return tick._replace(
        read_operations_per_second=rate, read_bytes_per_second=rate * CALL_BYTES,
        read_await_seconds=0.001, read_rtt_seconds=0.001,
    )  # fmt: skip


def moved(rate, direction, back=0.0):
    """So many bytes per second in one direction, and this share of them in the other."""
    read, write = (rate, back * rate) if direction is Direction.READ else (back * rate, rate)
    return FlowTick(1.0, read_bytes_per_second=read, write_bytes_per_second=write)


def judged(
    direction, *limits, carried=1.0, queued=0.0, witness=None, first=(NIC,), later=None, back=0.0
):  # fmt: skip
    """Verdicts after 70 s at the limit. carried: the part of the interface's bytes that are the mounts'.
    first: the interfaces, of which the last does all. later: those of the last 20 s. back: share of the
    calls and of the bytes that goes the other way, beside them.
    """
    budgets = {NETWORK: Budget(NETWORK, first, limits)}
    for flow in MOUNTS:
        for kind in (Kind.VOLUME, Kind.NFS_SLOTS, Kind.NFS_CONNECTION):
            budgets[BudgetKey(kind, flow.name)] = Budget(BudgetKey(kind, flow.name), (flow,))
    judge, r = Judge(), random.Random(2)
    calls = carried * HELD_BYTES / CALL_BYTES
    for second in range(90):
        share = min(0.8, max(0.2, r.gauss(0.5, 0.12)))
        rates, wait, bytes_ = (
            (calls * share, calls * (1 - share)), 32 / calls, HELD_BYTES * r.gauss(1, 0.002)
        )  # fmt: skip
        if second < 20:
            rates, wait, bytes_ = (100.0, 100.0), 0.002, 200 * CALL_BYTES
        flows = {
            flow: call(rate, wait, direction, queued if second >= 20 else 0.0)
            for flow, rate in zip(MOUNTS, rates, strict=True)
        }
        nics = first if second < 70 or later is None else later
        if nics != budgets[NETWORK].members:
            budgets = budgets | {NETWORK: Budget(NETWORK, nics, limits)}
        if back:
            flows = {flow: with_back(tick, direction, back) for flow, tick in flows.items()}
        flows |= dict.fromkeys(nics, moved(0.0, direction))
        flows[nics[-1]] = moved(bytes_, direction, back)
        verdicts = judge.observe(100.0 + second, 1.0, budgets, flows, witness)
    return verdicts


def told(direction):
    return Limit(Dimension.THROUGHPUT, direction, HELD_BYTES, Origin.CATALOGUE, "a size")


@pytest.mark.parametrize("direction", [Direction.READ, Direction.WRITE])
@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize("back", [0.0, 0.1, 0.7])
def test_two_mounts_wait_for_the_networks_limit_in_its_direction(direction, is_told, back):
    verdicts = judged(direction, *[told(direction)] * is_told, back=back)
    network = verdicts[NETWORK]

    assert (network.word, network.direction) == (Word.THROTTLED, direction)
    assert network.origin is (Origin.CATALOGUE if is_told else Origin.LEARNED)
    assert network.limit == pytest.approx(HELD_BYTES, rel=0.01)
    assert network.evidence["waiting"] == pytest.approx(32, rel=0.2)
    done = (1 + back) * HELD_BYTES
    assert network.evidence["bytes_per_second"] == pytest.approx(done, rel=0.01)
    assert "hardly any request waits" not in network.sentence
    assert [verdicts[key].parent for key in VOLUMES] == [NETWORK, NETWORK]


@pytest.mark.parametrize("first", [(OTHER, NIC), (NIC, OTHER)])
@pytest.mark.parametrize("is_told", [True, False])
def test_the_networks_limit_holds_for_all_interfaces_in_sum(first, is_told):
    network = judged(Direction.READ, *[told(Direction.READ)] * is_told, first=first)[NETWORK]

    assert network.word is Word.THROTTLED
    assert network.limit == pytest.approx(HELD_BYTES, rel=0.01)
    assert network.utilization == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("later", [(OTHER, NIC), (OTHER,)])
@pytest.mark.parametrize("is_told", [True, False])
def test_what_is_known_of_the_network_stays_when_interfaces_come_or_go(later, is_told):
    limits = [told(Direction.READ)] * is_told
    before = judged(Direction.READ, *limits)[NETWORK]
    after = judged(Direction.READ, *limits, later=later)[NETWORK]

    assert before.word is Word.THROTTLED
    assert (after.word, after.origin, after.since) == (before.word, before.origin, before.since)
    assert after.limit == pytest.approx(before.limit, rel=0.01)


@pytest.mark.parametrize("limits", [(), (told(Direction.WRITE),)])
@pytest.mark.parametrize(
    ("rate", "word"),
    [
        (0.0, Word.IDLE),
        (150e3, Word.IDLE),
        (250e3, Word.HEALTHY),
        (0.99 * HELD_BYTES, Word.HEALTHY),
    ],
)
def test_a_network_that_carries_something_is_not_idle_though_nobody_waits(rate, word, limits):
    budgets, judge = {NETWORK: Budget(NETWORK, (NIC,), limits)}, Judge()
    for second in range(30):
        flows = {NIC: moved(rate, Direction.WRITE)}
        verdict = judge.observe(100.0 + second, 1.0, budgets, flows)[NETWORK]

    assert verdict.word is word


def test_mounts_that_carry_little_of_what_an_interface_does_do_not_speak_for_it():
    limit = told(Direction.WRITE)

    assert judged(Direction.WRITE, limit, carried=0.6)[NETWORK].word is Word.THROTTLED
    assert judged(Direction.WRITE, limit, carried=0.4)[NETWORK].word is not Word.THROTTLED


@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize(
    ("near", "other"),
    [(Direction.READ, Direction.WRITE), (Direction.WRITE, Direction.READ)],
)
def test_calls_near_the_networks_limit_are_not_held_by_it_while_only_those_of_the_other_direction_wait(
    near, other, is_told
):
    limits = (told(near), told(other)) if is_told else ()
    budgets, judge, r = {NETWORK: Budget(NETWORK, (NIC,), limits)}, Judge(), random.Random(4)
    mounts = [FlowKey("nfs", name) for name in ("/near", "/slow", "/slower")]
    budgets |= {
        BudgetKey(Kind.VOLUME, flow.name): Budget(BudgetKey(Kind.VOLUME, flow.name), (flow,))
        for flow in mounts
    }
    words = []
    for second in range(90):
        rate = 0.98 * HELD_BYTES / CALL_BYTES * r.gauss(1, 0.003)
        slow = [100.0 * r.gauss(1, 0.15) if second >= 20 else 20.0 for _ in range(2)]
        flows = {mounts[0]: call(rate, 0.001, near)}
        flows |= {
            flow: call(each, 16 / each if second >= 20 else 0.002, other)
            for flow, each in zip(mounts[1:], slow, strict=True)
        }
        ways = rate * CALL_BYTES, sum(slow) * CALL_BYTES
        read, write = ways if near is Direction.READ else reversed(ways)
        flows[NIC] = FlowTick(1.0, read_bytes_per_second=read, write_bytes_per_second=write)
        words.append(judge.observe(100.0 + second, 1.0, budgets, flows)[NETWORK].word)

    assert Word.THROTTLED not in words


@pytest.mark.parametrize(
    ("ripple", "word", "origin"),
    [(0.003, Word.THROTTLED, Origin.LEARNED), (0.1, Word.SATURATED, None)],
)
@pytest.mark.parametrize(
    ("direction", "other"),
    [(Direction.READ, Direction.WRITE), (Direction.WRITE, Direction.READ)],
)
def test_a_mount_that_does_not_wait_in_the_networks_direction_is_judged_by_itself(
    direction, other, ripple, word, origin
):
    judge, r = Judge(), random.Random(5)
    budgets = {NETWORK: Budget(NETWORK, (NIC,), (told(direction),))}
    budgets |= {key: Budget(key, (flow,)) for key, flow in zip(VOLUMES, MOUNTS, strict=True)}
    for second in range(90):
        rate, slow, calls = 50.0, 50.0, 0.1
        if second >= 20:
            rate, slow = HELD_BYTES / CALL_BYTES * r.gauss(1, 0.003), 160.0 * r.gauss(1, ripple)
            calls = 24
        flows = {
            MOUNTS[0]: call(rate, calls / rate, direction),
            MOUNTS[1]: call(slow, calls / slow, other),
        }
        ways = rate * CALL_BYTES, slow * CALL_BYTES
        read, write = ways if direction is Direction.READ else reversed(ways)
        flows[NIC] = FlowTick(1.0, read_bytes_per_second=read, write_bytes_per_second=write)
        verdicts = judge.observe(100.0 + second, 1.0, budgets, flows)

    assert verdicts[NETWORK].word is Word.THROTTLED
    assert verdicts[NETWORK].sufferers == (MOUNTS[0],)
    assert [verdicts[key].parent for key in VOLUMES] == [NETWORK, None]
    assert (verdicts[VOLUMES[1]].word, verdicts[VOLUMES[1]].origin) == (word, origin)


@pytest.mark.parametrize("direction", [Direction.READ, Direction.WRITE])
@pytest.mark.parametrize("count", [3, 6, 12])
def test_one_call_at_a_time_waits_because_of_the_networks_limit_all_the_same(count, direction):
    judge, r = Judge(), random.Random(6)
    flows = [FlowKey("nfs", f"/{each}") for each in range(count)]
    volumes = [BudgetKey(Kind.VOLUME, flow.name) for flow in flows]
    limit = told(direction)._replace(value=count * 10e6)
    budgets = {NETWORK: Budget(NETWORK, (NIC,), (limit,))}
    budgets |= {key: Budget(key, (flow,)) for key, flow in zip(volumes, flows, strict=True)}
    words = []
    for second in range(60):
        rates = [10e6 / CALL_BYTES * r.gauss(1, 0.003) if second >= 20 else 30.0 for _ in flows]
        waits = [1 / rate if second >= 20 else 0.002 for rate in rates]
        ticks = {
            flow: call(rate, wait, direction)
            for flow, rate, wait in zip(flows, rates, waits, strict=True)
        }
        ticks[NIC] = moved(sum(rates) * CALL_BYTES, direction)
        verdicts = judge.observe(100.0 + second, 1.0, budgets, ticks)
        words.append({verdicts[key].parent for key in volumes})

    assert {*verdicts[NETWORK].sufferers} == {*flows}
    assert words[-20:] == [{NETWORK}] * 20


@pytest.mark.parametrize("direction", [Direction.READ, Direction.WRITE])
@pytest.mark.parametrize("share", [0.03, 0.05, 0.5])
def test_where_a_mount_stood_while_the_network_held_it_is_no_limit_of_its_volume(share, direction):
    """The last calls are answered in the second in which no more come, and the network carries less."""
    judge, r = Judge(), random.Random(3)
    budgets = {NETWORK: Budget(NETWORK, (NIC,), (told(direction),))}
    budgets |= {key: Budget(key, (flow,)) for key, flow in zip(VOLUMES, MOUNTS, strict=True)}
    calls, said = HELD_BYTES / CALL_BYTES, []
    for second in range(119):
        part = calls * (share if second == 118 else 0.95) * r.gauss(1, 0.002)
        rate, wait = (part, 32 / calls) if second >= 20 else (100.0, 0.001)
        flows = {MOUNTS[0]: call(rate, wait, direction), MOUNTS[1]: FlowTick(1.0)}
        flows[NIC] = moved(rate * CALL_BYTES + (second >= 20) * 0.05 * HELD_BYTES, direction)
        verdicts = judge.observe(100.0 + second, 1.0, budgets, flows)
        said.append([verdicts[key].word for key in (NETWORK, VOLUMES[0])])

    assert [words[0] for words in said[40:118]] == [Word.THROTTLED] * 78
    assert Word.THROTTLED not in [words[1] for words in said]


@pytest.mark.parametrize("mean", [0.96, 1.04, 1.08])
@pytest.mark.parametrize(("ripple", "least", "most"), [(0.003, 0.9, 1.0), (0.06, 0.0, 0.9)])
def test_while_the_network_holds_a_mount_its_own_limit_must_be_kept_to_for_longer(
    mean, ripple, least, most
):
    """A mount's part of what all do moves past its own limit now and then, and is not held by that."""
    judge, r = Judge(), random.Random(0)
    calls, own = HELD_BYTES / CALL_BYTES, HELD_BYTES / CALL_BYTES / 3
    limit = Limit(Dimension.IOPS, Direction.TOTAL, own, Origin.CONFIGURED)
    budgets = {NETWORK: Budget(NETWORK, (NIC,), (told(Direction.READ),))}
    budgets |= {key: Budget(key, (flow,)) for key, flow in zip(VOLUMES, MOUNTS, strict=True)}
    budgets[VOLUMES[0]] = budgets[VOLUMES[0]]._replace(limits=(limit,))
    said = []
    for second in range(120):
        part = own * mean * r.gauss(1, ripple) if second >= 20 else 100.0
        rest, wait = (calls - part, 60 / calls) if second >= 20 else (100.0, 0.001)
        flows = {MOUNTS[0]: call(part, wait, Direction.READ)}
        flows[MOUNTS[1]] = call(rest, wait, Direction.READ)
        flows[NIC] = moved((part + rest) * CALL_BYTES, Direction.READ)
        said.append(judge.observe(100.0 + second, 1.0, budgets, flows)[VOLUMES[0]].word)

    assert least <= said[20:].count(Word.THROTTLED) / 100 <= most


def test_mounts_that_wait_for_slots_prove_no_limit_of_the_network():
    verdicts = judged(Direction.WRITE, queued=0.019, witness=SHORT)

    assert verdicts[BudgetKey(Kind.NFS_SLOTS, "/a")].word is Word.THROTTLED
    assert verdicts[NETWORK].word is not Word.THROTTLED


@pytest.mark.parametrize("baseline_ratio", [0.1, 0.4, 0.8])
@pytest.mark.parametrize("direction", [Direction.READ, Direction.WRITE])
def test_a_baseline_that_a_burst_goes_above_holds_nobody(direction, baseline_ratio):
    baseline = told(direction)._replace(value=baseline_ratio * HELD_BYTES)

    assert judged(direction, baseline)[NETWORK].word is not Word.THROTTLED


def test_what_a_provider_counts_in_a_burst_is_no_limit_at_the_baseline():
    baseline = told(Direction.WRITE)._replace(value=HELD_BYTES / 8)
    counted = Witness(allowances={"bw_out_allowance_exceeded": 50.0})
    verdict = judged(Direction.WRITE, baseline, witness=counted)[NETWORK]

    assert (verdict.word, verdict.origin) == (Word.THROTTLED, Origin.REPORTED)
    assert verdict.limit == pytest.approx(HELD_BYTES, rel=0.02)
    assert "by the VM's network limit (1" in verdict.sentence


@pytest.mark.parametrize(
    ("name", "limit", "said"),
    [
        (
            "bw_out_allowance_exceeded",
            HELD_BYTES,
            (
                "held at 10.0 MB/s of writes by the VM's network limit (100.0 MB/s, catalogue, counted by the "
                "provider): counted by the provider itself, for 20 s"
            ),
        ),
        (
            "bw_in_allowance_exceeded",
            None,
            "held at 20.0 MB/s of reads by the VM's network limit: counted by the provider itself, for 20 s",
        ),
        (
            "pps_allowance_exceeded",
            None,
            "held by the VM's network limit: counted by the provider itself, for 20 s",
        ),
    ],
)
def test_an_allowance_of_an_interface_has_a_known_limit_of_its_dimension_and_direction_only(
    name, limit, said
):
    budgets, judge = {NETWORK: Budget(NETWORK, (NIC,), (told(Direction.WRITE),))}, Judge()
    flows = {NIC: FlowTick(1.0, read_bytes_per_second=20e6, write_bytes_per_second=10e6)}
    for second in range(30):
        witness = Witness(allowances={name: 50.0 if second > 5 else 0.0})
        verdict = judge.observe(100.0 + second, 1.0, budgets, flows, witness)[NETWORK]

    assert (verdict.word, verdict.limit) == (Word.THROTTLED, limit)
    assert verdict.sentence == said


@pytest.mark.parametrize(("iops", "throughput", "limit"), [(0.9, 0.0, 500.0), (0.0, 0.9, None)])
def test_a_volume_that_counts_itself_has_the_known_limit_of_that_dimension_only(
    iops, throughput, limit
):
    flow, disk = FlowKey("disk", "nvme1n1"), BudgetKey(Kind.DISK, "nvme1n1")
    sold = Limit(Dimension.IOPS, Direction.TOTAL, 500.0, Origin.CATALOGUE, "gp3")
    budgets, judge = {disk: Budget(disk, (flow,), (sold,))}, Judge()
    witness = Witness(ebs={"nvme1n1": EbsWitness(iops, throughput, 0.0, 0.0)})
    busy = FlowTick(1.0, 300.0, 0.0, 3e6, 0.0, 0.03, None, 9.0, 9, 1.0)
    for second in range(5):
        verdict = judge.observe(100.0 + second, 1.0, budgets, {flow: busy}, witness)[disk]

    assert (verdict.word, verdict.limit) == (Word.THROTTLED, limit)
