"""Who draws on what."""

import pytest

from ioplateau.limits.budgets import BudgetKey, Dimension, Direction, FlowKey, Kind, Origin
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.clouds import discover
from ioplateau.limits.clouds.identity import DiskIdentity, Identity
from ioplateau.limits.tables import Tables
from ioplateau.limits.topology import GroupFlow, NfsFlow, Rules, build
from ioplateau.measure.multipath import described
from ioplateau.measure.snapshot import Static
from ioplateau.measure.sysblock import parse


def machine(**block):
    slaves = {name: tuple(a.pop("slaves", ())) for name, a in block.items()}
    partitions = {name: a.pop("of") for name, a in block.items() if "of" in a}
    static = Static(
        block={name: {"size": "2048", "dev": "8:0", **a} for name, a in block.items()},
        slaves=slaves,
        partitions=partitions,
    )
    return described(parse(static))


def limit(**selector):
    return ConfiguredLimit(source="config.toml limit[0]", **{"iops": 500.0, **selector})


def budgets(disks, *rules, mounts=(), interfaces=()):
    return build(disks, mounts, interfaces, Rules(rules), Tables({})).budgets


def test_disks_draw_on_themselves_and_on_the_vm():
    found = budgets(machine(sda={}, sdb={}))

    assert found[BudgetKey(Kind.DISK, "sda")].members == (FlowKey("disk", "sda"),)
    assert found[BudgetKey(Kind.DISK, "sda")].parents == (BudgetKey(Kind.VM_UNCACHED, "vm"),)
    assert found[BudgetKey(Kind.VM_UNCACHED, "vm")].members == (
        FlowKey("disk", "sda"),
        FlowKey("disk", "sdb"),
    )


def test_a_stripe_is_a_budget_over_its_members_and_never_part_of_the_sum():
    found = budgets(machine(sda={}, sdb={}, md0={"slaves": ["sda", "sdb"], "md/level": "raid0"}))

    assert FlowKey("disk", "md0") not in found[BudgetKey(Kind.VM_UNCACHED, "vm")].members
    assert found[BudgetKey(Kind.STRIPE, "md0")].members == (
        FlowKey("disk", "sda"),
        FlowKey("disk", "sdb"),
    )


def test_a_volume_over_partitions_draws_on_their_disks_once():
    disks = machine(
        sda={},
        sda1={"of": "sda", "partition": "1"},
        sda2={"of": "sda", "partition": "2"},
        **{"dm-0": {"slaves": ["sda1", "sda2"], "dm/name": "vg-data"}},
    )
    found = budgets(disks)

    assert found[BudgetKey(Kind.STRIPE, "dm-0")].members == (FlowKey("disk", "sda"),)
    assert BudgetKey(Kind.DISK, "sda1") not in found


def test_loop_and_memory_devices_do_not_draw_on_the_vm():
    found = budgets(machine(sda={}, loop0={}, zram0={}, pmem0={}))

    assert found[BudgetKey(Kind.VM_UNCACHED, "vm")].members == (FlowKey("disk", "sda"),)
    assert found[BudgetKey(Kind.DISK, "loop0")].parents == ()


@pytest.mark.parametrize(
    ("name", "link"),
    [
        ("zd0", "../../devices/virtual/block/zd0"),
        ("drbd0", "../../devices/virtual/block/drbd0"),
        ("sdz", "../../devices/platform/host2/session1/target2:0:0/2:0:0:0/block/sdz"),
        ("rbd0", "../../devices/rbd/0/block/rbd0"),
        ("nvme1n1", "../../devices/virtual/nvme-fabrics/ctl/nvme1/nvme1n1"),
    ],
)
def test_virtual_and_network_disks_have_limits_of_their_own_beside_the_vms_lane(name, link):
    found = budgets(machine(sda={}, **{name: {"link": link}}), limit(disk=name))

    assert found[BudgetKey(Kind.VM_UNCACHED, "vm")].members == (FlowKey("disk", "sda"),)
    assert found[BudgetKey(Kind.DISK, name)].parents == ()
    assert found[BudgetKey(Kind.DISK, name)].limits[0].value == 500.0


