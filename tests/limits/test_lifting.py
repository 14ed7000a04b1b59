"""What would lift a limit, in ten documented situations: the step, its figure, what binds next.

Figures: Azure's disks-types.md (P10 500/100, P15 1,100/125, P30 5,000/200, P40 7,500/250; bursts of
P10 3,500, of P30 on demand 30,000), dv5-series, dv3-series and DS-series of sizes-general; AWS's
ebs-optimized.md (m5.large 3,600 IOPS baseline) and general-purpose.html (gp3); azure-netapp-files-
service-levels.md (Premium 64, Ultra 128 MiB/s per TiB).
"""

import pytest

from ioplateau.limits import topology
from ioplateau.limits.budgets import (
    Budget,
    BudgetKey,
    Dimension,
    Direction,
    FlowKey,
    Kind,
    Limit,
    Origin,
)
from ioplateau.limits.claims import ConfiguredLimit, VolumeFact
from ioplateau.limits.clouds import discover
from ioplateau.limits.clouds.identity import DiskIdentity, Identity
from ioplateau.limits.lifting import steps
from ioplateau.limits.lifting.step import Next, NfsUse, Situation, sentence
from ioplateau.limits.topology import NfsFlow, Rules
from ioplateau.measure import sysblock
from ioplateau.measure.snapshot import Static
from ioplateau.run.cataloguefiles import CatalogueFiles

CATALOGUE = CatalogueFiles()
MB, MIB = 1_000_000, 1 << 20


def machine(cloud, vm_size, disks, request_bytes=4096, said=()):
    """A VM with these disks, sdb, sdc, ..., asked for requests of this size, and with these [[limit]]."""
    named = {f"sd{letter}": disk for letter, disk in zip("bcdefg", disks, strict=False)}
    named = {
        name: disk._replace(device=name, role=disk.role or "data") for name, disk in named.items()
    }
    sold = discover.sold(Identity(cloud, vm_size, disks=named), CATALOGUE)
    devices = dict.fromkeys(named)
    rules = Rules(limits=said)
    built = topology.build(devices, (), (), rules, CATALOGUE, sold)
    return Situation(built.budgets, sold, rules, CATALOGUE, float(request_bytes))


def limit_of(situation, kind, name, dimension=Dimension.IOPS):
    key = BudgetKey(kind, name)
    return key, next(x for x in situation.budgets[key].limits if x.dimension is dimension)


def lifted(situation, kind, name, dimension=Dimension.IOPS):
    return steps(situation, *limit_of(situation, kind, name, dimension))


def step(found, word):
    (one,) = [each for each in found if word in each.action]
    return one


P10 = DiskIdentity(sku="Premium_LRS", tier="P10", size_gib=128, caching="None")
P30 = DiskIdentity(sku="Premium_LRS", tier="P30", size_gib=1024, caching="None")
P40 = DiskIdentity(sku="Premium_LRS", tier="P40", size_gib=2048, caching="None")


def test_a_p30_at_5000_iops_is_lifted_by_the_next_tier_by_bursting_and_by_a_second_one():
    found = lifted(machine("azure", "Standard_D8s_v5", [P30]), Kind.DISK, "sdb")

    larger = step(found, "P40")
    assert (larger.gives, larger.next) == (7500, Next(Kind.DISK, Dimension.IOPS, 7500))
    bursting = step(found, "on-demand")
    assert (bursting.gives, bursting.next.kind) == (12_800, Kind.VM_UNCACHED)
    assert step(found, "second disk").gives == 10_000
    assert (
        "P40 (performance tier without downtime, or 2,048 GiB) in place of P30 for sdb: 7,500 IOPS"
        in sentence(larger)
    )


def test_a_request_that_counts_as_two_operations_is_counted_so_in_what_a_step_gives():
    situation = machine("azure", "Standard_D8s_v5", [P10], request_bytes=300 * 1024)

    found = lifted(situation, Kind.DISK, "sdb")

    # 250 requests a second are 500 operations; two disks do 500, 154 MB/s.
    second = step(found, "second disk")
    assert (second.gives, second.next) == (1000, Next(Kind.DISK, Dimension.IOPS, 1000))


def told(found):
    return {each.action.split(" ")[0]: (each.gives, each.next.kind) for each in found}


def test_no_step_gives_more_than_the_limit_of_the_vm_that_is_configured():
    said = (ConfiguredLimit(vm="uncached", iops=600),)

    found = lifted(machine("azure", "Standard_D8s_v5", [P10], said=said), Kind.DISK, "sdb")

    # P20 would give no more than P15.
    held = (600, Kind.VM_UNCACHED)
    assert told(found) == {"a": held, "P15": held, "less": held}


def test_nothing_lifts_a_disk_where_the_vm_is_said_to_do_no_more():
    said = (ConfiguredLimit(vm="uncached", iops=505),)

    assert lifted(machine("azure", "Standard_D8s_v5", [P10], said=said), Kind.DISK, "sdb") == ()


def test_host_caching_is_held_by_what_is_said_of_the_vms_cached_disks():
    said = (ConfiguredLimit(vm="cached", iops=6000),)

    found = lifted(machine("azure", "Standard_D8s_v3", [P30], said=said), Kind.DISK, "sdb")

    assert told(found)["host"] == (6000, Kind.VM_CACHED)


def test_of_a_mix_the_host_cache_answers_the_reads_and_the_disk_has_its_writes():
    situation = machine("azure", "Standard_D8s_v3", [P30])._replace(write_ratio=0.4)

    cached = step(lifted(situation, Kind.DISK, "sdb"), "host caching")

    # 5,000 writes are two fifths of it; the cached lane has 16,000.
    assert (cached.gives, cached.next) == (12_500, Next(Kind.DISK, Dimension.IOPS, 5000))


