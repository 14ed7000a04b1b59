"""What `limits --json` prints of Azure, held against figures that were read in its documents.

documented_azure.csv is written by reading the documents, not from data/limits. Throughput is in MB/s
of 10^6 bytes, of networks in Mbit/s, of volumes in MiB/s. An empty figure is one that the document
does not have, or a burst that is no higher than the base.
"""

import csv
from pathlib import Path

import pytest

from ioplateau.limits.budgets import Kind
from ioplateau.limits.clouds import registry
from ioplateau.limits.clouds.identity import Identity
from ioplateau.run import whatif
from ioplateau.run.cataloguefiles import CatalogueFiles
from ioplateau.tell import limits, volumes

CATALOGUE = CatalogueFiles()
with (Path(__file__).parent / "documented_azure.csv").open(encoding="utf-8", newline="") as text:
    ROWS = list(csv.DictReader(text))


def of(what):
    return [row for row in ROWS if row["what"] == what]


def named(row):
    return f"{row['asked']} {row['lane']}".strip()


def check(row, found, unit):
    """`found`: value and burst, or None, of operations and throughput."""
    for column, scale in (("iops", 1.0), ("throughput", unit)):
        value, burst = found.get(column, (None, None))
        if not row[column]:
            assert value is None, column
        else:
            assert value / scale == pytest.approx(float(row[column]), rel=1e-4), column
        if not row[f"burst_{column}"]:
            assert burst is None, column
        else:
            assert burst / scale == pytest.approx(float(row[f"burst_{column}"])), column


def printed(part):
    return {
        limit["dimension"]: (limit["limit"], limit["burst"] and limit["burst"]["rate"])
        for limit in part["limits"]
    }


@pytest.mark.parametrize("row", of("vm"), ids=named)
def test_the_printed_lane_of_a_vm_is_the_documents(row):
    answer = limits.as_json(whatif.of_disks(CATALOGUE, row["asked"], ["P30"], ["8k"]))
    lane = next(part for part in answer["lanes"] if part["title"] == row["lane"])

    check(row, printed(lane), 1e6)


@pytest.mark.parametrize("row", of("network"), ids=named)
def test_the_network_of_a_vm_is_the_documents(row):
    azure = registry.load("azure")
    lanes = azure.what_if(Identity("", row["asked"]), CATALOGUE).sold.lanes
    (network,) = lanes[Kind.VM_NETWORK]

    assert network.value * 8 / 1e6 == float(row["throughput"])


@pytest.mark.parametrize("row", of("disk"), ids=named)
def test_the_printed_limits_of_a_disk_are_the_documents(row):
    answer = limits.as_json(
        whatif.of_disks(CATALOGUE, "Standard_E192ibs_v6", [row["asked"]], ["8k"])
    )

    check(row, printed(answer["disks"][0]), 1e6)


@pytest.mark.parametrize("row", of("volume"), ids=named)
def test_the_printed_ceilings_of_a_volume_are_the_documents(row):
    answer = volumes.as_json(whatif.of_volume(CATALOGUE, [row["asked"]]))
    found = {}
    for each in answer["ceilings"]:
        if not each["measured"]:
            found.setdefault(each["dimension"], (each["limit"], each["burst"]))

    check(row, found, 1 << 20)


def test_the_table_has_enough_of_each_with_documents_and_dates():
    sizes = {row["asked"] for row in ROWS if row["what"] in ("vm", "network")}
    things = [row for row in ROWS if row["what"] in ("disk", "volume")]

    assert len(sizes) >= 14
    assert len(things) >= 14
    assert all(row["document"].startswith("https://") and row["date"] for row in ROWS)
    assert len({(row["what"], row["asked"], row["lane"]) for row in ROWS}) == len(ROWS)
