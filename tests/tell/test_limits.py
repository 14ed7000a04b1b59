"""`ioplateau limits` as people and programs read it."""

import json

import pytest

from ioplateau.limits.budgets import (
    Budget,
    BudgetKey,
    Burst,
    Dimension,
    Direction,
    FlowKey,
    Kind,
    Limit,
    Origin,
)
from ioplateau.run import whatif
from ioplateau.run.cataloguefiles import CatalogueFiles
from ioplateau.tell import limits

CATALOGUE = CatalogueFiles()


def budgets():
    configured = Limit(
        Dimension.IOPS, Direction.TOTAL, 10_000.0, Origin.CONFIGURED, "config.toml limit[0]"
    )
    catalogue = Limit(
        Dimension.IOPS,
        Direction.TOTAL,
        12_800.0,
        Origin.CATALOGUE,
        "Standard_D8s_v3, azure-compute-docs 2024-09-24",
        burst=Burst(16_000.0, 5_760_000.0),
    )
    return [
        Budget(
            BudgetKey(Kind.VM_UNCACHED, "vm"),
            (FlowKey("disk", "sda"), FlowKey("disk", "sdb")),
            (configured,),
            rejected=((catalogue, "catalogue says 12,800, configuration says 10,000: 10,000"),),
        ),
        Budget(BudgetKey(Kind.DISK, "sda"), (FlowKey("disk", "sda"),)),
    ]


def test_the_table_explains_each_limit_and_what_was_rejected():
    text = limits.budgets_text(budgets(), ["config.toml limit[1]: no disk matches 'sdx' now"])

    assert text == (
        "BUDGET            LIMIT        DIRECTION  ORIGIN      SOURCE                DRAWN ON BY\n"
        "VM, all disks vm  10,000 IOPS  total      configured  config.toml limit[0]  sda sdb\n"
        "    not 12,800 IOPS (burst 16,000 IOPS): "
        "catalogue says 12,800, configuration says 10,000: 10,000\n"
        "disk sda          unknown                                                   sda\n"
        "note: config.toml limit[1]: no disk matches 'sdx' now\n"
    )


def test_a_device_mapper_node_is_told_with_its_name():
    stripe = Budget(
        BudgetKey(Kind.STRIPE, "dm-0"), (FlowKey("disk", "sda"),), info={"mapper": "vg-data"}
    )

    assert "stripe dm-0 (vg-data)  unknown" in limits.budgets_text([stripe])


def test_a_machine_without_budgets_is_told_so():
    assert "no disk, NFS mount or interface" in limits.budgets_text([])


def test_the_json_of_the_budgets_has_the_same_facts():
    lane, disk = json.loads(json.dumps(limits.budgets_json(budgets())))["budgets"]

    assert lane["limits"][0]["limit"] == 10_000
    assert lane["limits"][0]["source"] == "config.toml limit[0]"
    assert lane["rejected"][0]["why"].endswith(": 10,000")
    assert lane["rejected"][0]["burst"] == {"rate": 16_000, "bucket": 5_760_000}
    assert lane["members"] == [{"kind": "disk", "name": "sda"}, {"kind": "disk", "name": "sdb"}]
    assert disk["limits"] == []


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (1000, "1000 B"),
        (9728, "9.5 KiB"),
        (1000 * 1024, "1,000 KiB"),
        (2**20 - 512, "1,023.5 KiB"),
        (2**20 - 1, "1 MiB"),
        (2**21 - 512, "2,047.5 KiB"),
        (2**22, "4 MiB"),
    ],
)
def test_a_size_below_the_next_unit_is_not_told_as_so_many_of_its_own(size, said):
    assert limits.size_text(size) == said


