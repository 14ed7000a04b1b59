"""The fold, from raw text to state."""

from ioplateau.engine import Engine, EngineSettings
from ioplateau.limits.budgets import BudgetKey, Dimension, FlowKey, Kind, Origin, Word
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.measure.snapshot import DISKSTATS, MOUNTSTATS, NETDEV, Snapshot, Static

SDA = BudgetKey(Kind.DISK, "sda")
STATIC = Static(block={"sda": {"size": "2048", "dev": "8:0"}})


def line(reads, *, name="sda", milliseconds=0, in_flight=0):
    return (
        f"   8       0 {name} {reads} 0 {reads * 8} {milliseconds} 0 0 0 0 "
        f"{in_flight} {milliseconds} {milliseconds} 0 0 0 0 0 0\n"
    ).encode()


def snapshot(mono, text=b"", *, boot=None, static=STATIC, **parts):
    texts = {DISKSTATS: text} if text else {}
    return Snapshot(
        mono=mono,
        mono_end=mono,
        wall=1e9 + mono,
        boot=mono if boot is None else boot,
        static=static,
        texts={**texts, **parts.pop("texts", {})},
        **parts,
    )


def engine(**settings):
    return Engine(EngineSettings(**settings))


def test_the_first_tick_knows_disks_but_no_rates():
    state = engine().observe(snapshot(1.0, line(10)))

    assert state.disks["sda"].now.reads == 10
    assert state.disks["sda"].window is None
    assert state.budgets[SDA].verdict.word is Word.UNKNOWN


def test_a_window_spans_the_rate_window_and_no_more():
    fold = engine(rate_window_seconds=5.0)
    for second in range(12):
        state = fold.observe(snapshot(float(second), line(second * 100)))
    window = state.disks["sda"].window

    assert window is not None
    assert window.elapsed_seconds == 5.0
    assert window.after.reads - window.before.reads == 500


def test_a_state_tells_of_its_own_tick_however_late_it_is_asked():
    fold = engine()
    fold.observe(snapshot(1.0, line(100), texts={NETDEV: b"  eth0:" + b" 7" * 16 + b"\n"}))
    early = fold.observe(snapshot(2.0, line(150)))
    for second in range(3, 30):
        fold.observe(snapshot(float(second), line(second * 100)))
    disk = early.disks["sda"]

    assert (disk.now.reads, disk.window.before.reads) == (150, 100)
    assert disk.window.elapsed_seconds == 1.0
    assert early.interfaces["eth0"].window is None  # its file could not be read at that tick


def test_rates_divide_by_the_sources_own_time():
    fold = engine()
    fold.observe(snapshot(1.0, line(0), at={DISKSTATS: 1.2}))
    state = fold.observe(snapshot(2.0, line(100), at={DISKSTATS: 2.6}))

    assert abs(state.disks["sda"].window.elapsed_seconds - 1.4) < 1e-9


def test_a_gap_gives_no_rates_and_the_story_begins_anew():
    fold = engine()
    fold.observe(snapshot(1.0, line(0)))
    fold.observe(snapshot(2.0, line(100)))
    state = fold.observe(snapshot(22.0, line(200)))

    assert state.disks["sda"].window is None
    assert state.disks["sda"].now.reads == 200


def test_a_suspend_that_only_the_boot_clock_saw_is_a_gap_too():
    fold = engine()
    fold.observe(snapshot(1.0, line(0), boot=1.0))
    state = fold.observe(snapshot(2.0, line(100), boot=600.0))

    assert state.disks["sda"].window is None


def test_one_missed_tick_is_no_gap():
    fold = engine()
    fold.observe(snapshot(1.0, line(0)))
    state = fold.observe(snapshot(3.0, line(100)))

    assert state.disks["sda"].window.elapsed_seconds == 2.0


def test_counters_that_fell_are_a_new_disk():
    fold = engine()
    fold.observe(snapshot(1.0, line(100)))
    fold.observe(snapshot(2.0, line(200)))
    state = fold.observe(snapshot(3.0, line(5)))

    assert state.disks["sda"].window is None


def test_another_disk_under_the_same_name_is_a_new_flow_although_its_counters_rose():
    before = STATIC._replace(block={"sda": {"size": "2048", "serial": "one"}})
    after = STATIC._replace(block={"sda": {"size": "2048", "serial": "two"}})
    fold = engine()
    fold.observe(snapshot(1.0, line(100), static=before))
    fold.observe(snapshot(2.0, line(200), static=before))
    swapped = fold.observe(snapshot(3.0, line(300), static=after))
    first = fold.observe(snapshot(4.0, line(400), static=after))
    second = fold.observe(snapshot(5.0, line(500), static=after))

    assert "sda" not in swapped.disks
    assert first.disks["sda"].window is None
    assert second.disks["sda"].window.elapsed_seconds == 1.0


