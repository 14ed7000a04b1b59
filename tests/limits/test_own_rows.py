"""A user's own rows over the catalogue: what they change, and what a bad one costs."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioplateau.limits import ownrows
from ioplateau.limits.clouds import registry
from ioplateau.limits.clouds.ask import ask
from ioplateau.limits.clouds.azure.tables import disk_tier, vm_size
from ioplateau.limits.forms import day
from ioplateau.limits.ownrows import MOST_ROWS, CatalogueWithOwnRows, read
from ioplateau.run.cataloguefiles import CatalogueFiles

CATALOGUE = CatalogueFiles()
DATA = Path(__file__).parents[2] / "data" / "limits"
SIZES = "azure_vm_sizes.csv"
DISKS = "azure_disks.csv"
SERVICES = "file_services.csv"


def own(text, name=SIZES):
    return read({name: text.encode()})


def size(text, name="Standard_D8s_v5"):
    rows = own(text)
    assert rows.complaints == ()
    return vm_size(CatalogueWithOwnRows(CATALOGUE, rows), name)


def test_a_row_changes_what_it_fills_and_leaves_the_rest():
    before = vm_size(CATALOGUE, "Standard_D8s_v5")
    after = size(
        "name,uncached_iops,uncached_mbps,source,date\nStandard_D8s_v5,15000,300,ours,2026-10"
    )

    assert (after.uncached.iops, after.uncached.bytes_per_second) == (15_000, 300e6)
    assert after.network_bytes_per_second == before.network_bytes_per_second
    assert after.max_data_disks == before.max_data_disks
    theirs = f"{before.source} {before.date}"
    assert after.source == f"{theirs}, changed by ours ({SIZES} line 2)"
    assert (after.date, after.basis) == ("2026-10", "own")


def test_a_row_without_a_date_does_not_take_that_of_the_packages_document():
    before = vm_size(CATALOGUE, "Standard_D8s_v5")
    after = size("name,uncached_iops\nStandard_D8s_v5,15000\n")

    assert after.source == f"{before.source} {before.date}, changed by {SIZES} line 2"
    assert after.date == ""


def test_a_row_with_another_key_adds_a_size():
    added = size("name,uncached_iops\nStandard_Z4_v9,1234\n", "z4_v9")

    assert added.name == "Standard_Z4_v9"
    assert added.uncached.iops == 1234
    assert added.uncached.bytes_per_second is None


def test_a_disk_of_a_size_is_found_among_own_and_other_tiers():
    rows = own("generation,sku,tier,base_iops\n2026-08,Premium_LRS,P30,6000\n", "azure_disks.csv")
    catalogue = CatalogueWithOwnRows(CATALOGUE, rows)
    changed, other = (disk_tier(catalogue, "Premium_LRS", gib) for gib in (1024, 512))

    assert (changed.tier, changed.base.iops, changed.base.bytes_per_second) == ("P30", 6000, 200e6)
    assert other == disk_tier(CATALOGUE, "Premium_LRS", 512)
    assert len(catalogue.lines("azure_disks", "")) == len(CATALOGUE.lines("azure_disks", ""))


def test_a_base_above_the_catalogues_burst_has_no_burst():
    rows = own("generation,sku,tier,base_iops\n2026-08,Premium_LRS,P15,5000\n", "azure_disks.csv")
    before = disk_tier(CATALOGUE, "Premium_LRS", 256).base
    after = disk_tier(CatalogueWithOwnRows(CATALOGUE, rows), "Premium_LRS", 256).base

    assert (before.iops, before.burst_iops) == (1100, 3500)
    assert (after.iops, after.burst_iops) == (5000, None)
    assert after.burst_bytes_per_second == before.burst_bytes_per_second


@pytest.mark.parametrize(
    ("columns", "operations", "data"),
    [
        ("base_iops\n{},600", (3500 - 600) * 1800, (170e6 - 100e6) * 1800),
        ("burst_iops,base_mbps\n{},4000,120", (4000 - 500) * 1800, (170e6 - 120e6) * 1800),
        ("base_iops,burst_bucket_ios\n{},600,7000", 7000, (170e6 - 100e6) * 1800),
    ],
)
def test_burst_credit_goes_with_an_own_base_or_burst(columns, operations, data):
    rows = own(f"generation,sku,tier,{columns.format('2026-08,Premium_LRS,P10')}", DISKS)
    after = disk_tier(CatalogueWithOwnRows(CATALOGUE, rows), "Premium_LRS", 128).base

    assert (after.bucket_operations, after.bucket_bytes) == (operations, data)


@pytest.mark.parametrize(
    ("row", "order", "told"),
    [
        ("P30,1024,5500,ours", "P30", "P30 Premium_LRS, azure_disks 2026-08, changed by ours ({})"),
        ("P30,1024,5500,", "P30", "P30 Premium_LRS, azure_disks 2026-08, changed by {}"),
        ("P99,99999,9,ours", "P99", "P99 Premium_LRS, ours ({}) 2026-08"),
        ("P60,8192,9,ours", "P30", "P30 Premium_LRS, azure_disks 2026-08"),
    ],
)
def test_a_disks_limits_name_the_row_that_they_are_of(row, order, told):
    rows = own(f"generation,sku,tier,size_gib,base_iops,source\n2026-08,Premium_LRS,{row}", DISKS)
    assert rows.complaints == ()
    (disk,) = ask(CatalogueWithOwnRows(CATALOGUE, rows), "Standard_D8s_v5", [order]).disks

    assert {limit.source for limit in disk.limits} == {told.format(f"{DISKS} line 2")}


def test_a_bad_row_costs_itself_and_says_its_line():
    rows = own(
        "name,uncached_iops,date\n"
        "Standard_A,100,\n"
        "Standard_B,many,\n"
        ",100,\n"
        "Standard_C,-1,\n"
        "Standard_D,nan,\n"
        "Standard_E,1,2,3\n"
        "Standard_F,,\n"
        "Standard_G,7,last year\n"
        "\n"
        "Standard_H,200,2026-10-01\n"
    )

    assert set(rows.rows["azure_vm_sizes"]) == {"standard_a", "standard_h"}
    assert rows.rows["azure_vm_sizes"]["standard_h"]["date"] == "2026-10-01"
    for line, words in (
        (3, "'many', want a number"),
        (4, "name is empty"),
        (5, "'-1', want a number"),
        (6, "'nan', want a number"),
        (7, "4 cells, want 3"),
        (8, "nothing but the key"),
        (9, "'last year', want one like"),
    ):
        assert any(f"line {line}:" in c and words in c for c in rows.complaints), (line, words)
    assert len(rows.complaints) == 7


@pytest.mark.parametrize("value", ["0", "1e300", "1e308", "inf"])
def test_a_number_that_no_limit_can_have_costs_its_row(value):
    rows = own(f"name,uncached_iops\nA,{value}\nB,5\n")

    assert set(rows.rows["azure_vm_sizes"]) == {"b"}
    (told,) = rows.complaints
    assert told.startswith(f"{SIZES} line 2: uncached_iops is {value!r}, want a number from 1e-09 ")


@pytest.mark.parametrize("value", ["0", "nan", "inf", "-5", "1e300", "many"])
def test_a_figure_of_a_file_service_that_no_limit_can_have_costs_its_row(value):
    figure = "filestore,zonal,instance"
    rows = own(
        "service,service_level,part,parameter,value\n"
        f"{figure},write_iops_per_tib,{value}\n{figure},read_iops_per_tib,5\n",
        SERVICES,
    )

    assert set(rows.rows["file_services"]) == {"filestore/zonal/instance/read_iops_per_tib"}
    (told,) = rows.complaints
    assert told.startswith(f"{SERVICES} line 2: value is {value!r}, want a number from 1e-09 ")


def test_the_packages_own_rows_of_file_services_ranges_and_examples_too_are_good():
    rows = read({SERVICES: (DATA / SERVICES).read_bytes()})

    assert rows.complaints == ()
    assert rows.rows["file_services"]["azure_files/hdd v2/share/provisioned_iops_range"]["value"]


def test_a_row_of_the_nvme_controller_needs_no_date():
    rows = own("name,uncached_iops\nStandard_D4s_v5,9000\n", "azure_vm_sizes_nvme_controller.csv")
    found = vm_size(CatalogueWithOwnRows(CATALOGUE, rows), "Standard_D4s_v5", "NVMe")

    assert rows.complaints == ()
    assert (found.uncached.iops, found.date) == (9000, "")


def test_a_column_that_nobody_reads_or_that_stands_twice_is_named():
    rows = own("name,uncached_iop,uncached_iops,uncached_iops,x,\nA,1,2,3,4\n")
    unknown, odd, twice = rows.complaints

    assert rows.rows["azure_vm_sizes"]["a"].keys() == {"name", "uncached_iops", "source"}
    assert rows.rows["azure_vm_sizes"]["a"]["uncached_iops"] == 3
    what = "is no column of it, want"
    assert unknown == f"{SIZES}: 'uncached_iop' {what} uncached_iops: the column is left out"
    assert f"'x' {what} one of burst_cached_iops, " in odd
    assert (
        twice == f"{SIZES}: column uncached_iops stands twice in the first line: the last one holds"
    )


@pytest.mark.parametrize("form", registry.forms().values(), ids=lambda form: form.file)
def test_a_forms_columns_are_those_of_its_file(form):
    header = (DATA / form.file).read_text().partition("\n")[0]

    assert form.columns.split() == header.split(",")


def test_of_two_rows_with_one_key_the_later_holds_and_both_are_named():
    rows = own("name,uncached_iops\nA,1\na,2\n")

    assert rows.rows["azure_vm_sizes"]["a"]["uncached_iops"] == 2
    assert "the later row holds" in rows.complaints[0]


def test_a_bad_file_costs_itself():
    rows = read(
        {
            "azure_vmsizes.csv": b"name\nA\n",
            "azure_disks.csv": b"sku,tier\nP,P\n",
            "gcp_disks.csv": b"\xff\xfe",
            SIZES: b"\xef\xbb\xbfname,uncached_iops\r\nA,1\r\n",
        }
    )

    assert rows.total == 1
    assert any("want azure_vm_sizes.csv" in each for each in rows.complaints)
    assert any("no column generation" in each for each in rows.complaints)
    assert any("is not UTF-8" in each for each in rows.complaints)


def test_more_rows_than_memory_should_hold_are_left_out_with_a_word():
    text = "name,uncached_iops\n" + "".join(f"A{n},1\n" for n in range(MOST_ROWS + 5))
    rows = own(text)

    assert rows.total == MOST_ROWS
    assert "the rest is left out" in rows.complaints[-1]


def test_a_row_that_is_no_csv_costs_itself_and_is_named_with_its_line():
    rows = own('name,uncached_iops\nA,"1\nB,2\n')

    assert "b" not in rows.rows.get("azure_vm_sizes", {})
    assert [
        each.startswith(f"{SIZES} line 3: unexpected end of data") for each in rows.complaints
    ] == [True]


@given(st.dictionaries(st.sampled_from([*registry.forms(), "x.csv"]), st.binary(max_size=300)))
def test_whatever_lies_there_reading_returns(files):
    rows = read(files)

    assert rows.total <= MOST_ROWS


@given(
    st.lists(
        st.tuples(st.sampled_from(["Standard_D8s_v5", "Z", "Standard_D2s_v3"]), st.integers(0, 9)),
        max_size=6,
    )
)
def test_a_shelf_with_own_rows_is_still_sorted_and_whole(rows):
    text = "name,uncached_iops\n" + "".join(f"{name},{iops}\n" for name, iops in rows)
    catalogue = CatalogueWithOwnRows(CATALOGUE, own(text))
    keys = [key for key, _ in catalogue.pairs("azure_vm_sizes", "standard_d")]

    assert keys == sorted(set(keys))
    assert {key for key, _ in CATALOGUE.pairs("azure_vm_sizes", "standard_d")} <= set(keys)


def test_a_day_is_read_from_what_the_cells_hold():
    assert [day(words) for words in ("2026-08-11", "2026-08", "2026", "2016-2017")] == [
        "2026-08-11",
        "2026-08-01",
        "2026-01-01",
        "2017-01-01",
    ]
    assert [day(words) for words in ("", "soon", "26-08", "2026-8-x")] == ["", "", "", ""]


def test_nothing_of_ones_own_is_nothing():
    assert ownrows.NO_ROWS.total == 0
    assert CatalogueWithOwnRows(CATALOGUE, ownrows.NO_ROWS).line(
        "azure_vm_sizes", "standard_d8s_v5"
    ) == CATALOGUE.line("azure_vm_sizes", "standard_d8s_v5")
