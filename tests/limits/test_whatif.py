"""Documented worked cases: which limit binds first. Tolerance 5 %: the documents mix MB and MiB."""

import json
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ioplateau.limits import ownrows
from ioplateau.limits.budgets import Dimension, Kind
from ioplateau.limits.clouds import registry
from ioplateau.limits.clouds.ask import QuestionError, ask, request_bytes
from ioplateau.limits.sizeranges import SMALLEST
from ioplateau.limits.whatif import HITS, LARGEST, MISSES, NONE, answer, size_ranges
from ioplateau.limits.whatif import case as one_case
from ioplateau.run.cataloguefiles import CatalogueFiles

CATALOGUE = CatalogueFiles()
KIB = 1024


def case(vm_size, *disks, size=8 * KIB, cache=None, burst=False, controller=None):
    found = answer(ask(CATALOGUE, vm_size, disks, controller), [size])
    return next(c for c in found.cases if c.burst is burst and cache in (None, c.cache))


def bound(found):
    return [(b.title, b.dimension, b.value) for b in found.bindings]


def test_a_ds1_with_a_p30_is_bound_by_the_vm_at_3200():
    found = case("Standard_DS1", "P30")

    assert found.operations_per_second == 3200
    assert bound(found) == [("VM uncached", Dimension.IOPS, 3200)]


def test_a_ds4_with_a_p30_is_bound_by_the_disk_at_200_mb():
    found = case("Standard_DS4", "P30", size=256 * KIB)

    assert found.bytes_per_second == 200e6
    assert bound(found) == [("P30", Dimension.THROUGHPUT, 200e6)]


def test_four_p30_on_a_ds13_are_bound_by_the_disks_at_20000():
    found = case("Standard_DS13", "P30", "P30", "P30", "P30")

    assert found.operations_per_second == 20_000
    assert bound(found) == [("P30", Dimension.IOPS, 5000)]
    assert found.bindings[0].count == 4


def test_eleven_p30_on_a_ds14_are_bound_by_the_vm_at_51200():
    found = case("Standard_DS14", "11xP30")

    assert found.operations_per_second == pytest.approx(51_200)
    assert bound(found) == [("VM uncached", Dimension.IOPS, 51_200)]


@pytest.mark.parametrize(
    ("kib", "iops", "megabytes"),
    [(8, 5000, 40), (32, 5000, 160), (64, 3200, 200), (1024, 200, 200)],
)
def test_a_p30_gives_what_is_documented_at_each_request_size(kib, iops, megabytes):
    found = case("Standard_DS14", "P30", size=kib * KIB)

    assert found.operations_per_second == pytest.approx(iops, rel=0.05)
    assert found.bytes_per_second == pytest.approx(megabytes * 1e6, rel=0.05)
    # The document's operations are exact where its MB are MiB.
    assert found.operations_per_second_if_mebibytes == pytest.approx(iops)


def test_cached_and_uncached_lanes_of_a_d8s_v3_add_up_to_28800():
    found = case("Standard_D8s_v3", "P30", "2xP30:ReadWrite", "2xP30", size=4 * KIB, cache=HITS)

    assert found.operations_per_second == pytest.approx(28_800)
    assert bound(found) == [
        ("VM uncached", Dimension.IOPS, 12_800),
        ("VM cached", Dimension.IOPS, 16_000),
    ]


def test_the_uncached_disks_of_that_vm_are_bound_by_the_vm_and_not_by_themselves():
    found = case("Standard_D8s_v3", "P30", "2xP30:ReadWrite", "2xP30", size=4 * KIB, cache=HITS)
    uncached = [share for share in found.shares if share.title == "P30"]

    assert len(uncached) == 3
    assert {share.binding.budget.kind for share in uncached} == {Kind.VM_UNCACHED}
    # The documented even division, 4,267 + 4,266 + 4,266: each below its own 5,000.
    assert all(share.operations_per_second == pytest.approx(12_800 / 3) for share in uncached)


def test_three_e30_on_a_d8s_v3_are_bound_by_the_disks_at_1500():
    found = case("Standard_D8s_v3", "E30", "E30", "E30")

    assert found.operations_per_second == 1500
    assert bound(found) == [("E30", Dimension.IOPS, 500)]


