"""What binds first on a file service: the benchmark cases that the providers publish, and the rest.

The figures are written down from the documents named beside them, not from the catalogue.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ioplateau.limits import ownrows
from ioplateau.limits.budgets import Dimension
from ioplateau.limits.clouds import registry
from ioplateau.limits.clouds.ask_volume import ask
from ioplateau.limits.clouds.aws import fileservices as aws
from ioplateau.limits.volumes import whatif
from ioplateau.limits.volumes.ceiling import VolumeError, VolumeSpec
from ioplateau.run.cataloguefiles import CatalogueFiles

CATALOGUE = CatalogueFiles()
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def case(words, size, *, reads=1.0, vm="", nconnect=None, from_memory=False, burst=False):
    question = ask(CATALOGUE, words, vm, nconnect)
    return whatif.case(question, size, reads, from_memory=from_memory, burst=burst)


def titles(found):
    return [each.title for each in found.bindings]


# performance-benchmarks-linux.md of azure-docs, 2024-03-24: "approximately", so 3 %.
@pytest.mark.parametrize(
    ("reads", "kib", "mibps", "operations"),
    [
        (1, 64, 4500, None),
        (0, 64, 1600, None),
        (1, 4, None, 460_000),
        (0, 4, None, 130_000),
    ],
)
def test_a_single_netapp_volume_gives_what_its_benchmark_says(reads, kib, mibps, operations):
    found = case("netapp:Ultra:50TiB", kib * KIB, reads=reads)

    if mibps is not None:
        assert found.bytes_per_second == pytest.approx(mibps * MIB, rel=0.03)
    else:
        assert found.operations_per_second == pytest.approx(operations, rel=0.03)


# The same document, one Standard_D32s_v4.
@pytest.mark.parametrize(
    ("reads", "kib", "nconnect", "mibps", "operations", "bound"),
    [
        (1, 64, 8, 3500, None, "this VM size, measured"),
        (1, 64, None, 3500 / 2.3, None, "one connection, measured"),
        (0, 64, 8, 1500, None, "VM network, measured"),
        (0, 64, None, 1500, None, "VM network, measured"),
        (1, 4, 8, None, 200_000, "this VM size, measured"),
        (1, 4, None, None, 200_000 / 3, "one connection, measured"),
        (0, 4, None, None, 135_000 / 3, "one connection, measured"),
        # 135,000 with nconnect in the document, 130,000 of the volume in the same document.
        (0, 4, 8, None, 130_000, "one volume, measured"),
    ],
)
def test_one_client_gives_what_the_benchmark_says(reads, kib, nconnect, mibps, operations, bound):
    found = case(
        "netapp:Ultra:50TiB", kib * KIB, reads=reads, vm="Standard_D32s_v4", nconnect=nconnect
    )

    if mibps is not None:
        assert found.bytes_per_second == pytest.approx(mibps * MIB, rel=0.03)
    else:
        assert found.operations_per_second == pytest.approx(operations, rel=0.03)
    assert titles(found) == [bound]


# azure-netapp-files-performance-considerations.md, 2023-08-31; service levels, 2022-08-02.
@pytest.mark.parametrize(
    ("words", "mibps"),
    [
        ("netapp:Premium:70.3125TiB", 4500),
        ("netapp:Premium:70.31TiB", 4499.84),
        ("netapp:Premium:90TiB", 4500),  # more quota gives no more
        ("netapp:Premium:2TiB", 128),
        ("netapp:Premium:100GiB", 6.25),
        ("netapp:Ultra:1TiB", 128),
        ("netapp:Standard:4TiB", 64),
        ("netapp:Flexible:1TiB:mibps=640", 640),
        ("netapp:Ultra:4TiB:mibps=704", 704),  # manual QoS
    ],
)
def test_a_netapp_volume_has_its_quota_times_the_rate_of_its_level(words, mibps):
    question = ask(CATALOGUE, words)

    assert question.ceilings[0].value == pytest.approx(mibps * MIB, rel=1e-4)
    assert whatif.case(question, 64 * KIB, 1.0).bytes_per_second <= 4500 * MIB


# performance-large-volumes-linux.md, 2023-05-01: 256 KiB and 8 KiB, Standard_E104id_v5.
@pytest.mark.parametrize(
    ("reads", "kib", "nconnect", "mibps", "operations"),
    [
        (1, 256, None, 1000, None),
        (0, 256, 8, 6600, None),
        (0, 256, None, 6600 / 4, None),
        (1, 8, 8, None, 426_000),
        (0, 8, 8, None, 405_000),
        (1, 8, None, None, 426_000 / 7),
    ],
)
def test_one_client_of_a_large_netapp_volume(reads, kib, nconnect, mibps, operations):
    found = case(
        "netapp:Ultra:101TiB:large",
        kib * KIB,
        reads=reads,
        vm="Standard_E104id_v5",
        nconnect=nconnect,
    )

    if mibps is not None:
        assert found.bytes_per_second == pytest.approx(mibps * MIB, rel=0.03)
    else:
        assert found.operations_per_second == pytest.approx(operations, rel=0.03)


def test_what_binds_goes_from_operations_to_bytes_as_requests_grow():
    question = ask(CATALOGUE, "netapp:Ultra:50TiB", "Standard_D32s_v4", 8)
    parts = whatif.size_ranges(question, 0.0)

    assert [titles(part) for part in parts] == [
        ["one volume, measured"],
        ["VM network, measured"],
    ]
    assert parts[0].last_bytes + 512 == parts[1].first_bytes
    assert parts[1].last_bytes == MIB


def test_a_vm_without_a_benchmark_is_held_by_what_its_size_table_says_of_its_network():
    # dsv5-series.md: Standard_D8s_v5 has 12,500 Mbit/s. Azure limits what leaves the VM.
    written = case("netapp:Ultra:50TiB", 256 * KIB, reads=0, vm="Standard_D8s_v5", nconnect=8)
    read = case("netapp:Ultra:50TiB", 256 * KIB, reads=1, vm="Standard_D8s_v5", nconnect=8)

    assert written.bytes_per_second == 12_500e6 / 8
    assert titles(written) == ["VM network"]
    assert read.bytes_per_second == pytest.approx(4500 * MIB)


# FSx for OpenZFS guide, "Example: storage capacity and throughput capacity".
@pytest.mark.parametrize(
    ("from_memory", "burst", "mbps"),
    [(True, False, 1600), (True, True, 3200), (False, False, 512), (False, True, 1024)],
)
def test_fsx_for_openzfs_of_512_mbps_and_2_tib(from_memory, burst, mbps):
    found = case("fsx-openzfs:512:2TiB", MIB, from_memory=from_memory, burst=burst)

    assert found.bytes_per_second == mbps * 1e6


@pytest.mark.parametrize(
    ("reads", "memory"), [(1.0, {False, True}), (0.5, {False, True}), (0.0, {False})]
)
def test_only_reads_are_told_with_and_without_the_servers_memory(reads, memory):
    question = ask(CATALOGUE, "fsx-openzfs:512:2TiB", "", None)
    found = whatif.answer(question, [MIB], [reads]).cases

    assert {each.from_memory for each in found} == memory


def test_fsx_for_openzfs_has_three_operations_for_each_gib_unless_more_are_provisioned():
    assert case("fsx-openzfs:512:2TiB", 4 * KIB).operations_per_second == 6144
    assert case("fsx-openzfs:512:2TiB:iops=50000", 4 * KIB).operations_per_second == 20_000
    assert case("fsx-openzfs:512:iops=50000", 4 * KIB, burst=True).operations_per_second == 40_000


# FSx for ONTAP guide, the same example.
def test_fsx_for_ontap_of_512_mbps_and_2_tib():
    assert case("fsx-ontap:512:2TiB", MIB).bytes_per_second == 512e6
    assert case("fsx-ontap:512:2TiB", MIB, burst=True).bytes_per_second == 600e6
    assert case("fsx-ontap:512:2TiB", MIB, from_memory=True).bytes_per_second == 625e6
    assert case("fsx-ontap:2048:9TiB", MIB, reads=0).bytes_per_second == 1300e6


# FSx for OpenZFS guide, "Single-AZ 2": baseline and burst, from memory and from the disks.
@pytest.mark.parametrize(
    ("words", "memory", "memory_burst", "disks", "disks_burst", "operations"),
    [
        ("fsx-openzfs:160:40TiB", 375, 3125, 160, 3125, 6250),
        ("fsx-openzfs:1280:40TiB", 3125, 6250, 1280, 3125, 50_000),
        ("fsx-openzfs:10240:iops=400000", 21_000, 21_000, 10_240, 10_240, 400_000),
    ],
)
def test_fsx_for_openzfs_single_az_2(words, memory, memory_burst, disks, disks_burst, operations):
    assert case(words, MIB, from_memory=True).bytes_per_second == memory * 1e6
    assert case(words, MIB, from_memory=True, burst=True).bytes_per_second == memory_burst * 1e6
    assert case(words, MIB).bytes_per_second == disks * 1e6
    assert case(words, MIB, burst=True).bytes_per_second == disks_burst * 1e6
    assert case(words, 512).operations_per_second == operations


# FSx for ONTAP guide, second generation: a third of the capacity for writes, 6,144 apart.
@pytest.mark.parametrize(
    ("capacity", "network", "operations", "writes"),
    [(384, 781, 12_500, 128), (3072, 6250, 100_000, 1024), (6144, 12_500, 200_000, 2048)],
)
def test_fsx_for_ontap_of_the_second_generation(capacity, network, operations, writes):
    words = f"fsx-ontap:{capacity}:90TiB:iops=200000"

    assert case(words, MIB, from_memory=True).bytes_per_second == network * 1e6
    assert case(words, MIB).bytes_per_second == capacity * 1e6
    assert case(words, 512).operations_per_second == operations
    assert case(words, MIB, reads=0).bytes_per_second == writes * 1e6


def test_a_write_to_fsx_for_ontap_takes_its_servers_network_twice():
    assert case("fsx-ontap:128:9TiB", MIB, reads=0).bytes_per_second == 150e6 / 2


def test_which_kind_of_fsx_it_is_stands_in_a_column_that_a_users_own_note_leaves_alone():
    rows = ownrows.read(
        {
            "file_services.csv": b"service,service_level,part,parameter,value,kind,notes\n"
            b"fsx_ontap,2048,network,mbps,2000,,asked for\n"
            b"fsx_openzfs,999,network,mbps,1500,,our own\n"
        }
    )
    catalogue = ownrows.CatalogueWithOwnRows(CATALOGUE, rows)

    def sold(service, level):
        return aws.SERVICES[service](VolumeSpec(service, level, words=service), catalogue)

    assert rows.complaints == ()
    assert sold("fsx-ontap", "2048").notices[0].endswith("of the first generation, Multi-AZ")
    assert sold("fsx-openzfs", "512").notices[0].endswith("of Single-AZ 1")
    assert sold("fsx-openzfs", "640").notices[0].endswith("of Single-AZ 2")
    assert sold("fsx-openzfs", "999").notices == ()


def test_one_connection_of_an_ec2_instance_carries_5_gbit_each_way():
    one = case("fsx-openzfs:4096:9TiB", MIB, vm="m5.24xlarge", from_memory=True)
    four = case("fsx-openzfs:4096:9TiB", MIB, vm="m5.24xlarge", nconnect=4, from_memory=True)

    assert one.bytes_per_second == 5e9 / 8
    assert titles(one) == ["one connection"]
    assert four.bytes_per_second == 4 * 5e9 / 8


# Amazon EFS performance specifications.
@pytest.mark.parametrize(
    ("words", "reads", "size", "burst", "mibps"),
    [
        ("efs:bursting:1TiB", 0, MIB, False, 50),
        ("efs:bursting:1TiB", 0, MIB, True, 100),
        ("efs:bursting:1GiB", 0, MIB, False, 1),  # at least 1 MiB/s ...
        ("efs:bursting:1GiB", 0, MIB, True, 100),  # ... and in burst 100
        ("efs:bursting:1TiB", 1, MIB, False, 150),  # a read counts for a third
        ("efs:provisioned:mibps=40", 0, MIB, False, 40),
    ],
)
def test_efs_is_metered(words, reads, size, burst, mibps):
    found = case(words, size, reads=reads, burst=burst)

    assert found.bytes_per_second == pytest.approx(mibps * MIB, rel=1e-3)


def test_a_client_of_efs_is_held_at_what_is_documented_for_one_client():
    assert case("efs:elastic", MIB, vm="m5.24xlarge").bytes_per_second == 1500 * MIB
    assert case("efs:onezone", MIB, vm="m5.24xlarge").bytes_per_second == 500 * MIB
    assert case("efs:elastic", MIB).bytes_per_second == 20 * GIB


def test_a_write_takes_five_of_the_operations_of_general_purpose_efs():
    # performance.md: 20,000 reads and 3,000 writes are 35,000.
    found = case("efs:onezone", KIB, reads=20_000 / 23_000)

    assert found.operations_per_second == pytest.approx(23_000)


# https://docs.cloud.google.com/filestore/docs/performance
@pytest.mark.parametrize(
    ("words", "read_iops", "write_iops", "read_mibps", "write_mibps"),
    [
        ("filestore:zonal:1TiB", 9200, 2600, 260, 88),
        ("filestore:zonal:100TiB", 920_000, 260_000, 26_000, 8800),
        ("filestore:regional:1TiB", 12_000, 4000, 120, 100),
        ("filestore:regional:10TiB", 92_000, 26_000, 2600, 880),
        ("filestore:enterprise:2TiB", 24_000, 8000, 240, 200),
        ("filestore:basic-ssd:5TiB", 60_000, 25_000, 1200, 350),
        ("filestore:basic-hdd:1TiB", 600, 1000, 100, 100),
        ("filestore:basic_hdd:20TiB", 1000, 5000, 180, 120),
    ],
)
def test_filestore_by_tier_and_capacity(words, read_iops, write_iops, read_mibps, write_mibps):
    assert case(words, 512).operations_per_second == pytest.approx(read_iops)
    assert case(words, 512, reads=0).operations_per_second == pytest.approx(write_iops)
    assert case(words, MIB).bytes_per_second == pytest.approx(read_mibps * MIB)
    assert case(words, MIB, reads=0).bytes_per_second == pytest.approx(write_mibps * MIB)


def test_custom_performance_of_filestore_counts_a_write_as_three_and_a_third():
    # custom-performance: 4,000 purchased are 4,000 reads, 1,200 writes, or 900 writes and 1,000 reads.
    words = "filestore:zonal:10TiB:iops=4000"

    assert case(words, 512).operations_per_second == 4000
    assert case(words, 512, reads=0).operations_per_second == pytest.approx(1200, rel=0.01)
    assert case(words, 512, reads=1000 / 1900).operations_per_second == pytest.approx(
        1900, rel=0.01
    )


# elastic-san-scale-targets.md, 2024-01-22; create-file-system-portal.md, 2024-11-11.
def test_an_elastic_san_and_a_managed_lustre():
    assert case("elasticsan:6TiB", 4 * KIB).operations_per_second == 30_000
    assert case("elasticsan:6TiB", MIB).bytes_per_second == 1200e6
    assert case("elasticsan:60TiB:volume=106GiB", 4 * KIB).operations_per_second == 79_500
    assert case("elasticsan:60TiB:volume=200GiB", 4 * KIB).operations_per_second == 80_000
    assert case("elasticsan:60TiB:volume=10GiB", MIB).bytes_per_second == 600e6
    assert case("elasticsan:60TiB:volume=21GiB", MIB).bytes_per_second == pytest.approx(1260e6)
    assert case("amlfs:250:16TiB", MIB).bytes_per_second == 4000e6
    assert case("amlfs:125:20TiB", MIB).bytes_per_second == 4000e6  # rounded up to 32 TiB


def test_a_netapp_volume_of_a_quota_that_only_a_large_one_has_is_large():
    question = ask(CATALOGUE, "netapp:Premium:150TiB")

    assert question.ceilings[0].value == pytest.approx(9600 * MIB)
    assert "large" in question.title


def test_more_than_a_netapp_volume_can_be_assigned_is_believed_and_said():
    question = ask(CATALOGUE, "netapp:Ultra:60TiB:mibps=5000", "", None)

    assert question.ceilings[0].value == 5000 * MIB
    assert "can be assigned (4,500): believed" in question.notices[0]


@pytest.mark.parametrize(
    "words", ["netapp:Premium:10TiB:large", "netapp:Ultra:1TiB:large:mibps=90"]
)
def test_a_large_netapp_volume_of_less_than_any_can_have_is_believed_and_said(words):
    notices = ask(CATALOGUE, words, "", None).notices

    assert any("less than a large volume can have (50 TiB): believed" in each for each in notices)


# understanding-billing.md, 2025-06-04.
@pytest.mark.parametrize(
    ("gib", "iops", "burst", "mibps"),
    [(100, 3100, 10_000, 110), (1024, 4024, 10_000, 203), (5120, 8120, 15_360, 613)],
)
def test_an_azure_files_share_of_v1(gib, iops, burst, mibps):
    words = f"files:v1:{gib}GiB"

    assert case(words, 4 * KIB).operations_per_second == iops
    assert case(words, 4 * KIB, burst=True).operations_per_second == burst
    assert case(words, MIB).bytes_per_second == mibps * MIB


@pytest.mark.parametrize(
    ("words", "vm", "nconnect", "complaint"),
    [
        ("nettapp:Premium:4TiB", "", None, "want one of netapp, files"),
        ("netapp:Gold:4TiB", "", None, "want Standard, Premium, Ultra or Flexible"),
        ("netapp:Premium", "", None, "say its quota"),
        ("netapp:Flexible:4TiB", "", None, "say it, as in"),
        ("netapp:Premium:4TiB:fast", "", None, "'fast' is not known"),
        ("netapp:Premium:4TiB:mibps=-1", "", None, "is not known"),
        ("netapp:Premium:4TiB", "Standard_D8s_v5", 99, "nconnect 99: want 1 to 16"),
        ("netapp:Premium:4TiB", "Standard_Z9", None, "in no table"),
        ("netapp:Premium:4TiB", "m5.large", None, "is aws's, and the volume is azure's"),
        ("files:v3:1TiB", "", None, "want v1 or v2"),
        ("files:v2", "", None, "say its size"),
        ("efs:fast", "", None, "want elastic, provisioned, bursting or onezone"),
        ("efs:bursting", "", None, "say how much is stored"),
        ("efs:provisioned", "", None, "say what is provisioned"),
        ("fsx-openzfs:500:2TiB", "", None, "want one of 64, 128, 160, 256, 320, 512, 640, 1024, "),
        ("fsx_ontap:500:2TiB", "", None, "want one of 128, 256, 384, 512, 768, 1024, "),
        ("netapp:Premium:4TiB", "nope", None, "VM size 'nope' is in no table"),
        ("filestore:gold:2TiB", "", None, "want basic-hdd"),
        ("filestore:zonal", "", None, "say its capacity"),
        ("amlfs:99:16TiB", "", None, "want the throughput per TiB"),
        ("elasticsan", "", None, "base capacity"),
    ],
)
def test_what_is_wrong_with_a_question_is_said(words, vm, nconnect, complaint):
    with pytest.raises(VolumeError) as error:
        ask(CATALOGUE, words, vm, nconnect)

    assert complaint in str(error.value)


def test_what_is_not_documented_is_said():
    assert any("documented nowhere" in n for n in ask(CATALOGUE, "amlfs:125:16TiB").notices)
    assert any("iSCSI session" in n for n in ask(CATALOGUE, "elasticsan:6TiB").notices)
    assert any("inferred" in n for n in ask(CATALOGUE, "files:v2:1TiB").notices)
    google = ask(CATALOGUE, "filestore:zonal:2TiB", "n2-standard-8")
    assert any("network" in notice for notice in google.notices)
    lustre = ask(CATALOGUE, "amlfs:125:16TiB", "Standard_D8s_v5", 8)
    assert any("no effect" in notice for notice in lustre.notices)
    assert lustre.connections == 1


def test_more_connections_than_a_service_uses_are_not_counted():
    question = ask(CATALOGUE, "files:v2:100TiB", "Standard_D8s_v5", 16)

    assert question.connections == 4
    assert any(each.value == 4 * 512 * MIB for each in question.ceilings)


ORDERS = (
    "netapp:Premium:4TiB",
    "netapp:Flexible:mibps=2000",
    "netapp:Ultra:90TiB:large",
    "files:v1:1TiB",
    "files:v2:1TiB",
    "amlfs:500:4TiB",
    "elasticsan:3TiB:volume=50GiB",
    "efs:elastic",
    "efs:bursting:3TiB",
    "efs:provisioned:mibps=300",
    "fsx-openzfs:128:1TiB",
    "fsx-ontap:1024:4TiB",
    "filestore:regional:3TiB",
)


def test_every_service_is_asked_for_here():
    assert {order.partition(":")[0] for order in ORDERS} == {
        word for cloud in registry.every() for word in cloud.file_services
    }


@settings(max_examples=80)
@given(
    st.sampled_from(ORDERS),
    st.sampled_from([512, 4096, 10_240, 65_536, MIB]),
    st.floats(0, 1),
    st.booleans(),
    st.booleans(),
)
def test_no_ceiling_is_exceeded_and_one_is_used_up(words, size, reads, from_memory, burst):
    question = ask(CATALOGUE, words)
    found = whatif.case(question, size, reads, from_memory=from_memory, burst=burst)

    assert found.bindings
    for each in question.ceilings:
        read = 0.0 if from_memory and each.behind_memory else each.read
        per_read = max(size, each.least_bytes) if each.dimension is Dimension.THROUGHPUT else 1
        taken = found.operations_per_second * per_read * (reads * read + (1 - reads) * each.write)
        most = each.burst if burst and each.burst is not None else each.value
        assert taken <= most * (1 + 1e-6)
        if each in found.bindings:
            assert taken == pytest.approx(most)


def test_every_figure_of_a_file_service_has_a_source():
    for words in ORDERS:
        for each in ask(CATALOGUE, words).ceilings:
            assert each.source, (words, each)
            assert each.title


@pytest.mark.parametrize(
    ("size", "is_outside"), [("100TiB", False), ("1TiB", False), ("101TiB", True), ("0.5TiB", True)]
)
def test_a_capacity_that_filestore_is_not_documented_for_is_said(size, is_outside):
    notices = ask(CATALOGUE, f"filestore:zonal:{size}", "", None).notices

    assert any("not for" in notice for notice in notices) is is_outside


def test_more_connections_than_a_service_makes_use_of_are_said_and_not_counted():
    question = ask(CATALOGUE, "efs:elastic", "", 4)

    assert question.connections == 1
    assert "nconnect 4: one connection is all that this service makes use of" in question.notices


@pytest.mark.parametrize("words", ["efs:elastic", "fsx-openzfs:512", "fsx-ontap:512"])
def test_the_network_of_an_ec2_instance_is_said_to_be_told_at_its_baseline(words):
    def is_said(vm):
        return any("told at its baseline" in notice for notice in ask(CATALOGUE, words, vm).notices)

    assert is_said("m5.large")
    assert not is_said("d2.4xlarge")  # of which none is known
    assert not is_said("")
