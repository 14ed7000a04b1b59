"""Lanes, LUNs and stacks on machines that a cloud describes."""

import json

import pytest

from cloud_machines import (
    AZURE_DMI,
    FIXED,
    GEN1_TEMPORARY,
    OS_DISK,
    REMOTE,
    SCSI1,
    SCSI2,
    azure_answer,
    data_disk,
    devices,
    nvme,
    scsi,
)
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.usage import drawn
from ioplateau.limits.budgets import BudgetKey, Dimension, Direction, FlowKey, Kind, Origin
from ioplateau.limits.claims import ConfiguredLimit, DiskFact, VmFact
from ioplateau.limits.clouds import discover
from ioplateau.limits.topology import Rules, build
from ioplateau.run.cataloguefiles import CatalogueFiles

CATALOGUE = CatalogueFiles()
UNCACHED, CACHED = BudgetKey(Kind.VM_UNCACHED, "vm"), BudgetKey(Kind.VM_CACHED, "vm")
ULTRA = BudgetKey(Kind.VM_ULTRA, "vm")


def disk(name):
    return BudgetKey(Kind.DISK, name)


def laid_out(block, answer=None, *, limits=(), facts=discover.NO_FACTS, cloud="azure", nics=()):
    found = devices(**block)
    documents = {} if answer is None else {"azure/instance": answer}
    identity = discover.identify(cloud, documents, found, AZURE_DMI, facts)
    return build(found, (), nics, Rules(limits), CATALOGUE, discover.sold(identity, CATALOGUE))


def azure(*data, block=None, **more):
    """A D8s_v3 with an OS disk, read-write cached, and these data disks as sdc, sdd, ..."""
    block = block or {
        "sda": scsi(FIXED, 0, 30),
        **{f"sd{'cdefgh'[n]}": scsi(SCSI1, n) for n in range(len(data))},
    }
    vm_size = more.pop("vm_size", "Standard_D8s_v3")
    return laid_out(block, azure_answer(*data, os_disk=OS_DISK, vm_size=vm_size), **more)


def rate(budget, dimension=Dimension.IOPS, **ticks):
    """What a budget draws when each disk reads 10 and writes 1 a second of 4 KiB, or as said."""
    flows = {
        member: FlowTick(
            1.0,
            read_operations_per_second=ticks.get(member.name, (10, 1))[0],
            write_operations_per_second=ticks.get(member.name, (10, 1))[1],
        )
        for member in budget.members
    }
    return drawn(budget, flows, dimension, Direction.TOTAL)


def test_an_uncached_disk_counts_on_itself_and_on_the_uncached_lane():
    found = azure(data_disk("0", caching="None")).budgets

    assert found[disk("sdc")].parents == (UNCACHED,)
    assert rate(found[disk("sdc")]) == 11
    assert FlowKey("disk", "sdc") not in found[CACHED].members


def test_a_read_only_cache_answers_reads_and_writes_go_through_all_three():
    found = azure(data_disk("0", caching="ReadOnly")).budgets

    # Reads may all be hits; writes count on the cached lane, the uncached lane and the disk.
    assert found[disk("sdc")].parents == (CACHED, UNCACHED)
    assert rate(found[disk("sdc")]) == 1
    assert rate(found[UNCACHED]) == 1
    assert rate(found[CACHED]) == 22


def test_a_read_write_cache_takes_everything_and_what_reaches_the_disk_nobody_knows():
    found = azure(data_disk("0", caching="ReadWrite")).budgets

    assert found[disk("sdc")].parents == (CACHED, UNCACHED)
    assert rate(found[CACHED]) == 22
    assert rate(found[disk("sdc")]) is None
    assert rate(found[UNCACHED]) is None


def test_the_temporary_disk_shares_the_cached_lane_and_no_other():
    block = {"sda": scsi(FIXED, 0, 30), "sdb": scsi(FIXED, 1, 64)}
    found = azure(block=block).budgets

    assert found[disk("sdb")].parents == (CACHED,)
    assert FlowKey("disk", "sdb") not in found[UNCACHED].members
    assert rate(found[disk("sdb")]) == 11