def test_what_was_learned_of_a_disk_is_not_held_against_the_next_of_its_name():
    before = STATIC._replace(block={"sda": {"size": "2048", "serial": "one"}})
    after = STATIC._replace(block={"sda": {"size": "2048", "serial": "two"}})
    fold = engine()
    for second in range(60):
        text = line(second * 500, milliseconds=second * 16_000, in_flight=16)
        old = fold.observe(snapshot(float(second), text, static=before))
    for second in range(60, 63):
        text = line(second * 500, milliseconds=second * 16_000, in_flight=16)
        new = fold.observe(snapshot(float(second), text, static=after))

    assert old.budgets[SDA].limits[0].limit.origin is Origin.LEARNED
    assert new.budgets[SDA].limits == ()


def test_an_identity_that_sysfs_tells_late_is_no_other_disk():
    late = STATIC._replace(block={"sda": {"size": "2048", "serial": "one"}})
    fold = engine()
    fold.observe(snapshot(1.0, line(100)))
    state = fold.observe(snapshot(2.0, line(200), static=late))

    assert state.disks["sda"].window is not None


def test_counts_of_a_budget_that_is_away_for_a_tick_go_on():
    rule = ConfiguredLimit(disk="sda", iops=500.0)
    fold = engine(rules=Rules((rule,)))

    def tick(second, text):
        return fold.observe(snapshot(float(second), text))

    for second in range(20):
        state = tick(second, line(second * 500, milliseconds=second * 16_000, in_flight=16))
    counted = state.budgets[SDA].limits[0].throttled_seconds
    away = tick(20, line(1, name="sdb"))
    back = tick(21, line(21 * 500, milliseconds=21 * 16_000, in_flight=16))

    assert counted >= 10
    assert SDA not in away.budgets
    assert away.flow_throttled_seconds == {}
    assert back.budgets[SDA].limits[0].throttled_seconds == counted


def test_a_told_limit_that_has_held_nobody_yet_is_counted_as_0():
    rules = Rules(
        (
            ConfiguredLimit(disk="sda", iops=500.0, bytes_per_second=1e8),
            ConfiguredLimit(vm="uncached", iops=9000.0),
        )
    )
    fold, disk = engine(rules=rules), FlowKey("disk", "sda")
    first = fold.observe(snapshot(0.0, line(0)))
    for second in range(1, 20):
        text = line(second * 500, milliseconds=second * 16_000, in_flight=16)
        held = fold.observe(snapshot(float(second), text))

    assert first.flow_throttled_seconds == {
        (disk, SDA, Dimension.IOPS): 0,
        (disk, SDA, Dimension.THROUGHPUT): 0,
        (disk, BudgetKey(Kind.VM_UNCACHED, "vm"), Dimension.IOPS): 0,
    }
    assert first.flow_throttled_seconds.keys() == held.flow_throttled_seconds.keys()
    assert held.flow_throttled_seconds[disk, SDA, Dimension.IOPS] >= 10
    assert engine().observe(snapshot(0.0, line(0))).flow_throttled_seconds == {}


def test_counts_of_the_last_run_wait_for_a_budget_that_comes_late():
    rule = ConfiguredLimit(disk="sda", iops=500.0)
    first, second = (engine(rules=Rules((rule,))) for _ in range(2))
    for at in range(20):
        text = line(at * 500, milliseconds=at * 16_000, in_flight=16)
        before = first.observe(snapshot(float(at), text))
    second.restore(first.memory(), 5.0)
    second.observe(snapshot(1.0, line(1, name="sdb")))
    state = second.observe(snapshot(2.0, line(1)))
    counted = before.budgets[SDA].limits[0].throttled_seconds

    assert state.budgets[SDA].limits[0].throttled_seconds >= counted > 0


def test_a_device_that_vanished_is_gone_and_the_others_go_on():
    fold = engine()
    fold.observe(snapshot(1.0, line(1) + line(1, name="sdb")))
    fold.observe(snapshot(2.0, line(2) + line(2, name="sdb")))
    state = fold.observe(snapshot(3.0, line(3)))

    assert set(state.disks) == {"sda"}
    assert BudgetKey(Kind.DISK, "sdb") not in state.budgets
    assert state.disks["sda"].window.elapsed_seconds == 2.0


def test_partitions_are_no_flows():
    state = engine().observe(snapshot(1.0, line(1) + line(1, name="sda1")))

    assert set(state.disks) == {"sda"}


def test_an_empty_loop_device_is_no_flow():
    static = STATIC._replace(block={**STATIC.block, "loop0": {"size": "0"}})
    state = engine().observe(snapshot(1.0, line(1) + line(0, name="loop0"), static=static))

    assert set(state.disks) == {"sda"}


