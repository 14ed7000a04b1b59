"""What the fold takes for a disk: one with several paths, partitions without sysfs, virtual ones."""

import pytest

from ioplateau.engine import Engine, EngineSettings
from ioplateau.limits.budgets import BudgetKey, FlowKey, Kind, Word
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.measure.snapshot import DISKSTATS, Snapshot, Static

HEAD, LANE = BudgetKey(Kind.DISK, "nvme0n1"), BudgetKey(Kind.VM_UNCACHED, "vm")
SERIAL = "vol0123"
SYSFS = {
    "nvme0n1": {
        "size": "2048",
        "dev": "259:0",
        "hidden": "0",
        "link": "../../devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1",
        "device/serial": SERIAL,
    },
    **{
        f"nvme0c{controller}n1": {
            "size": "2048",
            "hidden": "1",
            "link": f"../../devices/pci0000:00/0000:00:0{controller}.0/nvme/nvme{controller}"
            f"/nvme0c{controller}n1",
            "device/serial": SERIAL,
        }
        for controller in (0, 1)
    },
}
# What a tick of 1 s with 500 reads adds, by kernel: to the head, and to each of two paths.
COUNTED = {"paths only": (0, 250), "head only": (500, 0), "both": (500, 250)}


class Machine:
    """An engine fed with diskstats, a second apart."""

    def __init__(self, block=SYSFS, *rules):
        self.engine = Engine(EngineSettings(rules=Rules(rules)))
        self.static = Static(block=block)
        self.second = 0.0

    def tick(self, blobs=None, /, **reads):
        """Each disk with its cumulative reads of 4 KiB, 1 ms each."""
        self.second += 1
        lines = (
            f" 259 {number} {name} {count} 0 {count * 8} {count} 0 0 0 0 0 0 {count} 0 0 0 0 0 0\n"
            for number, (name, count) in enumerate(reads.items())
        )
        return self.engine.observe(
            Snapshot(
                mono=self.second,
                mono_end=self.second,
                wall=1e9 + self.second,
                boot=self.second,
                static=self.static,
                texts={DISKSTATS: "".join(lines).encode()},
                blobs=blobs or {},
            )
        )

    def work(self, head, path, seconds=4):
        for second in range(seconds):
            state = self.tick(
                nvme0n1=head * second, nvme0c0n1=path * second, nvme0c1n1=path * second
            )
        return state


def reads_per_second(state, name="nvme0n1"):
    window = state.disks[name].window
    return (window.after.reads - window.before.reads) / window.elapsed_seconds


@pytest.mark.parametrize("sysfs", [SYSFS, {}], ids=["with sysfs", "without sysfs"])
@pytest.mark.parametrize("counted", COUNTED.values(), ids=COUNTED)
def test_a_disk_with_two_paths_is_one_disk_counted_once(counted, sysfs):
    state = Machine(sysfs).work(*counted)

    assert set(state.disks) == {"nvme0n1"}
    assert reads_per_second(state) == 500
    assert state.budgets[LANE].budget.members == (FlowKey("disk", "nvme0n1"),)
    assert not {key.name for key in state.budgets} & {"nvme0c0n1", "nvme0c1n1"}


@pytest.mark.parametrize("counted", COUNTED.values(), ids=COUNTED)
@pytest.mark.parametrize("chosen", [{"disk": "nvme0n1"}, {"serial": SERIAL}, {"disk": "nvme*"}])
def test_a_limit_of_a_disk_with_two_paths_is_reached_once(counted, chosen):
    rule = ConfiguredLimit(iops=1000.0, source="test", **chosen)
    state = Machine(SYSFS, rule).work(*counted)
    told = [key.name for key, budget in state.budgets.items() if budget.budget.limits]

    assert told == ["nvme0n1"]
    assert state.budgets[HEAD].limits[0].utilization == pytest.approx(0.5)


def test_the_rates_of_the_lane_count_each_operation_once():
    rule = ConfiguredLimit(vm="uncached", iops=1000.0, source="test")
    state = Machine(SYSFS, rule).work(*COUNTED["both"])

    assert state.budgets[LANE].limits[0].utilization == pytest.approx(0.5)


