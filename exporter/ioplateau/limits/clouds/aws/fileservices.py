"""Amazon's file services over NFS: EFS, FSx for OpenZFS, FSx for NetApp ONTAP.

https://docs.aws.amazon.com/efs/latest/ug/performance.html; performance.md of the guides of FSx.
Figures come from the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterable

from ioplateau.limits.budgets import Dimension, Kind
from ioplateau.limits.claims import VolumeFact
from ioplateau.limits.clouds.aws.tables import NETWORK_BASELINE, instance
from ioplateau.limits.tables import Catalogue
from ioplateau.limits.units import GIB_PER_TIB, MIB
from ioplateau.limits.volumes.ceiling import (
    TABLE,
    Figures,
    SoldVolume,
    VolumeCeiling,
    VolumeError,
    VolumeSpec,
)
from ioplateau.limits.volumes.larger import larger

EFS, OPENZFS, ONTAP = "efs", "fsx_openzfs", "fsx_ontap"
FLOW = "connections"  # one flow of an EC2 instance is limited, whatever is at its end


def efs(spec: VolumeSpec, catalogue: Catalogue) -> SoldVolume:
    """Elastic File System, General Purpose, by its throughput mode."""
    level = {"onezone": "one zone", "one-zone": "one zone"}.get(
        spec.level.lower(), spec.level.lower()
    )
    figures = Figures(catalogue, EFS, level)
    if not figures.has("file system"):
        raise VolumeError(
            f"volume {spec.words!r}: throughput mode {spec.level!r}, "
            "want elastic, provisioned, bursting or onezone"
        )
    part = "file system"
    least = figures.value("client/plain_mibps")
    is_plain = least is not None and spec.is_proxied is False
    client = "client/plain_mibps" if is_plain else "client/mibps"
    ceilings = [
        *figures.ceiling("file system", f"{part}/read_mibps", write=0.0),
        *figures.ceiling("file system", f"{part}/write_mibps", read=0.0),
        *figures.ceiling("each client", client, kind=Kind.NFS_CONNECTION),
        *_metered(spec, level, figures),
    ]
    if level in ("bursting", "one zone"):
        # General Purpose has one budget of operations, of which a write takes five.
        dear = figures.value("metering/write_operations") or 1.0
        ceilings += figures.ceiling("file system", f"{part}/read_iops", write=dear)
    else:
        ceilings += figures.ceiling("file system", f"{part}/read_iops", write=0.0)
        ceilings += figures.ceiling("file system", f"{part}/write_iops", read=0.0)
    notices = ["throughput of EFS is higher in some regions: the low end is taken"]
    if least is not None and not is_plain:
        notices.append(
            f"EFS: a client of elastic throughput has {figures.value('client/mibps'):,g} MiB/s with "
            f"efs-utils 2.0 or newer or the CSI driver, {least:g} without"
        )
    return SoldVolume(
        title=f"EFS, {level}",
        ceilings=tuple(ceilings),
        most_connections=1,  # nconnect is not supported
        notices=(*notices, *_of_network(spec, catalogue)),
    )


def _metered(spec: VolumeSpec, level: str, figures: Figures) -> tuple[VolumeCeiling, ...]:
    """Throughput as EFS meters it: a read counts for a third, a small request for 4 KiB."""
    least = int(figures.value("metering/least_bytes") or 0)
    share = figures.value("metering/read_share") or 1.0
    if level == "provisioned":
        if spec.bytes_per_second is None:
            raise VolumeError(
                f"volume {spec.words!r}: say what is provisioned, as in efs:provisioned:mibps=200"
            )
        ceiling = VolumeCeiling(
            "metered throughput",
            Kind.VOLUME,
            Dimension.THROUGHPUT,
            spec.bytes_per_second,
            share,
            least_bytes=least,
            unit_bytes=float(MIB),
            source="provisioned",
        )
        return (ceiling,)
    if level != "bursting":
        return ()
    if spec.size_gib is None:
        raise VolumeError(f"volume {spec.words!r}: say how much is stored, as in efs:bursting:1TiB")
    tib = spec.size_gib / GIB_PER_TIB
    base = figures.value("file system/base_mibps_per_tib") or 0.0
    burst = figures.value("file system/burst_mibps_per_tib") or 0.0
    ceiling = VolumeCeiling(
        "metered throughput",
        Kind.VOLUME,
        Dimension.THROUGHPUT,
        max(base * tib, 1.0) * MIB,
        share,
        burst=max(burst * tib, 100.0) * MIB,
        least_bytes=least,
        unit_bytes=float(MIB),
    )
    return (ceiling.told_by(figures.row("metering/read_share")),)


def openzfs(spec: VolumeSpec, catalogue: Catalogue) -> SoldVolume:
    """FSx for OpenZFS by its throughput capacity, which tells Single-AZ 1 from 2: memory, network
    and disks.
    """
    figures = _by_capacity(spec, catalogue, OPENZFS, "fsx-openzfs:512:2TiB")
    kind = _kind(figures)
    notices = [f"FSx for OpenZFS: the figures are those of {kind}"] if kind else []
    if kind == "Single-AZ 2":
        notices.append("a Multi-AZ file system has the same in most large Regions, less in others")
    return SoldVolume(
        title=f"FSx for OpenZFS, {spec.level} MB/s{_ssd_words(spec)}",
        ceilings=(*_server(figures), *_ssd(spec, figures)),
        connection=_flow(catalogue),
        most_connections=16,
        has_memory=True,
        notices=(*notices, *_of_network(spec, catalogue)),
    )


def ontap(spec: VolumeSpec, catalogue: Catalogue) -> SoldVolume:
    """FSx for NetApp ONTAP, one pair of servers, by its throughput capacity, which tells the
    generations apart. A write is sent to the second server too.
    """
    figures = _by_capacity(spec, catalogue, ONTAP, "fsx-ontap:512:2TiB")
    by_default = spec.iops is None and spec.size_gib is not None
    generation = _kind(figures)
    single = figures.value("file system/single_az_write_mbps")
    notices = []
    if generation:
        notices.append(f"FSx for ONTAP: the figures are those of the {generation}, Multi-AZ")
    if generation == "first generation":
        figures = Figures(catalogue, ONTAP, "multi-az", spec.level)
        single = Figures(catalogue, ONTAP, "single-az").value("file system/write_mbps")
        notices.append("in N. Virginia, Ohio, Oregon and Ireland it bursts and writes more")
    if single is not None:
        notices.append(
            f"a Single-AZ file system of FSx for ONTAP writes {single:,.0f} MB/s at most"
        )
    return SoldVolume(
        title=f"FSx for ONTAP, {spec.level} MB/s{_ssd_words(spec)}",
        ceilings=(
            *_server(figures, write=figures.value("replication/write_share") or 1.0),
            *_ssd(spec, figures),
            *(
                figures.ceiling(
                    "SSD",
                    "ssd/mbps_per_tib",
                    times=(spec.size_gib or 0.0) / GIB_PER_TIB,
                    behind_memory=True,
                )
                if by_default
                else ()
            ),
            *figures.ceiling("file system", "file system/write_mbps", read=0.0),
        ),
        connection=_flow(catalogue),
        most_connections=16,
        has_memory=True,
        notices=(*notices, *_of_network(spec, catalogue)),
    )


def _kind(figures: Figures) -> str:
    """Which kind of file system has this throughput capacity; empty: the row does not say."""
    return str(figures.row("network/mbps").get("kind", ""))


def _by_capacity(spec: VolumeSpec, catalogue: Catalogue, service: str, example: str) -> Figures:
    figures = Figures(catalogue, service, spec.level)
    if not figures.has("network"):
        raise VolumeError(
            f"volume {spec.words!r}: throughput capacity {spec.level!r} is in no table, want "
            f"one of {_capacities(catalogue, service)} MB/s, as in {example}"
        )
    return figures


def _capacities(catalogue: Catalogue, service: str) -> str:
    keys = (key for key, _ in catalogue.pairs(TABLE, f"{service}/"))
    levels = {level for level in (key.split("/")[1] for key in keys) if level.isdecimal()}
    return ", ".join(sorted(levels, key=int))


def _server(figures: Figures, write: float = 1.0) -> tuple[VolumeCeiling, ...]:
    """write: how often a write takes the server's network."""
    return (
        *figures.ceiling("server's network", "network/mbps", write=write),
        *figures.ceiling("server's disks", "disk/mbps", behind_memory=True),
        *figures.ceiling("server's disks", "disk/iops", behind_memory=True),
    )


