"""Google Cloud: identity only; its limits are too thinly documented."""

import json

import pytest

from cloud_machines import AZURE_DMI, NITRO_DMI, devices
from ioplateau.judge.budgets import Kind
from ioplateau.judge.clouds import discover, gcp
from ioplateau.judge.tables import NO_SHELF

DISKS = [
    {
        "deviceName": "boot",
        "index": 0,
        "interface": "SCSI",
        "mode": "READ_WRITE",
        "type": "PERSISTENT",
    },
    {"deviceName": "data-1", "index": 1, "type": "PERSISTENT"},
    {"deviceName": "local-ssd-0", "index": 2, "interface": "NVME", "type": "LOCAL-SSD"},
]


def disk(serial):
    return {"size": "2097152", "dev": "8:0", "serial": serial}


def test_a_compute_engine_vm_is_told_by_dmi():
    dmi = {"/sys/class/dmi/id/product_name": "Google Compute Engine"}

    assert discover.detect(dmi) == "gcp"
    assert not gcp.detect(AZURE_DMI)
    assert not gcp.detect(NITRO_DMI)


def test_only_three_documents_are_wanted_and_none_with_attributes():
    assert all(document.headers == (("Metadata-Flavor", "Google"),) for document in gcp.wanted())
    assert not any("attributes" in document.path for document in gcp.wanted())


def test_machine_type_region_and_disks_are_understood():
    identity = gcp.identify(
        {
            gcp.TYPE: "projects/123/machineTypes/n2-standard-4",
            gcp.ZONE: "projects/123/zones/europe-west1-b",
            gcp.DISKS: json.dumps(DISKS),
        },
        devices(sda=disk("boot"), sdb=disk("data-1"), sdc=disk("other")),
    )

    assert (identity.vm_size, identity.region) == ("n2-standard-4", "europe-west1")
    assert {name: found.role for name, found in identity.disks.items()} == {
        "sda": "os",
        "sdb": "data",
    }
    assert [found.name for found in identity.unplaced] == ["local-ssd-0"]


@pytest.mark.parametrize("text", ["", "{}", "null", "[1, {}, null]", "<html>"])
def test_garbage_leaves_a_reason(text):
    identity = gcp.identify({gcp.DISKS: text, gcp.TYPE: text}, devices(sda=disk("boot")))

    assert identity.disks == {}
    assert identity.reasons


def test_its_disks_draw_on_the_vm_and_have_no_limits():
    identity = gcp.identify({gcp.DISKS: json.dumps(DISKS)}, devices(sda=disk("boot")))
    sold = discover.sold(identity, NO_SHELF)

    assert sold.disks["sda"].draws.write == (Kind.VM_UNCACHED, Kind.DISK)
    assert sold.disks["sda"].limits == ()