@pytest.mark.parametrize("written", [0.0, 0.4])
def test_no_host_cache_is_offered_where_nobody_knows_what_it_gives(written):
    # dsv5-series.md has no figures of a cache.
    situation = machine("azure", "Standard_D8s_v5", [P30])._replace(write_ratio=written)

    assert not [each for each in actions(situation) if "host caching" in each]


def test_what_is_configured_of_a_vm_is_not_said_of_a_larger_one():
    said = (ConfiguredLimit(vm="uncached", iops=6000),)
    situation = machine("azure", "Standard_D8s_v5", [P30] * 2, said=said)

    found = lifted(situation, Kind.VM_UNCACHED, "vm")

    assert told(found)["Standard_D16s_v5"] == (10_000, Kind.DISK)


def test_what_is_configured_of_a_disk_holds_of_it_and_of_one_like_it_but_not_of_a_larger_one():
    said = (ConfiguredLimit(disk="sdb", iops=3000),)

    found = lifted(machine("azure", "Standard_D8s_v5", [P30], said=said), Kind.DISK, "sdb")

    assert step(found, "second disk").gives == 6000
    assert step(found, "P40").gives == 7500


def test_disks_that_are_configured_hold_what_a_larger_vm_gives():
    said = (ConfiguredLimit(disk="sd*", iops=4000),)

    found = lifted(
        machine("azure", "Standard_D8s_v5", [P30] * 4, said=said), Kind.VM_UNCACHED, "vm"
    )

    assert told(found)["Standard_D16s_v5"] == (16_000, Kind.DISK)


def test_a_burst_on_a_machine_of_nobody_is_held_by_what_is_said_of_the_vm():
    said = (
        ConfiguredLimit(vm="uncached", iops=800),
        ConfiguredLimit(disk="sdb", iops=500, burst_iops=3500),
    )
    rules = Rules(limits=said)
    built = topology.build({"sdb": None}, (), (), rules, CATALOGUE)

    found = lifted(Situation(built.budgets, rules=rules), Kind.DISK, "sdb")

    assert told(found) == {"less": (800, Kind.VM_UNCACHED)}


def test_what_is_configured_of_a_stripe_is_lifted_by_no_vm_size():
    md0 = BudgetKey(Kind.STRIPE, "md0")
    said = Limit(Dimension.IOPS, Direction.TOTAL, 400, Origin.CONFIGURED)
    situation = machine("azure", "Standard_D8s_v5", [P30] * 4)
    members = tuple(FlowKey("disk", f"sd{letter}") for letter in "bcde")
    stripe = Budget(md0, members, (said,))
    situation = situation._replace(budgets={**situation.budgets, md0: stripe})

    assert steps(situation, md0, said) == ()
    assert steps(situation, md0, said._replace(origin=Origin.LEARNED)) != ()


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ([P30] * 3, ", and alike for 3 more disks of dm-0 where it is a stripe"),
        ([P30, P40], ", and alike for one more disk of dm-0 where it is a stripe"),
        # The slowest of a stripe holds it by itself.
        ([P40, P40], ""),
    ],
)
def test_of_a_member_of_a_stripe_it_is_said_which_others_need_the_same(others, words):
    stripe = [P30, *others]
    names = [f"sd{letter}" for letter in "bcde"[: len(stripe)]]
    block = {name: {"size": str(1 << 31), "dev": "8:0"} for name in names}
    block["dm-0"] = {"size": str(1 << 33), "dev": "253:0"}
    identities = {
        name: disk._replace(device=name, role="data")
        for name, disk in zip(names, stripe, strict=True)
    }
    sold = discover.sold(Identity("azure", "Standard_D32s_v5", disks=identities), CATALOGUE)
    devices = sysblock.parse(Static(block=block, slaves={"dm-0": tuple(names)}))
    built = topology.build(devices, (), (), Rules(), CATALOGUE, sold)
    situation = Situation(built.budgets, sold, Rules(), CATALOGUE, 4096.0)

    found = actions(situation)

    assert found
    assert all(each.endswith(words) for each in found)
    assert any("alike" in each for each in found) is bool(words)
    assert not [each for each in found if "second disk" in each]


def test_on_demand_bursting_is_offered_by_the_size_of_a_disk_and_not_by_its_tier():
    raised = P30._replace(size_gib=128, tier="P30")

    found = lifted(machine("azure", "Standard_D8s_v5", [raised]), Kind.DISK, "sdb")

    assert not [each for each in found if "on-demand" in each.action]


@pytest.mark.parametrize(("vm_size", "megabytes"), [("D8s_v5", [290]), ("D2s_v5", [])])
def test_on_demand_bursting_gives_what_the_vm_does_without_credit_of_its_own(vm_size, megabytes):
    situation = machine("azure", f"Standard_{vm_size}", [P30], request_bytes=MIB)

    found = lifted(situation, Kind.DISK, "sdb", Dimension.THROUGHPUT)

    assert [each.gives / MB for each in found if "on-demand" in each.action] == megabytes


def test_a_ds4_at_256_megabytes_is_lifted_by_the_first_size_that_has_more():
    situation = machine("azure", "Standard_DS4", [P30, P30], request_bytes=MIB)

    found = lifted(situation, Kind.VM_UNCACHED, "vm", Dimension.THROUGHPUT)

    assert [each.action for each in found] == ["Standard_DS14 in place of Standard_DS4"]
    assert found[0].gives == pytest.approx(400 * MB)  # two P30 of 200 MB/s
    assert found[0].next.kind is Kind.DISK


def actions(situation, kind=Kind.DISK, name="sdb", dimension=Dimension.IOPS):
    return [each.action for each in lifted(situation, kind, name, dimension)]


def test_a_tier_that_has_no_more_than_a_cheaper_one_is_not_offered():
    # P50 has the 7,500 IOPS and 250 MB/s of P40.
    assert not [
        each for each in actions(machine("azure", "Standard_D8s_v5", [P30])) if "P50" in each
    ]