def test_a_loop_device_is_a_flow_while_it_has_a_file():
    """Taken off, and put on again before the machine is looked at once more; with another size it is another disk."""
    on = STATIC._replace(block={**STATIC.block, "loop0": {"size": "2048"}})
    off = STATIC._replace(block={**STATIC.block, "loop0": {"size": "0"}})
    looks = [(on, 7), (on, 9), (off, 9), (off, 9), (off, 12), (off, 13), (on, 13), (on, 14)]
    fold, shown = engine(), []
    for second, (static, reads) in enumerate(looks):
        text = line(1) + line(reads, name="loop0")
        state = fold.observe(snapshot(1.0 + second, text, static=static))
        shown.append("loop0" in state.disks)

    assert shown == [True, True, False, False, True, True, False, True]


def test_a_failed_source_is_said_and_what_was_known_stays():
    fold = engine()
    fold.observe(snapshot(1.0, line(1)))
    state = fold.observe(snapshot(2.0, failed={DISKSTATS: "no answer"}))

    assert not state.sources["diskstats"].up
    assert state.sources["diskstats"].why == "no answer"
    assert state.disks["sda"].now.reads == 1
    assert state.budgets[SDA].verdict.word is Word.UNKNOWN


def test_rejected_lines_are_counted_over_ticks():
    fold = engine()
    fold.observe(snapshot(1.0, line(1) + b"   8 0 sdb broken\n"))
    state = fold.observe(snapshot(2.0, line(2) + b"   8 0 sdb broken\n"))

    assert state.sources["diskstats"].rejects == 2
    assert "broken" in state.sources["diskstats"].last_reject


def test_a_format_error_is_a_dead_source_not_a_dead_engine():
    state = engine().observe(snapshot(1.0, line(1), texts={"/proc/pressure/io": b"\x00nonsense"}))

    assert not state.sources["pressure"].up
    assert state.machine.pressure is None
    assert state.disks["sda"].now.reads == 1


def test_a_disk_at_its_configured_limit_with_a_queue_is_throttled_and_counted():
    rule = ConfiguredLimit(disk="sda", iops=500.0, source="config.toml limit[0]")
    fold = engine(rules=Rules((rule,)))
    for second in range(20):
        text = line(second * 500, milliseconds=second * 16_000, in_flight=16)
        state = fold.observe(snapshot(float(second), text))
    budget = state.budgets[SDA]
    limit = budget.limits[0]

    assert budget.verdict.word is Word.THROTTLED
    assert limit.throttled
    assert limit.throttled_seconds >= 10
    assert limit.episodes == 1
    assert abs(limit.utilization - 1.0) < 1e-9


def test_at_a_limit_of_requests_whoever_makes_most_of_them_is_named_first():
    groups = [
        {"group": "/large", "device": "8:0", "read_bytes": 900, "reads": 10},
        {"group": "/many", "device": "8:0", "read_bytes": 100, "reads": 90},
    ]
    look = {"seconds": 3.0, "seen": 2, "device_bytes": {"8:0": 1000}, "device_requests": {"8:0": 100},
            "busiest": [{"write_bytes": 0, "writes": 0, **each} for each in groups]}  # fmt: skip
    fold = engine(rules=Rules((ConfiguredLimit(disk="sda", iops=500.0),)))
    for at in range(20):
        text = line(at * 500, milliseconds=at * 16_000, in_flight=16)
        blobs = {"consumers": {"processes": None, "groups": look}}
        state = fold.observe(snapshot(float(at), text, blobs=blobs))

    assert [each.label for each in state.consumers[SDA].groups] == ["/many", "/large"]


def test_a_disk_below_its_limit_is_not_throttled():
    rule = ConfiguredLimit(disk="sda", iops=500.0)
    fold = engine(rules=Rules((rule,)))
    for second in range(20):
        text = line(second * 250, milliseconds=second * 500, in_flight=1)
        state = fold.observe(snapshot(float(second), text))

    assert state.budgets[SDA].verdict.word is not Word.THROTTLED
    assert state.budgets[SDA].limits[0].throttled_seconds == 0


def test_new_settings_apply_and_nothing_measured_is_lost():
    fold = engine()
    fold.observe(snapshot(1.0, line(1)))
    fold.configure(EngineSettings(rules=Rules((ConfiguredLimit(disk="sda", iops=10.0),))))
    state = fold.observe(snapshot(2.0, line(2)))

    assert state.budgets[SDA].limits[0].limit.value == 10.0
    assert state.disks["sda"].window is not None


