"""The catalogue against its source tables, which the tests read by themselves."""

import csv
import importlib.util
import itertools
import json
import random
from pathlib import Path

import pytest

from ioplateau.limits import tables
from ioplateau.limits.clouds.aws import tables as aws
from ioplateau.limits.clouds.azure import tables as azure
from ioplateau.run.cataloguefiles import HERE, CatalogueFiles

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "data" / "limits"
CATALOGUE = CatalogueFiles()
UNITS, NETWORK = ("iops", "mbps"), "network_bandwidth_mbps"
SUSTAINED = ("uncached", "uncached_ultra", "cached")
LANES = (*SUSTAINED, *(f"burst_{lane}" for lane in SUSTAINED))


def rows(name):
    with (SOURCES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def number(text):
    return float(text) if text else None


def million(text):
    return float(text) * 1e6 if text else None


@pytest.mark.parametrize(
    ("table", "source", "count"),
    [
        ("azure_vm_sizes", "azure_vm_sizes.csv", 1670),
        ("azure_vm_sizes_nvme_controller", "azure_vm_sizes_nvme_controller.csv", 18),
        ("azure_write_accelerator", "azure_write_accelerator.csv", 46),
        ("azure_disks", "azure_disks.csv", 104),
        ("aws_instances", "aws_instance_ebs.csv", 1425),
        ("file_services", "file_services.csv", 318),
        ("aws_volumes", "aws_ebs_volumes.csv", 10),
        ("gcp_disks", "gcp_disks.csv", 11),
        ("gcp_machine_types", "gcp_machine_types.csv", 339),
    ],
)
def test_a_table_has_as_many_entries_as_its_source_has_rows(table, source, count):
    entries = CATALOGUE.lines(table, "")

    assert len(entries) == len(rows(source)) == count
    assert (HERE / table).read_bytes().count(b"\n") == count


@pytest.mark.parametrize(
    ("source", "date"),
    [
        ("dsv5-series.md 2026-08-11", "2026-08-11"),
        ("own rows 2026-08", "2026-08"),
        ("premium-ssd-v2.md", ""),
        ("rows 1 to 26-08", ""),
        ("size 2026-x", ""),
        ("", ""),
    ],
)
def test_a_source_ends_with_its_date_or_has_none(source, date):
    assert tables.catalogue_date(source) == date


def test_the_committed_tables_are_what_the_generator_makes_of_the_sources():
    script = ROOT / "data" / "build_catalogue.py"
    spec = importlib.util.spec_from_file_location("build_catalogue", script)
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    made = generator.tables(SOURCES)

    assert {name: (HERE / name).read_bytes() for name in made} == made


def test_sixty_random_vm_sizes_are_as_in_the_source_table():
    drawn = random.sample(rows("azure_vm_sizes.csv"), 60)
    found = [azure.vm_size(CATALOGUE, row["name"].upper()) for row in drawn]

    for row, size in zip(drawn, found, strict=True):
        assert size is not None
        assert size.name == row["name"]
        assert size.uncached.iops == number(row["uncached_iops"])
        assert size.uncached.bytes_per_second == number(row["uncached_bps"])
        assert size.ultra.iops == number(row["uncached_ultra_iops"])
        assert size.ultra.bytes_per_second == million(row["uncached_ultra_mbps"])
        assert size.cached.iops == number(row["cached_iops"])
        assert size.cached.bytes_per_second == million(row["cached_mbps"])
        assert size.temporary.iops == number(row["temp_iops"])
        assert size.temporary.bytes_per_second == million(row["temp_read_mbps"])
        assert size.local_disks == number(row["local_nvme_disks"])
        assert size.local_read.iops == number(row["local_nvme_read_iops"])
        assert size.local_write.bytes_per_second == million(row["local_nvme_write_mbps"])
        assert size.max_data_disks == number(row["max_data_disks"])
        bits = million(row["network_bandwidth_mbps"])
        assert size.network_bytes_per_second == (None if bits is None else bits / 8)
        assert size.basis == row["limits_basis"]
        assert size.source
        for lane, of in (("", size.uncached), ("_ultra", size.ultra)):
            burst = number(row[f"burst_uncached{lane}_iops"])
            if burst is not None and of.iops is not None and burst > of.iops:
                assert of.burst_iops == burst
                assert of.bucket_operations == (burst - of.iops) * 1800
            else:
                assert of.burst_iops is None


def test_a_size_with_fewer_vcpus_has_the_storage_of_the_size_it_is_cut_from():
    # https://learn.microsoft.com/azure/virtual-machines/constrained-vcpu
    sizes = rows("azure_vm_sizes.csv")
    columns = list(sizes[0])
    first, last = columns.index("uncached_iops"), columns.index("local_nvme_write_mbps")
    storage = [*columns[first : last + 1], "max_data_disks", NETWORK]
    storage.remove("uncached_bps_basis")
    by_name = {row["name"]: row for row in sizes}
    cut = [row for row in sizes if row["parent_size"]]

    assert len(cut) > 100
    for row in cut:
        parent = by_name[row["parent_size"]]
        assert [row[each] for each in storage] == [parent[each] for each in storage], row["name"]


def test_forty_random_disk_tiers_are_as_in_the_source_table():
    listed = [row for row in rows("azure_disks.csv") if row["base_iops"]]
    drawn = random.sample(listed, 40)
    found = [
        next(
            tier
            for tier in azure.disk_tiers(CATALOGUE, row["generation"], row["sku"])
            if tier.tier == row["tier"]
        )
        for row in drawn
    ]

    for row, tier in zip(drawn, found, strict=True):
        assert tier.base.iops == number(row["base_iops"])
        assert tier.base.bytes_per_second == million(row["base_mbps"])
        assert tier.base.burst_iops == number(row["burst_iops"])
        assert tier.base.burst_bytes_per_second == million(row["burst_mbps"])
        assert tier.base.bucket_operations == number(row["burst_bucket_ios"])
        assert tier.base.bucket_bytes == million(row["burst_bucket_mb"])
        assert tier.on_demand.iops == number(row["ondemand_burst_iops"])
        assert tier.performance_plus.iops == number(row["perfplus_iops"])
        assert tier.size_gib == number(row["size_gib"])
        assert tier.source == row["source"]


def test_forty_random_instances_are_as_in_the_source_table():
    drawn = random.sample(rows("aws_instance_ebs.csv"), 40)
    found = [aws.instance(CATALOGUE, row["instance_type"]) for row in drawn]

    for row, instance in zip(drawn, found, strict=True):
        base = million(row["baseline_mbit_s"]) or million(row["max_mbit_s"])
        assert instance.base.bytes_per_second == (None if base is None else base / 8)
        assert instance.base.iops == (number(row["baseline_iops"]) or number(row["max_iops"]))
        assert instance.baseline_known == bool(row["baseline_mbit_s"])
        assert (instance.source, instance.date) == (row["source"], row["source_date"])


def test_an_instance_whose_figures_are_another_ones_has_these():
    by_name = {row["instance_type"]: row for row in rows("aws_instance_ebs.csv")}
    figures = (
        "baseline_mbit_s",
        "max_mbit_s",
        "baseline_iops",
        "max_iops",
        "network_baseline_mbit_s",
    )
    taken = [row for row in by_name.values() if row["source"].startswith("as ")]

    assert len(taken) == 22
    for row in taken:
        other = by_name[row["source"].split()[1].rstrip(":")]
        assert [row[each] for each in figures] == [other[each] for each in figures]


def test_of_a_type_of_which_only_the_maximum_is_documented_it_is_told_as_that():
    small = aws.instance(CATALOGUE, "t8i.small")

    assert (small.base.bytes_per_second, small.base.iops) == (625e6, None)
    assert not small.baseline_known


@pytest.mark.parametrize(
    ("file", "lanes", "operations", "data", "unit"),
    [
        ("azure_vm_sizes.csv", LANES, "iops", "mbps", 1e6),
        ("azure_vm_sizes_nvme_controller.csv", LANES, "iops", "mbps", 1e6),
        ("azure_disks.csv", ("base", "burst", "ondemand_burst", "perfplus"), "iops", "mbps", 1e6),
        ("aws_instance_ebs.csv", ("baseline", "max"), "iops", "mbit_s", 1e6 / 8),
        ("gcp_machine_types.csv", ("", "read", "write"), "iops", "mibps", 1 << 20),
    ],
)
def test_no_operation_has_less_than_4_kb_or_more_than_256_kib(file, lanes, operations, data, unit):
    odd = []
    for row in rows(file):
        for lane in lanes:
            iops, rate = (number(row.get(f"{lane}_{of}".strip("_"))) for of in (operations, data))
            if iops and rate and not 4000 <= rate * unit / iops <= 262_144:
                odd.append((next(iter(row.values())), lane, iops, rate))

    assert odd == []


@pytest.mark.parametrize(
    ("operations", "data"),
    [
        ("temp_iops", "temp_read_mbps"),
        ("temp_iops", "temp_write_mbps"),
        ("local_nvme_read_iops", "local_nvme_read_mbps"),
        ("local_nvme_write_iops", "local_nvme_write_mbps"),
    ],
)
def test_no_operation_of_a_local_disk_has_less_than_3_or_more_than_140_kib(operations, data):
    odd = [
        (row["name"], row[operations], row[data])
        for row in rows("azure_vm_sizes.csv")
        if row[operations] and row[data]
        if not 3 <= million(row[data]) / float(row[operations]) / 1024 <= 140
    ]

    assert odd == []


def test_the_exact_bytes_of_an_azure_size_are_its_megabytes_or_mebibytes():
    odd = [
        row["name"]
        for row in rows("azure_vm_sizes.csv")
        if row["uncached_bps"]
        and not 0.95 < float(row["uncached_bps"]) / million(row["uncached_mbps"]) < 1.05
    ]

    assert odd == []


# So they are in their sources: M208 is of Mv2, which is older than the rest of its series here; E20 has
# less network than E16 in esv4-series.md and ev4-series.md; cached lanes of NVadsA10v5 and NCadsA100v4
# are those of the SKU API, and in no document.
ODD_SERIES = {
    *(("Standard_", series, f"uncached_{unit}") for series in ("Msv2", "Mmsv2") for unit in UNITS),
    *(("Standard_", series, NETWORK) for series in ("Msv2", "Mmsv2", "Ev4", "Esv4")),
    *(
        ("Standard_", series, f"cached_{unit}")
        for series in ("NVads_A10v5", "NCads_A100v4")
        for unit in UNITS
    ),
}


@pytest.mark.parametrize(
    "column", [*(f"{lane}_{unit}" for lane in LANES for unit in UNITS), NETWORK]
)
def test_no_figure_of_an_azure_series_falls_or_leaps_as_vcpus_grow(column):
    series = {}
    for row in rows("azure_vm_sizes.csv"):
        # A size with fewer vCPUs than its parent has the parent's limits.
        if row["vcpus"] and row[column] and not row["constrained_vcpu"]:
            tier = row["name"].partition("_")[0] + "_"
            each = (int(row["vcpus"]), float(row[column]), row["name"])
            series.setdefault((tier, row["series"], column), []).append(each)
    odd = {
        (place, smaller[2], larger[2])
        for place, sizes in series.items()
        for smaller, larger in itertools.pairwise(sorted(sizes))
        # MB and MiB are 5 % apart; the largest size of a series may have more than its share.
        if larger[0] > smaller[0]
        and not 0.95 <= larger[1] / smaller[1] <= 2.5 * larger[0] / smaller[0]
    }

    assert {pair for pair in odd if pair[0] not in ODD_SERIES} == set()


def test_every_key_of_every_table_is_found_by_bisection():
    for name in ("azure_vm_sizes", "aws_instances", "gcp_disks"):
        text = (HERE / name).read_bytes()
        lines = [line.partition(b"\t") for line in text.splitlines()]

        assert all(tables.find(text, key.decode()) == entry for key, _, entry in lines)


@pytest.mark.parametrize(
    "key", ["", "a", "zzz", "standard_d8s_v", "standard_d8s_v33", "\t", "\n", "\x00", "é"]
)
def test_a_key_that_is_not_there_is_not_found(key):
    assert CATALOGUE.line("azure_vm_sizes", key) is None


def test_a_table_that_is_missing_or_empty_has_no_entries(tmp_path):
    (tmp_path / "azure_vm_sizes").write_bytes(b"")
    catalogue = CatalogueFiles(tmp_path)

    assert catalogue.line("azure_vm_sizes", "standard_d8s_v3") is None
    assert catalogue.lines("azure_disks", "") == ()


def test_a_size_is_found_without_its_prefix_and_in_any_case():
    assert azure.vm_size(CATALOGUE, "d8S_v3").name == "Standard_D8s_v3"


def test_an_unknown_size_is_unknown():
    assert azure.vm_size(CATALOGUE, "Standard_Z9_v99") is None
    assert aws.instance(CATALOGUE, "zz9.large") is None
    assert azure.named_tier(CATALOGUE, "Q7") is None
    assert azure.disk_tier(CATALOGUE, "Premium_LRS", 1_000_000) is None


def test_a_size_whose_limits_nobody_documents_has_none():
    size, with_a_page = (
        azure.vm_size(CATALOGUE, f"Standard_{n}") for n in ("M416bs_v3", "DC2as_v6")
    )

    assert not size.uncached
    assert size.source == "documented nowhere that was found"
    assert not with_a_page.uncached
    assert "has no table of remote storage" in with_a_page.source


def test_the_nvme_controller_has_limits_of_its_own():
    scsi = azure.vm_size(CATALOGUE, "Standard_E4bds_v5", "SCSI")
    nvme = azure.vm_size(CATALOGUE, "Standard_E4bds_v5", "NVMe")

    assert (scsi.uncached.iops, nvme.uncached.iops) == (12100, 16000)
    assert (scsi.uncached.bytes_per_second, nvme.uncached.bytes_per_second) == (350e6, 460e6)
    assert (nvme.ultra.iops, nvme.ultra.burst_iops) == (21400, 30000)


def test_a_mib_based_size_keeps_the_exact_bytes_of_the_api():
    size = azure.vm_size(CATALOGUE, "Standard_L8s_v2")

    assert size.uncached.bytes_per_second == 167_772_160


def test_a_burst_printed_below_its_base_is_no_burst():
    size = azure.vm_size(CATALOGUE, "Standard_D96ds_v7")

    assert size.ultra.iops == 240_000
    assert size.ultra.burst_iops is None


def test_a_disk_has_the_tier_of_its_size_with_both_ends_exact():
    names = {gib: azure.disk_tier(CATALOGUE, "premium_lrs", gib).tier for gib in (4, 5, 512, 513)}

    assert names == {4: "P1", 5: "P2", 512: "P20", 513: "P30"}


def test_every_entry_says_its_source():
    for table in ("azure_vm_sizes", "azure_disks", "aws_instances", "aws_volumes", "gcp_disks"):
        assert all(json.loads(entry)["source"] for entry in CATALOGUE.lines(table, ""))


def test_newer_ceilings_of_a_volume_type_are_on_top_of_the_complete_row():
    gp3 = aws.volume_type(CATALOGUE, "gp3")

    assert gp3.number("iops_max") == 80_000
    assert gp3.number("mibps_max") == 2000
    assert gp3.operation_bytes == 256 * 1024