@pytest.mark.parametrize(("gib", "tier"), [(128, "P50"), (1024, "")])
def test_nobody_is_told_to_enlarge_a_disk_many_times_over(gib, tier):
    disk = P30._replace(size_gib=gib, tier=tier)

    found = actions(machine("azure", "Standard_D16s_v5", [disk]))

    assert not [each for each in found if "P60" in each]


def test_a_cached_disk_that_would_be_too_large_for_a_cache_is_offered_with_that_word():
    p40 = DiskIdentity(sku="Premium_LRS", size_gib=2048, caching="ReadOnly")

    found = lifted(machine("azure", "Standard_D16s_v5", [p40]), Kind.DISK, "sdb")

    assert (
        step(found, "P60").action
        == "P60 (8,192 GiB, which has no host cache) in place of P40 for sdb"
    )


@pytest.mark.parametrize(
    ("sku", "gib", "action", "gives"),
    [
        ("Standard_LRS", 1024, "Premium SSD P30 in place of S30", 5000),
        ("StandardSSD_ZRS", 2048, "Premium SSD P40 in place of E40", 7500),
        # P10 has no more than the 500 IOPS and 100 MB/s of E10.
        ("StandardSSD_LRS", 128, "Premium SSD P10 with performance tier P15 in place of E10", 1100),
    ],
)
def test_a_standard_disk_is_lifted_by_a_premium_ssd_of_its_size(sku, gib, action, gives):
    disk = DiskIdentity(sku=sku, size_gib=gib)

    found = lifted(machine("azure", "Standard_D8s_v5", [disk]), Kind.DISK, "sdb")

    premium = step(found, "Premium SSD")
    assert (premium.action, premium.gives) == (f"{action} for sdb (the VM deallocated)", gives)


def test_no_premium_ssd_is_offered_to_a_vm_that_takes_none():
    disk = DiskIdentity(sku="Standard_LRS", size_gib=1024)

    assert not [
        each for each in actions(machine("azure", "Standard_D8_v3", [disk])) if "Premium" in each
    ]


P70 = DiskIdentity(sku="Premium_LRS", size_gib=16384)


def test_a_vm_that_has_more_with_the_nvme_controller_is_offered_that():
    situation = machine("azure", "Standard_E64bds_v5", [P70] * 6, request_bytes=MIB)
    scsi = situation._replace(
        sold=discover.sold(situation.sold.identity._replace(controller="SCSI"), CATALOGUE)
    )

    found = lifted(scsi, Kind.VM_UNCACHED, "vm", Dimension.THROUGHPUT)

    # ebdsv5-ebsv5-series.md: 4,000 MB/s with SCSI, 6,000 with NVMe; E96bds_v5 has 4,000 with SCSI.
    assert [each.action.split(" (")[0] for each in found] == [
        "the NVMe disk controller in place of SCSI for Standard_E64bds_v5"
    ]
    assert found[0].gives == 4500 * MB  # six P70 of 750 MB/s


def test_in_place_of_a_size_with_constrained_vcpus_another_such_is_offered():
    situation = machine("azure", "Standard_E32-8s_v5", [P70] * 4)

    assert actions(situation, Kind.VM_UNCACHED, "vm") == [
        "less load for a while, so that burst credit fills again",
        "Standard_E64-16s_v5 in place of Standard_E32-8s_v5",
    ]


def test_no_size_is_offered_that_the_vm_cannot_be_resized_to():
    # M64ms_v2 has no temporary disk, M416ms_v2 has one; GS4-4 has four of the 16 vCPUs of GS4.
    disks = [P70] * 8

    for size, larger in (("M64ms_v2", "M416ms_v2"), ("GS3", "GS4-4")):
        found = actions(machine("azure", f"Standard_{size}", disks), Kind.VM_UNCACHED, "vm")
        assert not [each for each in found if larger in each]


@pytest.mark.parametrize(
    ("own", "lost"),
    [
        ([DiskIdentity(role="local")], "sdf is"),
        (
            [DiskIdentity(role="temporary"), DiskIdentity(role="local")],
            "2 disks of the VM, as sdf, is",
        ),
        ([DiskIdentity(role="os", is_ephemeral=True)], "sdf is"),
    ],
)
def test_of_another_size_it_is_said_which_disks_stay_behind(own, lost):
    situation = machine("azure", "Standard_L8s_v3", [P30] * 4 + own)

    assert f"Standard_L16s_v3 in place of Standard_L8s_v3 (what is on {lost} lost)" in actions(
        situation, Kind.VM_UNCACHED, "vm"
    )


def test_a_vm_with_an_ephemeral_os_disk_is_not_told_to_be_deallocated():
    ephemeral = DiskIdentity(role="os", is_ephemeral=True)
    disk = DiskIdentity(sku="Standard_LRS", size_gib=1024)

    found = actions(machine("azure", "Standard_D8s_v5", [disk, ephemeral]))

    assert not [each for each in found if "deallocated" in each]


def test_a_size_that_gives_no_more_than_a_smaller_one_is_not_offered():
    situation = machine("azure", "Standard_D8s_v5", [P30] * 4)

    # The disks do 20,000 IOPS, a D16s_v5 25,600.
    assert "Standard_D32s_v5 in place of Standard_D8s_v5" not in actions(
        situation, Kind.VM_UNCACHED, "vm"
    )


def test_four_disks_in_a_stripe_on_a_d8s_v5_are_held_by_the_vm_and_then_by_themselves():
    situation = machine("azure", "Standard_D8s_v5", [P30] * 4)

    found = lifted(situation, Kind.VM_UNCACHED, "vm")

    larger = step(found, "Standard_D16s_v5")
    assert (larger.gives, larger.next) == (20_000, Next(Kind.DISK, Dimension.IOPS, 20_000))