@pytest.mark.parametrize(
    ("disk", "iops", "lane"), [("P30", 3200, "VM uncached"), ("P30:ReadOnly", 4000, "VM cached")]
)
def test_a_p30_on_a_d2s_v3_is_bound_by_the_vm_at_3200_uncached_and_4000_cached(disk, iops, lane):
    found = case("Standard_D2s_v3", disk, size=4 * KIB)

    assert found.operations_per_second == iops
    assert bound(found) == [(lane, Dimension.IOPS, iops)]


def test_host_caching_of_a_disk_of_4_tib_or_more_is_said_to_be_without_effect():
    small, large = (
        ask(CATALOGUE, "Standard_D8s_v3", [f"{tier}:ReadOnly"]) for tier in ("P50", "P60")
    )

    assert not any("no host cache" in words for words in small.notices)
    assert any("P60: a disk of 4 TiB or more has no host cache" in words for words in large.notices)


def test_reads_that_miss_the_cache_count_on_both_lanes_and_the_disk():
    found = case("Standard_D2s_v3", "P30:ReadOnly", size=4 * KIB, cache=MISSES)

    assert found.operations_per_second == 3200
    assert bound(found) == [("VM uncached", Dimension.IOPS, 3200)]


def test_with_credit_the_disks_and_the_vm_burst():
    found = case("Standard_D8s_v3", "3xE30", burst=True)

    assert found.operations_per_second == 3000
    assert case("Standard_D8s_v3", "4xP30", burst=True).operations_per_second == 16_000


def test_a_slow_disk_leaves_its_share_of_the_lane_to_the_fast_ones():
    found = case("Standard_D8s_v3", "P10", "2xP40", size=4 * KIB)

    assert [round(share.operations_per_second) for share in found.shares] == [500, 6150, 6150]


def test_an_io_above_256_kib_counts_as_several_on_the_disk():
    just = case("Standard_DS14", "E10", size=256 * KIB)
    above = case("Standard_DS14", "E10", size=257 * KIB)

    # 500 operations and 100 MB/s: the one that counts double is held at 250.
    assert bound(just) == [("E10", Dimension.THROUGHPUT, 100e6)]
    assert above.operations_per_second == 250
    assert bound(above) == [("E10", Dimension.IOPS, 500)]


def test_an_nvme_controller_has_its_own_limits():
    assert case("Standard_E4bds_v5", "8xP30").operations_per_second == 12_100
    assert case("Standard_E4bds_v5", "8xP30", controller="NVMe").operations_per_second == 16_000


def test_ultra_disks_have_a_lane_of_their_own():
    found = case("Standard_D4s_v6", "4xP30", "PremiumV2:iops=20000:mbps=1000", size=4 * KIB)

    assert bound(found) == [
        ("VM uncached", Dimension.IOPS, 6400),
        ("VM Ultra/PremiumV2", Dimension.IOPS, 8333),
    ]


def test_an_instance_limits_its_volumes_together():
    found = case("m5.large", "gp3:iops=6000:mibps=500")

    assert found.operations_per_second == 3600
    assert bound(found) == [("VM EBS volumes", Dimension.IOPS, 3600)]


def test_a_vm_size_nobody_documents_leaves_its_disks_to_bind_and_says_so():
    question = ask(CATALOGUE, "Standard_DC2as_v6", ["P30"])
    found = answer(question, [8 * KIB]).cases[0]

    assert found.operations_per_second == 5000
    (notice,) = question.notices
    assert notice == (
        "Standard_DC2as_v6: no limit of its own is known; "
        "the figures are of its disks alone, it may allow less"
    )


def test_a_size_whose_limits_depend_on_the_type_of_its_disks_tells_them_all():
    question = ask(CATALOGUE, "c3-standard-8", [])

    assert question.notices == (
        "c3-standard-8 with hyperdisk-balanced-high-availability: together 50,000 IOPS, 838.9 MB/s",
        "c3-standard-8 with pd-balanced: reads 251.7 MB/s; writes 251.7 MB/s; together 15,000 IOPS",
        "c3-standard-8 with pd-ssd: reads 251.7 MB/s; writes 251.7 MB/s; together 15,000 IOPS",
    )


def test_a_size_of_which_no_type_of_disk_is_documented_says_so():
    question = ask(CATALOGUE, "e2-micro", [])

    assert question.notices == (
        "e2-micro: what it lets its disks do is documented nowhere that was found",
    )


