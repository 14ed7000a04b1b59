"""Google Cloud: what the metadata service tells, and what machine types and disks are sold with."""

import csv
import json
from pathlib import Path

import pytest

from cloud_machines import (
    AZURE_DMI,
    BYTES,
    GCE_DMI,
    IOPS,
    NITRO_DMI,
    devices,
    figures,
    gce_answer,
    nvme,
)
from ioplateau.limits import ownrows, topology
from ioplateau.limits.budgets import BudgetKey, Dimension, Direction, Kind, Origin
from ioplateau.limits.claims import DiskFact, VmFact
from ioplateau.limits.clouds import discover
from ioplateau.limits.clouds.ask import ask
from ioplateau.limits.clouds.gcp import CLOUD
from ioplateau.limits.clouds.gcp import metadata as gcp
from ioplateau.limits.clouds.gcp.tables import cap, disk_type, machine_name
from ioplateau.limits.clouds.identity import DiskIdentity, Identity
from ioplateau.limits.tables import EMPTY_CATALOGUE, Tables
from ioplateau.limits.whatif import answer
from ioplateau.run.cataloguefiles import CatalogueFiles

CATALOGUE = CatalogueFiles()
MIB = 1 << 20
GIB = 1 << 30
SOURCES = Path(__file__).parents[2] / "data" / "limits"
READS = (Dimension.IOPS, Direction.READ)
WRITES = (Dimension.IOPS, Direction.WRITE)
BYTES_READ = (Dimension.THROUGHPUT, Direction.READ)
BYTES_WRITTEN = (Dimension.THROUGHPUT, Direction.WRITE)