def test_the_lun_of_a_network_disk_is_nobodys_lun():
    place = "../../devices/platform/host2/session1/target2:0:0/2:0:0:3/block/sdz"
    disks = machine(
        sda={"device": "../../../1:0:0:3"}, sdz={"device": "../../../2:0:0:3", "link": place}
    )
    found = budgets(disks, limit(lun=3))

    assert found[BudgetKey(Kind.DISK, "sda")].limits
    assert not found[BudgetKey(Kind.DISK, "sdz")].limits


def multipathed(*serials, **more):
    paths = {f"sd{'abc'[n]}": {"serial": serial} for n, serial in enumerate(serials)}
    return machine(**paths, **{"dm-0": {"slaves": [*paths], "dm/name": "mpatha"}}, **more)


@pytest.mark.parametrize(
    "chosen", [{"serial": "SER1"}, {"disk": "sdb"}, {"disk": "mpatha"}, {"disk": "sd*"}]
)
def test_a_limit_of_a_multipathed_disk_is_that_of_the_node_over_its_paths(chosen):
    above = {"dm-1": {"slaves": ["dm-0"], "dm/name": "vg-data"}}
    found = build(
        multipathed("SER1", "SER1", **above), (), (), Rules([limit(**chosen)]), Tables({})
    )
    limited = {key: budget.limits for key, budget in found.budgets.items() if budget.limits}

    assert {key.name: limits[0].value for key, limits in limited.items()} == {"dm-0": 500.0}
    assert found.notices == ()


def test_a_multipathed_disk_is_one_disk_of_the_vm_and_what_lies_on_it_a_stripe():
    above = {
        "dm-1": {"slaves": ["dm-0"], "dm/name": "mpatha-part1", "dm/uuid": "part1-mpath-3600"},
        "dm-2": {"slaves": ["dm-1", "sdx"], "dm/name": "vg-data"},
    }
    found = budgets(multipathed("SER1", "SER1", sdx={}, **above))
    members = {
        key: [flow.name for flow in each.members] for key, each in found.items() if each.members
    }

    assert members == {
        BudgetKey(Kind.DISK, "dm-0"): ["dm-0"],
        BudgetKey(Kind.DISK, "sdx"): ["sdx"],
        BudgetKey(Kind.STRIPE, "dm-1"): ["dm-0"],
        BudgetKey(Kind.STRIPE, "dm-2"): ["sdx", "dm-0"],
        BudgetKey(Kind.VM_UNCACHED, "vm"): ["dm-0", "sdx"],
    }


@pytest.mark.parametrize("serials", [("SER1",), ("SER1", "SER2"), ("SER1", "SER1", "")])
def test_a_node_over_anything_but_paths_of_one_disk_has_no_serial(serials):
    found = budgets(multipathed(*serials), limit(serial="SER1"))

    assert [key.name for key, budget in found.items() if budget.limits] == [
        f"sd{'abc'[n]}" for n, serial in enumerate(serials) if serial == "SER1"
    ]


@pytest.mark.parametrize("name", ["zd16", "drbd0", "rbd1", "nbd0"])
def test_where_sysfs_is_silent_a_known_name_tells_that_it_is_no_disk_of_the_vms(name):
    found = build({"sda": None, name: None}, (), (), Rules(), Tables({})).budgets

    assert found[BudgetKey(Kind.VM_UNCACHED, "vm")].members == (FlowKey("disk", "sda"),)


@pytest.mark.parametrize(
    ("disk", "selector"),
    [
        ({}, {"disk": "sdc"}),
        ({}, {"disk": "sd*"}),
        ({"serial": "abc123"}, {"serial": "abc*"}),
        ({"device": "../../../3:0:0:7"}, {"lun": 7}),
    ],
)
def test_a_disk_is_selected_by_name_pattern_serial_or_lun(disk, selector):
    found = budgets(machine(sdc=disk), limit(**selector))
    chosen = found[BudgetKey(Kind.DISK, "sdc")].limits

    assert [(one.dimension, one.direction, one.value, one.origin) for one in chosen] == [
        (Dimension.IOPS, Direction.TOTAL, 500.0, Origin.CONFIGURED)
    ]