def test_a_google_machine_type_of_other_vcpus_than_the_tables_is_told_which_these_have():
    question = ask(CATALOGUE, "c3-standard-5", [])

    assert question.notices[1] == (
        "c3-standard-5: of c3 the table has 4, 8, 22, 44, 88, 176, 192 vCPUs"
    )


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("m5-large", "are m5.large, "),
        ("c3-large", "are c3.large, "),
        ("D8sv5", "are Standard_D8s_v5, "),
        ("Standrd_D4s_v5", "are Standard_D4s_v5, "),
        ("Standard-D4s-v5", "are Standard_D4s_v5, "),
        ("n2-standart-8", "is n2-standard-8"),
        ("m3-ultamem-32", "is m3-ultramem-32"),
        ("nope", ""),
        ("Standard_Z9", ""),
    ],
)
def test_a_mistyped_size_is_refused_with_what_any_cloud_has_near_it(typed, near):
    with pytest.raises(QuestionError) as wrong:
        ask(CATALOGUE, typed, [])

    words = f"VM size {typed!r} is in no table"
    assert str(wrong.value).startswith(f"{words}; near it {near}" if near else words)
    assert near or str(wrong.value) == words


def test_a_size_is_found_in_any_case():
    for typed, name in {
        "N2-Standard-8": "n2-standard-8",
        "M7I.LARGE": "m7i.large",
        "d8S_V5": "Standard_D8s_v5",
        "X4-480-6t-metal": "x4-480-6t-metal",
    }.items():
        assert ask(CATALOGUE, typed, []).vm_size == name


def test_a_size_in_a_table_is_found_whatever_other_clouds_names_it_looks_like():
    rows = ownrows.read({"azure_vm_sizes.csv": b"name,uncached_iops\nx5-big-2,1234\n"})
    question = ask(ownrows.CatalogueWithOwnRows(CATALOGUE, rows), "x5-big-2", ["P30"])

    assert question.vm_size == "x5-big-2"
    assert question.lanes[Kind.VM_UNCACHED][0].value == 1234


def test_no_size_of_the_tables_looks_like_two_clouds():
    names = {
        "azure": ("azure_vm_sizes", "name"),
        "aws": ("aws_instances", "instance_type"),
        "gcp": ("gcp_machine_types", "machine"),
    }
    for owner, (table, column) in names.items():
        for line in CATALOGUE.lines(table, ""):
            name = json.loads(line).get(column, "custom-4-8192").replace("*", "standard-4")
            for typed in (name, name.lower(), re.sub("^(Standard|Basic)_", "", name)):
                sellers = [c.name for c in registry.every() if c.sells(typed, frozenset())]
                assert sellers == [owner], typed


@pytest.mark.parametrize(
    ("size", "disk", "words"),
    [
        ("Standard_D8s_v5", "1000xP30", "disk '1000xP30': want 1 to 999 of them"),
        ("Standard_D8s_v5", "0xP30", "disk '0xP30': want 1 to 999 of them"),
        ("Standard_D8s_v5", "gp3", "gp3: 'gp3' is no tier and no SKU of the table"),
        ("Standard_D8s_v5", "Premium_LRS", "Premium_LRS without a size"),
        ("Standard_D8s_v5", "premium_lrs", "premium_lrs without a size"),
        ("Standard_D8s_v5", "Premum_LRS:size=10", "did you mean Premium_LRS?"),
        ("Standard_D8s_v5", "P30:tier=Q9", "'Q9' is no tier of the table: limits unknown"),
        ("Standard_D8s_v5", "Premium_LRS:size=128:tier=Q9", "'Q9' is no tier of the table: taken"),
        ("m7i.large", "gp2", "gp2 without a size"),
        ("m7i.large", "io2", "io2 without its provisioned iops"),
        ("m7i.large", "standard:size=500", "standard is magnetic, of which only approximate"),
        ("m7i.large", "gp2:size=20000", "gp2 of 20,000 GiB is not sold, its sizes are 1 to 16,384"),
        ("m7i.large", "gp3:size=70000", "gp3 of 70,000 GiB is not sold, its sizes are 1 to 65,536"),
        ("m7i.large", "st1:size=100", "st1 of 100 GiB is not sold, its sizes are 125 to 16,384"),
        ("Standard_D8s_v5", "P30:size=5000", "P30: a disk of 5000 GiB is no P30 but P60"),
        ("Standard_D8s_v5", "p10:size=1024", "p10: a disk of 1024 GiB is no P10 but P30"),
        ("Standard_D8s_v5", "P10:size=64", "P10: a disk of 64 GiB is no P10 but P6"),
        ("Standard_D8s_v5", "Premium_LRS:size=40000:tier=P80", "of 40000 GiB is in no table"),
        ("Standard_D8s_v5", "ultra:size=100000:iops=9:mbps=1", "of 100000 GiB is in no table"),
        ("m7i.large", "P30", "'P30' is no EBS volume type, want one of gp2, gp3, "),
        ("n2-standard-8", "gp3", "no disk type of the table, want one of hyperdisk-balanced, "),
    ],
)
def test_a_disk_that_the_cloud_does_not_sell_is_told_what_it_does(size, disk, words):
    with pytest.raises(QuestionError) as wrong:
        ask(CATALOGUE, size, [disk])

    assert words in str(wrong.value)