def test_a_what_if_says_what_binds_first_and_from_which_request_size_on():
    text = limits.render(whatif.of_disks(CATALOGUE, "DS1", ["P30"], ["8k"]))

    assert text == (
        "Standard_DS1\n"
        "  VM uncached         3,200 IOPS, 32 MB/s\n"
        "  VM cached           4,000 IOPS, 32 MB/s\n"
        "  P30                 5,000 IOPS, 200 MB/s\n"
        "\n"
        "reads and writes, first to bind:\n"
        "  requests up to 9.5 KiB: VM uncached, 3,200 IOPS\n"
        "  requests from 10 KiB: VM uncached, 32 MB/s\n"
        "\n"
        "request   IOPS  MB/s  bound by\n"
        "8 KiB    3,200  26.2  VM uncached, 3,200 IOPS\n"
        "\n"
        "MB are 10^6 bytes; where the documents mean MiB, throughput is up to 4.9 % more.\n"
    )


@pytest.mark.parametrize(
    ("size", "disk"), [("m5.large", "gp3"), ("n2-standard-8", "pd-ssd:size=500")]
)
def test_mebibytes_are_no_question_where_the_documents_say_which_they_mean(size, disk):
    text = limits.render(whatif.of_disks(CATALOGUE, size, [disk], ["8k"]))

    assert "\nMB are 10^6 bytes.\n" in text


def test_a_long_name_of_a_disk_stays_apart_from_its_figures():
    disks = ["2xhyperdisk-balanced:iops=9000:mibps=250"]
    text = limits.render(whatif.of_disks(CATALOGUE, "c4-standard-288", disks))

    assert "  2 x hyperdisk-balanced  9,000 IOPS, 262.1 MB/s\n" in text
    assert "  VM remote               320,000 IOPS, 13,107 MB/s\n" in text


def test_writes_are_answered_for_beside_reads_where_their_limits_differ():
    apart = whatif.of_disks(CATALOGUE, "c2d-standard-32", ["pd-balanced:size=1000"], ["1M"])
    alike = whatif.of_disks(CATALOGUE, "e2-standard-8", ["pd-balanced:size=1000"], ["1M"])
    reads, writes = limits.as_json(apart)["cases"]

    assert (reads["direction"], writes["direction"]) == ("read", "write")
    assert (reads["megabytes_per_second"], writes["megabytes_per_second"]) == (440.402, 256.901)
    assert "\nwrites, first to bind:\n  requests up to 30.5 KiB: VM remote" in limits.render(apart)
    assert "\nreads or writes, first to bind:\n" in limits.render(alike)


def test_the_json_of_a_what_if_can_be_read_by_a_program():
    found = limits.as_json(whatif.of_disks(CATALOGUE, "Standard_DS13", ["4xP30"], ["8k", "1M"]))
    found = json.loads(json.dumps(found, allow_nan=False))
    small, large = found["cases"]

    assert small["operations_per_second"] == 20_000
    assert small["bindings"][0] == {
        "kind": "disk",
        "name": "disk0",
        "title": "P30",
        "dimension": "iops",
        "limit": 5000,
        "count": 4,
    }
    assert large["megabytes_per_second"] == 256
    assert found["first"][0]["bindings"][0]["title"] == "P30"
    assert found["lanes"][0]["limits"][0]["source"].endswith("2018")


def test_a_cached_disk_is_answered_with_hits_and_with_misses():
    text = limits.render(
        whatif.of_disks(CATALOGUE, "Standard_D8s_v3", ["P30:ReadOnly", "P30"], ["8k"])
    )

    assert "reads, all answered by the host's cache, first to bind:" in text
    assert "reads that miss the host's cache, and writes through it, first to bind:" in text
    assert "in burst: IOPS" in text


def test_a_host_cache_of_which_nothing_is_documented_is_what_is_not_known():
    text = limits.render(whatif.of_disks(CATALOGUE, "Standard_D8s_v5", ["P30:ReadOnly"], ["8k"]))

    assert "the host cache, of which no limit is known" in text
    assert "a disk, of which no limit is known" not in text


def test_what_holds_the_other_disks_is_not_told_as_all_that_binds_where_the_cache_is_not_known():
    disks = ["P30:ReadOnly", "P30"]
    text = limits.render(whatif.of_disks(CATALOGUE, "Standard_D8s_v5", disks, ["8k"]))

    unknown = "the host cache, of which no limit is known"
    assert f"  requests up to 39 KiB: P30, 5,000 IOPS and {unknown}\n" in text
    assert unknown not in text.partition("that miss")[2]
