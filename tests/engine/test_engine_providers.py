"""The fold and what a provider's devices count themselves."""

import pytest

from ioplateau.engine import Engine, EngineSettings
from ioplateau.engine.providers import Providers
from ioplateau.judge.witness import EbsWitness
from ioplateau.judge.words import sentence
from ioplateau.limits.budgets import BudgetKey, Dimension, Direction, Kind, Origin, Word
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.measure.ebs import EbsCounters
from ioplateau.measure.snapshot import DISKSTATS, NETDEV, Snapshot, Static
from ioplateau.tell import prometheus

STATIC = Static(
    block={
        "nvme1n1": {"size": "2048", "dev": "259:0", "device/model": "Amazon Elastic Block Store"}
    }
)


def volume(**counters):
    names = EbsCounters._fields
    return {name: counters.get(name, 0) for name in names}


def snapshot(second, blobs=None, failed=None):
    return Snapshot(
        mono=float(second),
        mono_end=float(second),
        wall=1e9 + second,
        boot=float(second),
        static=STATIC,
        texts={
            DISKSTATS: (
                f" 259 0 nvme1n1 {second * 3000} 0 {second * 24000} {second * 9000} "
                f"0 0 0 0 32 {second * 1000} {second * 32000} 0 0 0 0 0 0\n"
            ).encode()
        },
        blobs=blobs or {},
        failed=failed or {},
    )


def test_shares_of_the_time_over_each_limit_are_told_apart():
    heard = Providers()
    heard.take_volumes(1.0, {"nvme1n1": volume()}, gap=False)
    later = volume(
        volume_iops_exceeded_microseconds=500_000,
        instance_throughput_exceeded_microseconds=2_000_000,
    )
    heard.take_volumes(3.0, {"nvme1n1": later}, gap=False)

    assert heard.exceeded == {"nvme1n1": EbsWitness(0.25, 0.0, 0.0, 1.0)}


@pytest.mark.parametrize("gap", [True, False])
def test_across_a_gap_and_at_the_first_reading_nothing_is_known(gap):
    heard = Providers()
    if gap:
        heard.take_volumes(1.0, {"nvme1n1": volume()}, gap=False)
        heard.take_interfaces(1.0, {"eth0": {"pps_allowance_exceeded": 1}}, gap=False)
    heard.take_volumes(2.0, {"nvme1n1": volume()}, gap=gap)
    heard.take_interfaces(2.0, {"eth0": {"pps_allowance_exceeded": 9}}, gap=gap)

    assert heard.exceeded == {}
    assert not any(heard.allowances.values())


def test_packets_over_an_allowance_are_the_instances_so_interfaces_add_up():
    heard = Providers()
    name = "bw_out_allowance_exceeded"
    heard.take_interfaces(1.0, {"eth0": {name: 100}, "eth1": {name: 5}}, gap=False)
    heard.take_interfaces(3.0, {"eth0": {name: 120}, "eth1": {name: 15}}, gap=False)

    assert heard.allowances == {name: 15.0}


def test_what_an_interface_counted_before_we_looked_is_no_excess():
    heard = Providers()
    name = "bw_in_allowance_exceeded"
    heard.take_interfaces(1.0, {"eth0": {name: 100}}, gap=False)
    heard.take_interfaces(2.0, {"eth0": {name: 100}, "eth1": {name: 7000}}, gap=False)

    assert heard.allowances == {name: 0.0}


def test_a_driver_loaded_anew_counts_from_zero_and_that_is_no_excess():
    heard = Providers()
    name = "pps_allowance_exceeded"
    heard.take_interfaces(1.0, {"eth0": {name: 100}}, gap=False)
    heard.take_interfaces(2.0, {"eth0": {name: 3}}, gap=False)

    assert heard.allowances == {name: 0.0}


def test_a_volume_that_counts_itself_throttled_is_throttled_without_any_known_limit():
    engine = Engine()
    for second in range(20):
        counters = volume(volume_iops_exceeded_microseconds=second * 900_000)
        state = engine.observe(snapshot(second, {"ebs": {"nvme1n1": counters}}))
    verdict = state.budgets[BudgetKey(Kind.DISK, "nvme1n1")].verdict

    assert verdict.word is Word.THROTTLED
    assert (verdict.dimension, verdict.origin) == (Dimension.IOPS, Origin.REPORTED)