def test_an_ephemeral_os_disk_lives_on_the_cache_and_a_limit_that_the_operator_states_counts():
    ephemeral = OS_DISK | {"diffDiskSettings": {"option": "Local"}}
    found = laid_out(
        {"sda": scsi(FIXED, 0, 30)},
        azure_answer(os_disk=ephemeral),
        limits=[ConfiguredLimit(disk="sda", iops=500.0)],
    ).budgets

    assert found[disk("sda")].parents == (CACHED,)
    assert rate(found[disk("sda")]) == 11


def test_premium_v2_disks_have_a_lane_of_their_own_where_the_size_documents_one():
    plain, v2 = data_disk("0"), data_disk("1", sku="PremiumV2_LRS", caching="ReadOnly")
    found = azure(plain, v2, vm_size="Standard_D4s_v6").budgets

    assert found[disk("sdd")].parents == (ULTRA,)  # no host cache, whatever the document says
    assert found[ULTRA].members == (FlowKey("disk", "sdd"),)
    assert FlowKey("disk", "sdc") in found[UNCACHED].members


def test_premium_v2_disks_share_the_uncached_lane_where_it_does_not():
    found = azure(data_disk("0", sku="PremiumV2_LRS")).budgets

    assert found[disk("sdc")].parents == (UNCACHED,)
    assert ULTRA not in found


def test_local_nvme_disks_draw_on_nothing_of_the_vm():
    block = {
        "nvme0n1": nvme(REMOTE, 1, 30),
        "nvme1n1": nvme("Microsoft NVMe Direct Disk v2", 1, 440),
    }
    found = laid_out(block, azure_answer(vm_size="Standard_D4ds_v6", os_disk=OS_DISK)).budgets

    assert found[disk("nvme1n1")].parents == ()
    assert found[UNCACHED].members == (FlowKey("disk", "nvme0n1"),)


def test_a_disk_tells_what_it_was_sold_as():
    info = azure(data_disk("0", caching="ReadOnly")).budgets[disk("sdc")].info

    assert {key: info[key] for key in ("sku", "tier", "caching", "lun", "size", "generation")} == {
        "sku": "Premium_LRS",
        "tier": "P30",
        "caching": "ReadOnly",
        "lun": "0",
        "size": "1024 GiB",
        "generation": "2026-08",
    }


def test_the_os_disk_has_no_lun_that_people_mean():
    rule = ConfiguredLimit(lun=0, iops=7500.0)
    found = azure(data_disk("0"), limits=[rule])

    assert "lun" not in found.budgets[disk("sda")].info
    assert [limit.value for limit in found.budgets[disk("sdc")].limits] == [7500.0, 200e6]
    assert Origin.CONFIGURED not in {one.origin for one in found.budgets[disk("sda")].limits}


@pytest.mark.parametrize(
    "block",
    [
        {"sda": scsi(FIXED, 0, 30), "sdb": scsi(FIXED, 1, 64), "sdc": scsi(SCSI1, 0)},
        {"sda": scsi("{00000000-0000-8899-0000-000000000000}", 0, 30), "sdc": scsi(SCSI1, 0)},
        {"sdb": scsi(GEN1_TEMPORARY, 0, 64), "sdc": scsi(SCSI1, 0)},
        {"nvme0n1": nvme(REMOTE, 1, 30), "sdc": nvme(REMOTE, 2)},
        {"sda": scsi("", 5), "sdc": scsi("", 0)},
    ],
)
def test_without_metadata_a_lun_is_still_that_of_the_data_disk(block):
    rules = [ConfiguredLimit(lun=0, iops=7500.0)]
    facts = discover.Facts(disks=[DiskFact(lun=0, sku="Premium_LRS")])
    found = laid_out(block, limits=rules, facts=facts, cloud="").budgets
    chosen = [key.name for key, budget in found.items() if budget.limits]

    assert chosen == ["sdc"]
    assert [one.value for one in found[disk("sdc")].limits] == [7500.0, 200e6]


