"""What `limits --json` prints, held against figures that were read in the providers' documents.

documented.csv is written by reading the documents, not from data/limits: VM sizes (what all disks
share) and disks, each with its document and that document's date.
"""

import csv
from pathlib import Path

import pytest

from ioplateau.run import whatif
from ioplateau.run.cataloguefiles import CatalogueFiles
from ioplateau.tell.limits import as_json

CATALOGUE = CatalogueFiles()
UNITS = {"MB": 1_000_000, "MiB": 1 << 20}
FILE = Path(__file__).parent / "documented.csv"
with FILE.open(encoding="utf-8", newline="") as text:
    ROWS = list(csv.DictReader(text))


def printed(row):
    """The limits of the row's VM or disk, as (dimension, direction): (value, burst)."""
    answer = as_json(whatif.of_disks(CATALOGUE, row["vm_size"], [row["disk"]], ["8k"], None))
    part = answer["lanes" if row["what"] == "vm" else "disks"][0]
    return {
        (limit["dimension"], limit["direction"]): (
            limit["limit"],
            limit["burst"] and limit["burst"]["rate"],
        )
        for limit in part["limits"]
    }


def figure(found, dimension, direction, part=0):
    both = found.get((dimension, direction)) or found.get((dimension, "total"))
    return None if both is None else both[part]


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row['what']} {row['vm_size']} {row['disk']}"
)
def test_the_printed_limits_are_the_documents(row):
    found, unit = printed(row), UNITS[row["unit"]]
    wanted = {
        ("iops", "read"): row["read_iops"],
        ("iops", "write"): row["write_iops"],
        ("throughput", "read"): row["read_throughput"],
        ("throughput", "write"): row["write_throughput"],
    }

    for (dimension, direction), told in wanted.items():
        value = figure(found, dimension, direction)
        if not told:
            assert value is None
        else:
            # Documents round to hundredths of a MB/s.
            scale = unit if dimension == "throughput" else 1
            assert value / scale == pytest.approx(float(told), rel=1e-3), (dimension, direction)
    for dimension in ("iops", "throughput"):
        told, burst = row[f"burst_{dimension}"], figure(found, dimension, "read", part=1)
        scale = unit if dimension == "throughput" else 1
        assert (burst is None) is (not told), dimension
        assert not told or burst / scale == pytest.approx(float(told), rel=1e-3)


def test_the_table_has_27_vm_sizes_and_27_disks_with_their_documents_and_dates():
    count = {what: sum(row["what"] == what for row in ROWS) for what in ("vm", "disk")}

    assert min(count.values()) >= 27
    assert len({(row["what"], row["vm_size"], row["disk"]) for row in ROWS}) == len(ROWS)
    assert all(row["document"].startswith("https://") and row["date"] >= "2018" for row in ROWS)