def test_a_gp3_at_3000_iops_on_an_m5_large_is_lifted_to_what_the_instance_has():
    gp3 = DiskIdentity(sku="gp3", size_gib=500)

    found = lifted(machine("aws", "m5.large", [gp3]), Kind.DISK, "sdb")

    more = step(found, "provisioned")
    assert (more.gives, more.next) == (
        3600,
        Next(Kind.VM_UNCACHED, Dimension.IOPS, 3600, "EBS volumes"),
    )


@pytest.mark.parametrize(
    ("gib", "step_of"), [(8, "4,000 IOPS and 1,000 MiB/s"), (500, "80,000 IOPS and 2,000 MiB/s")]
)
def test_a_gp3_is_offered_no_more_throughput_than_its_operations_allow(gib, step_of):
    situation = machine("aws", "m5.24xlarge", [DiskIdentity(sku="gp3", size_gib=gib)])

    assert step_of in step(lifted(situation, Kind.DISK, "sdb"), "provisioned").action


def test_a_gp3_that_is_held_above_the_base_of_its_instance_is_lifted_while_credit_lasts():
    # m5.large: 81.25 MB/s, with credit 593.75.
    situation = machine("aws", "m5.large", [DiskIdentity(sku="gp3", size_gib=500)], 128 * 1024)

    found = lifted(situation, Kind.DISK, "sdb", Dimension.THROUGHPUT)

    more = step(found, "provisioned with")
    assert more.action.endswith(", while burst credit lasts")
    assert (more.gives, more.next) == (
        pytest.approx(593.75 * MB),
        Next(Kind.VM_UNCACHED, Dimension.THROUGHPUT, 593.75 * MB, "EBS volumes"),
    )


def test_a_gp2_is_lifted_by_a_gp3_as_it_comes():
    situation = machine("aws", "r6i.4xlarge", [DiskIdentity(sku="gp2", size_gib=100)])

    found = lifted(situation, Kind.DISK, "sdb")

    assert step(found, "gp3 in place of gp2 for sdb, with what is included").gives == 3000


def v2(gib):
    return DiskIdentity(sku="PremiumV2_LRS", size_gib=gib, iops=3000, bytes_per_second=125 * MB)


def hyperdisk(kind, gib, mibps=None):
    data = None if mibps is None else mibps * MIB
    return DiskIdentity(sku=f"hyperdisk-{kind}", size_gib=gib, iops=3000, bytes_per_second=data)


@pytest.mark.parametrize(
    ("cloud", "vm_size", "disk", "action", "gives"),
    [
        # The most of its size: 500 IOPS for each GiB, 0.25 MB/s for each of them.
        (
            "azure",
            "Standard_E96bds_v5",
            v2(10),
            "PremiumV2_LRS sdb provisioned with 5,000 IOPS and 1,250 MB/s",
            5000,
        ),
        # No more than the VM does with credit: 20,000 IOPS and 1,200 MB/s; without: 12,800.
        (
            "azure",
            "Standard_D8s_v5",
            v2(1024),
            "PremiumV2_LRS sdb provisioned with 20,000 IOPS and 1,200 MB/s",
            12_800,
        ),
        (
            "azure",
            "Standard_D192s_v6",
            DiskIdentity(sku="UltraSSD_LRS", size_gib=16, iops=500, bytes_per_second=90 * MB),
            "UltraSSD_LRS sdb provisioned with 16,000 IOPS and 4,000 MB/s",
            16_000,
        ),
        (
            "aws",
            "m5.large",
            DiskIdentity(sku="gp3", size_gib=500),
            "gp3 sdb provisioned with 18,750 IOPS and 566 MiB/s",
            3600,
        ),
        (
            "aws",
            "m5.24xlarge",
            DiskIdentity(sku="io1", size_gib=100, iops=1000),
            "io1 sdb provisioned with 5,000 IOPS",
            5000,
        ),
        (
            "aws",
            "m5.24xlarge",
            DiskIdentity(sku="io2", size_gib=50, iops=1000),
            "io2 sdb provisioned with 50,000 IOPS",
            50_000,
        ),
        (
            "aws",
            "m5.24xlarge",
            DiskIdentity(sku="gp2", size_gib=100),
            "gp3 in place of gp2 for sdb, provisioned with 50,000 IOPS and 2,000 MiB/s",
            50_000,
        ),
        (
            "aws",
            "m5.24xlarge",
            DiskIdentity(sku="gp2", size_gib=1000),
            "gp2 of 2,000 GiB in place of 1,000 for sdb",
            6000,
        ),
        (
            "gcp",
            "n4-standard-8",
            hyperdisk("balanced", 16, 140),
            "hyperdisk-balanced sdb provisioned with 8,000 IOPS and 2,000 MiB/s",
            8000,
        ),
        (
            "gcp",
            "n4-standard-8",
            hyperdisk("extreme", 100),
            "hyperdisk-extreme sdb provisioned with 120,000 IOPS",
            120_000,
        ),
    ],
)
def test_a_disk_is_offered_the_most_that_its_size_and_the_vm_take(
    cloud, vm_size, disk, action, gives
):
    found = lifted(machine(cloud, vm_size, [disk]), Kind.DISK, "sdb")

    assert {each.action: each.gives for each in found}[action] == gives