def test_a_later_rule_wins_and_the_earlier_is_kept_with_the_reason():
    found = budgets(machine(sdc={}), limit(disk="sd*"), limit(disk="sdc", iops=900.0))
    budget = found[BudgetKey(Kind.DISK, "sdc")]

    assert [one.value for one in budget.limits] == [900.0]
    assert budget.rejected[0][0].value == 500.0
    assert "900" in budget.rejected[0][1]


def test_burst_seconds_make_a_bucket():
    rule = limit(disk="sdc", burst_iops=3500.0, burst_seconds=1800.0)
    found = budgets(machine(sdc={}), rule)[BudgetKey(Kind.DISK, "sdc")].limits[0]

    assert found.burst is not None
    assert (found.burst.rate, found.burst.bucket) == (3500.0, 5_400_000.0)


def test_a_rule_without_its_device_is_a_notice_and_no_budget():
    topology = build(
        machine(sda={}), (), (), Rules([limit(disk="sdz"), limit(mount="/mnt/x")]), Tables({})
    )

    assert len(topology.notices) == 2
    assert "no disk matches 'sdz'" in topology.notices[0]
    assert "no NFS mount matches '/mnt/x'" in topology.notices[1]


def test_a_mount_draws_on_its_volume_and_shares_its_clients_slots():
    mounts = [
        NfsFlow("/mnt/a", "srv:/a", "/mnt/a", "srv", "3", slots=4),
        NfsFlow("/mnt/b", "srv:/b", "/mnt/a", "srv", "3", slots=4),
    ]
    found = budgets({}, limit(volume="srv:/a", iops=None, bytes_per_second=1e6), mounts=mounts)

    assert found[BudgetKey(Kind.VOLUME, "/mnt/a")].limits[0].value == 1e6
    assert found[BudgetKey(Kind.VOLUME, "/mnt/b")].limits == ()
    assert found[BudgetKey(Kind.NFS_SLOTS, "/mnt/a")].members == (
        FlowKey("nfs", "/mnt/a"),
        FlowKey("nfs", "/mnt/b"),
    )
    assert found[BudgetKey(Kind.NFS_SLOTS, "/mnt/a")].limits[0].value == 4.0


def test_a_volume_in_two_superblocks_is_drawn_on_by_both():
    mounts = [
        NfsFlow("/mnt/a", "srv:/a", "/mnt/a", "srv", "4.1"),
        NfsFlow("/mnt/b", "srv:/b", "/mnt/a", "srv", "4.1"),
        NfsFlow("/mnt/slow", "srv:/a", "/mnt/slow", "srv", "3"),
        NfsFlow("/efs/one", "127.0.0.1:/", "/efs/one", "127.0.0.1", "4.1"),
        NfsFlow("/efs/two", "127.0.0.1:/", "/efs/one", "127.0.0.1", "4.1"),
    ]
    found = budgets({}, mounts=mounts)

    assert {
        key.name: [flow.name for flow in budget.members]
        for key, budget in found.items()
        if key.kind is Kind.VOLUME
    } == {
        "/mnt/a": ["/mnt/a", "/mnt/slow"],
        "/mnt/b": ["/mnt/b"],
        "/mnt/slow": ["/mnt/slow", "/mnt/a"],
        "/efs/one": ["/efs/one"],
        "/efs/two": ["/efs/two"],
    }


def test_where_a_control_group_is_told_0_it_has_no_limit():
    """As the throttle of cgroup v1 has it."""
    group = GroupFlow("/batch", "sda", read_operations=0, write_operations=500)
    key = BudgetKey(Kind.CGROUP, "/batch")
    found = build({}, (), (), Rules(()), Tables({}), groups=(group,)).budgets[key]

    assert [(limit.direction, limit.value) for limit in found.limits] == [(Direction.WRITE, 500.0)]


