"""What a [[volume]] of EFS, FSx or Filestore may do, as limits that verdicts are held against."""

import pytest

from ioplateau.limits.budgets import Dimension, Direction, Origin
from ioplateau.limits.claims import VolumeFact
from ioplateau.limits.clouds import discover
from ioplateau.run.cataloguefiles import CatalogueFiles

CATALOGUE = CatalogueFiles()
MIB = 1 << 20
READ, WRITE, TOTAL = Direction.READ, Direction.WRITE, Direction.TOTAL


def sold(**said):
    limits, reasons = discover.volume_limits(VolumeFact(mount="/m", source="c", **said), CATALOGUE)
    assert reasons == ()
    assert len({(limit.dimension, limit.direction) for limit in limits}) == len(limits)
    return {(limit.dimension, limit.direction): limit for limit in limits}


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


def test_efs_is_limited_for_each_client_and_by_its_metering():
    elastic = sold(service="efs", service_level="elastic")
    bursting = sold(service="efs", service_level="bursting", quota_gib=1024)

    assert elastic[Dimension.THROUGHPUT, TOTAL].value == 1500 * MIB
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
