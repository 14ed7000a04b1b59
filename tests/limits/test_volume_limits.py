"""What a [[volume]] of EFS, FSx or Filestore may do, as limits that verdicts are held against."""

import pytest

from ioplateau.limits import topology
from ioplateau.limits.budgets import BudgetKey, Dimension, Direction, Kind, Limit, Origin
from ioplateau.limits.claims import VolumeFact, settle
from ioplateau.limits.clouds import discover
from ioplateau.limits.volumes import enforced
from ioplateau.limits.volumes.ceiling import SoldVolume, VolumeCeiling
from ioplateau.run.cataloguefiles import CatalogueFiles

CATALOGUE = CatalogueFiles()
MIB = 1 << 20
READ, WRITE, TOTAL = Direction.READ, Direction.WRITE, Direction.TOTAL


def sold(**said):
    limits, reasons = discover.volume_limits(VolumeFact(mount="/m", source="c", **said), CATALOGUE)
    assert reasons == ()
    assert len({(limit.dimension, limit.direction) for limit in limits}) == len(limits)
    return {(limit.dimension, limit.direction): limit for limit in limits}


@pytest.mark.parametrize("said", [{"service_level": "Premium"}, {"bytes_per_second": 90 * MIB}])
def test_a_large_netapp_volume_below_the_least_quota_is_told_so(said):
    fact = VolumeFact(mount="/m", source="c", quota_gib=10_240, large=True, **said)

    limits, reasons = discover.volume_limits(fact, CATALOGUE)

    assert len(limits) == 1
    assert reasons == ("c: 10 TiB is less than a large volume can have (50 TiB): believed",)


def test_filestore_limits_reads_and_writes_apart():
    found = sold(service="filestore", service_level="zonal", quota_gib=2048)

    assert found[Dimension.IOPS, READ].value == 18_400
    assert found[Dimension.IOPS, WRITE].value == pytest.approx(5200)
    assert found[Dimension.THROUGHPUT, READ].value == 520 * MIB
    assert found[Dimension.THROUGHPUT, WRITE].value == 176 * MIB
    assert all(limit.origin is Origin.CATALOGUE for limit in found.values())
    assert all("filestore/docs/performance" in limit.source for limit in found.values())


def test_reads_of_fsx_are_held_by_its_network_alone_since_memory_may_answer_them():
    found = sold(service="fsx_openzfs", service_level="512", quota_gib=2048)

    assert found[Dimension.THROUGHPUT, TOTAL].value == 1600e6
    assert found[Dimension.THROUGHPUT, TOTAL].burst.rate == 3200e6
    assert found[Dimension.THROUGHPUT, WRITE].value == 512e6
    assert found[Dimension.IOPS, WRITE].value == 6144  # 3 per GiB, below the server's 20,000
    assert (Dimension.IOPS, READ) not in found


def test_provisioned_operations_are_the_operators_word():
    found = sold(service="fsx_ontap", service_level="2048", quota_gib=2048, iops=50_000)

    assert found[Dimension.IOPS, WRITE].value == 50_000
    assert found[Dimension.IOPS, WRITE].origin is Origin.CONFIGURED
    assert found[Dimension.THROUGHPUT, WRITE].value == 1300e6


@pytest.mark.parametrize(
    "said",
    [
        {"service": "efs", "service_level": "elastic"},
        {"service": "efs", "service_level": "bursting", "quota_gib": 1024},
        {"service": "fsx_openzfs", "service_level": "512", "quota_gib": 2048},
        {"service": "fsx_ontap", "service_level": "2048", "quota_gib": 2048},
        {"service": "filestore", "service_level": "zonal", "quota_gib": 2048},
    ],
)
def test_throughput_that_a_service_is_not_sold_by_holds_as_it_was_stated(said):
    limits, reasons = discover.volume_limits(
        VolumeFact(mount="/m", bytes_per_second=5e7, source="c", **said), CATALOGUE
    )
    in_force = [limit for limit in settle(limits)[0] if limit.dimension is Dimension.THROUGHPUT]

    assert in_force == [Limit(Dimension.THROUGHPUT, TOTAL, 5e7, Origin.CONFIGURED, "c")]
    assert reasons == ()


def test_operations_that_efs_is_not_sold_by_hold_as_they_were_stated():
    found = sold(service="efs", service_level="elastic", iops=5000)

    assert (found[Dimension.IOPS, TOTAL].value, found[Dimension.IOPS, TOTAL].origin) == (
        5000,
        Origin.CONFIGURED,
    )