def disk(serial, gib=10):
    return {"size": str(gib * GIB // 512), "dev": "8:0", "serial": serial}


def machine(machine_type, disks, facts=discover.NO_FACTS, **block):
    """The limits of a VM whose metadata service answers so."""
    documents = {
        gcp.TYPE: f"projects/123456789012/machineTypes/{machine_type}",
        gcp.ZONE: "projects/123456789012/zones/europe-west1-b",
        gcp.DISKS: gce_answer(*disks),
    }
    identity = discover.identify("gcp", documents, devices(**block), GCE_DMI, facts)
    return discover.sold(identity, CATALOGUE)


def test_a_compute_engine_vm_is_told_by_dmi():
    assert discover.detect(GCE_DMI) == "gcp"
    assert not CLOUD.detect(AZURE_DMI)
    assert not CLOUD.detect(NITRO_DMI)


def test_only_three_documents_are_wanted_and_none_with_attributes():
    assert all(document.headers == (("Metadata-Flavor", "Google"),) for document in gcp.wanted())
    assert not any("attributes" in document.path for document in gcp.wanted())


def test_machine_type_region_and_disks_are_understood():
    sold = machine(
        "n2-standard-4",
        [("boot", "PERSISTENT-BALANCED"), ("data-1", "PERSISTENT-SSD"), ("local-0", "LOCAL-SSD")],
        sda=disk("boot"),
        sdb=disk("data-1", 100),
        sdc=disk("other"),
    )
    identity = sold.identity

    assert (identity.vm_size, identity.region) == ("n2-standard-4", "europe-west1")
    assert {name: (found.role, found.sku) for name, found in identity.disks.items()} == {
        "sda": ("os", "pd-balanced"),
        "sdb": ("data", "pd-ssd"),
    }
    assert [found.name for found in identity.unplaced] == ["local-0"]


@pytest.mark.parametrize(
    ("told", "sku"),
    [
        ("PERSISTENT-STANDARD", "pd-standard"),
        ("PERSISTENT-EXTREME", "pd-extreme"),
        ("HYPERDISK-BALANCED", "hyperdisk-balanced"),
        ("PERSISTENT-HYPERDISK-EXTREME", "hyperdisk-extreme"),
        ("SCRATCH", "local-ssd-scsi"),
        ("PERSISTENT", ""),
        ("", ""),
    ],
)
def test_the_metadatas_types_are_the_apis_disk_types(told, sku):
    identity = gcp.identify({gcp.DISKS: gce_answer(("data", told))}, devices(sdb=disk("data")))

    assert identity.disks["sdb"].sku == sku
    assert bool(identity.reasons) is not bool(sku)


@pytest.mark.parametrize("text", ["", "{}", "null", "[1, {}, null]", "<html>"])
def test_garbage_leaves_a_reason(text):
    identity = gcp.identify({gcp.DISKS: text, gcp.TYPE: text}, devices(sda=disk("boot")))

    assert identity.disks == {}
    assert identity.reasons


def test_its_disks_draw_on_the_vm_and_without_tables_have_no_limits():
    documents = {gcp.DISKS: gce_answer(("boot", "PERSISTENT-SSD"))}
    sold = discover.sold(gcp.identify(documents, devices(sda=disk("boot"))), EMPTY_CATALOGUE)

    assert sold.disks["sda"].draws.write == (Kind.VM_UNCACHED, Kind.DISK)
    assert sold.disks["sda"].limits == ()


def test_a_standard_persistent_disk_may_do_so_much_per_gib_its_bytes_read_and_written_together():
    sold = machine("n2-standard-8", [("d", "PERSISTENT-STANDARD")], sdb=disk("d", 1000))

    assert figures(sold.disks["sdb"].limits) == {
        READS: 750,
        WRITES: 1500,
        BYTES: 120 * MIB,
    }
    assert figures(sold.lanes[Kind.VM_UNCACHED]) == {
        READS: 5000,
        WRITES: 15_000,
        BYTES_READ: 800 * MIB,
        BYTES_WRITTEN: 400 * MIB,
    }


@pytest.mark.parametrize("kind", ["BALANCED", "SSD"])
def test_reads_and_writes_of_ssds_share_operations_and_have_bytes_each_alone(kind):
    sold = machine("n2-standard-8", [("d", f"PERSISTENT-{kind}")], sdb=disk("d", 4000))
    disk_limits, lane = (
        figures(limits) for limits in (sold.disks["sdb"].limits, sold.lanes[Kind.VM_UNCACHED])
    )

    assert disk_limits.keys() == lane.keys() == {IOPS, BYTES_READ, BYTES_WRITTEN}
    assert lane == {IOPS: 15_000, BYTES_READ: 800 * MIB, BYTES_WRITTEN: 800 * MIB}


def test_a_machine_type_that_lets_more_be_read_than_written_holds_each_alone():
    sold = machine("c2-standard-16", [("d", "PERSISTENT-BALANCED")], sdb=disk("d", 4000))

    assert figures(sold.lanes[Kind.VM_UNCACHED]) == {
        READS: 8000,
        WRITES: 4000,
        BYTES_READ: 600 * MIB,
        BYTES_WRITTEN: 480 * MIB,
    }


def test_beside_disks_that_have_reads_and_writes_alone_the_vm_is_held_in_each_direction():
    sold = machine(
        "n2-standard-8",
        [("a", "PERSISTENT-STANDARD"), ("b", "PERSISTENT-SSD")],
        sda=disk("a", 1000),
        sdb=disk("b", 1000),
    )

    assert figures(sold.lanes[Kind.VM_UNCACHED]) == {
        READS: 15_000,
        WRITES: 15_000,
        BYTES_READ: 800 * MIB,
        BYTES_WRITTEN: 800 * MIB,
    }


def test_disks_of_one_type_have_the_sum_of_their_sizes_together():
    sold = machine(
        "n2-standard-8",
        [("a", "PERSISTENT-BALANCED"), ("b", "PERSISTENT-BALANCED")],
        sda=disk("a", 100),
        sdb=disk("b", 300),
    )
    together = 3000 + 6 * 400

    assert figures(sold.disks["sda"].limits)[IOPS] == together
    assert figures(sold.disks["sdb"].limits)[IOPS] == together
    assert figures(sold.lanes[Kind.VM_UNCACHED])[IOPS] == together
    assert "400 GiB of pd-balanced together" in sold.lanes[Kind.VM_UNCACHED][0].source


def test_of_several_types_the_vm_is_held_to_the_most_that_one_may_do():
    sold = machine(
        "n2-standard-16",
        [("a", "PERSISTENT-BALANCED"), ("b", "PERSISTENT-SSD")],
        sda=disk("a", 100),
        sdb=disk("b", 1000),
    )

    assert figures(sold.lanes[Kind.VM_UNCACHED])[IOPS] == 25_000


def two_ssds_beside(boot, machine_type="n2-standard-8"):
    return machine(
        machine_type,
        [("a", boot), ("b", "PERSISTENT-SSD"), ("c", "PERSISTENT-SSD")],
        sda=disk("a", 10),
        sdb=disk("b", 100),
        sdc=disk("c", 100),
    )


def test_beside_another_type_disks_of_one_type_have_their_sum_below_the_vms_limit():
    found = two_ssds_beside("PERSISTENT-BALANCED")
    together = 6000 + 30 * 200

    assert figures(found.lanes[Kind.VM_UNCACHED])[IOPS] == 15_000
    assert {sku: figures(limits)[IOPS] for sku, limits in found.by_sku.items()} == {
        "pd-ssd": together
    }
    assert "n2-standard-8" in found.lanes[Kind.VM_UNCACHED][0].source
    budget = topology.build(
        dict.fromkeys(found.disks), (), (), topology.Rules(), CATALOGUE, found
    ).budgets[BudgetKey(Kind.VM_UNCACHED, "pd-ssd")]
    assert [flow.name for flow in budget.members] == ["sdb", "sdc"]
    assert budget.lane == "pd-ssd disks"


def test_of_one_type_alone_the_vms_limit_is_what_the_disks_have_together():
    found = two_ssds_beside("PERSISTENT-SSD")

    assert figures(found.lanes[Kind.VM_UNCACHED])[IOPS] == 6000 + 30 * 210
    assert found.by_sku == {}


def test_disks_of_one_type_have_their_sum_where_nobody_knows_the_machine_types_limit():
    found = two_ssds_beside("PERSISTENT-SSD", "n4-standard-8")

    assert found.lanes == {}
    assert figures(found.by_sku["pd-ssd"])[IOPS] == 6000 + 30 * 210


def test_hyperdisks_beside_another_type_have_together_what_the_machine_type_lets_them_do():
    found = machine(
        "c4d-standard-8",
        [("a", "HYPERDISK-ML"), ("b", "HYPERDISK-BALANCED"), ("c", "HYPERDISK-BALANCED")],
        sda=disk("a", 100),
        sdb=disk("b", 100),
        sdc=disk("c", 100),
    )

    assert figures(found.by_sku["hyperdisk-balanced"]) == {IOPS: 50_000, BYTES: 800 * MIB}


def test_what_if_counts_what_disks_of_one_type_have_together():
    question = ask(CATALOGUE, "n2-standard-8", ["pd-balanced:size=10", "2xpd-ssd:size=100"])
    case, _ = answer(question, (MIB,)).cases  # reads, writes

    assert case.bytes_per_second == pytest.approx((140 + 0.28 * 10 + 240 + 0.48 * 200) * MIB)
    assert [bound.title for bound in case.bindings] == ["pd-balanced", "200 GiB of pd-ssd together"]


@pytest.mark.parametrize(
    ("machine_type", "gib", "told"),
    [
        ("n2-standard-80", 100, {"200 GiB of pd-ssd together": {IOPS, BYTES_READ, BYTES_WRITTEN}}),
        ("n2-standard-8", 600, {"VM remote": {IOPS, BYTES_READ, BYTES_WRITTEN}}),
        # 16,500 IOPS of which it allows 15,000, and 424 MiB/s of 800.
        (
            "n2-standard-8",
            175,
            {"VM remote": {IOPS}, "350 GiB of pd-ssd together": {BYTES_READ, BYTES_WRITTEN}},
        ),
    ],
)
def test_what_the_sizes_of_disks_set_is_not_told_as_the_machine_types(machine_type, gib, told):
    shared = [*ask(CATALOGUE, machine_type, [f"2xpd-ssd:size={gib}"]).shared()]

    assert {title: figures(limits).keys() for _, title, limits in shared} == told
    for _, title, limits in shared:
        by = {machine_type} if title == "VM remote" else {title}
        assert {limit.source.partition(",")[0] for limit in limits} == by


@pytest.mark.parametrize("beside", ["PERSISTENT-BALANCED", "HYPERDISK-THROUGHPUT"])
def test_beside_another_type_a_disk_does_no_more_than_the_machine_type_lets_its_own(beside):
    sold = machine(
        "n2-standard-8",
        [("a", "PERSISTENT-STANDARD"), ("b", beside)],
        sda=disk("a", 10_240),
        sdb=disk("b", 100),
    )

    assert figures(sold.disks["sda"].limits) == {
        READS: 5000,
        WRITES: 15_000,
        BYTES_READ: 800 * MIB,
        BYTES_WRITTEN: 400 * MIB,
    }


def test_a_disk_alone_on_a_machine_type_of_no_row_does_no_more_than_any_lets_its_type_do():
    found = machine("n4-standard-8", [("a", "PERSISTENT-SSD")], sda=disk("a", 10_240))

    assert figures(found.disks["sda"].limits) == {
        IOPS: 100_000,
        BYTES_READ: 1800 * MIB,
        BYTES_WRITTEN: 1800 * MIB,
    }


@pytest.mark.parametrize("name", ["pd-standard", "pd-balanced", "pd-ssd"])
@pytest.mark.parametrize("column", ["read_iops", "write_iops", "read_mibps", "write_mibps"])
def test_the_most_of_a_sized_type_is_the_most_that_any_machine_type_lets_it_do(name, column):
    with (SOURCES / "gcp_machine_types.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["disk_type"] == name]
    most = max(float(row[column] or 0) for row in rows)

    assert disk_type(CATALOGUE, name).number(column) == most


def test_a_local_ssd_has_limits_of_its_own_and_does_not_draw_on_the_vm():
    block = nvme("nvme_card", gib=375)
    sold = machine(
        "n2-standard-8",
        [("boot", "PERSISTENT-SSD"), ("local-ssd-0", "LOCAL-SSD")],
        sda=disk("boot"),
        nvme0n1=block,
    )

    assert sold.disks["nvme0n1"].draws.read == (Kind.DISK,)
    assert figures(sold.disks["nvme0n1"].limits)[READS] == 170_000


@pytest.mark.parametrize(("count", "is_said"), [(4, False), (8, True)])
def test_of_more_than_four_local_ssds_it_is_said_that_their_sum_is_not_documented(count, is_said):
    notices = ask(CATALOGUE, "n2-standard-32", [f"{count}xlocal-ssd-nvme"]).notices

    assert any("local SSDs: what more than 4 do" in words for words in notices) is is_said


def test_nvme_disks_of_one_type_have_that_type_though_their_names_are_not_told():
    sold = machine(
        "c4d-standard-8",
        [("boot", "HYPERDISK-BALANCED"), ("data", "HYPERDISK-BALANCED")],
        discover.Facts(disks=[DiskFact(disk="nvme0n2", iops=6000.0, source="c disk[0]")]),
        nvme0n1=nvme("nvme_card-pd", namespace=1),
        nvme0n2=nvme("nvme_card-pd", namespace=2, gib=500),
    )
    (limit,) = sold.disks["nvme0n2"].limits

    assert sold.identity.disks["nvme0n1"].sku == "hyperdisk-balanced"
    assert (limit.value, limit.origin, limit.direction) == (
        6000,
        Origin.CONFIGURED,
        Direction.TOTAL,
    )
    assert figures(sold.lanes[Kind.VM_UNCACHED]) == {IOPS: 50_000, BYTES: 800 * MIB}
    assert any("nvme0n1: hyperdisk-balanced is provisioned" in why for why in sold.reasons)


def named(device_name, namespace, gib):
    """A disk on NVMe whose name udev knows."""
    return nvme("nvme_card-pd", namespace, gib) | {"udev/name": device_name}


def test_nvme_disks_of_several_types_are_told_by_the_names_that_udev_keeps():
    sold = machine(
        "c3-standard-8",
        [("boot", "PERSISTENT-BALANCED"), ("wal", "PERSISTENT-SSD"), ("pg", "HYPERDISK-BALANCED")],
        discover.Facts(disks=[DiskFact(disk="pg", iops=6000.0, source="c disk[0]")]),
        nvme0n1=named("boot", 1, 10),
        nvme0n2=named("pg", 2, 500),
        nvme0n3=named("wal", 3, 100),
    )
    disks = sold.identity.disks

    assert {name: (disk.role, disk.sku) for name, disk in disks.items()} == {
        "nvme0n1": ("os", "pd-balanced"),
        "nvme0n2": ("data", "hyperdisk-balanced"),
        "nvme0n3": ("data", "pd-ssd"),
    }
    assert figures(sold.disks["nvme0n2"].limits) == {IOPS: 6000}
    assert figures(sold.disks["nvme0n3"].limits)[IOPS] == 6000 + 30 * 100
    assert (sold.identity.controller, sold.identity.unplaced) == ("NVMe", ())


def test_a_disk_that_udev_has_not_named_yet_has_the_type_that_is_left():
    sold = machine(
        "c3-standard-8",
        [("boot", "PERSISTENT-BALANCED"), ("pg", "PERSISTENT-SSD")],
        nvme0n1=named("boot", 1, 10),
        nvme0n2=nvme("nvme_card-pd", namespace=2, gib=500),
    )

    assert sold.identity.disks["nvme0n2"].sku == "pd-ssd"
    assert sold.reasons == ()


def test_nvme_disks_of_several_types_are_not_guessed_at():
    sold = machine(
        "c3-standard-8",
        [("boot", "PERSISTENT-BALANCED"), ("data", "HYPERDISK-BALANCED")],
        nvme0n1=nvme("nvme_card-pd", namespace=1),
        nvme0n2=nvme("nvme_card-pd", namespace=2),
    )

    assert {found.sku for found in sold.identity.disks.values()} == {""}
    assert any("say [[disk]] disk and sku" in reason for reason in sold.reasons)


@pytest.mark.parametrize("listed", [("boot",), ("boot", "data")])
def test_nvme_disks_of_which_one_is_not_listed_yet_are_not_guessed_at(listed):
    block = {
        f"nvme0n{number}": nvme("nvme_card-pd", namespace=number, gib=100 * number)
        for number in range(1, len(listed) + 2)
    }
    sold = machine("c3-standard-8", [(name, "PERSISTENT-BALANCED") for name in listed], **block)

    assert {(found.name, found.sku) for found in sold.identity.disks.values()} == {("", "")}
    assert sold.lanes == {}
    (reason,) = sold.reasons
    assert reason.startswith(f"gcp/disks: tells the types of {len(listed)} of {len(block)} NVMe")


def test_a_disk_that_is_known_by_its_serial_number_gives_no_other_its_type():
    sold = machine(
        "n2-standard-8",
        [("boot", "PERSISTENT-BALANCED")],
        sda=disk("boot", 100),
        nvme0n1=nvme("nvme_card-pd", gib=1000),
    )

    assert sold.identity.disks["nvme0n1"].sku == ""
    assert "pd-balanced of 100 GiB on this VM" in sold.disks["sda"].limits[0].source


@pytest.mark.parametrize(
    ("sku", "told", "iops", "mib"),
    [
        ("hyperdisk-extreme", {"iops": 10_000.0}, 10_000, 2500),
        ("hyperdisk-extreme", {"iops": 100_000.0}, 100_000, 5000),
        ("hyperdisk-throughput", {"bytes_per_second": 200.0 * MIB}, 800, 200),
        ("hyperdisk-ml", {"bytes_per_second": 2400.0 * MIB}, 38_400, 2400),
        ("hyperdisk-balanced", {"iops": 5000.0, "bytes_per_second": 300.0 * MIB}, 5000, 300),
        ("pd-extreme", {"iops": 10_000.0}, 10_000, 2500),
        ("pd-extreme", {"iops": 20_000.0}, 20_000, 4000),
    ],
)
def test_a_provisioned_disk_may_do_what_it_was_provisioned_with(sku, told, iops, mib):
    facts = discover.Facts(
        VmFact("c3-standard-88"), [DiskFact(disk="sdb", sku=sku, source="c disk[0]", **told)]
    )
    sold = discover.sold(
        discover.identify("", {}, devices(sdb=disk("x", 500)), {}, facts), CATALOGUE
    )

    assert figures(sold.disks["sdb"].limits) == {IOPS: iops, BYTES: mib * MIB}
    assert {one.origin for one in sold.disks["sdb"].limits} == {Origin.CONFIGURED}


@pytest.mark.parametrize("sku", ["hyperdisk-balanced", "hyperdisk-balanced-high-availability"])
def test_throughput_that_is_provisioned_by_itself_stays_unknown_until_it_is_said(sku):
    facts = discover.Facts(VmFact("c3-standard-8"), [DiskFact(disk="sdb", sku=sku, iops=3000.0)])
    sold = discover.sold(
        discover.identify("", {}, devices(sdb=disk("x", 500)), {}, facts), CATALOGUE
    )

    assert figures(sold.disks["sdb"].limits) == {IOPS: 3000}
    assert any(
        words.startswith(f"sdb: {sku} is provisioned with bytes_per_second too")
        for words in sold.reasons
    )


def test_figures_of_a_disk_that_its_size_decides_hold_and_are_said():
    facts = discover.Facts(
        VmFact("n2-standard-8"),
        [DiskFact(disk="sdb", sku="pd-ssd", iops=5000.0, source="c disk[0]")],
    )
    sold = discover.sold(
        discover.identify("", {}, devices(sdb=disk("x", 500)), {}, facts), CATALOGUE
    )
    found = sold.disks["sdb"].limits

    assert [(one.dimension, one.direction, one.origin) for one in found] == [
        (Dimension.IOPS, Direction.TOTAL, Origin.CONFIGURED),
        (Dimension.THROUGHPUT, Direction.READ, Origin.CATALOGUE),
        (Dimension.THROUGHPUT, Direction.WRITE, Origin.CATALOGUE),
    ]
    assert "sdb: pd-ssd cannot be provisioned, its size decides: believed" in sold.reasons


def test_more_than_a_disk_can_be_set_to_is_believed_and_said():
    fact = DiskFact(disk="sdb", sku="hyperdisk-balanced", iops=20_000.0, source="c disk[0]")
    facts = discover.Facts(VmFact("c4d-standard-8"), [fact])
    sold = discover.sold(
        discover.identify("", {}, devices(sdb=disk("x", 20)), {}, facts), CATALOGUE
    )

    assert figures(sold.disks["sdb"].limits)[IOPS] == 20_000
    assert (
        "sdb: 20,000 IOPS is more than hyperdisk-balanced can be set to (10,000): believed"
        in sold.reasons
    )


def test_more_throughput_than_the_operations_of_a_disk_allow_is_said():
    (notice,) = ask(
        CATALOGUE, "c4d-standard-8", ["hyperdisk-balanced:size=100:iops=3000:mibps=1000"]
    ).notices

    assert "more than hyperdisk-balanced with 3,000 IOPS can be set to (786,432,000)" in notice


@pytest.mark.parametrize(
    ("name", "series", "vcpus"),
    [
        ("n2-standard-4", "n2", 4),
        ("n2-custom-6-8192-ext", "n2", 6),
        ("custom-4-8192", "n1", 4),
        ("c3-standard-22-lssd", "c3", 22),
        ("c4d-highmem-384-metal", "c4d", 384),
        ("e2-medium", "e2", 2),
        ("a2-highgpu-1g", "a2", None),
        ("x4-480-6t-metal", "x4", 480),
        (f"n2-standard-{'9' * 5000}", "n2", None),
        (f"x4-{'9' * 5000}-6t", "", None),
        ("???", "", None),
    ],
)
def test_a_machine_types_name_tells_its_series_and_vcpus(name, series, vcpus):
    assert machine_name(name) == (series, vcpus)


def test_a_row_with_the_machine_types_own_name_holds_before_the_one_of_its_vcpus():
    metal = cap(CATALOGUE, "c4d-standard-384-metal", "hyperdisk-balanced")
    virtual = cap(CATALOGUE, "c4d-standard-384", "hyperdisk-balanced")

    assert metal.total.bytes_per_second == 10_000 * MIB
    assert virtual.total.bytes_per_second == 12_500 * MIB
    assert cap(CATALOGUE, "e2-small", "pd-ssd") is None


def test_a_machine_type_of_no_table_and_a_type_it_says_nothing_of_are_named():
    unknown = machine("z9-standard-8", [("d", "PERSISTENT-SSD")], sdb=disk("d"))
    silent = machine("h3-standard-88", [("d", "PERSISTENT-SSD")], sdb=disk("d"))

    assert unknown.lanes == silent.lanes == {}
    assert "'z9-standard-8' is in no table" in unknown.reasons[0]
    assert silent.reasons == (
        "h3-standard-88: what it lets pd-ssd do is documented nowhere that was found",
    )


def test_a_machine_type_of_a_series_without_figures_is_known_and_where_they_are_is_told():
    found = machine("n4-standard-8", [("d", "HYPERDISK-BALANCED")], sdb=disk("d"))

    assert found.lanes == {}
    assert found.reasons[-1] == (
        "n4-standard-8: what it lets all its hyperdisk-balanced disks do together (IOPS, MiB/s) "
        "is in none of our tables, but in Google's: "
        "https://docs.cloud.google.com/compute/docs/disks/hyperdisk-perf-limits - to add it, write "
        "gcp_machine_types.csv into the directory that limits.catalogue of the configuration names, "
        "with the lines series,machine,disk_type,iops,mibps "
        "and n4,n4-standard-8,hyperdisk-balanced,<IOPS>,<MiB/s>"
    )


# About Hyperdisk, machine series support.
@pytest.mark.parametrize("name", ["e2-standard-8", "c2d-standard-32", "custom-4-8192"])
def test_a_series_without_hyperdisks_sends_nobody_to_a_table_that_has_no_row_of_it(name):
    found = machine(name, [("d", "HYPERDISK-BALANCED")], sdb=disk("d"))

    assert "Google lists no Hyperdisk for" in found.reasons[-1]


@pytest.mark.parametrize(
    "name",
    [
        "a4-highgpu-8g",
        "a4x-highgpu-4g",
        "g4-standard-48",
        "h4d-standard-192",
        "n4-custom-8-16384",
        "n4d-highmem-16",
        "x4-960-16t-metal",
    ],
)
def test_the_row_that_a_machine_type_without_figures_asks_for_gives_it_some(name):
    disks = [("d", "HYPERDISK-BALANCED")]
    words = machine(name, disks, sdb=disk("d")).reasons[-1]
    _, _, lines = words.partition("with the lines ")
    head, _, row = lines.partition(" and ")
    row = row.replace("<IOPS>", "7000").replace("<MiB/s>", "300")

    own = ownrows.read({"gcp_machine_types.csv": f"{head}\n{row}\n".encode()})
    documents = {gcp.TYPE: f"x/{name}", gcp.DISKS: gce_answer(*disks)}
    identity = discover.identify("gcp", documents, devices(sdb=disk("d")), GCE_DMI)
    found = discover.sold(identity, ownrows.CatalogueWithOwnRows(CATALOGUE, own))

    assert own.complaints == ()
    assert figures(found.lanes[Kind.VM_UNCACHED]) == {IOPS: 7000, BYTES: 300 * MIB}
    assert not any("none of our tables" in reason for reason in found.reasons)


def test_a_row_without_figures_hides_none_that_has_some():
    own = (
        b'n4/hyperdisk-balanced/0008\t{"series":"n4","vcpus_min":8,"vcpus_max":8,"iops":50000}\n'
        b'n4/hyperdisk-balanced/n4-*\t{"series":"n4","machine":"n4-*"}\n'
    )

    found = cap(Tables({"gcp_machine_types": own}), "n4-standard-8", "hyperdisk-balanced")

    assert found.total.iops == 50_000


def test_every_row_of_the_table_is_found_by_a_machine_type_it_is_of():
    with (SOURCES / "gcp_machine_types.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if not row["note"].startswith("no figure")]
    lost = []
    for row in rows:
        name = row["machine"].replace("*", "standard")
        name = name or f"{row['series']}-standard-{row['vcpus_max'] or row['vcpus_min']}"
        found = cap(CATALOGUE, name, row["disk_type"])
        value = None if found is None else (found.write.iops or found.total.iops)
        if value != float(row["write_iops"] or row["iops"]):
            lost.append((name, row["disk_type"], value))

    assert len(rows) == 329
    assert lost == []


def test_json_of_the_disks_is_as_the_service_writes_it():
    (told,) = json.loads(gce_answer(("persistent-disk-0", "PERSISTENT-BALANCED")))

    assert told == {
        "deviceName": "persistent-disk-0",
        "index": 0,
        "interface": "SCSI",
        "mode": "READ_WRITE",
        "type": "PERSISTENT-BALANCED",
    }


def test_a_local_ssd_beside_disks_of_one_type_makes_no_mixture():
    ssd = DiskIdentity(device="sdb", role="data", sku="pd-ssd", size_gib=4000)
    local = DiskIdentity(device="nvme0n1", role="local", sku="local-ssd", size_gib=375)
    alone, beside = (
        discover.sold(Identity("gcp", "n2-standard-4", disks=disks), CATALOGUE).disks["sdb"]
        for disks in ({"sdb": ssd}, {"sdb": ssd, "nvme0n1": local})
    )

    assert figures(alone.limits)[IOPS] > 15_000  # what the machine type lets all of them do
    assert beside.limits == alone.limits


def test_where_one_type_of_disk_is_in_no_table_the_vms_limit_is_unknown():
    disks = {
        "sdb": DiskIdentity(device="sdb", role="data", sku="pd-ssd", size_gib=4000),
        "sdc": DiskIdentity(device="sdc", role="data", sku="hyperdisk-extreme", iops=9e4),
    }
    sold = discover.sold(Identity("gcp", "n2-standard-4", disks=disks), CATALOGUE)

    assert any("hyperdisk-extreme" in reason for reason in sold.reasons)
    assert Kind.VM_UNCACHED not in sold.lanes