@pytest.mark.parametrize(
    ("size", "disk", "notice"),
    [
        ("m7i.large", "gp3:iops=90000", "gp3: 90,000 IOPS is more than gp3 can be set to"),
        (
            "Standard_D8s_v6",
            "PremiumV2_LRS:size=1024:iops=90000",
            "PremiumV2_LRS: 90,000 IOPS is more than PremiumV2_LRS of 1024 GiB can be set to",
        ),
        (
            "c4d-standard-8",
            "hyperdisk-balanced:iops=900000",
            "hyperdisk-balanced: 900,000 IOPS is more than hyperdisk-balanced can be set to",
        ),
        ("Standard_D8s_v5", "P30:mibps=10", "P30: P30 cannot be provisioned, its size decides"),
        ("n2-standard-8", "pd-ssd:size=99:iops=10", "pd-ssd: pd-ssd cannot be provisioned, its"),
    ],
)
def test_more_than_the_tables_know_is_believed_with_a_word_since_tables_age(size, disk, notice):
    assert any(words.startswith(notice) for words in ask(CATALOGUE, size, [disk]).notices)


@pytest.mark.parametrize(
    ("order", "told"),
    [("st1:size=12800", ["st1", "500"]), ("2xsc1:size=1024", ["sc1", "250"]), ("gp3", [])],
)
def test_of_a_hard_disk_it_is_told_that_random_requests_get_fewer(order, told):
    found = ask(CATALOGUE, "m5.24xlarge", [order]).notices
    words = (
        "{}: random requests get no more than {} IOPS; only sequential ones are merged, up to 1 MiB"
    )

    assert found == ((words.format(*told),) if told else ())


def test_a_figure_of_what_is_sold_by_its_size_leaves_the_other():
    operations, data = ask(CATALOGUE, "Standard_D8s_v5", ["P30:mibps=10"]).disks[0].limits

    assert (operations.value, data.value) == (5000, 10 * (1 << 20))


def test_throughput_that_was_not_said_is_told_as_assumed():
    words = "hyperdisk-balanced with 6,000 IOPS: throughput taken as the most it can be"

    assert words in ask(CATALOGUE, "c4d-standard-8", ["hyperdisk-balanced:iops=6000"]).notices
    said = ask(CATALOGUE, "c4d-standard-8", ["hyperdisk-balanced:iops=6000:mibps=300"])
    assert words not in said.notices
    many = ask(CATALOGUE, "c4d-standard-8", ["hyperdisk-balanced:iops=90000"])
    assert many.disks[0].limits[1].value == 2400 * (1 << 20)


@pytest.mark.parametrize(
    ("disk", "notice", "figures"),
    [
        ("PremiumV2:size=1024:iops=5000", "PremiumV2_LRS with 5,000 IOPS: throughput taken as", 2),
        (
            "PremiumV2:iops=5000",
            "PremiumV2_LRS: PremiumV2_LRS is provisioned with bytes_per_second",
            1,
        ),
        (
            "PremiumV2:size=64:mbps=600",
            "PremiumV2_LRS: PremiumV2_LRS is provisioned with iops too",
            1,
        ),
    ],
)
def test_one_figure_of_a_provisioned_disk_is_answer_enough_with_a_word(disk, notice, figures):
    found = ask(CATALOGUE, "Standard_D8s_v5", [disk])

    assert len(found.disks[0].limits) == figures
    assert next(words for words in found.notices if "PremiumV2" in words).startswith(notice)