def test_two_disks_with_one_lun_are_both_chosen_and_that_is_said():
    block = {"sdc": scsi(SCSI1, 3), "sdd": scsi(SCSI2, 3)}
    found = laid_out(block, limits=[ConfiguredLimit(lun=3, iops=7500.0, source="c limit[0]")])

    assert any("LUN 3 is sdc and sdd" in notice for notice in found.notices)


def test_two_disks_with_one_lun_in_the_document_are_neither_placed_and_that_is_said():
    found = azure(data_disk("0", name="a"), data_disk("0", name="b"))

    assert any("a and b have one LUN, 0" in notice for notice in found.notices)
    assert found.budgets[disk("sdc")].limits == ()


def test_a_disk_without_a_lun_in_the_document_is_said_and_its_device_stays_unknown():
    found = azure(data_disk("", name="lost"))

    assert any("lost has no LUN" in notice for notice in found.notices)
    assert found.budgets[disk("sdc")].limits == ()
    assert found.budgets[disk("sdc")].parents == (UNCACHED,)


def test_garbage_for_metadata_leaves_limits_unknown_and_says_so():
    found = laid_out({"sdc": scsi(SCSI1, 0)}, "<html>502</html>")

    assert found.budgets[disk("sdc")].limits == ()
    assert any('no JSON object "compute"' in notice for notice in found.notices)


def test_an_unknown_size_and_sku_are_said_and_stay_unknown():
    found = azure(data_disk("0", sku="Quantum_LRS"), vm_size="Standard_Z99")

    assert any("'Standard_Z99' is in no table" in notice for notice in found.notices)
    assert any("Quantum_LRS of 1024 GiB is in no table" in notice for notice in found.notices)
    assert found.budgets[UNCACHED].limits == ()


def test_a_fact_about_a_disk_that_is_not_here_is_said():
    facts = discover.Facts(disks=[DiskFact(disk="sdz", sku="P30", source="c disk[0]")])
    found = laid_out({"sda": scsi(SCSI1, 0)}, facts=facts)

    assert "c disk[0]: no disk matches 'sdz' now; it applies when one appears" in found.notices


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"caching": "ReadOnly"}, "caching"),
        ({"caching": "ReadWrite", "on_demand_burst": True}, "caching and on_demand_burst"),
        ({"caching": "None", "on_demand_burst": False}, ""),
        ({"caching": "ReadOnly", "sku": "P30"}, ""),
    ],
)
def test_what_is_said_of_a_disk_that_nobody_knows_is_said_to_be_without_effect(said, words):
    fact = DiskFact(disk="sda", source="c disk[0]", **said)
    found = laid_out({"sda": scsi(SCSI1, 0)}, facts=discover.Facts(disks=[fact]), cloud="")
    told = [notice for notice in found.notices if "without effect" in notice]

    assert told == ([f"sda: {words}: without effect while nobody says its sku"] if words else [])


def test_caching_of_a_disk_without_sku_counts_on_the_cached_lane_of_a_known_size():
    facts = discover.Facts(VmFact("Standard_D8s_v3"), [DiskFact(disk="sda", caching="ReadOnly")])
    found = laid_out({"sda": scsi(SCSI1, 0)}, facts=facts)

    assert not any("without effect" in notice for notice in found.notices)


def test_a_limit_of_a_lane_that_nothing_draws_on_is_said():
    rule = ConfiguredLimit(vm="cached", iops=500.0, source="c limit[0]")
    found = laid_out({"sda": scsi("", 0)}, limits=[rule], cloud="")

    assert CACHED not in found.budgets
    assert any("no disk draws on the VM's cached lane" in notice for notice in found.notices)


def test_a_limit_for_a_partition_names_the_whole_disk():
    block = {"sda": scsi("", 0), "sda1": {"size": "1", "dev": "8:1", "partition": "1"}}
    from ioplateau.measure.snapshot import Static
    from ioplateau.measure.sysblock import parse

    found = parse(Static(block=block, partitions={"sda1": "sda"}))
    rule = ConfiguredLimit(disk="sda1", iops=5.0, source="c limit[0]")
    notices = build(found, (), (), Rules([rule]), CATALOGUE).notices

    assert notices == (
        "c limit[0]: sda1 is a partition, and limits are those of whole disks: say sda",
    )