@pytest.mark.parametrize(
    ("cloud", "vm_size", "disk"),
    [
        ("azure", "Standard_E96bds_v5", v2(6)),  # at the most of its size
        ("azure", "Standard_E96bds_v5", v2(None)),
        ("aws", "m5.24xlarge", DiskIdentity(sku="io2", iops=1000)),
        ("aws", "m5.large", DiskIdentity(sku="io2", size_gib=500, iops=20_000)),  # the instance's
        ("aws", "m5.24xlarge", DiskIdentity(sku="gp2", size_gib=9000)),  # as gp3 alone
        ("gcp", "n4-standard-8", DiskIdentity(sku="pd-extreme", size_gib=500, iops=9000)),
    ],
)
def test_a_disk_that_has_the_most_or_of_which_nobody_tells_it_is_offered_no_more_of_its_type(
    cloud, vm_size, disk
):
    found = lifted(machine(cloud, vm_size, [disk]), Kind.DISK, "sdb")

    assert not [each for each in found if each.action.startswith(disk.sku)]


@pytest.mark.parametrize(
    ("vm_size", "larger"),
    [
        ("g5.8xlarge", ["g5.24xlarge", "g5.48xlarge"]),  # 12xlarge and 16xlarge have no more
        ("g4dn.8xlarge", ["g4dn.metal"]),
        ("M5.LARGE", ["m5.xlarge", "m5.2xlarge"]),
    ],
)
def test_an_instance_is_lifted_by_the_next_types_that_have_more(vm_size, larger):
    io2 = DiskIdentity(sku="io2", size_gib=1000, iops=200_000)

    found = lifted(machine("aws", vm_size, [io2]), Kind.VM_UNCACHED, "vm")

    types = [each.action.split(" ")[0] for each in found if "in place of" in each.action]
    assert types == larger


def seconds(cloud, vm_size, *disks):
    found = lifted(machine(cloud, vm_size, disks), Kind.DISK, "sdb")
    return [each for each in found if "second disk" in each.action]


@pytest.mark.parametrize(
    ("cloud", "vm_size", "disk"),
    [
        ("azure", "Standard_L8s_v3", DiskIdentity(role="local", size_gib=1788)),
        ("azure", "Standard_D8ds_v5", DiskIdentity(role="temporary", size_gib=300)),
        ("azure", "Standard_D8ds_v5", P10._replace(role="os")),
        ("gcp", "n2-standard-8", DiskIdentity(role="local", sku="local-ssd-nvme", size_gib=375)),
    ],
)
def test_there_is_no_second_one_of_a_disk_that_a_vm_has_as_it_is(cloud, vm_size, disk):
    assert seconds(cloud, vm_size, disk) == []


def test_a_second_disk_is_offered_up_to_the_most_data_disks_that_a_size_takes():
    assert len(seconds("azure", "Standard_D2s_v5", *[P10] * 3)) == 1
    assert seconds("azure", "Standard_D2s_v5", *[P10] * 4) == []


def test_a_second_disk_of_a_type_beside_another_is_held_by_what_its_type_has():
    disks = [DiskIdentity(sku="pd-ssd", size_gib=100), DiskIdentity(sku="pd-balanced", size_gib=10)]

    found = lifted(machine("gcp", "n2-standard-8", disks), Kind.DISK, "sdb")

    second = step(found, "second disk")
    assert (second.gives, second.next) == (
        12_000,
        Next(
            Kind.VM_UNCACHED, Dimension.IOPS, 12_000, "pd-ssd disks", "200 GiB of pd-ssd together"
        ),
    )
    assert "then the limit of 200 GiB of pd-ssd together of 12,000 IOPS binds" in sentence(second)


def test_a_persistent_disk_is_lifted_by_a_faster_type_by_its_size_and_by_a_second_one():
    disk = DiskIdentity(sku="pd-balanced", size_gib=100)

    found = lifted(machine("gcp", "n2-standard-8", [disk]), Kind.DISK, "sdb")

    assert {each.action: each.gives for each in found} == {
        "pd-ssd in place of pd-balanced for sdb, made of a snapshot": 6000 + 30 * 100,
        "pd-balanced of 200 GiB in place of 100 for sdb": 3000 + 6 * 200,
        "a second disk like sdb, striped with it": 3000 + 6 * 200,
    }


def test_disks_of_one_type_are_lifted_by_the_size_of_the_largest_of_them():
    disks = [DiskIdentity(sku="pd-balanced", size_gib=gib) for gib in (100, 300)]

    (larger,) = lifted(machine("gcp", "n2-standard-8", disks), Kind.VM_UNCACHED, "vm")

    assert larger.action == "pd-balanced of 600 GiB in place of 300 for sdc"
    assert larger.gives == 3000 + 6 * 700


@pytest.mark.parametrize(
    ("vm_size", "kind", "dimension", "gives"),
    [
        ("n2-standard-8", "pd-ssd", Dimension.IOPS, {"16": 25_000, "32": 60_000}),
        ("n2-standard-4", "pd-ssd", Dimension.THROUGHPUT, {"8": 800 * MIB, "16": 1200 * MIB}),
        ("c3-highmem-8", "pd-balanced", Dimension.IOPS, {"22": 20_000, "44": 27_000}),
        ("e2-medium", "pd-ssd", Dimension.THROUGHPUT, {"8": 800 * MIB, "16": 1200 * MIB}),
        ("n2-standard-80", "pd-ssd", Dimension.IOPS, {}),
        ("custom-8-16384", "pd-ssd", Dimension.IOPS, {"16": 25_000, "32": 60_000}),
    ],
)
def test_a_machine_type_is_lifted_by_the_next_vcpus_that_have_more(vm_size, kind, dimension, gives):
    situation = machine("gcp", vm_size, [DiskIdentity(sku=kind, size_gib=4000)], request_bytes=4096)
    if dimension is Dimension.THROUGHPUT:
        situation = situation._replace(request_bytes=float(MIB))

    found = lifted(situation, Kind.VM_UNCACHED, "vm", dimension)

    assert {each.action.split(" ")[2]: each.gives for each in found} == gives