@pytest.mark.parametrize(
    ("vm_size", "disk"),
    [
        ("m5.large", "gp2:size=16384"),
        ("m5.large", "io2:size=60000:iops=1000"),
        ("m5.large", "st1:size=125"),
        ("Standard_D8s_v5", "P30:size=513"),
        ("Standard_D8s_v5", "P10:size=100:tier=P50"),
        ("Standard_D8s_v5", "premium_zrs:size=32767"),
    ],
)
def test_a_disk_of_any_size_that_it_can_have_is_answered(vm_size, disk):
    assert ask(CATALOGUE, vm_size, [disk]).disks[0].limits


def test_what_binds_first_changes_where_throughput_takes_over():
    first, then = size_ranges(ask(CATALOGUE, "Standard_DS14", ["P30"]), NONE)

    assert (first.first_bytes, then.last_bytes) == (SMALLEST, LARGEST)
    # 200 MB/s at 5,000 operations is 40,000 bytes each; sizes go by 512.
    assert first.last_bytes == 39_936
    assert then.first_bytes == first.last_bytes + 512
    assert then.bindings[0].dimension is Dimension.THROUGHPUT


@pytest.mark.parametrize(
    ("vm_size", "disks"),
    [
        ("Standard_D8s_v5", ["P10"]),
        ("Standard_D8s_v5", ["P1", "P30"]),
        ("Standard_D8s_v5", ["E10"]),
        ("Standard_D8s_v3", ["P10:ReadOnly", "P4"]),
        ("m5.xlarge", ["gp2:size=334", "st1:size=1000"]),
        ("m5.24xlarge", ["gp3:iops=3000:mibps=700"]),
    ],
)
def test_what_binds_over_a_size_range_binds_at_every_size_of_it(vm_size, disks):
    """A request above 256 KiB counts as two, above 512 KiB as three: operations bind again."""
    question = ask(CATALOGUE, vm_size, disks)
    outcome = MISSES if any(disk.hit for disk in question.disks) else NONE
    parts = size_ranges(question, outcome)

    for size in range(SMALLEST, LARGEST + 1, 8 * KIB):
        for near in (size, size + 7 * KIB + 512):  # above a multiple of 8 KiB, and the next one
            bindings = next(p.bindings for p in parts if p.first_bytes <= near <= p.last_bytes)
            assert bindings == one_case(question, near, outcome).bindings, near


def test_stretches_follow_each_other():
    parts = size_ranges(ask(CATALOGUE, "Standard_D8s_v5", ["P10"]), NONE)

    assert [(p.first_bytes, p.last_bytes) for p in parts[1:4]] == [
        (195 * KIB + 512, 256 * KIB),  # 100 MB/s
        (256 * KIB + 512, 390 * KIB + 512),  # 250 requests
        (391 * KIB, 512 * KIB),
    ]
    assert all(before.last_bytes + 512 == p.first_bytes for before, p in pairwise(parts))


@pytest.mark.parametrize(
    ("text", "size"),
    [("8k", 8192), ("8K", 8192), ("8KiB", 8192), ("8kB", 8000), ("4096", 4096), ("1M", 1 << 20)],
)
def test_request_sizes_are_read_as_people_write_them(text, size):
    assert request_bytes(text) == size


@pytest.mark.parametrize("text", ["", "k", "0", "-8k", "8q", "1e3", "9999G", "0.3", "8 k k"])
def test_what_is_no_request_size_is_refused(text):
    with pytest.raises(QuestionError, match="request size"):
        request_bytes(text)


def test_everything_wrong_with_a_question_is_said_at_once():
    with pytest.raises(QuestionError) as wrong:
        ask(CATALOGUE, "Standard_D8_v33", ["Q7", "P30:Sometimes", "P30:iops=-1", "Ultra"])

    lines = str(wrong.value).splitlines()
    assert len(lines) == 5
    assert "near it are Standard_D8" in lines[0]


def test_a_question_without_disks_is_answered_by_what_the_size_allows():
    found = answer(ask(CATALOGUE, "Standard_D8s_v3", []))

    assert found.cases == ()
    assert {limit.value for limit in found.question.lanes[Kind.VM_UNCACHED]} >= {12_800}


def test_more_disks_than_the_vm_takes_and_premium_on_a_vm_without_are_doubted():
    assert ask(CATALOGUE, "Standard_D2s_v3", ["5xP30"]).notices == (
        "Standard_D2s_v3 takes 4 data disks, not 5",
    )
    assert "takes one data disk, not 2" in ask(CATALOGUE, "Standard_DC1s_v2", ["2xP4"]).notices[0]
    assert "does not take premium disks" in ask(CATALOGUE, "Standard_A4", ["P30"]).notices[0]