def test_what_the_operator_says_of_a_lane_beats_the_catalogue_and_both_are_told():
    rule = ConfiguredLimit(vm="uncached", iops=10_000.0, source="c limit[0]")
    lane = azure(data_disk("0"), limits=[rule]).budgets[UNCACHED]

    assert lane.limits[0].value == 10_000
    assert lane.rejected[0][1] == "catalogue says 12,800, configuration says 10,000: 10,000"


@pytest.mark.parametrize("direction", [Direction.TOTAL, Direction.WRITE])
def test_what_the_operator_says_of_the_network_beats_what_is_sold_for_writes(direction):
    rule = ConfiguredLimit(
        vm="network", bytes_per_second=9e9, direction=direction, source="c limit[0]"
    )
    lane = azure(limits=[rule], nics=["eth0"]).budgets[BudgetKey(Kind.VM_NETWORK, "vm")]

    assert [(one.value, one.direction) for one in lane.limits] == [(9e9, direction)]
    assert [lost.direction for lost, _ in lane.rejected] == [Direction.WRITE]


def test_a_size_by_configuration_beats_the_one_of_the_metadata():
    facts = discover.Facts(vm=VmFact("Standard_D2s_v3"))
    lane = azure(data_disk("0"), facts=facts).budgets[UNCACHED]

    assert lane.limits[0].value == 3200
    assert lane.info["size"] == "Standard_D2s_v3"


def test_an_encrypted_disk_repeats_its_disk_and_is_no_part_of_the_lane():
    block = {
        "sda": scsi(SCSI1, 0),
        "dm-0": {"size": "2048", "dev": "254:0", "dm/name": "secret", "slaves": ["sda"]},
        "dm-1": {"size": "2048", "dev": "254:1", "dm/name": "vg-lv", "slaves": ["dm-0"]},
    }
    found = laid_out(block, limits=[ConfiguredLimit(disk="vg-lv", iops=100.0)]).budgets

    assert found[UNCACHED].members == (FlowKey("disk", "sda"),)
    assert found[BudgetKey(Kind.STRIPE, "dm-1")].members == (FlowKey("disk", "sda"),)
    assert found[BudgetKey(Kind.STRIPE, "dm-1")].limits[0].value == 100


def test_devices_that_claim_to_be_their_own_members_end_nothing():
    block = {
        "md0": {"size": "2048", "dev": "9:0", "md/level": "raid0", "slaves": ["md1"]},
        "md1": {"size": "2048", "dev": "9:1", "md/level": "raid0", "slaves": ["md0"]},
    }

    assert UNCACHED not in laid_out(block).budgets


def test_an_answer_with_every_field_empty_is_a_machine_of_which_nothing_is_known():
    hollow = json.dumps(
        {"compute": {"vmSize": "", "storageProfile": {"dataDisks": [], "osDisk": {}}}}
    )
    found = laid_out({"sda": scsi(FIXED, 0, 30)}, hollow)

    assert found.budgets[UNCACHED].limits == ()
    assert found.budgets[disk("sda")].limits == ()


@pytest.mark.parametrize(
    ("cloud", "words"),
    [
        ("azure", "uncached disks"),
        ("aws", "EBS volumes"),
        ("gcp", "remote disks"),
        ("", "all disks"),
    ],
)
def test_the_vms_limit_over_its_disks_is_of_those_that_its_cloud_counts_together(cloud, words):
    found = laid_out({"sda": scsi(SCSI1, 0)}, cloud=cloud).budgets

    assert (found[UNCACHED].lane, found[disk("sda")].lane) == (words, words)


def test_a_size_by_configuration_tells_the_cloud_where_nobody_else_does():
    facts = discover.Facts(VmFact("m5.large", source="config.toml vm"))
    found = laid_out({"sda": scsi(SCSI1, 0)}, cloud="", facts=facts).budgets

    assert found[UNCACHED].lane == "EBS volumes"