@pytest.mark.parametrize(
    ("write_ratio", "megabytes"),
    [(None, 754.97472), (0.0, 754.97472), (0.75, 419.4304 / 0.75), (1.0, 419.4304)],
)
def test_a_limit_of_the_vm_over_writes_holds_what_is_written_of_a_second_disk(
    write_ratio, megabytes
):
    disk = DiskIdentity(sku="pd-standard", size_gib=3000)
    situation = machine("gcp", "n2-standard-64", [disk], request_bytes=MIB)

    found = lifted(
        situation._replace(write_ratio=write_ratio), Kind.DISK, "sdb", Dimension.THROUGHPUT
    )

    assert step(found, "second disk").gives == pytest.approx(megabytes * MB)


@pytest.mark.parametrize(("direction", "iops"), [(Direction.READ, 1500), (Direction.WRITE, 3000)])
def test_a_limit_of_one_direction_is_lifted_in_its_own(direction, iops):
    disk = DiskIdentity(sku="pd-standard", size_gib=1000)
    situation = machine("gcp", "n2-standard-8", [disk])._replace(write_ratio=0.5)
    key = BudgetKey(Kind.DISK, "sdb")
    (limit,) = [each for each in situation.budgets[key].limits if each.direction is direction]

    assert step(steps(situation, key, limit), "second disk").gives == iops


@pytest.mark.parametrize(("write_ratio", "offers"), [(0.9, 1), (1.0, 0)])
def test_a_cache_for_reads_is_offered_only_where_something_is_read(write_ratio, offers):
    situation = machine("azure", "Standard_D8s_v3", [P30])._replace(write_ratio=write_ratio)

    found = lifted(situation, Kind.DISK, "sdb")

    assert len([each for each in found if "host caching" in each.action]) == offers


def volume(*before, version="3", slots=2, cloud="azure", vm_size="Standard_D2s_v3", **use):
    fact = VolumeFact(
        mount="/data",
        service="azure_netapp_files",
        service_level="Premium",
        quota_gib=4096,
        source="limits.toml",
    )
    rules = Rules(volumes=(*before, fact))
    flow = NfsFlow("/data", "10.0.0.4:/vol", "/data", version=version, slots=slots)
    sold = discover.sold(Identity(cloud, vm_size), CATALOGUE)
    built = topology.build({}, (flow,), ("eth0",), rules, CATALOGUE, sold)
    return Situation(built.budgets, sold, rules, CATALOGUE, 65_536.0, **use)


def test_a_premium_volume_of_4_tib_is_lifted_by_its_level_and_by_its_quota():
    found = lifted(volume(), Kind.VOLUME, "/data", Dimension.THROUGHPUT)

    for word in ("Ultra", "8,192 GiB"):
        one = step(found, word)
        assert one.gives == 512 * MIB
        assert one.next == Next(Kind.VOLUME, Dimension.THROUGHPUT, 512 * MIB)


def offered(fact, direction=Direction.TOTAL, dimension=Dimension.THROUGHPUT):
    """What lifts a limit of a volume that was sold so: each action with what it gives."""
    rules = Rules(volumes=(fact._replace(mount="/data", source="limits.toml"),))
    flow = NfsFlow("/data", "10.0.0.4:/vol", "/data")
    budgets = topology.build({}, (flow,), (), rules, CATALOGUE).budgets
    key = BudgetKey(Kind.VOLUME, "/data")
    (limit,) = [
        each
        for each in budgets[key].limits
        if (each.dimension, each.direction) == (dimension, direction)
    ]
    found = steps(Situation(budgets, rules=rules, catalogue=CATALOGUE), key, limit)
    return {each.action: each.gives for each in found}


TIB = 1024


@pytest.mark.parametrize(
    ("fact", "quota"),
    [
        (VolumeFact(service_level="Ultra", quota_gib=2 * TIB), ["4,096"]),
        # A regular volume does not become a large one.
        (VolumeFact(service_level="Standard", quota_gib=60 * TIB), ["102,400"]),
        (VolumeFact(service_level="Standard", quota_gib=100 * TIB), []),
        # large-volumes-requirements-considerations.md: to no more than 130 % of its lowest size.
        (VolumeFact(service_level="Standard", quota_gib=100 * TIB, large=True), ["133,120"]),
        (VolumeFact(service="azure_files", quota_gib=80 * TIB), ["102,400"]),
        # Provisioned by itself: more quota is more of nothing else.
        (VolumeFact(service="azure_files", service_level="v2", quota_gib=80_000), []),
    ],
)
def test_no_more_quota_is_offered_than_a_volume_of_its_kind_can_have(fact, quota):
    found = [action for action in offered(fact) if "quota" in action]

    assert found == [f"a quota of {gib} GiB" for gib in quota]


@pytest.mark.parametrize(
    ("fact", "dimension", "action", "gives"),
    [
        (
            VolumeFact(service_level="Premium", quota_gib=4096, bytes_per_second=500.0 * MIB),
            Dimension.THROUGHPUT,
            "1,000 MiB/s assigned in place of 500, as far as its pool has them",
            1000 * MIB,
        ),
        # No regular volume is assigned more than 4,500 MiB/s.
        (
            VolumeFact(service_level="Flexible", quota_gib=4096, bytes_per_second=3000.0 * MIB),
            Dimension.THROUGHPUT,
            "4,500 MiB/s assigned in place of 3,000, as far as its pool has them",
            4500 * MIB,
        ),
        (
            VolumeFact(service="azure_files", iops=5000.0, bytes_per_second=200.0 * MIB),
            Dimension.IOPS,
            "10,000 IOPS provisioned in place of 5,000",
            10_000,
        ),
        (
            VolumeFact(service="azure_files", service_level="v2", quota_gib=2750),
            Dimension.THROUGHPUT,
            "800 MiB/s provisioned in place of 400",
            800 * MIB,
        ),
    ],
)
def test_a_volume_whose_throughput_was_assigned_by_itself_is_lifted_by_more_of_it(
    fact, dimension, action, gives
):
    found = offered(fact, dimension=dimension)

    assert found.pop(action) == gives
    assert [*found] in ([], ["less load for a while, so that burst credit fills again"])