def test_a_disk_that_only_discards_is_not_idle_until_it_rests():
    fold, words = engine(), []
    for second in range(40):
        discards = 90 * min(max(second - 10, 0), 20)
        columns = f"7 0 56 7 0 0 0 0 0 7 7 {discards} 0 {discards * 8} {discards} 0 0"
        state = fold.observe(snapshot(1.0 + second, f"   8 0 sda {columns}\n".encode()))
        words.append(state.budgets[BudgetKey(Kind.DISK, "sda")].verdict.word)

    assert words[9] is Word.IDLE
    assert {*words[14:30]} == {Word.HEALTHY}
    assert words[-1] is Word.IDLE


def test_discards_that_are_always_outstanding_are_not_called_served_at_once():
    fold, said = engine(), []
    for second in range(20):
        done, waits = 100 * max(second - 5, 0), 16 if second > 4 else 0
        took = 160 * done
        columns = f"7 0 56 7 0 0 0 0 {waits} {took} {took} {done} 0 {done * 8} {took} 0 0"
        state = fold.observe(snapshot(1.0 + second, f"   8 0 sda {columns}\n".encode()))
        said.append(state.budgets[BudgetKey(Kind.DISK, "sda")].verdict.sentence)

    assert {sentence.partition(", some")[0] for sentence in said[7:]} == {
        "100.0 discards a second, 160 ms each"
    }


def test_interfaces_are_followed():
    header = b"Inter-|   Receive\n face |bytes\n"
    row = "  eth0: {0} 1 0 0 0 0 0 0 {0} 1 0 0 0 0 0 0\n"
    fold = engine()
    fold.observe(snapshot(1.0, texts={NETDEV: header + row.format(0).encode()}))
    state = fold.observe(
        snapshot(
            2.0,
            texts={NETDEV: header + row.format(5000).encode()},
            blobs={"interfaces": {"eth0": {"speed_mbit": 1000, "up": True, "mtu": 1500}}},
        )
    )

    assert state.interfaces["eth0"].window.after.receive_bytes == 5000
    assert state.interfaces["eth0"].speed_bits_per_second == 1e9


def test_an_interface_that_was_long_not_looked_at_has_no_rate():
    row = "Inter-|   Receive\n face |bytes\n  eth0: {0} 1 0 0 0 0 0 0 {0} 1 0 0 0 0 0 0\n"
    fold = engine()
    for mono, octets in ((1.0, 1000), (2.0, 2000), (600.0, 9_000_000)):
        state = fold.observe(snapshot(mono, texts={NETDEV: row.format(octets).encode()}))

    assert state.interfaces["eth0"].window is None
    assert state.flows[FlowKey("nic", "eth0")] is None


def test_a_new_interface_is_unfamiliar_until_sysfs_tells_of_it_or_does_not_in_time():
    def seen(fold, mono, *names, told):
        lines = "".join(f"{name}: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n" for name in names)
        text = b"Inter-|   Receive\n face |bytes\n" + lines.encode()
        places = {f"/sys/class/net/{name}": f"../../devices/pci0/net/{name}" for name in told}
        static = Static(files=places)
        return fold.observe(
            snapshot(mono, static=static, texts={"/proc/net/dev": text})
        ).is_unfamiliar

    fold = engine()
    assert not seen(fold, 1.0, "eth0", told=["eth0"])
    assert seen(fold, 2.0, "eth0", "eth1", told=["eth0"])
    assert not seen(fold, 3.0, "eth0", "eth1", told=["eth0", "eth1"])
    assert not seen(fold, 4.0, "eth0", "eth1", "veth7", told=["eth0", "eth1"])
    assert seen(fold, 5.0, "eth0", "eth1", "eth2", told=["eth0", "eth1"])
    assert not seen(fold, 20.0, "eth0", "eth1", "eth2", told=["eth0", "eth1"])


def test_a_snapshot_without_any_source_is_no_error():
    state = engine().observe(snapshot(1.0))

    assert state.disks == {}
    assert MOUNTSTATS not in state.sources


def test_iowait_that_the_kernel_corrects_is_not_told_to_fall():
    fold, told = engine(), []
    for second, iowait in enumerate((5000, 4990, 4995, 5010, 100)):
        text = f"cpu  1 0 1 1 {iowait} 0 0 7 0 0\n".encode()
        state = fold.observe(snapshot(float(second), texts={"/proc/stat": text}))
        told.append(state.machine.cpu.iowait)

    assert told == [5000, 5000, 5000, 5010, 100]


def test_what_was_not_due_still_holds_and_what_failed_does_not():
    stat = {"/proc/stat": b"cpu  1 0 1 1 5 0 0 7 0 0\nbtime 1\n"}
    fold = engine()
    fold.observe(snapshot(1.0, texts=stat))
    quiet = fold.observe(snapshot(2.0))
    broken = fold.observe(snapshot(3.0, failed={"/proc/stat": "gone"}))

    assert quiet.machine.cpu.iowait == 5
    assert quiet.sources["stat"].up
    assert broken.machine.cpu is None