def test_the_network_lane_leaves_out_the_loopback_interface():
    found = budgets(
        {}, limit(vm="network", iops=None, bytes_per_second=1e9), interfaces=("lo", "eth0")
    )

    assert found[BudgetKey(Kind.VM_NETWORK, "vm")].members == (FlowKey("nic", "eth0"),)


@pytest.mark.parametrize(
    ("chosen", "is_told"),
    [({"serial": "vol1"}, True), ({"serial": "vol*"}, False), ({"disk": "nvme1n*"}, False)],
)
def test_a_serial_number_of_several_namespaces_is_told_and_a_pattern_is_meant(chosen, is_told):
    disks = machine(**{name: {"device/serial": "vol1"} for name in ("nvme1n1", "nvme1n2")})
    found = build(disks, (), (), Rules([limit(**chosen)]), Tables({}))

    notice = (
        "config.toml limit[0]: 'vol1' is nvme1n1 and nvme1n2: the limit is taken for each of them; "
        "a disk's name tells them apart"
    )

    assert found.notices == ((notice,) if is_told else ())


def test_two_disks_of_an_array_that_gives_both_its_serial_are_no_paths_of_one():
    disks = {name: {"serial": "SER1", "wwid": f"naa.{name}"} for name in ("sda", "sdb")}
    stripe = {"slaves": [*disks], "dm/name": "vg-data"}
    found = budgets(machine(**disks, **{"dm-0": stripe}), limit(serial="SER1"))

    assert [key.name for key, budget in found.items() if budget.limits] == ["sda", "sdb"]


def test_a_stacked_device_of_any_kind_is_no_part_of_the_sum():
    """bcache names its disk among its slaves (bcache_device_link() in drivers/md/bcache/super.c)."""
    found = budgets(machine(sda={}, bcache0={"slaves": ["sda"]}))

    assert found[BudgetKey(Kind.VM_UNCACHED, "vm")].members == (FlowKey("disk", "sda"),)


@pytest.mark.parametrize("server", ["::1", "[::1]", "127.0.0.1", "localhost"])
def test_behind_a_proxy_on_this_machine_each_mount_is_a_volume_of_its_own(server):
    mounts = [
        NfsFlow(at, f"{server}:/", "/efs/one", server, "4.1") for at in ("/efs/one", "/efs/two")
    ]
    found = budgets({}, mounts=mounts)

    assert [len(found[BudgetKey(Kind.VOLUME, each.mount)].members) for each in mounts] == [1, 1]


def test_a_limit_of_a_disk_holds_over_what_the_disk_is_said_to_be_provisioned_with():
    disk = DiskIdentity(device="sda", iops=900.0, configured="config.toml disk[0]")
    sold = discover.sold(Identity("", disks={"sda": disk}), Tables({}))
    rules = Rules([limit(disk="sda")])
    found = build(machine(sda={}), (), (), rules, Tables({}), sold).budgets

    assert [each.value for each in found[BudgetKey(Kind.DISK, "sda")].limits] == [500.0]


def test_a_rule_chooses_a_volume_by_where_it_is_mounted_now_and_not_by_its_label():
    moved = NfsFlow("/old", "srv:/a", "/old", mount_points=("/new",))
    found = [budgets({}, limit(mount=at), mounts=[moved]) for at in ("/new", "/old")]

    assert [len(each[BudgetKey(Kind.VOLUME, "/old")].limits) for each in found] == [1, 0]


def test_a_rule_chooses_a_volume_by_a_label_that_is_no_mount_point():
    at = "/var/lib/kubelet/pods/uid-1/volumes/kubernetes.io~csi/pvc-7/mount"
    volume = NfsFlow("pvc-7", "srv:/a", "pvc-7", mount_points=(at,))
    found = [budgets({}, limit(mount=name), mounts=[volume]) for name in ("pvc-7", at, "pvc-8")]

    assert [len(each[BudgetKey(Kind.VOLUME, "pvc-7")].limits) for each in found] == [1, 1, 0]