@pytest.mark.parametrize(
    ("tier", "tib", "quota"),
    [("zonal", 2, 4), ("enterprise", 9, 10), ("enterprise", 10, None), ("regional", 6, 9.75)],
)
def test_a_filestore_instance_grows_within_the_capacities_of_its_tier(tier, tib, quota):
    fact = VolumeFact(service="filestore", service_level=tier, quota_gib=tib * TIB)

    assert [*offered(fact, Direction.READ)] == (
        [] if quota is None else [f"a quota of {quota * TIB:,.0f} GiB"]
    )


def test_efs_has_no_quota_to_buy_but_another_throughput_mode_as_far_as_a_client_is_let():
    bursting = VolumeFact(service="efs", service_level="bursting", quota_gib=TIB)
    elastic = VolumeFact(service="efs", service_level="elastic")

    assert offered(bursting, Direction.READ) == {
        "throughput mode elastic in place of bursting": 1500 * MIB,
    }
    assert offered(elastic, Direction.READ) == {}


def test_of_several_rules_the_last_says_what_the_volume_was_sold_as():
    pattern = VolumeFact(mount="/*", bytes_per_second=100 * MIB, source="c volume[0]")
    situation = volume(pattern, VolumeFact(mount="/d*", service_level="none", source="c volume[1]"))
    budget = situation.budgets[BudgetKey(Kind.VOLUME, "/data")]
    found = lifted(situation, Kind.VOLUME, "/data", Dimension.THROUGHPUT)

    assert [limit.value for limit in budget.limits] == [256 * MIB]
    assert [(lost.value, why) for lost, why in budget.rejected] == [
        (100 * MIB, "limits.toml says what this volume was sold as")
    ]
    assert step(found, "Ultra").gives == 512 * MIB


def test_a_volume_that_is_written_is_held_by_the_vms_network_next():
    found = lifted(volume(write_ratio=1.0), Kind.VOLUME, "/data", Dimension.THROUGHPUT)

    assert step(found, "Ultra").next == Next(Kind.VM_NETWORK, Dimension.THROUGHPUT, 125 * MB)


@pytest.mark.parametrize(
    ("write_ratio", "gives"), [(1.0, 93.75), (0.0, 93.75), (0.5, 187.5), (0.2, 93.75 / 0.8)]
)
def test_on_ec2_the_network_holds_the_larger_of_what_is_read_and_what_is_written(
    write_ratio, gives
):
    found = lifted(
        volume(cloud="aws", vm_size="m5.large", write_ratio=write_ratio),
        *(Kind.VOLUME, "/data", Dimension.THROUGHPUT),
    )

    assert step(found, "Ultra").gives == pytest.approx(gives * MB)
    assert step(found, "Ultra").next.kind is Kind.VM_NETWORK


def test_one_connection_is_lifted_by_nconnect_up_to_the_volumes_limit():
    situation = volume(nfs=NfsUse(connections=1))
    learned = Limit(Dimension.THROUGHPUT, Direction.TOTAL, 100 * MB, Origin.LEARNED)

    found = steps(situation, BudgetKey(Kind.NFS_CONNECTION, "/data"), learned)

    four = step(found, "nconnect=4")
    assert (four.gives, four.next.kind) == (256 * MIB, Kind.VOLUME)


@pytest.mark.parametrize("at", ["/data", "/elsewhere"])
@pytest.mark.parametrize(
    ("service", "counts"), [("azure_files", [4]), ("azure_netapp_files", [4, 8, 16])]
)
def test_no_more_connections_are_offered_than_are_of_use_to_a_service(service, counts, at):
    # nfs-performance.md: no gain beyond four to Azure Files.
    fact = VolumeFact(mount=at, service=service, bytes_per_second=4000.0 * MIB, source="c")
    points = ("/data", "/elsewhere")
    flow = NfsFlow("/data", "10.0.0.4:/vol", "/data", mount_points=points)
    rules = Rules(volumes=(fact,))
    built = topology.build({}, (flow,), (), rules, CATALOGUE)
    situation = Situation(
        built.budgets,
        rules=rules,
        catalogue=CATALOGUE,
        nfs=NfsUse(connections=1),
        mounts={"/data": points},
    )
    learned = Limit(Dimension.THROUGHPUT, Direction.TOTAL, 100 * MB, Origin.LEARNED)

    found = steps(situation, BudgetKey(Kind.NFS_CONNECTION, "/data"), learned)

    assert [each.action.split(" ")[0] for each in found] == [f"nconnect={n}" for n in counts]


def test_two_slots_are_lifted_by_more_of_them_as_littles_law_has_it():
    situation = volume(nfs=NfsUse(latency_seconds=0.004))

    found = lifted(situation, Kind.NFS_SLOTS, "/data", Dimension.SLOTS)

    assert [each.action for each in found] == ["8 slots in place of 2", "32 slots in place of 2"]
    eight = found[0]
    assert (eight.gives, eight.next) == (2000, Next(Kind.NFS_SLOTS, Dimension.IOPS, 2000))
    # 8,000 a second would be 524 MB/s: the volume has 256 MiB/s.
    assert (found[1].gives, found[1].next.kind) == (4096, Kind.VOLUME)


@pytest.mark.parametrize(
    ("slots", "lifted_to"), [(1024, []), (256, ["1,024 slots in place of 256"])]
)
def test_a_v40_client_gets_no_more_slots_than_its_table_has(slots, lifted_to):
    situation = volume(version="4.0", slots=slots, nfs=NfsUse(latency_seconds=0.5))

    found = lifted(situation, Kind.NFS_SLOTS, "/data", Dimension.SLOTS)

    assert [each.action for each in found] == lifted_to