def test_who_draws_on_a_disk_with_two_paths_is_told_by_its_heads_number():
    """Listed between its paths, as the kernel does."""
    machine, names = Machine(), ("nvme0c0n1", "nvme0n1", "nvme0c1n1")
    group = {"group": "/db", "device": "259:1", "read_bytes": 4096, "write_bytes": 0}
    groups = {
        "seconds": 3.0,
        "busiest": [{**group, "reads": 1, "writes": 0}],
        "device_bytes": {"259:1": 4096},
        "seen": 1,
    }
    look = {"consumers": {"processes": None, "groups": groups}}
    machine.tick(**dict.fromkeys(names, 0))
    state = machine.tick(look, **dict.fromkeys(names, 100))

    assert [each.label for each in state.consumers[HEAD].groups] == ["/db"]


def test_a_path_that_goes_or_comes_adds_no_operations():
    machine = Machine()
    machine.tick(nvme0n1=0, nvme0c0n1=900_000, nvme0c1n1=100_000)
    machine.tick(nvme0n1=0, nvme0c0n1=900_250, nvme0c1n1=100_250)
    gone = machine.tick(nvme0n1=0, nvme0c0n1=900_500)
    machine.tick(nvme0n1=0, nvme0c0n1=901_000)
    back = machine.tick(nvme0n1=0, nvme0c0n1=901_250, nvme0c1n1=100_750)
    state = machine.tick(nvme0n1=0, nvme0c0n1=901_500, nvme0c1n1=101_000)

    assert gone.disks["nvme0n1"].window is None
    assert back.disks["nvme0n1"].window is None
    assert reads_per_second(state) == 500


def test_a_head_that_begins_to_count_begins_anew():
    machine = Machine()
    machine.tick(nvme0n1=0, nvme0c0n1=900_000, nvme0c1n1=0)
    machine.tick(nvme0n1=0, nvme0c0n1=900_500, nvme0c1n1=0)
    switched = machine.tick(nvme0n1=400, nvme0c0n1=901_000, nvme0c1n1=0)
    state = machine.tick(nvme0n1=900, nvme0c0n1=901_500, nvme0c1n1=0)

    assert switched.disks["nvme0n1"].window is None
    assert reads_per_second(state) == 500


def test_a_mapper_node_over_two_paths_is_one_disk_counted_once():
    block = {name: {"size": "2048", "device/vpd_pg80": SERIAL} for name in ("sda", "sdb")}
    block["dm-0"] = {"size": "2048", "dm/uuid": "mpath-36", "slaves": ["sda", "sdb"]}
    machine = Machine(block, ConfiguredLimit(iops=1000.0, serial=SERIAL, source="test"))
    for second in range(4):
        half = 250 * second
        state = machine.tick(**{"sda": half, "sdb": half, "dm-0": half * 2})
    told = [key for key, budget in state.budgets.items() if budget.budget.limits]

    assert set(state.disks) == {"dm-0"}
    assert told == [BudgetKey(Kind.DISK, "dm-0")]
    assert state.budgets[told[0]].limits[0].utilization == pytest.approx(0.5)
    assert state.budgets[LANE].budget.members == (FlowKey("disk", "dm-0"),)


def test_a_virtual_disk_repeats_what_other_disks_do():
    block = {
        "sda": {"size": "2048", "dev": "8:0", "link": "../../devices/pci0/host0/0:0:0:0/block/sda"},
        "zd0": {"size": "2048", "dev": "230:0", "link": "../../devices/virtual/block/zd0"},
    }
    state = Machine(block).tick(sda=1, zd0=1)

    assert set(state.disks) == {"sda", "zd0"}
    assert state.budgets[LANE].budget.members == (FlowKey("disk", "sda"),)


