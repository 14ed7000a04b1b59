"""EC2: what the metadata service tells, and what instances and volumes are sold with."""

import pytest

from cloud_machines import AZURE_DMI, BYTES, IOPS, NITRO_DMI, devices, figures, nvme
from ioplateau.limits.budgets import Burst, Dimension, Direction, Kind, Origin
from ioplateau.limits.claims import DiskFact
from ioplateau.limits.clouds import discover
from ioplateau.limits.clouds.aws import CLOUD
from ioplateau.limits.clouds.aws import metadata as aws
from ioplateau.limits.clouds.aws import sold as aws_limits
from ioplateau.limits.clouds.aws.tables import instance
from ioplateau.limits.clouds.identity import OWN, REMOTE, DiskIdentity
from ioplateau.run.cataloguefiles import CatalogueFiles

CATALOGUE = CatalogueFiles()
MIB = 1 << 20
EBS = "Amazon Elastic Block Store"
DMI = "/sys/class/dmi/id/"


@pytest.mark.parametrize(
    ("files", "is_ec2"),
    [
        (NITRO_DMI, True),
        ({DMI + "board_vendor": "Amazon EC2"}, True),
        ({DMI + "sys_vendor": "Xen", DMI + "bios_version": "4.11.amazon"}, True),
        ({DMI + "sys_vendor": "Xen", DMI + "product_name": "HVM domU"}, False),
        (AZURE_DMI, False),
        ({}, False),
    ],
)
def test_an_instance_is_told_by_dmi(files, is_ec2):
    assert CLOUD.detect(files) is is_ec2


def test_every_document_needs_a_session_token():
    assert all(document.token == aws.TOKEN for document in aws.wanted())
    assert aws.TOKEN.path == "/latest/api/token"


def test_a_nitro_volume_is_told_by_model_and_serial():
    identity = aws.identify(
        {aws.TYPE: "m5.large\n", aws.REGION: "eu-central-1"},
        devices(
            nvme0n1=nvme(EBS, serial="vol0123456789abcdef0"),
            nvme1n1=nvme("Amazon EC2 NVMe Instance Storage", serial="AWS1"),
            nvme2n1=nvme("QEMU NVMe Ctrl", serial="vol0123456789abcdef0"),
        ),
    )

    assert (identity.vm_size, identity.region, identity.controller) == (
        "m5.large",
        "eu-central-1",
        "NVMe",
    )
    assert {name: (disk.role, disk.name) for name, disk in identity.disks.items()} == {
        "nvme0n1": ("data", "vol-0123456789abcdef0"),
        "nvme1n1": ("local", ""),
    }


def test_on_xen_the_root_volume_is_told_by_the_block_device_mapping():
    identity = aws.identify(
        {aws.MAPPING: "ami\nroot\nebs2", aws.MAPPING + "/root": "/dev/sda1"},
        devices(xvda={"size": "100", "dev": "202:0"}, xvdf={"size": "100", "dev": "202:80"}),
    )

    assert {name: disk.role for name, disk in identity.disks.items()} == {
        "xvda": "os",
        "xvdf": "data",
    }


def test_on_xen_instance_storage_is_told_by_the_block_device_mapping_and_draws_on_no_volumes_limit():
    documents = {
        aws.TYPE: "d2.xlarge",
        aws.MAPPING: "ami\nephemeral0\nephemeral1\nroot",
        aws.MAPPING + "/root": "/dev/xvda",
        aws.MAPPING + "/ephemeral0": "sdb",
        aws.MAPPING + "/ephemeral1": "sdc",  # asked for at the launch, and not there
    }
    block = devices(
        xvda={"size": "100", "dev": "202:0"},
        xvdb={"size": "100", "dev": "202:16"},
        xvdf={"size": "100", "dev": "202:80"},
    )
    sold = discover.sold(discover.identify("aws", documents, block, {}), CATALOGUE)

    assert {name: (disk.identity.role, disk.draws) for name, disk in sold.disks.items()} == {
        "xvda": ("os", REMOTE),
        "xvdb": ("local", OWN),
        "xvdf": ("data", REMOTE),
    }