def test_what_was_stated_holds_where_the_rest_is_wrong():
    fact = VolumeFact(mount="/m", service="filestore", service_level="zonal", bytes_per_second=5e7)
    (limit,), reasons = discover.volume_limits(fact, CATALOGUE)

    assert (limit.value, limit.origin) == (5e7, Origin.CONFIGURED)
    assert "say its capacity" in reasons[0]


def test_provisioned_throughput_of_efs_is_the_operators_word():
    found = sold(service="efs", service_level="provisioned", bytes_per_second=200 * MIB)
    ways = [found[Dimension.THROUGHPUT, way] for way in (READ, WRITE)]

    assert [limit.value for limit in ways] == pytest.approx([600 * MIB, 200 * MIB], rel=1e-3)
    assert {limit.origin for limit in ways} == {Origin.CONFIGURED}
    assert "provisioned" in ways[0].source


@pytest.mark.parametrize(
    ("server", "level", "mibps"),
    [
        ("fs-1.efs.eu-west-1.amazonaws.com", "elastic", 500),
        ("127.0.0.1", "elastic", 1500),  # efs-proxy
        ("", "elastic", 1500),
        ("127.0.0.1", "onezone", 500),
    ],
)
def test_a_client_of_elastic_efs_without_a_proxy_has_a_third(server, level, mibps):
    fact = VolumeFact(mount="/m", service="efs", service_level=level, source="c")
    flow = topology.NfsFlow("/m", f"{server}:/", "/m", server, "4.1")
    rules = topology.Rules(volumes=[fact])
    budget = topology.build({}, [flow], (), rules, CATALOGUE).budgets[BudgetKey(Kind.VOLUME, "/m")]

    assert [limit.value for limit in budget.limits if limit.each_client] == [mibps * MIB]


def test_who_mounts_efs_through_stunnel_says_so_with_a_figure():
    said = VolumeFact(
        mount="/m", service="efs", service_level="elastic", bytes_per_second=500 * MIB, source="c"
    )
    flow = topology.NfsFlow("/m", "127.0.0.1:/", "/m", "127.0.0.1", "4.1")
    rules = topology.Rules(volumes=[said])
    budget = topology.build({}, [flow], (), rules, CATALOGUE).budgets[BudgetKey(Kind.VOLUME, "/m")]
    (limit,) = (each for each in budget.limits if each.dimension is Dimension.THROUGHPUT)

    assert (limit.value, limit.origin) == (500 * MIB, Origin.CONFIGURED)


def test_efs_is_limited_for_each_client_and_by_its_metering():
    elastic = sold(service="efs", service_level="elastic")
    bursting = sold(service="efs", service_level="bursting", quota_gib=1024)

    assert elastic[Dimension.THROUGHPUT, TOTAL].value == 1500 * MIB
    assert elastic[Dimension.THROUGHPUT, TOTAL].each_client
    assert bursting[Dimension.THROUGHPUT, TOTAL].each_client
    assert sum(limit.each_client for limit in bursting.values()) == 1
    assert bursting[Dimension.THROUGHPUT, WRITE].value == 50 * MIB
    assert bursting[Dimension.THROUGHPUT, WRITE].burst.rate == 100 * MIB
    assert bursting[Dimension.THROUGHPUT, READ].value == pytest.approx(150 * MIB, rel=1e-3)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"service": "efs", "service_level": "fast"}, "want elastic"),
        ({"service": "fsx_openzfs", "service_level": "500"}, "in no table"),
        ({"service": "filestore", "service_level": "zonal"}, "say its capacity"),
    ],
)
def test_what_is_wrong_is_a_reason_with_the_rule(said, words):
    limits, reasons = discover.volume_limits(
        VolumeFact(mount="/m", source="c.toml volume[0]", **said), CATALOGUE
    )

    assert limits == ()
    assert words in reasons[0]
    assert "c.toml volume[0]" in reasons[0]


def test_a_burst_is_of_each_direction_what_it_is_of_and_a_network_is_no_volumes():
    ceilings = (
        VolumeCeiling("requests", Kind.VOLUME, Dimension.IOPS, 1000.0, 1.0, 5.0, burst=3000.0),
        VolumeCeiling("network", Kind.VM_NETWORK, Dimension.THROUGHPUT, 1e9),
    )
    orders = {"any": lambda *_: SoldVolume("a volume", ceilings)}
    limits, wrong = enforced.volume_limits(VolumeFact(service="any"), orders, CatalogueFiles())

    assert wrong == ()
    assert [(limit.direction, limit.value, limit.burst.rate) for limit in limits] == [
        (Direction.READ, 1000.0, 3000.0),
        (Direction.WRITE, 200.0, 600.0),
    ]