def test_what_of_a_size_is_not_known_is_said_with_and_without_disks():
    (nothing,) = ask(CATALOGUE, "Standard_DC8as_v6", []).notices
    (of_disks,) = ask(CATALOGUE, "Standard_DC8as_v6", ["P30"]).notices
    (half,) = ask(CATALOGUE, "Standard_E192ids_v6", ["P30"]).notices

    assert nothing == "Standard_DC8as_v6: no limit of its own is known"
    assert of_disks.endswith("; the figures are of its disks alone, it may allow less")
    assert "the throughput that its remote disks share is documented nowhere" in half


@pytest.mark.parametrize("disk", ["PremiumV2:size=64:iops=5000:mbps=100", "P30"])
def test_of_a_lane_for_ultra_disks_without_operations_a_disk_that_draws_on_it_is_told(disk):
    words = (
        "Standard_E48nds_v6: the IOPS that its Ultra and Premium SSD v2 disks share is documented "
        "nowhere that was found: unknown"
    )

    assert ask(CATALOGUE, "Standard_E48nds_v6", [disk]).notices == (
        () if disk == "P30" else (words,)
    )


@pytest.mark.parametrize(
    ("vm_size", "disks", "is_said"),
    [
        ("Standard_D8s_v6", ["P30", "PremiumV2:size=64"], True),
        ("Standard_D8s_v6", ["P30", "P20"], False),
        ("Standard_D8s_v6", ["PremiumV2:size=64", "Ultra:size=64"], False),
        ("Standard_D8s_v5", ["P30", "PremiumV2:size=64"], False),  # one lane for both
    ],
)
def test_of_two_uncached_lanes_that_both_are_used_it_is_said_that_they_are_taken_to_add_up(
    vm_size, disks, is_said
):
    notices = ask(CATALOGUE, vm_size, disks).notices

    assert any("are taken to add up" in each for each in notices) == is_said


def test_an_ultra_disk_with_only_a_size_is_taken_at_the_most_it_can_be():
    question = ask(CATALOGUE, "Standard_DS14", ["Ultra:size=100"])

    assert [limit.value for limit in question.disks[0].limits] == [100_000, 10_000e6]
    assert "taken as set to the most" in question.notices[0]


def test_an_ultra_disk_of_which_the_table_does_not_tell_the_most_is_asked_about():
    row = b"generation,sku,tier,size_gib\n2026-08,UltraSSD_ZRS,U,65536\n"
    rows = ownrows.read({"azure_disks.csv": row})
    assert rows.complaints == ()
    catalogue = ownrows.CatalogueWithOwnRows(CATALOGUE, rows)

    with pytest.raises(QuestionError, match=r"say its size \(size=<GiB>\) or iops= and mbps="):
        ask(catalogue, "Standard_DS14", ["UltraSSD_ZRS:size=100"])
    found = ask(catalogue, "Standard_DS14", ["UltraSSD_ZRS:size=100:iops=500"])
    assert [limit.value for limit in found.disks[0].limits] == [500]
    assert not any("taken as" in words for words in found.notices)


def test_an_ultra_disk_of_no_size_is_asked_about():
    with pytest.raises(QuestionError, match=r"say its size \(size=<GiB>\) or iops= and mbps="):
        ask(CATALOGUE, "Standard_DS14", ["Ultra"])


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["Standard_D8s_v3", "Standard_D4s_v6", "Standard_DS14", "m5.large"]),
    st.lists(
        st.sampled_from(["P10", "P30", "E30:ReadOnly", "P40:ReadWrite"]), min_size=1, max_size=6
    ),
    st.integers(512, 4 << 20),
)
def test_no_limit_is_ever_exceeded(vm_size, disks, size):
    if "." in vm_size:
        disks = ["gp2:size=500", "gp3"]
    question = ask(CATALOGUE, vm_size, disks)
    for found in answer(question, [size]).cases:
        by_name = {share.disk: share for share in found.shares}
        for disk in question.disks:
            for limit in disk.limits:
                most = limit.burst.rate if found.burst and limit.burst else limit.value
                share = by_name[disk.name]
                used = (
                    share.operations_per_second
                    if limit.dimension is Dimension.IOPS
                    else share.bytes_per_second
                )
                if found.cache != HITS or not disk.hit:
                    assert used <= most * (1 + 1e-6)
        assert all(share.operations_per_second > 0 for share in found.shares)