def test_without_metadata_a_nitro_instance_knows_its_type_from_dmi():
    assert aws.identify({}, {}, NITRO_DMI).vm_size == "m5.large"


@pytest.mark.parametrize("told", ["", "<html>", "m5", "../../x", "\x00", "M5.LARGE" * 50])
def test_garbage_for_an_instance_type_is_unknown(told):
    identity = aws.identify({aws.TYPE: told, aws.MAPPING + "/root": told}, {})

    assert identity.vm_size == ""
    assert bool(identity.reasons) is bool(told.strip())


@pytest.mark.parametrize("serial", ["", "vol", "vol01234", "volxyz0123456789", "AWS1234567890"])
def test_a_serial_that_is_no_volume_has_no_id(serial):
    assert aws.volume_id(serial) == ""


def test_all_volumes_draw_on_the_instance_and_instance_storage_does_not():
    assert aws_limits.draws_of(DiskIdentity(role="data")).read == (Kind.VM_UNCACHED, Kind.DISK)
    assert aws_limits.draws_of(DiskIdentity(role="local")).read == (Kind.DISK,)


def test_an_instance_is_limited_in_decimal_megabits_with_half_an_hour_of_burst():
    lanes = aws_limits.lane_limits(instance(CATALOGUE, "m5.large"))
    operations, data = lanes[Kind.VM_UNCACHED]

    assert (operations.value, operations.burst) == (3600, Burst(18_750, 27_270_000))
    assert (data.value, data.burst.rate) == (650e6 / 8, 4750e6 / 8)
    assert data.burst.bucket == (4750e6 - 650e6) / 8 * 1800


def test_the_network_of_an_instance_is_limited_both_ways_at_what_is_called_its_baseline():
    network = aws_limits.lane_limits(instance(CATALOGUE, "m5.large"))[Kind.VM_NETWORK]

    assert figures(network) == {
        (Dimension.THROUGHPUT, Direction.READ): 750e6 / 8,
        (Dimension.THROUGHPUT, Direction.WRITE): 750e6 / 8,
    }
    assert all(
        limit.source.startswith(
            "m5.large: its baseline, which smaller types may pass for minutes, "
        )
        for limit in network
    )


def test_an_instance_of_which_only_the_maximum_is_documented_says_so():
    kind = instance(CATALOGUE, "m5.large")._replace(baseline_known=False)
    limits = aws_limits.lane_limits(kind)[Kind.VM_UNCACHED]

    assert all("its baseline is documented nowhere" in limit.source for limit in limits)


def test_types_launched_since_2023_have_their_baseline_and_not_only_their_maximum():
    operations, data = aws_limits.lane_limits(instance(CATALOGUE, "m7i.large"))[Kind.VM_UNCACHED]

    assert (operations.value, operations.burst.rate) == (3600, 40_000)
    assert (data.value, data.burst.rate) == (650e6 / 8, 10_000e6 / 8)


def test_more_than_a_volume_type_can_be_set_to_is_believed_and_said():
    disk = DiskIdentity(device="nvme1n1", sku="gp3", iops=90_000, configured="c disk[0]")
    sold, reasons = aws_limits.sold_disk(disk, CATALOGUE)

    assert sold.limits[0].value == 90_000
    assert sold.notes == ("nvme1n1: 90,000 IOPS is more than gp3 can be set to (80,000): believed",)
    assert reasons == ()