def test_an_instance_store_volume_that_counts_itself_says_nothing_of_the_instances_ebs_limit():
    engine = Engine()
    static = Static(
        block={
            "nvme1n1": {
                "size": "2048",
                "dev": "259:0",
                "device/model": "Amazon EC2 NVMe Instance Storage",
            }
        }
    )
    for second in range(20):
        counters = volume(volume_throughput_exceeded_microseconds=second * 900_000)
        of_store = {name: count for name, count in counters.items() if "instance" not in name}
        read = snapshot(second, {"ebs": {"nvme1n1": of_store}})
        state = engine.observe(read._replace(static=static))
    verdict = state.budgets[BudgetKey(Kind.DISK, "nvme1n1")].verdict
    text = prometheus.render(state).decode()

    assert (verdict.word, verdict.dimension) == (Word.THROTTLED, Dimension.THROUGHPUT)
    assert verdict.origin is Origin.REPORTED
    assert text.count("\nioplateau_disk_limit_exceeded_seconds_total{") == 2


def counted(rates):
    """The limit that is told each second at these rates, while the volume counts that more is asked for, and the
    sentence at the end: base 500, and a burst of 3,000.
    """
    rule = ConfiguredLimit(disk="nvme1n1", iops=500, burst_iops=3000, burst_seconds=1800)
    engine = Engine(EngineSettings(rules=Rules((rule,))))
    limits, reads = [], 0
    for second, rate in enumerate(rates):
        reads += rate
        line = f" 259 0 nvme1n1 {reads} 0 {reads * 8} {second * 32000} 0 0 0 0 32 {second * 1000} {second * 32000}\n"
        counters = volume(volume_iops_exceeded_microseconds=second * 900_000)
        read = snapshot(second, {"ebs": {"nvme1n1": counters}})
        state = engine.observe(read._replace(texts={DISKSTATS: line.encode()}))
        verdict = state.budgets[BudgetKey(Kind.DISK, "nvme1n1")].verdict
        limits.append(verdict.limit)
    return limits, sentence(verdict, second)


def test_what_is_counted_in_a_burst_is_held_by_the_burst_and_then_by_the_base():
    # As an EC2 instance whose EBS credit ends: requests of 4 KiB, first 3,000 a second, then 500.
    limits, said = counted([0] + [3000] * 20 + [500] * 19)

    assert limits[2:21] == [3000] * 19
    assert limits[22:] == [500] * 18
    assert "(500 IOPS, configured, counted by the provider)" in said


def test_a_rate_below_the_base_tells_not_whether_the_burst_is_over():
    limits, _ = counted([0] + [3000] * 15 + [400] + [3000] * 5 + [500] * 5 + [400] * 3)

    assert limits[2:22] == [3000] * 20
    assert limits[23:] == [500] * 7


def test_bursts_of_less_than_a_second_are_held_by_the_burst():
    limits, _ = counted([0] + [400] * 20)

    assert limits[2:] == [3000] * 19


def test_a_source_that_fails_takes_back_what_it_said():
    engine = Engine()
    for second in range(20):
        counters = volume(volume_iops_exceeded_microseconds=second * 900_000)
        engine.observe(snapshot(second, {"ebs": {"nvme1n1": counters}}))
    for second in range(20, 40):
        state = engine.observe(snapshot(second, failed={"ebs": "ebs: gone"}))

    assert not state.sources["ebs"].up
    assert state.volumes == {}


def test_an_allowance_that_cannot_be_read_any_more_is_exceeded_no_longer():
    network = BudgetKey(Kind.VM_NETWORK, "vm")
    rule = ConfiguredLimit(vm="network", bytes_per_second=1e9)
    engine = Engine(EngineSettings(rules=Rules((rule,))))
    words = []
    for second in range(60):
        octets = second * 100_000_000
        row = f"Inter-|   Receive\n face |bytes\n  eth0: 0 0 0 0 0 0 0 0 {octets} 1 0 0 0 0 0 0\n"
        counted = {"allowances": {"eth0": {"bw_out_allowance_exceeded": second * 100}}}
        is_read = second < 30
        read = snapshot(
            second, counted if is_read else {}, {} if is_read else {"allowances": "eth0: gone"}
        )
        state = engine.observe(read._replace(texts={**read.texts, NETDEV: row.encode()}))
        words.append(state.budgets[network].verdict.word)

    assert words[29] is Word.THROTTLED
    assert words[-1] is not Word.THROTTLED


