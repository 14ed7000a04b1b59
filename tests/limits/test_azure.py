"""Azure's own words about a VM, sound and unsound, and what its parts are sold with."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_machines import (
    AZURE_DMI,
    BYTES,
    FIXED,
    GEN1_OS,
    GEN1_TEMPORARY,
    IOPS,
    NITRO_DMI,
    OS_DISK,
    REMOTE,
    SCSI1,
    SCSI2,
    azure_answer,
    data_disk,
    devices,
    figures,
    nvme,
    scsi,
)
from ioplateau.limits.budgets import Burst, Dimension, Direction, Kind, Origin
from ioplateau.limits.claims import DiskFact, VmFact, VolumeFact
from ioplateau.limits.clouds import discover
from ioplateau.limits.clouds.ask import QuestionError, ask
from ioplateau.limits.clouds.azure import CLOUD, managed, volumes
from ioplateau.limits.clouds.azure import metadata as azure
from ioplateau.limits.clouds.azure import sold as azure_limits
from ioplateau.limits.clouds.azure.tables import disk_tier, vm_size
from ioplateau.limits.clouds.identity import DiskIdentity, Identity
from ioplateau.run.cataloguefiles import CatalogueFiles

CATALOGUE = CatalogueFiles()
MIB = 1 << 20


def identify(answer, **block):
    return azure.identify({azure.INSTANCE: answer}, devices(**block))


def test_an_azure_vm_is_told_by_its_asset_tag():
    assert CLOUD.detect(AZURE_DMI)
    assert discover.detect(AZURE_DMI) == "azure"


@pytest.mark.parametrize(
    "files", [{}, NITRO_DMI, {"/sys/class/dmi/id/sys_vendor": "Microsoft Corporation"}]
)
def test_another_machine_on_hyper_v_is_no_azure_vm(files):
    assert not CLOUD.detect(files)


def test_a_machine_in_no_cloud_has_nobody_to_ask():
    assert discover.detect({"/sys/class/dmi/id/sys_vendor": "QEMU"}) == ""
    assert discover.wanted("") == ()


def test_one_document_is_wanted_with_the_header_the_service_demands():
    (document,) = azure.wanted()

    assert document.path == "/metadata/instance?api-version=2021-05-01"
    assert document.headers == (("Metadata", "true"),)


def test_scsi_disks_are_found_by_controller_and_lun():
    identity = identify(
        azure_answer(
            data_disk("0", "a", caching="ReadOnly"),
            data_disk("3", "b", "StandardSSD_LRS", "256"),
            os_disk=OS_DISK,
        ),
        sda=scsi(FIXED, 0, 30),
        sdb=scsi(FIXED, 1, 64),
        sdc=scsi(SCSI1, 0),
        sdd=scsi(SCSI1, 3, 256),
        sr0=scsi(FIXED, 2, 1),
    )

    assert identity.vm_size == "Standard_D8s_v3"
    assert identity.region == "westeurope"
    assert identity.controller == "SCSI"
    assert identity.reasons == ()
    told = {name: (disk.role, disk.lun, disk.name) for name, disk in identity.disks.items()}
    assert told == {
        "sda": ("os", 0, "os"),
        "sdb": ("temporary", None, ""),
        "sdc": ("data", 0, "a"),
        "sdd": ("data", 3, "b"),
    }
    assert identity.disks["sdc"].caching == "ReadOnly"
    assert (identity.disks["sdd"].sku, identity.disks["sdd"].size_gib) == ("StandardSSD_LRS", 256)


def test_on_a_first_generation_vm_the_os_and_temporary_disks_have_controllers_of_their_own():
    identity = identify(azure_answer(), sda=scsi(GEN1_OS, 0, 30), sdb=scsi(GEN1_TEMPORARY, 0, 64))

    assert {name: disk.role for name, disk in identity.disks.items()} == {
        "sda": "os",
        "sdb": "temporary",
    }


def test_nvme_disks_are_found_by_namespace_and_local_ones_by_model():
    identity = identify(
        azure_answer(data_disk("0", "a"), data_disk("7", "b"), os_disk=OS_DISK),
        nvme0n1=nvme(REMOTE, 1, 30),
        nvme0n2=nvme(REMOTE, 2),
        nvme0n9=nvme(REMOTE, 9),
        nvme1n1=nvme("Microsoft NVMe Direct Disk v2", 1, 880),
        nvme2n1=nvme("Microsoft NVMe Direct Disk", 1, 1788),
    )

    assert identity.controller == "NVMe"
    assert {name: (disk.role, disk.name) for name, disk in identity.disks.items()} == {
        "nvme0n1": ("os", "os"),
        "nvme0n2": ("data", "a"),
        "nvme0n9": ("data", "b"),
        "nvme1n1": ("local", ""),
        "nvme2n1": ("local", ""),
    }


# nvme list in https://github.com/Azure/azure-vm-utils/issues/99.
def test_data_disks_on_a_second_nvme_controller_are_found_by_namespace_and_not_by_name():
    answer = azure_answer(
        data_disk("0", "a", "PremiumV2_LRS", "512"),
        data_disk("1", "b", caching="ReadOnly"),
        os_disk=OS_DISK,
        vm_size="Standard_D8ds_v6",
    )
    sold = machine(
        answer=answer,
        nvme0n1=nvme(REMOTE, 1, 30, "SN: 00000"),
        nvme1n1=nvme(REMOTE, 2, 512, "SN: 00001"),
        nvme1n2=nvme(REMOTE, 3, 1024, "SN: 00001"),
        nvme2n1=nvme("Microsoft NVMe Direct Disk v2", 1, 440),
    )
    told = {name: (disk.identity.role, disk.identity.name) for name, disk in sold.disks.items()}

    assert told == {
        "nvme0n1": ("os", "os"),
        "nvme1n1": ("data", "a"),
        "nvme1n2": ("data", "b"),
        "nvme2n1": ("local", ""),
    }
    assert sold.disks["nvme1n1"].draws.read == (Kind.VM_ULTRA, Kind.DISK)
    assert sold.disks["nvme1n1"].limits == ()  # its 3,000 IOPS and 125 MB/s may have been raised
    assert figures(sold.disks["nvme1n2"].limits)[IOPS] == 5000
    (reason,) = sold.reasons
    assert reason == (
        "nvme1n1: PremiumV2_LRS is provisioned, and nobody tells with what: "
        "say [[disk]] iops and bytes_per_second"
    )


def test_keys_are_read_in_any_case_and_numbers_from_strings():
    answer = azure_answer(data_disk("0", opsPerSecondThrottle="65280")).replace("vmSize", "VMSIZE")
    identity = identify(answer.replace("lun", "LUN"), sdc=scsi(SCSI1, 0))

    assert identity.vm_size == "Standard_D8s_v3"
    assert identity.disks["sdc"].iops == 65_280


@pytest.mark.parametrize("odd", ["1e308", 10**400, "nan", "many"])
def test_a_number_that_no_disk_has_costs_only_itself(odd):
    answer = azure_answer(data_disk("0", opsPerSecondThrottle=odd))
    identity = identify(answer, sdc=scsi(SCSI1, 0))

    assert (identity.disks["sdc"].role, identity.disks["sdc"].iops) == ("data", None)
    assert "opspersecondthrottle is " in identity.reasons[0]


def test_throttle_fields_of_an_ultra_disk_are_reported_limits():
    identity = identify(
        azure_answer(
            data_disk(
                "0",
                sku="UltraSSD_LRS",
                opsPerSecondThrottle="65280",
                bytesPerSecondThrottle="979202048",
                diskCapacityBytes="274877906944",
                diskSizeGB="",
            )
        ),
        sdc=scsi(SCSI1, 0, 256),
    )
    sold, _ = azure_limits.sold_disk(identity.disks["sdc"], None, CATALOGUE)

    assert identity.disks["sdc"].size_gib == 256
    assert figures(sold.limits) == {IOPS: 65_280, BYTES: 979_202_048}
    assert {limit.origin for limit in sold.limits} == {Origin.REPORTED}


def test_empty_strings_mean_that_a_field_does_not_apply():
    identity = identify(azure_answer(data_disk("0", caching="", size="")), sdc=scsi(SCSI1, 0, 512))
    disk = identity.disks["sdc"]

    assert (disk.iops, disk.bytes_per_second, disk.caching) == (None, None, "")
    assert disk.size_gib == 512  # the kernel's word, where metadata has none
    assert identity.reasons == ()


def test_a_disk_without_a_lun_has_no_device_and_a_reason():
    identity = identify(azure_answer(data_disk("", "lost")), sdc=scsi(SCSI1, 0))

    assert [disk.name for disk in identity.unplaced] == ["lost"]
    assert identity.disks["sdc"].sku == ""
    assert "data disk lost has no LUN" in identity.reasons[0]


def test_two_disks_with_one_lun_are_both_left_unknown():
    identity = identify(
        azure_answer(data_disk("0", "a"), data_disk("0", "b", "StandardSSD_LRS")),
        sdc=scsi(SCSI1, 0),
    )

    assert [disk.name for disk in identity.unplaced] == ["a", "b"]
    assert identity.disks["sdc"].sku == ""
    assert "a and b have one LUN, 0: neither is placed" in identity.reasons[0]


def test_two_devices_with_one_lun_belong_to_the_first_controller():
    identity = identify(azure_answer(data_disk("0", "a")), sdc=scsi(SCSI2, 0), sdd=scsi(SCSI1, 0))

    assert identity.disks["sdd"].name == "a"
    assert "sdc" not in identity.disks
    assert "sdc: sdd has LUN 0 already" in identity.reasons[0]


def test_a_disk_that_the_kernel_does_not_have_yet_is_named():
    identity = identify(azure_answer(data_disk("5", "new")), sda=scsi(FIXED, 0, 30))

    assert identity.unplaced[0].name == "new"
    assert "no block device is LUN 5 (new)" in identity.reasons[0]


def test_a_disk_whose_controller_sysfs_does_not_name_is_told_by_lun_and_size_if_only_one_fits():
    answer = azure_answer(data_disk("0", "a", size="512"))
    one = identify(answer, sdc=scsi("", 0, 512))
    two = identify(answer, sdc=scsi("", 0, 512), sdd=scsi("", 0, 512))

    assert one.disks["sdc"].name == "a"
    assert two.disks == {}


@pytest.mark.parametrize("sku", ["Premium_LRS", "UltraSSD_LRS"])
def test_a_shared_disk_has_no_burst_and_no_host_cache_and_is_said_to_be_shared(sku):
    shared = data_disk("0", sku=sku, size="128", caching="ReadOnly", isSharedDisk="true")
    identity = identify(azure_answer(shared), sdc=scsi(SCSI1, 0, 128))
    found = discover.sold(identity, CATALOGUE)

    assert all(limit.burst is None for limit in found.disks["sdc"].limits)
    assert Kind.VM_CACHED not in found.disks["sdc"].draws.read
    assert [words for words in found.reasons if words.startswith("sdc: shared with other VMs")]


@pytest.mark.parametrize(("configured", "said"), [("", True), ("c disk[0]", False)])
def test_of_a_shared_ultra_disk_it_is_said_that_readers_have_a_limit_of_their_own(configured, said):
    disk = DiskIdentity(
        "sdc", "data", sku="UltraSSD_LRS", size_gib=1024, iops=5000.0, bytes_per_second=2e8
    )
    shared = disk._replace(is_shared=True, configured=configured)
    _, reasons = azure_limits.sold_disk(shared, None, CATALOGUE)

    assert any("what was set for readers is its limit" in each for each in reasons) is said
    assert azure_limits.sold_disk(disk, None, CATALOGUE)[1] == ()


@pytest.mark.parametrize(
    ("vm_size", "limit"),
    [
        ("Standard_M32ts", "the 5,000 IOPS of the VM's Write Accelerator (azure-compute-docs"),
        # With constrained vCPUs: in no table.
        ("Standard_M64-32ms", "the VM's limit of Write Accelerator, which is in Microsoft's table"),
    ],
)
def test_the_limit_that_disks_with_write_accelerator_share_is_said_once(vm_size, limit):
    answer = azure_answer(
        data_disk("0", "a", writeAcceleratorEnabled="true"),
        data_disk("1", "b", writeAcceleratorEnabled=True),
        data_disk("2", "c"),
        vm_size=vm_size,
    )
    block = {"sdc": scsi(SCSI1, 0), "sdd": scsi(SCSI1, 1), "sde": scsi(SCSI1, 2)}
    (words,) = discover.sold(identify(answer, **block), CATALOGUE).reasons

    assert words.startswith(f"sdc, sdd: writes of up to 64 KiB share {limit}")


def test_a_disk_of_one_vm_is_not_said_to_be_shared():
    answer = azure_answer(data_disk("0"), data_disk("1", isSharedDisk="false"))
    identity = identify(answer, sdc=scsi(SCSI1, 0), sdd=scsi(SCSI1, 1))

    assert not any(disk.is_shared for disk in identity.disks.values())
    assert discover.sold(identity, CATALOGUE).reasons == ()


def test_a_shared_disk_is_offered_neither_bursting_nor_a_host_cache():
    p40 = DiskIdentity("sdc", "data", sku="Premium_LRS", size_gib=2048, is_shared=True)
    identity = Identity("azure", "Standard_D8s_v5", disks={"sdc": p40})
    actions = [each.action for each in CLOUD.choices(identity, ["sdc"], Kind.DISK, CATALOGUE)]
    _, reasons = told_of(p40._replace(on_demand_burst=True))

    assert actions
    assert not [action for action in actions if "bursting" in action or "caching" in action]
    assert reasons == ("sdc: a shared disk does not burst: on-demand bursting is without effect",)


def test_an_ephemeral_os_disk_draws_on_the_cached_lane_only():
    os_disk = OS_DISK | {"diffDiskSettings": {"option": "Local"}}
    identity = identify(azure_answer(os_disk=os_disk), sda=scsi(FIXED, 0, 30))
    sold, _ = azure_limits.sold_disk(identity.disks["sda"], None, CATALOGUE)

    assert sold.draws.read == sold.draws.write == (Kind.VM_CACHED,)
    assert sold.limits == ()


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "<html>502</html>",
        "null",
        "[]",
        '"x"',
        "{}",
        '{"compute": []}',
        '{"compute": null}',
        "[" * 100_000,
        '{"a":' * 50_000,
        "\x00\udcff",
    ],
)
def test_garbage_instead_of_the_document_leaves_a_reason_and_nothing_else(answer):
    identity = identify(answer, sda=scsi(FIXED, 0, 30))

    assert identity.vm_size == ""
    assert identity.disks["sda"].role == "os"
    assert identity.reasons


@pytest.mark.parametrize(
    "profile",
    [
        None,
        [],
        "x",
        {},
        {"dataDisks": {}},
        {"dataDisks": [None, 1, "x", [], {}]},
        {"dataDisks": [data_disk("-1"), data_disk("0.5"), data_disk("x"), data_disk({"a": 1})]},
        {"dataDisks": [data_disk("1e400"), data_disk(True), data_disk(None)], "osDisk": []},
        {"dataDisks": [{"lun": "0", "managedDisk": "x", "diskSizeGB": [1]}], "osDisk": {}},
    ],
)
def test_garbage_within_the_document_costs_only_itself(profile):
    identity = identify(azure_answer(storageProfile=profile), sdc=scsi(SCSI1, 0))

    assert identity.vm_size == "Standard_D8s_v3"
    assert identity.disks["sdc"].role == "data"


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["compute", "storageProfile", "dataDisks", "osDisk", "lun", "diskSizeGB", "vmSize"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=30,
)


@given(JSON)
def test_whatever_comes_in_identify_returns(value):
    text = json.dumps({"compute": value})
    identity = identify(text, sdc=scsi(SCSI1, 0))

    assert identity.cloud == "azure"
    with suppress(ValueError):
        assert azure.essence(text)


@pytest.mark.parametrize(
    ("gib", "told", "is_said"),
    [(64, "1024", True), (1025, "1024", True), (1023.5, "1024", False), (64, "", False)],
)
def test_a_disk_of_another_size_than_the_kernel_sees_is_told_and_its_limits_stay(
    gib, told, is_said
):
    identity = identify(azure_answer(data_disk("0", size=told)), sdc=scsi(SCSI1, 0, gib))
    words = f"sdc: {gib} GiB to the kernel and {told} GiB to Azure"

    assert identity.disks["sdc"].size_gib == float(told or gib)
    assert [reason.startswith(words) for reason in identity.reasons] == [True] * is_said


def test_what_is_kept_of_the_document_has_no_secrets_and_tells_the_same():
    answer = azure_answer(data_disk("0", "a"), data_disk("1", "b"), os_disk=OS_DISK)
    kept = azure.essence(answer)
    block = {"sda": scsi(FIXED, 0, 30), "sdc": scsi(SCSI1, 0), "sdd": scsi(SCSI1, 1)}

    assert "SECRET" not in kept
    assert "subscriptions" not in kept
    assert identify(kept, **block) == identify(answer, **block)


@pytest.mark.parametrize("size", [None, "", {"name": "SECRET"}])
def test_where_the_answer_tells_no_vm_size_the_disks_are_known_nevertheless(size):
    kept = azure.essence(azure_answer(data_disk("0"), os_disk=OS_DISK, vm_size=size))
    identity = identify(kept, sda=scsi(FIXED, 0, 30), sdc=scsi(SCSI1, 0))

    assert "SECRET" not in kept
    assert (identity.vm_size, identity.reasons) == (
        "",
        ("azure/instance: no vmSize in the answer",),
    )
    assert {disk.sku for disk in identity.disks.values()} == {"Premium_LRS"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html>SECRET</html>",
        '{"compute": "SECRET"}',
        azure_answer(vm_size=""),
        azure_answer(vm_size=None, storageProfile={"osDisk": {}, "dataDisks": ["SECRET"]}),
        azure_answer(data_disk("0"), vm_size=None).replace("storageProfile", "tags2"),
        azure_answer(storageProfile=None),
        azure_answer(storageProfile=["SECRET"]),
        azure_answer().replace("storageProfile", "tags2"),
    ],
)
def test_what_describes_no_vm_is_not_kept_and_not_repeated(text):
    with pytest.raises(ValueError, match=r"no JSON object with compute\.vmSize") as found:
        azure.essence(text)

    assert "SECRET" not in str(found.value)


@pytest.mark.parametrize(
    ("caching", "read", "hit", "write", "later"),
    [
        ("None", "UD", "", "UD", ""),
        ("", "UD", "", "UD", ""),
        ("ReadOnly", "CUD", "C", "CUD", ""),
        ("ReadWrite", "CUD", "C", "C", "UD"),
    ],
)
def test_what_an_io_counts_on_follows_the_documented_table(caching, read, hit, write, later):
    kinds = {"U": Kind.VM_UNCACHED, "C": Kind.VM_CACHED, "D": Kind.DISK}
    draws = azure_limits.draws_of(DiskIdentity(role="data", sku="Premium_LRS", caching=caching))
    found = (draws.read, draws.read_hit, draws.write, draws.write_later)

    assert found == tuple(tuple(kinds[x] for x in way) for way in (read, hit, write, later))


def test_temporary_and_local_disks_do_not_count_on_the_uncached_lane():
    temporary = azure_limits.draws_of(DiskIdentity(role="temporary"))
    local = azure_limits.draws_of(DiskIdentity(role="local"))

    assert temporary.read == (Kind.VM_CACHED, Kind.DISK)
    assert local.read == local.write == (Kind.DISK,)


@pytest.mark.parametrize("sku", ["UltraSSD_LRS", "PremiumV2_LRS"])
def test_ultra_and_premium_v2_disks_have_their_lane_where_the_size_has_one_and_no_cache(sku):
    disk = DiskIdentity(role="data", sku=sku, caching="ReadOnly")

    assert azure_limits.draws_of(disk, has_ultra_lane=True).read == (Kind.VM_ULTRA, Kind.DISK)
    assert azure_limits.draws_of(disk).read == (Kind.VM_UNCACHED, Kind.DISK)
    assert azure_limits.draws_of(disk).read_hit == ()


@pytest.mark.parametrize(
    ("disk", "is_cached"),
    [
        (DiskIdentity(role="data", sku="Premium_LRS", size_gib=4095), True),
        (DiskIdentity(role="data", sku="Premium_LRS", size_gib=4096), False),
        (DiskIdentity(role="data", sku="P50"), True),
        (DiskIdentity(role="data", sku="P60"), False),
    ],
)
def test_a_disk_of_4_tib_or_more_has_no_host_cache(disk, is_cached):
    sold, _ = told_of(disk._replace(caching="ReadOnly"))

    assert bool(sold.draws.read_hit) is is_cached
    assert (Kind.VM_CACHED in sold.draws.read) is is_cached


def test_the_lanes_of_a_vm_have_the_limits_of_its_size_with_their_source():
    lanes = azure_limits.lane_limits(vm_size(CATALOGUE, "Standard_D8s_v3"))
    uncached = lanes[Kind.VM_UNCACHED]

    assert figures(uncached) == {IOPS: 12_800, BYTES: 192e6}
    assert uncached[0].burst == Burst(16_000, 5_760_000)
    assert figures(lanes[Kind.VM_CACHED]) == {IOPS: 16_000, BYTES: 128e6}
    # Azure counts what leaves the VM, in Mbit/s.
    assert figures(lanes[Kind.VM_NETWORK]) == {(Dimension.THROUGHPUT, Direction.WRITE): 500e6}
    assert uncached[0].source.startswith("Standard_D8s_v3 (docs), azure-compute-docs")
    assert uncached[0].source.endswith("2024-09-24")
    assert (uncached[0].tolerance, uncached[1].tolerance) == (0, 0.05)


def test_a_disk_has_the_limits_of_its_sku_and_size():
    disk = DiskIdentity(device="sdc", role="data", sku="premium_lrs", size_gib=128, lun=3)
    sold, reasons = azure_limits.sold_disk(disk, None, CATALOGUE)

    assert figures(sold.limits) == {IOPS: 500, BYTES: 100e6}
    assert [limit.burst for limit in sold.limits] == [
        Burst(3500, 5_400_000),
        Burst(170e6, 126_000e6),
    ]
    assert sold.limits[0].source == "P10 Premium_LRS, azure_disks 2026-08"
    assert sold.operation_bytes == 256 * 1024
    assert sold.info["tier"] == "P10"
    assert reasons == ()


def test_opt_in_burst_performance_plus_and_a_raised_tier_come_from_the_configuration():
    p30 = DiskIdentity(role="data", sku="Premium_LRS", size_gib=1024)

    def of(**more):
        disk = DiskIdentity(role="data", sku="Premium_LRS", size_gib=1024, **more)
        return figures(azure_limits.sold_disk(disk, None, CATALOGUE)[0].limits)

    assert figures(azure_limits.sold_disk(p30, None, CATALOGUE)[0].limits) == {
        IOPS: 5000,
        BYTES: 200e6,
    }
    assert of(on_demand_burst=True) == {IOPS: 30_000, BYTES: 1000e6}
    assert of(performance_plus=True) == {IOPS: 8000, BYTES: 300e6}
    assert of(tier="P50") == {IOPS: 7500, BYTES: 250e6}


def test_a_premium_v2_disk_without_its_provisioned_figures_is_unknown():
    disk = DiskIdentity(device="sdc", role="data", sku="PremiumV2_LRS", size_gib=512)
    sold, reasons = azure_limits.sold_disk(disk, None, CATALOGUE)

    assert sold.limits == ()
    assert reasons == (
        (
            "sdc: PremiumV2_LRS is provisioned, and nobody tells with what: "
            "say [[disk]] iops and bytes_per_second"
        ),
    )


@pytest.mark.parametrize(
    ("sku", "gib", "iops", "most"),
    [
        ("PremiumV2_LRS", 4, None, (3000, 125e6)),
        ("PremiumV2_LRS", 512, 3000, (80_000, 750e6)),
        ("PremiumV2_LRS", 512, 8000, (80_000, 2000e6)),
        ("PremiumV2_LRS", 32, None, (16_000, 2000e6)),
        ("UltraSSD_LRS", 16, None, (16_000, 4000e6)),
        ("UltraSSD_LRS", 1024, None, (400_000, 10_000e6)),
    ],
)
def test_the_most_a_provisioned_disk_can_be_set_to_follows_the_documented_formula(
    sku, gib, iops, most
):
    found = managed.provisionable(disk_tier(CATALOGUE, sku, gib), gib, iops)

    assert (found.iops, found.bytes_per_second) == most


@pytest.mark.parametrize("sku", ["UltraSSD_LRS", "PremiumV2_LRS"])
@pytest.mark.parametrize(
    ("key", "other"), [("iops", "bytes_per_second"), ("bytes_per_second", "iops")]
)
def test_of_a_provisioned_disk_the_figure_that_is_not_told_is_asked_for(sku, key, other):
    disk = DiskIdentity(device="sdc", role="data", sku=sku, size_gib=512, configured="c")
    sold, reasons = azure_limits.sold_disk(disk._replace(**{key: 5000.0}), None, CATALOGUE)

    assert [limit.value for limit in sold.limits] == [5000]
    assert reasons == (
        f"sdc: {sku} is provisioned with {other} too, and nobody tells how much: say [[disk]] {other}",
    )


def test_more_than_a_disk_can_be_set_to_is_believed_but_doubted():
    ultra = DiskIdentity(device="sdc", role="data", sku="UltraSSD_LRS", size_gib=16, configured="c")
    disk = ultra._replace(iops=50_000, bytes_per_second=100e6)
    sold, reasons = azure_limits.sold_disk(disk, None, CATALOGUE)

    assert figures(sold.limits) == {IOPS: 50_000, BYTES: 100e6}
    assert "is more than UltraSSD_LRS of 16 GiB can be set to (16,000)" in sold.notes[0]
    assert reasons == ()


@pytest.mark.parametrize(
    ("sku", "gib", "words"),
    [
        ("Mystery_LRS", 128, "Mystery_LRS of 128 GiB is in no table: limits unknown"),
        ("", 128, "nobody tells its SKU: limits unknown: say [[disk]] sku"),
        ("", None, "nobody tells its SKU: limits unknown: say [[disk]] sku"),
        ("Premium_LRS", None, "Premium_LRS without a size: limits unknown"),
    ],
)
def test_an_unknown_sku_stays_unknown_with_a_reason(sku, gib, words):
    disk = DiskIdentity(device="sdc", role="data", sku=sku, size_gib=gib)
    sold, reasons = azure_limits.sold_disk(disk, None, CATALOGUE)

    assert sold.limits == ()
    assert reasons == (f"sdc: {words}",)


def test_a_local_disk_has_its_share_of_the_documented_sum_by_direction():
    size = vm_size(CATALOGUE, "Standard_D96ds_v7")
    sold, _ = azure_limits.sold_disk(DiskIdentity(device="nvme1n1", role="local"), size, CATALOGUE)

    assert figures(sold.limits) == {
        (Dimension.IOPS, Direction.READ): 400_000,
        (Dimension.THROUGHPUT, Direction.READ): 2240e6,
        (Dimension.IOPS, Direction.WRITE): 200_000,
        (Dimension.THROUGHPUT, Direction.WRITE): 1120e6,
    }


def test_a_temporary_disk_has_the_figures_of_the_vm_size():
    size = vm_size(CATALOGUE, "Standard_E4bds_v5")
    sold, _ = azure_limits.sold_disk(DiskIdentity(device="sdb", role="temporary"), size, CATALOGUE)

    assert figures(sold.limits) == {IOPS: 19_000, (Dimension.THROUGHPUT, Direction.READ): 250e6}


@pytest.mark.parametrize(
    ("fact", "mib", "iops"),
    [
        (VolumeFact(service_level="Premium", quota_gib=2048), 128, None),
        (VolumeFact(service_level="premium", quota_gib=100), 6.25, None),
        (VolumeFact(service_level="Ultra", quota_gib=1024), 128, None),
        (VolumeFact(service_level="Standard", quota_gib=4096), 64, None),
        (VolumeFact(service_level="Ultra", quota_gib=100 * 1024), 4500, None),
        (VolumeFact(service_level="Ultra", quota_gib=500 * 1024, large=True), 12_800, None),
        (VolumeFact(service_level="Premium", quota_gib=150 * 1024), 9600, None),  # no regular one
        (VolumeFact(bytes_per_second=300 * MIB), 300, None),
        (VolumeFact(service="azure_files", quota_gib=100), 110, (3100, 10_000, 24_840_000)),
        (VolumeFact(service="azure_files", quota_gib=1024), 203, (4024, 10_000, 21_513_600)),
        (
            VolumeFact(service="azure_files", service_level="SSD v2", quota_gib=1000, iops=20_000),
            225,
            (20_000, 60_000, 144_000_000),
        ),
    ],
)
def test_an_nfs_volume_is_limited_by_quota_and_level_as_documented(fact, mib, iops):
    limits, reasons = volumes.volume_limits(fact, CATALOGUE)
    found = figures(limits)

    assert found[BYTES] == mib * MIB
    assert reasons == ()
    if iops is None:
        assert IOPS not in found
    else:
        assert (limits[0].value, limits[0].burst.rate, limits[0].burst.bucket) == iops


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        (VolumeFact(), "more than a regular volume can be assigned (4,500): believed"),
        (VolumeFact(quota_gib=150 * 1024), ""),
        (VolumeFact(large=True), ""),
    ],
)
def test_assigned_throughput_of_a_netapp_volume_is_taken_as_it_is_said(fact, words):
    said = fact._replace(bytes_per_second=6000.0 * MIB, source="c")
    limits, reasons = volumes.volume_limits(said, CATALOGUE)

    assert figures(limits) == {BYTES: 6000 * MIB}
    assert limits[0].origin is Origin.CONFIGURED
    assert reasons == ((f"c: 6,000 MiB/s is {words}",) if words else ())


def test_operations_of_a_volume_leave_its_level_and_quota_their_throughput():
    fact = VolumeFact(service_level="Premium", quota_gib=4096, iops=10_000, source="c")
    limits, reasons = volumes.volume_limits(fact, CATALOGUE)
    without_level = volumes.volume_limits(fact._replace(service_level="Gold"), CATALOGUE)

    assert figures(limits) == {IOPS: 10_000, BYTES: 256 * MIB}
    assert [one.origin for one in limits] == [Origin.CONFIGURED, Origin.CATALOGUE]
    assert reasons == ()
    assert figures(without_level[0]) == {IOPS: 10_000}
    assert "'Gold' has no rate" in without_level[1][0]


def test_a_flexible_volume_is_asked_for_what_it_was_assigned():
    fact = VolumeFact(service_level="Flexible", quota_gib=4096, source="c")

    assert volumes.volume_limits(fact, CATALOGUE) == (
        (),
        ("c: a Flexible volume has the throughput that it was assigned: say bytes_per_second",),
    )


def test_a_volume_may_be_given_operations_alone():
    limits, reasons = volumes.volume_limits(VolumeFact(iops=5000, source="c"), CATALOGUE)

    assert figures(limits) == {IOPS: 5000}
    assert (limits[0].origin, reasons) == (Origin.CONFIGURED, ())


@pytest.mark.parametrize(
    "fact",
    [
        VolumeFact(),
        VolumeFact(service_level="Flexible", quota_gib=1024),
        VolumeFact(service_level="Premium"),
        VolumeFact(service_level="Premium", quota_gib=0),
        VolumeFact(service="nfs", quota_gib=1),
        VolumeFact(service="azure_files"),
    ],
)
def test_a_volume_of_which_too_little_is_said_is_unknown_with_a_reason(fact):
    limits, reasons = volumes.volume_limits(fact, CATALOGUE)

    assert limits == ()
    assert len(reasons) == 1


def told_of(disk, size="Standard_D8s_v5"):
    return azure_limits.sold_disk(disk, vm_size(CATALOGUE, size), CATALOGUE)


def test_a_disk_raised_to_a_higher_performance_tier_has_its_limits_and_no_burst():
    raised = DiskIdentity(device="sdc", role="data", sku="Premium_LRS", size_gib=128, tier="P50")
    sold, reasons = told_of(raised)

    assert figures(sold.limits) == {IOPS: 7500, BYTES: 250e6}
    assert all(limit.burst is None for limit in sold.limits)
    assert "P50 (performance tier)" in sold.limits[0].source
    assert reasons == ()


@pytest.mark.parametrize(("gib", "tier"), [(1024, "P20"), (128, "P60"), (8192, "P50")])
def test_a_tier_that_a_disk_cannot_have_is_believed_and_said(gib, tier):
    disk = DiskIdentity(device="sdc", role="data", sku="Premium_LRS", size_gib=gib, tier=tier)
    sold, reasons = told_of(disk)

    assert sold.limits
    assert f"cannot be set to {tier}" in reasons[0]


def test_a_tier_raised_beyond_what_azure_allows_is_no_question():
    with pytest.raises(QuestionError, match="P10, which cannot be set to P60"):
        ask(CATALOGUE, "Standard_D8s_v5", ["P10:tier=P60"])
    with pytest.raises(QuestionError, match="above 512 GiB"):
        ask(CATALOGUE, "Standard_D8s_v5", ["P20:burst"])
    assert ask(CATALOGUE, "Standard_D8s_v5", ["P10:tier=P50"]).disks[0].limits[0].value == 7500


@pytest.mark.parametrize(("gib", "said"), [(512, True), (1024, False)])
def test_on_demand_bursting_is_of_premium_disks_above_512_gib(gib, said):
    disk = DiskIdentity(role="data", sku="Premium_LRS", size_gib=gib, on_demand_burst=True)
    sold, reasons = told_of(disk)

    assert (figures(sold.limits)[IOPS] == 30_000) is not said
    assert ("on-demand bursting is of Premium SSDs above 512 GiB" in " ".join(reasons)) is said


# disk-bursting.md: "cannot be enabled on a premium SSD that has less than or equal to 512 GiB".
def test_a_tier_that_a_small_disk_was_raised_to_gives_it_no_on_demand_bursting():
    disk = DiskIdentity(role="data", sku="Premium_LRS", size_gib=128, tier="P50")
    sold, reasons = told_of(disk._replace(device="sdc", on_demand_burst=True))

    assert figures(sold.limits) == {IOPS: 7500, BYTES: 250e6}
    assert reasons == (
        "sdc: on-demand bursting is of Premium SSDs above 512 GiB, not of 128 GiB: without effect",
    )
    with pytest.raises(QuestionError, match="not of 128 GiB"):
        ask(CATALOGUE, "Standard_D8s_v5", ["Premium_LRS:size=128:tier=P50:burst"])


# ephemeral-os-disks.md: on the cache of older sizes, on the temporary disk of v5, on NVMe of v6.
def test_an_ephemeral_os_disk_lies_on_what_the_size_has():
    disk = DiskIdentity(device="sda", role="os", size_gib=30, is_ephemeral=True)
    cached, first = told_of(disk, "Standard_D8s_v3")
    local, words = told_of(disk, "Standard_D8ds_v6")
    wide, _ = told_of(disk._replace(size_gib=600), "Standard_D16ds_v6")
    nothing, unknown = told_of(disk, "Standard_D8s_v6")
    read = (Dimension.IOPS, Direction.READ)

    assert (cached.draws.read, cached.limits) == ((Kind.VM_CACHED,), ())
    assert "does not tell where it lies: taken as on the host's cache" in first[0]
    assert figures(local.limits)[read] == 150_000  # ddsv6-series.md: one disk of 440 GiB
    assert "taken as on local NVMe disks" in words[0]
    assert figures(wide.limits)[read] == 300_000  # 600 GiB take both
    assert local.draws.read == (Kind.DISK,)
    assert (nothing.limits, "limits unknown" in unknown[0]) == ((), True)


def test_a_size_without_documented_storage_limits_is_said_to_have_none():
    sold = discover.sold(
        discover.identify("azure", {}, {}, AZURE_DMI, discover.Facts(VmFact("Standard_DC8as_v6"))),
        CATALOGUE,
    )

    assert any("documented nowhere" in reason for reason in sold.reasons)


def machine(facts=discover.NO_FACTS, answer=None, **block):
    documents = {} if answer is None else {azure.INSTANCE: answer}
    identity = discover.identify("azure", documents, devices(**block), AZURE_DMI, facts)
    return discover.sold(identity, CATALOGUE)


def test_a_whole_machine_is_sold_with_lanes_and_disks():
    sold = machine(
        answer=azure_answer(
            data_disk("0", "a"), data_disk("1", "b", caching="ReadOnly"), os_disk=OS_DISK
        ),
        sda=scsi(FIXED, 0, 30),
        sdc=scsi(SCSI1, 0),
        sdd=scsi(SCSI1, 1),
    )

    assert figures(sold.lanes[Kind.VM_UNCACHED])[IOPS] == 12_800
    assert {name: disk.info["tier"] for name, disk in sold.disks.items()} == {
        "sda": "P4",
        "sdc": "P30",
        "sdd": "P30",
    }
    assert sold.disks["sdd"].draws.read_hit == (Kind.VM_CACHED,)
    assert sold.reasons == ()


def test_with_the_nvme_controller_the_vm_has_the_limits_of_that():
    sold = machine(answer=azure_answer(vm_size="Standard_E4bds_v5"), nvme0n1=nvme(REMOTE, 1, 30))

    assert figures(sold.lanes[Kind.VM_UNCACHED])[IOPS] == 16_000
    assert "NVMe controller" in sold.lanes[Kind.VM_UNCACHED][0].source


def test_configuration_names_the_machine_that_metadata_does_not():
    facts = discover.Facts(
        vm=VmFact("Standard_DS14"),
        disks=(
            DiskFact(disk="sd[cd]", sku="P30"),
            DiskFact(lun=1, iops=6000, bytes_per_second=3e8, source="config.toml disk[1]"),
        ),
    )
    sold = machine(facts, sdc=scsi(SCSI1, 0), sdd=scsi(SCSI1, 1))

    assert figures(sold.lanes[Kind.VM_UNCACHED])[IOPS] == 51_200
    assert figures(sold.disks["sdc"].limits) == {IOPS: 5000, BYTES: 200e6}
    assert figures(sold.disks["sdd"].limits) == {IOPS: 6000, BYTES: 300e6}
    assert sold.disks["sdd"].limits[0].origin is Origin.CONFIGURED


def test_a_later_sku_is_an_exception_from_what_a_pattern_was_provisioned_with():
    pattern = DiskFact(disk="sd*", sku="PremiumV2_LRS", iops=20_000, bytes_per_second=6e8)
    facts = discover.Facts(disks=(pattern, DiskFact(lun=1, sku="Premium_LRS", tier="P40")))
    sold = machine(facts, sdc=scsi(SCSI1, 0), sdd=scsi(SCSI1, 1))

    assert figures(sold.disks["sdc"].limits) == {IOPS: 20_000, BYTES: 600e6}
    assert figures(sold.disks["sdd"].limits) == {IOPS: 7500, BYTES: 250e6}
    assert {one.origin for one in sold.disks["sdd"].limits} == {Origin.CATALOGUE}


def test_what_is_reported_of_a_disk_holds_where_a_rule_names_the_sku_that_it_has():
    ultra = data_disk(
        "0", sku="UltraSSD_LRS", opsPerSecondThrottle="5000", bytesPerSecondThrottle="2e8"
    )

    def iops(sku):
        facts = discover.Facts(disks=(DiskFact(lun=0, sku=sku),))
        return machine(facts, azure_answer(ultra), sdc=scsi(SCSI1, 0)).identity.disks["sdc"].iops

    assert iops("ultrassd_lrs") == 5000
    assert iops("PremiumV2_LRS") is None


@pytest.mark.parametrize(
    ("option", "iops"), [("on_demand_burst", 30_000), ("performance_plus", 8000)]
)
def test_a_later_rule_takes_back_what_a_pattern_says_was_bought(option, iops):
    pattern = DiskFact(disk="sd[cd]", sku="Premium_LRS", size_gib=1024, **{option: True})
    later = (DiskFact(disk="sdd", caching="None"), DiskFact(disk="sdd", **{option: False}))
    facts = discover.Facts(disks=(pattern, *later))
    sold = machine(facts, sdc=scsi(SCSI1, 0), sdd=scsi(SCSI1, 1))

    assert figures(sold.disks["sdc"].limits)[IOPS] == iops
    assert figures(sold.disks["sdd"].limits)[IOPS] == 5000


def test_outside_every_cloud_the_configuration_alone_tells_what_the_machine_is():
    facts = discover.Facts(VmFact("Standard_DS1"), (DiskFact(disk="vdb", sku="P30"),))
    block = devices(vdb={"size": str(1 << 31), "dev": "254:16"})
    sold = discover.sold(discover.identify("", {}, block, {}, facts), CATALOGUE)

    assert figures(sold.lanes[Kind.VM_UNCACHED])[IOPS] == 3200
    assert figures(sold.disks["vdb"].limits)[IOPS] == 5000


def test_an_unknown_vm_size_is_named_and_leaves_the_disks_their_limits():
    sold = machine(answer=azure_answer(data_disk("0"), vm_size="Standard_X1"), sdc=scsi(SCSI1, 0))

    assert sold.lanes == {}
    assert figures(sold.disks["sdc"].limits)[IOPS] == 5000
    assert sold.reasons[0] == (
        "VM size 'Standard_X1' is in no table: the VM's limits are unknown, "
        'but for what a [[limit]] says (vm = "uncached")'
    )


def test_a_throttle_of_nothing_is_none_that_was_provisioned():
    disk = data_disk("0", opsPerSecondThrottle="0", bytesPerSecondThrottle="0")
    found = identify(azure_answer(disk), sdc=scsi(SCSI1, 0)).disks["sdc"]

    assert (found.iops, found.bytes_per_second) == (None, None)


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        (
            VolumeFact(service="azure_files", service_level="v2", quota_gib=262_144),
            {IOPS: 102_400, BYTES: 10_340 * MIB},
        ),
        (VolumeFact(service="azure_files", iops=5000), {IOPS: 5000}),
        (VolumeFact(service="azure_files", bytes_per_second=300 * MIB), {BYTES: 300 * MIB}),
    ],
)
def test_a_share_is_sold_no_more_than_the_most_and_stated_figures_need_no_quota(fact, expected):
    limits, reasons = volumes.volume_limits(fact, CATALOGUE)

    assert figures(limits) == expected
    assert reasons == ()
    is_stated = fact.quota_gib is None
    assert {limit.origin for limit in limits} == {
        Origin.CONFIGURED if is_stated else Origin.CATALOGUE
    }


def test_another_sku_in_the_configuration_has_another_tier_than_metadata_told():
    answer = azure_answer(data_disk("0", size="1024"))
    found = devices(sdc=scsi(SCSI1, 0))
    rules = [DiskFact(disk="sd*", tier="P40"), DiskFact(disk="sdc", sku="StandardSSD_LRS")]
    facts = discover.Facts(disks=rules)
    identity = discover.identify("azure", {"azure/instance": answer}, found, AZURE_DMI, facts)
    limits = discover.sold(identity, CATALOGUE).disks["sdc"].limits

    assert identity.disks["sdc"].tier == ""
    assert figures(limits)[IOPS] == 500


def test_a_size_that_is_configured_keeps_the_controller_that_was_found():
    found = devices(nvme0n1=nvme(REMOTE, 1, 30))
    facts = discover.Facts(VmFact("Standard_E96bds_v5"))

    assert discover.identify("azure", {}, found, AZURE_DMI, facts).controller == "NVMe"


def test_a_sku_that_is_said_once_more_ends_what_a_rule_before_had_provisioned():
    facts = discover.Facts(
        disks=[
            DiskFact(disk="sd*", sku="PremiumV2_LRS", iops=9000.0, source="c disk[0]"),
            DiskFact(disk="sdc", sku="PremiumV2_LRS", source="c disk[1]"),
        ]
    )
    identity = discover.identify("azure", {}, devices(sdc=scsi(SCSI1, 0)), AZURE_DMI, facts)

    assert identity.disks["sdc"].iops is None


def test_a_standard_disk_does_no_more_than_its_vm_size_lets_it():
    size = vm_size(CATALOGUE, "Standard_A1_v2", "")
    large = DiskIdentity(device="sdc", role="data", sku="Standard_LRS", size_gib=16_384)
    limits = azure_limits.sold_disk(large, size, CATALOGUE)[0].limits
    small = size._replace(standard_disk_iops=5000.0)
    own = azure_limits.sold_disk(large, small, CATALOGUE)[0].limits

    assert figures(limits)[IOPS] == 500
    assert figures(own)[IOPS] == 2000  # disks-types.md: an S70


# disk-bursting.md: "Premium SSD managed disks larger than 512 GiB".
def test_a_disk_of_512_gib_bursts_on_demand_at_no_tier():
    disk = DiskIdentity(device="sdc", sku="Premium_LRS", tier="P30", size_gib=512)
    tier = managed.find_tier(disk, CATALOGUE)

    assert not managed.may_burst_on_demand(disk, tier)
    assert managed.may_burst_on_demand(disk._replace(size_gib=513), tier)


def test_an_ephemeral_os_disk_has_no_more_local_disks_than_there_are():
    disk = DiskIdentity(device="sda", role="os", size_gib=900, is_ephemeral=True)
    limits, _ = told_of(disk, "Standard_D2ds_v6")

    assert figures(limits.limits)[Dimension.IOPS, Direction.READ] == 37_500