@pytest.mark.parametrize(
    ("disk", "note"),
    [
        (
            DiskIdentity(sku="gp3", size_gib=10, iops=16_000),
            "16,000 IOPS is more than gp3 of 10 GiB can be set to (5,000)",
        ),
        (DiskIdentity(sku="gp3", size_gib=4, iops=3000, bytes_per_second=125 * MIB), ""),
        (
            DiskIdentity(sku="gp3", size_gib=500, iops=3000, bytes_per_second=2000 * MIB),
            "2,097,152,000 bytes per second is more than gp3 of 500 GiB with 3,000 IOPS can be set to (786,432,000)",
        ),
        (
            DiskIdentity(sku="io2", size_gib=4, iops=64_000),
            "64,000 IOPS is more than io2 of 4 GiB can be set to (4,000)",
        ),
        (
            DiskIdentity(sku="io1", size_gib=100, iops=50_000),
            "50,000 IOPS is more than io1 of 100 GiB can be set to (5,000)",
        ),
        (DiskIdentity(sku="io1", size_gib=2000, iops=64_000), ""),
    ],
)
def test_more_than_a_volume_of_its_size_and_operations_can_be_set_to_is_said(disk, note):
    sold, _ = aws_limits.sold_disk(disk._replace(device="sdf", configured="c"), CATALOGUE)

    assert sold.notes == ((f"sdf: {note}: believed",) if note else ())
    assert sold.limits[0].value == disk.iops


def test_of_a_volume_that_its_size_decides_it_is_only_said_that_it_cannot_be_set():
    disk = DiskIdentity(device="sdf", sku="gp2", size_gib=500, iops=5000, configured="c")

    assert aws_limits.sold_disk(disk, CATALOGUE)[0].notes == (
        "sdf: gp2 cannot be provisioned, its size decides: believed",
    )


def on_xen(configured=""):
    disk = DiskIdentity(
        device="xvdf", sku="io1", size_gib=2000, iops=64_000, configured=configured, told_by="EC2"
    )
    return aws_limits.sold_disk(disk, CATALOGUE, instance(CATALOGUE, "m4.16xlarge"))[0]


def test_a_volume_with_provisioned_iops_does_less_on_an_instance_that_is_not_nitro():
    sold = on_xen()

    assert [limit.value for limit in sold.limits] == [32_000, 500 * MIB]
    assert sold.limits[0].source == "io1 of 2000 GiB on m4.16xlarge, EC2"
    assert sold.notes == (
        "xvdf: m4.16xlarge is no Nitro instance, io1 does 32,000 IOPS and 500 MiB/s at most there",
    )


def test_what_the_configuration_states_of_a_volume_holds_on_an_instance_that_is_not_nitro_too():
    sold = on_xen("c disk[0]")

    assert [limit.value for limit in sold.limits] == [64_000, 500 * MIB]
    assert sold.notes[0].endswith("at most there: more is believed")


@pytest.mark.parametrize(
    ("name", "gib", "iops", "mib"),
    [
        ("gp2", 10, 100, 128),
        ("gp2", 100, 300, 128),
        ("gp2", 1000, 3000, 250),
        ("gp2", 6000, 16_000, 250),
        ("gp3", 100, 3000, 125),
        ("st1", 2048, None, 80),
        ("st1", 16_384, None, 500),
        ("sc1", 1024, None, 12),
    ],
)
def test_a_volume_follows_the_formula_of_its_type(name, gib, iops, mib):
    found = aws_limits.volume_ceiling(name, gib)

    assert found.iops == iops
    assert found.bytes_per_second == mib * MIB


@pytest.mark.parametrize(
    ("name", "iops", "mib"),
    [
        ("io1", 1000, 250),
        ("io1", 2000, 500),
        ("io1", 32_000, 500),
        ("io1", 64_000, 1000),
        ("io2", 1000, 256),
        ("io2", 10_000, 2560),
        ("io2", 256_000, 4000),
        ("io2_block_express", 10_000, 2560),
        ("io2_block_express", 256_000, 4000),
    ],
)
def test_a_provisioned_volume_has_the_throughput_of_its_operations(name, iops, mib):
    assert aws_limits.volume_ceiling(name, 500, iops).bytes_per_second == mib * MIB


