"""What every cloud has in common: a package, a line in the registry, names that are its own."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from cloud_machines import AZURE_DMI, NITRO_DMI
from ioplateau.limits.budgets import Direction, Origin
from ioplateau.limits.clouds import discover, registry
from ioplateau.limits.clouds.identity import DATA, LOCAL, TEMPORARY, DiskIdentity, Identity
from ioplateau.limits.tables import EMPTY_CATALOGUE
from ioplateau.limits.units import MIB
from ioplateau.run.cataloguefiles import CatalogueFiles

CATALOGUE = CatalogueFiles()
SOURCES = Path(__file__).parents[2] / "data" / "limits"


def names(file, column):
    with (SOURCES / file).open(encoding="utf-8", newline="") as text:
        return [row[column] for row in csv.DictReader(text)]


def test_every_line_of_the_registry_is_a_cloud_of_that_name():
    assert [cloud.name for cloud in registry.every()] == list(registry.CLOUDS)


@pytest.mark.parametrize(
    ("cloud", "file", "column"),
    [
        ("azure", "azure_vm_sizes.csv", "name"),
        ("aws", "aws_instance_ebs.csv", "instance_type"),
    ],
)
def test_every_size_in_a_table_looks_like_a_size_of_its_cloud(cloud, file, column):
    others = [
        size
        for name in names(file, column)
        for size in {name, name.removeprefix("Standard_")}
        if discover.likely(Identity("", vm_size=size)).name != cloud
    ]

    assert others == []


@pytest.mark.parametrize(
    ("sku", "cloud"), [("P30", "azure"), ("StandardSSD_ZRS", "azure"), ("gp3", "aws")]
)
def test_a_cloud_is_told_by_the_skus_of_disks_where_no_size_is(sku, cloud):
    identity = Identity("", disks={"sda": DiskIdentity(sku=sku)})

    assert discover.likely(identity).name == cloud


def test_a_size_and_a_sku_of_nobody_have_no_limits_and_that_is_said():
    identity = Identity("", vm_size="???", disks={"sda": DiskIdentity(sku="???")})
    sold = discover.sold(identity, EMPTY_CATALOGUE)

    assert (sold.lanes, sold.disks["sda"].limits) == ({}, ())
    assert sold.reasons == (
        "VM size '???' is in no table: the VM's limits are unknown",
        "sda: no cloud that we know has a SKU or tier '???': its limits are unknown",
    )


@pytest.mark.parametrize("cloud", ["", *registry.CLOUDS])
@pytest.mark.parametrize("role", [DATA, LOCAL, TEMPORARY])
@pytest.mark.parametrize("sku", ["", "gp5", "PremiumV2_LRS ", "gp2", "P30", "pd-ssd"])
def test_figures_of_the_configuration_hold_whatever_a_disk_was_sold_as(cloud, role, sku):
    disk = DiskIdentity("sdc", role, sku=sku, size_gib=1024, iops=7000, bytes_per_second=3e8)
    disks = {"sdc": disk._replace(configured="c disk[0]")}
    found = discover.sold(Identity(cloud, disks=disks), CATALOGUE).disks["sdc"]

    assert [(one.value, one.direction, one.origin) for one in found.limits] == [
        (7000, Direction.TOTAL, Origin.CONFIGURED),
        (3e8, Direction.TOTAL, Origin.CONFIGURED),
    ]


@pytest.mark.parametrize("cloud", ["", *registry.CLOUDS])
@pytest.mark.parametrize("said", [{"sku": "gp5"}, {"tier": "Q9"}, {"sku": "PremiumV2_LRS "}])
def test_a_sku_or_tier_that_nobody_has_is_named(cloud, said):
    disk = DiskIdentity("sdc", DATA, size_gib=1024, **said)
    found = discover.sold(Identity(cloud, disks={"sdc": disk}), CATALOGUE)
    (reason,) = found.reasons

    assert reason.startswith("sdc: ")
    assert next(iter(said.values())) in reason


def test_a_tier_tells_the_cloud_too():
    disk = DiskIdentity("sdc", DATA, tier="P40", size_gib=1024)
    found = discover.sold(Identity("", disks={"sdc": disk}), CATALOGUE).disks["sdc"]

    assert [one.value for one in found.limits] == [7500, 250e6]


@pytest.mark.parametrize(
    ("cloud", "sku", "rest"),
    [("azure", "P30", 200e6), ("aws", "gp2", 250 * MIB), ("aws", "st1", 40 * MIB)],
)
def test_one_figure_of_what_is_sold_by_its_size_leaves_the_other_and_is_said(cloud, sku, rest):
    disk = DiskIdentity("sdc", DATA, sku=sku, size_gib=1024, iops=60, configured="c disk[0]")
    found = discover.sold(Identity(cloud, disks={"sdc": disk}), CATALOGUE)
    operations, data = found.disks["sdc"].limits

    assert (operations.value, operations.origin) == (60, Origin.CONFIGURED)
    assert (data.value, data.origin) == (rest, Origin.CATALOGUE)
    assert found.reasons == (f"sdc: {sku} cannot be provisioned, its size decides: believed",)


@pytest.mark.parametrize("dmi", [AZURE_DMI, NITRO_DMI, {"/sys/class/dmi/id/sys_vendor": "QEMU"}])
def test_to_tell_which_cloud_it_is_loads_no_table_and_no_metadata(dmi):
    code = f"""
import sys
from ioplateau.limits.clouds import discover
discover.detect({dmi!r})
print([name for name in sys.modules if name.startswith("ioplateau.limits.clouds.")
       and name.count(".") > 3])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_a_mistyped_size_is_told_the_sizes_that_are_written_nearly_so():
    found = discover.sold(Identity("azure", "Standard_D8s_v99"), CATALOGUE)

    assert "'Standard_D8s_v99' is in no table" in found.reasons[0]
    assert "Standard_D8s_v" in found.reasons[1]
    assert len(discover.sold(Identity("azure", "Standard_D8s_v5"), CATALOGUE).reasons) == 0


@pytest.mark.parametrize(
    ("cloud", "size", "is_known"),
    [
        ("azure", "Standard_D8s_v5", True),
        ("azure", "Standard_D8s_v99", False),
        ("aws", "m5.large", True),
        ("aws", "zz9.huge", False),
        ("gcp", "n2-standard-8", True),
        ("gcp", "z9-standard-8", False),
        ("", "huge", False),
        ("azure", "", True),
        ("", "", True),
    ],
)
def test_a_size_is_known_or_was_not_told(cloud, size, is_known):
    assert discover.sold(Identity(cloud, size), CATALOGUE).is_known_size is is_known