@pytest.mark.parametrize(
    ("version", "on_wire", "times"),
    [
        ("4.1", 4.0, [4, 16, 64]),
        ("4.2", 64.0, [4]),
        ("4.1", 300.0, []),
        ("3", 4.0, []),
        ("4.0", 4.0, []),
    ],
)
def test_slots_of_a_session_whose_number_nobody_tells_are_lifted_by_several_times_as_many(
    version, on_wire, times
):
    situation = volume(version=version, slots=None, nfs=NfsUse(latency_seconds=0.016))
    taken = Limit(Dimension.SLOTS, Direction.TOTAL, on_wire, Origin.LEARNED)

    found = steps(situation, BudgetKey(Kind.NFS_SLOTS, "/data"), taken)

    assert [each.action.split(" as many")[0] for each in found] == [f"{n} times" for n in times]
    # At 65,536 bytes a call the volume allows 4,096 a second.
    assert [each.gives for each in found] == [min(n * on_wire / 0.016, 4096) for n in times]


def test_a_burst_that_is_used_up_comes_back_with_rest_or_with_the_next_tier():
    found = lifted(machine("azure", "Standard_D8s_v5", [P10]), Kind.DISK, "sdb")

    assert step(found, "credit").gives == 3500
    assert step(found, "P15").gives == 1100


def test_a_host_cached_disk_is_lifted_by_a_size_with_more_for_cached_disks():
    cached = P30._replace(caching="ReadOnly")

    found = lifted(machine("azure", "Standard_D8s_v3", [cached]), Kind.VM_CACHED, "vm")

    larger = step(found, "Standard_D16s_v3")
    assert (larger.gives, larger.next) == (32_000, Next(Kind.VM_CACHED, Dimension.IOPS, 32_000))


def test_the_lane_of_ultra_and_premium_v2_disks_is_told_as_of_both():
    following = Next(Kind.VM_ULTRA, Dimension.IOPS, 4000)

    assert following.name == "the VM's limit for Ultra and Premium SSD v2 disks"


def test_a_control_groups_own_limit_is_lifted_to_what_its_disk_may_do():
    disk, group = BudgetKey(Kind.DISK, "sdb"), BudgetKey(Kind.CGROUP, "/batch")
    held = Limit(Dimension.IOPS, Direction.READ, 400, Origin.REPORTED)
    sold = Limit(Dimension.IOPS, Direction.TOTAL, 5000, Origin.CATALOGUE, "P30")
    budgets = {
        disk: Budget(disk, (FlowKey("disk", "sdb"),), (sold,)),
        group: Budget(group, (FlowKey("cgroup", "/batch"),), (held,), info={"device": "sdb"}),
    }

    (one,) = steps(Situation(budgets), group, held)

    assert (one.gives, one.next) == (5000, Next(Kind.DISK, Dimension.IOPS, 5000))


@pytest.mark.parametrize(("vm_iops", "lifted_to"), [(900, [900]), (400, [])])
def test_a_control_groups_limit_is_lifted_to_no_more_than_the_vm_is_said_to_do(vm_iops, lifted_to):
    said = (ConfiguredLimit(vm="uncached", iops=vm_iops),)
    situation = machine("azure", "Standard_D8s_v5", [P30], said=said)
    group = BudgetKey(Kind.CGROUP, "/batch")
    held = Limit(Dimension.IOPS, Direction.READ, 400, Origin.REPORTED)
    batch = Budget(group, (FlowKey("cgroup", "/batch"),), (held,), info={"device": "sdb"})
    situation = situation._replace(budgets={**situation.budgets, group: batch})

    assert [each.gives for each in steps(situation, group, held)] == lifted_to


def test_where_nobody_knows_a_figure_there_is_no_advice():
    key = BudgetKey(Kind.DISK, "sdb")
    learned = Limit(Dimension.IOPS, Direction.TOTAL, 777, Origin.LEARNED)

    assert steps(Situation({key: Budget(key, (FlowKey("disk", "sdb"),))}), key, learned) == ()
    assert steps(Situation(), key, learned) == ()


def test_a_performance_tier_is_offered_where_azure_allows_it():
    p50 = DiskIdentity(sku="Premium_LRS", tier="P50", size_gib=4096, caching="None")

    found = lifted(machine("azure", "Standard_D64s_v5", [p50]), Kind.DISK, "sdb")

    assert "performance tier" not in step(found, "P60").action
    ssd = DiskIdentity(sku="StandardSSD_LRS", tier="E50", size_gib=4096, caching="None")
    for each in lifted(machine("azure", "Standard_D64s_v5", [ssd]), Kind.DISK, "sdb"):
        assert "performance tier" not in each.action


def test_what_is_held_in_its_writes_is_held_by_the_vms_network_whatever_the_mix():
    situation = volume(nfs=NfsUse(connections=1))
    learned = Limit(Dimension.THROUGHPUT, Direction.WRITE, 100 * MB, Origin.LEARNED)

    found = steps(situation, BudgetKey(Kind.NFS_CONNECTION, "/data"), learned)

    four = step(found, "nconnect=4")
    assert (four.gives, four.next.kind) == (125 * MB, Kind.VM_NETWORK)


def test_more_connections_are_more_than_there_are_and_end_where_they_give_no_more():
    learned = Limit(Dimension.THROUGHPUT, Direction.TOTAL, 100 * MB, Origin.LEARNED)
    found = [
        steps(volume(nfs=NfsUse(connections=now)), BudgetKey(Kind.NFS_CONNECTION, "/data"), limit)
        for now, limit in ((1, learned), (4, learned), (16, learned))
    ]
    actions = [[each.action.split(" ")[0] for each in some] for some in found]

    assert actions == [["nconnect=4"], ["nconnect=8", "nconnect=16"], []]