def test_gp2_has_the_documented_bucket_below_a_thousand_gib():
    small, large = aws_limits.volume_ceiling("gp2", 10), aws_limits.volume_ceiling("gp2", 1000)

    assert (small.burst_iops, small.bucket_operations) == (3000, 5_400_000)
    assert large.burst_iops is None


def test_a_hard_disk_volume_has_a_bucket_of_its_own_size_in_bytes():
    st1 = aws_limits.volume_ceiling("st1", 1024)

    assert (st1.burst_bytes_per_second, st1.bucket_bytes) == (250 * MIB, 1 << 40)
    assert aws_limits.volume_ceiling("st1", 16_384).burst_bytes_per_second is None


@pytest.mark.parametrize("name", ["io1", "io2", "standard", "gp2"])
def test_a_volume_of_which_too_little_is_known_has_no_limit(name):
    assert not aws_limits.volume_ceiling(name, None)


def test_a_volume_has_limits_once_the_configuration_names_its_type():
    block = devices(nvme0n1=nvme(EBS, serial="vol0123456789abcdef0", gib=100))
    unknown = discover.sold(discover.identify("aws", {}, block, NITRO_DMI), CATALOGUE)
    facts = discover.Facts(disks=(DiskFact(serial="vol0123*", sku="gp2"),))
    known = discover.sold(discover.identify("aws", {}, block, NITRO_DMI, facts), CATALOGUE)

    assert unknown.disks["nvme0n1"].limits == ()
    assert figures(unknown.lanes[Kind.VM_UNCACHED])[IOPS] == 3600
    assert figures(known.disks["nvme0n1"].limits) == {IOPS: 300, BYTES: 128 * MIB}
    assert known.disks["nvme0n1"].limits[0].origin is Origin.CATALOGUE
    assert known.disks["nvme0n1"].operation_bytes == 256 * 1024


def test_provisioned_figures_are_the_configurations_word():
    block = devices(nvme0n1=nvme(EBS, gib=100))
    fact = DiskFact(disk="nvme0n1", sku="gp3", iops=6000, source="config.toml disk[0]")
    identity = discover.identify("aws", {}, block, NITRO_DMI, discover.Facts(disks=(fact,)))
    limit, included = discover.sold(identity, CATALOGUE).disks["nvme0n1"].limits

    assert (limit.value, limit.origin, limit.source) == (
        6000,
        Origin.CONFIGURED,
        "config.toml disk[0]",
    )
    assert (included.value, included.origin) == (125 * MIB, Origin.CATALOGUE)


def test_an_unknown_volume_or_instance_type_is_named():
    facts = discover.Facts(disks=(DiskFact(disk="*", sku="gp9"),))
    identity = discover.identify(
        "aws", {aws.TYPE: "zz9.huge"}, devices(nvme0n1=nvme(EBS)), {}, facts
    )
    sold = discover.sold(identity, CATALOGUE)

    assert sold.lanes == {}
    assert set(sold.reasons) == {
        (
            "nvme0n1: 'gp9' is no EBS volume type, want one of "
            "gp2, gp3, io1, io2, io2_block_express, sc1, st1, standard"
        ),
        "instance type 'zz9.huge' is in no table: its limits are unknown",
    }


# general-purpose.html, gp2: 128 MiB/s up to 170 GiB; 250 MiB/s from 334 GiB on, between them by credit.
@pytest.mark.parametrize(
    ("gib", "mibps", "burst"),
    [(170, 128, None), (171, 128, 250), (333, 128, 250), (334, 250, None)],
)
def test_the_throughput_of_gp2_changes_where_the_documents_say(gib, mibps, burst):
    ceiling = aws_limits.volume_ceiling("gp2", gib)

    assert ceiling.bytes_per_second == mibps * MIB
    assert ceiling.burst_bytes_per_second == (None if burst is None else burst * MIB)