def test_what_is_counted_in_a_burst_is_booked_at_what_was_done_and_calls_no_limit_wrong():
    # As the baseline of an EC2 instance.
    rule = ConfiguredLimit(vm="network", bytes_per_second=1e7, direction=Direction.WRITE)
    engine = Engine(EngineSettings(rules=Rules((rule,))))
    for second in range(30):
        octets = second * 100_000_000
        row = f"Inter-|   Receive\n face |bytes\n  eth0: 0 0 0 0 0 0 0 0 {octets} 1 0 0 0 0 0 0\n"
        counted = {"allowances": {"eth0": {"bw_out_allowance_exceeded": second * 100}}}
        read = snapshot(second, counted)
        state = engine.observe(read._replace(texts={**read.texts, NETDEV: row.encode()}))
    [line] = state.budgets[BudgetKey(Kind.VM_NETWORK, "vm")].limits

    assert line.throttled
    assert line.effective == pytest.approx(1e8, rel=0.01)
    assert not [notice for notice in state.notices if "network" in notice]


def test_a_volume_that_cannot_be_asked_is_a_notice_and_no_failed_source():
    state = Engine().observe(snapshot(1, {"ebs": {"nvme1n1": "Operation not permitted"}}))

    assert state.sources["ebs"].up
    assert state.sources["ebs"].rejects == 0
    assert "EC2 volumes nvme1n1" in state.notices[0]
    assert "CAP_SYS_ADMIN" in state.notices[0]


def test_the_exposition_has_the_counters_of_volumes_and_interfaces():
    blobs = {
        "ebs": {"nvme1n1": volume(instance_iops_exceeded_microseconds=2_500_000)},
        "allowances": {"eth0": {"pps_allowance_exceeded": 42}},
    }
    text = prometheus.render(Engine().observe(snapshot(1, blobs))).decode()

    assert (
        'ioplateau_disk_limit_exceeded_seconds_total{device="nvme1n1",dimension="iops",'
        'kind="vm_uncached"} 2.5' in text
    )
    assert (
        'ioplateau_interface_allowance_exceeded_total{allowance="pps",interface="eth0"} 42' in text
    )


def test_a_volume_that_counts_itself_exceeded_is_booked_though_nobody_told_its_limit():
    """On AWS the type of a volume is told only if somebody asks for it; the alerts go by throttled seconds."""
    engine = Engine()
    for second in range(20):
        counters = volume(volume_iops_exceeded_microseconds=second * 900_000)
        state = engine.observe(snapshot(second, {"ebs": {"nvme1n1": counters}}))

    [line] = state.budgets[BudgetKey(Kind.DISK, "nvme1n1")].limits
    assert line.throttled
    assert line.throttled_seconds >= 15.0
    assert (line.limit.dimension, line.limit.origin) == (Dimension.IOPS, Origin.REPORTED)
    assert not engine.memory()["accounts"]["learned"]


def test_each_of_the_four_limits_that_a_volume_counts_is_told_as_itself():
    heard = Providers()
    heard.take_volumes(1.0, {"nvme1n1": volume()}, gap=False)
    later = volume(
        volume_iops_exceeded_microseconds=100_000,
        volume_throughput_exceeded_microseconds=200_000,
        instance_iops_exceeded_microseconds=300_000,
        instance_throughput_exceeded_microseconds=400_000,
    )
    heard.take_volumes(2.0, {"nvme1n1": later}, gap=False)

    assert heard.exceeded == {
        "nvme1n1": EbsWitness(
            volume_iops=0.1, volume_throughput=0.2, instance_iops=0.3, instance_throughput=0.4
        )
    }