@pytest.mark.parametrize(
    ("disk", "partition"),
    [
        ("dasda", "dasda1"),
        ("ubda", "ubda1"),
        ("emcpowera", "emcpowera1"),
        ("sda", "sda1"),
        ("mmcblk0", "mmcblk0p1"),
        ("nvme0n1", "nvme0n1p15"),
    ],
)
def test_without_sysfs_a_name_beside_its_disks_is_a_partition(disk, partition):
    assert set(Machine({}).tick(**{disk: 5, partition: 4}).disks) == {disk}


def test_what_sysfs_calls_a_disk_is_one_whatever_its_name():
    block = {name: {"size": "2048", "dev": "8:0"} for name in ("xvda", "xvda1")}

    assert set(Machine(block).tick(xvda=5, xvda1=5).disks) == {"xvda", "xvda1"}
    assert set(Machine({}).tick(xvda1=5, xvdb=5).disks) == {"xvda1", "xvdb"}


def test_a_drive_that_gets_a_medium_is_seen_when_it_is_read():
    block = {"sda": {"size": "2048", "dev": "8:0"}, "nbd0": {"size": "0", "dev": "43:0"}}
    static, engine = Static(block=block), Engine()

    def tick(second, reads):
        text = (
            f"   8 0 sda {second * 100} 0 {second * 800} 10 0 0 0 0 0 10 10 0 0 0 0 0 0\n"
            f"  43 0 nbd0 {reads} 0 {reads * 8} 10 0 0 0 0 0 10 10 0 0 0 0 0 0\n"
        )
        return engine.observe(
            Snapshot(
                mono=float(second), mono_end=float(second), wall=1e9 + second, static=static,
                texts={DISKSTATS: text.encode()},
            )
        )  # fmt: skip

    before = [tick(second, 0) for second in range(1, 4)]
    begins, *after = [tick(second, 500 * (second - 3)) for second in range(4, 7)]

    assert not any("nbd0" in state.disks or state.is_unfamiliar for state in before[1:])
    assert begins.is_unfamiliar  # so that its size is asked for
    assert all("nbd0" in state.disks for state in (begins, *after))


def test_a_disk_that_the_kernel_does_not_count_is_unknown_and_said_to_be_so():
    sysfs = {"size": "2048", "link": "../../devices/pci0000:00/virtio1/block/vdb"}
    machine = Machine({"vdb": {**sysfs, "queue/iostats": "0"}})
    for _ in range(4):
        state = machine.tick(vdb=7)

    assert state.flows[FlowKey("disk", "vdb")] is None
    assert state.budgets[BudgetKey(Kind.DISK, "vdb")].verdict.word is Word.UNKNOWN
    assert state.disks["vdb"].window is None
    assert not state.is_unfamiliar
    assert any("echo 1 > /sys/block/vdb/queue/iostats" in notice for notice in state.notices)


def test_memory_of_which_nothing_is_counted_takes_nothing_from_the_vm_and_is_no_news():
    sysfs = {"size": "2048", "link": "../../devices/pci0000:00/virtio1/block/vda"}
    machine = Machine({"vda": sysfs, "pmem0": {"size": "2048", "queue/iostats": "0"}})
    for count in (7, 17, 27):
        state = machine.tick(vda=count, pmem0=0)

    assert state.flows[FlowKey("disk", "pmem0")] is None
    assert state.budgets[BudgetKey(Kind.VM_UNCACHED, "vm")].budget.members == (
        FlowKey("disk", "vda"),
    )
    assert state.budgets[BudgetKey(Kind.VM_UNCACHED, "vm")].verdict.word is not Word.UNKNOWN
    assert state.notices == ()


def test_what_is_counted_although_sysfs_says_otherwise_is_known():
    zram = Machine({"zram0": {"size": "2048", "queue/iostats": "0"}})
    for count in (7, 7, 7):
        state = zram.tick(zram0=count)
    assert state.budgets[BudgetKey(Kind.DISK, "zram0")].verdict.word is Word.IDLE

    sysfs = {"size": "2048", "link": "../../devices/pci0000:00/virtio1/block/vdb"}
    again = Machine({"vdb": {**sysfs, "queue/iostats": "0"}})
    for count in (7, 7, 17, 27):
        state = again.tick(vdb=count)
    assert reads_per_second(state, "vdb") == 10