def _ssd(spec: VolumeSpec, figures: Figures) -> tuple[VolumeCeiling, ...]:
    """Provisioned SSD IOPS, or the 3 per GiB that there are by default."""
    if spec.iops is not None:
        provisioned = VolumeCeiling("SSD IOPS", Kind.VOLUME, Dimension.IOPS, spec.iops)
        return (provisioned._replace(behind_memory=True, source="provisioned"),)
    if spec.size_gib is None:
        return ()
    return figures.ceiling(
        "SSD IOPS",
        "ssd/iops_per_gib",
        times=spec.size_gib,
        most=figures.value("ssd/iops_max"),
        behind_memory=True,
    )


def _ssd_words(spec: VolumeSpec) -> str:
    return "" if spec.size_gib is None else f", {spec.size_gib / GIB_PER_TIB:g} TiB"


def _flow(catalogue: Catalogue) -> tuple[VolumeCeiling, ...]:
    """5 Gbit/s each way, for each connection."""
    figures = Figures(catalogue, "ec2")
    return (
        *figures.ceiling(FLOW, "connection/mbit_s", kind=Kind.NFS_CONNECTION, write=0.0),
        *figures.ceiling(FLOW, "connection/mbit_s", kind=Kind.NFS_CONNECTION, read=0.0),
    )


def _of_network(spec: VolumeSpec, catalogue: Catalogue) -> tuple[str, ...]:
    """A note if the network of the instance that asks has a limit: it is a baseline."""
    kind = instance(catalogue, spec.vm_size) if spec.vm_size else None
    if kind is None or kind.network_bytes_per_second is None:
        return ()
    return (f"{kind.name}: its network is told at {NETWORK_BASELINE}",)


def larger_volume(fact: VolumeFact) -> Iterable[tuple[str, VolumeFact]]:
    """More storage; of EFS, which has no quota, another throughput mode."""
    if fact.service != EFS:
        return larger(fact, None)
    level = (fact.service_level or "").lower()
    if level not in ("bursting", "provisioned"):
        return ()
    elastic = fact._replace(service_level="elastic", bytes_per_second=None)
    return ((f"throughput mode elastic in place of {level}", elastic),)


SERVICES = {"efs": efs, "fsx-openzfs": openzfs, "fsx-ontap": ontap}
