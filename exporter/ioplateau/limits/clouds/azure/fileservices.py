"""Azure's file services, and its block storage over the network: Azure NetApp Files, Azure Files,
Azure Managed Lustre and Elastic SAN.

Formulas: azure-netapp-files-service-levels.md, understanding-billing.md and
elastic-san-scale-targets.md of azure-docs. Figures come from the catalogue.

https://learn.microsoft.com/azure/azure-netapp-files/azure-netapp-files-service-levels
https://learn.microsoft.com/azure/storage/files/understanding-billing
https://learn.microsoft.com/azure/storage/elastic-san/elastic-san-scale-targets
"""

from __future__ import annotations

import math

from ioplateau.limits.budgets import Dimension, Kind
from ioplateau.limits.clouds.azure.volumes import (
    files_v1,
    files_v2,
    is_large,
    too_small,
    unassignable,
)
from ioplateau.limits.tables import Catalogue
from ioplateau.limits.units import GIB_PER_TIB, MIB, megabytes
from ioplateau.limits.volumes.ceiling import (
    Figures,
    SoldVolume,
    VolumeCeiling,
    VolumeError,
    VolumeSpec,
)

NETAPP, FILES = "azure_netapp_files", "azure_files"
LUSTRE, ELASTIC_SAN = "azure_managed_lustre", "azure_elastic_san"


def netapp(spec: VolumeSpec, catalogue: Catalogue) -> SoldVolume:
    """Azure NetApp Files: quota times the level's rate, or the throughput assigned by hand."""
    level = spec.level.capitalize()
    figures = Figures(catalogue, NETAPP, level)
    large = is_large(spec.size_gib, said=spec.is_large)
    part = "large volume" if large else "volume"
    most = figures.value("volume/volume_throughput_max_mibps")
    if large:
        # The three levels state one and the same.
        most = Figures(catalogue, NETAPP, "Ultra").value("large volume/throughput_max_mibps")
    ceiling, notices = _quality(
        spec, level, figures, math.inf if most is None else most * MIB, large=large
    )
    connection = "large connection" if large else "connection"
    many = figures.value("connection/most")
    return SoldVolume(
        title=f"Azure NetApp Files {level}{_size(spec)}{', large' if large else ''}",
        ceilings=(
            ceiling,
            *figures.shared("one volume, measured", part, "mibps", prefix="measured_"),
            *figures.shared("one volume, measured", part, "iops", prefix="measured_"),
            *_client(spec, figures),
        ),
        connection=(
            *_connection(figures, connection, "mibps"),
            *_connection(figures, connection, "iops"),
        ),
        most_connections=None if many is None else int(many),
        notices=(*notices, *too_small(spec.words, spec.size_gib, catalogue, large=large)),
    )


def _quality(
    spec: VolumeSpec, level: str, figures: Figures, most: float, *, large: bool
) -> tuple[VolumeCeiling, tuple[str, ...]]:
    """The volume's QoS limit of reads and writes together."""
    if spec.bytes_per_second is not None:
        data, source = spec.bytes_per_second, "assigned (manual QoS)"
        excess = unassignable(spec.words, data, most, large=large)
        return _own("volume", data, source), (*excess, *_flexible(spec, level, figures))
    if level == "Flexible":
        raise VolumeError(
            f"volume {spec.words!r}: a Flexible volume has the throughput it was assigned: "
            "say it, as in netapp:Flexible:mibps=1000"
        )
    rate = figures.value("volume/throughput_mibps_per_tib")
    if rate is None:
        raise VolumeError(
            f"volume {spec.words!r}: service level {spec.level!r}, "
            "want Standard, Premium, Ultra or Flexible"
        )
    if spec.size_gib is None:
        raise VolumeError(f"volume {spec.words!r}: say its quota, as in netapp:{level}:4TiB")
    ceilings = figures.ceiling(
        "volume",
        "volume/throughput_mibps_per_tib",
        times=spec.size_gib / GIB_PER_TIB,
        most=most,
    )
    return ceilings[0], ()


def _flexible(spec: VolumeSpec, level: str, figures: Figures) -> tuple[str, ...]:
    """A Flexible pool of the volume's own size gives so much at most."""
    rate = figures.value("pool/pool_throughput_max_mibps_per_tib")
    least = figures.value("pool/pool_throughput_min_mibps")
    if level != "Flexible" or rate is None or least is None or spec.size_gib is None:
        return ()
    most = max(least, rate * spec.size_gib / GIB_PER_TIB)
    if spec.bytes_per_second is None or spec.bytes_per_second <= most * MIB:
        return ()
    tib = spec.size_gib / GIB_PER_TIB
    return (f"a Flexible pool of {tib:g} TiB gives {most:,.0f} MiB/s at most: want a larger pool",)


def _connection(figures: Figures, part: str, unit: str) -> tuple[VolumeCeiling, ...]:
    title = "connections, measured"
    kind = Kind.NFS_CONNECTION
    return figures.shared(title, part, unit, prefix="measured_", kind=kind)


def _client(spec: VolumeSpec, figures: Figures) -> tuple[VolumeCeiling, ...]:
    """What was measured with this very VM size."""
    title, part, kind = "this VM size, measured", f"client/{spec.vm_size}", Kind.VM_NETWORK
    egress = figures.ceiling(
        "VM network, measured", f"{part}/measured_egress_mibps", kind=kind, read=0.0
    )
    return (
        *egress,
        *figures.shared(title, part, "mibps", prefix="measured_", kind=kind),
        *figures.shared(title, part, "iops", prefix="measured_", kind=kind),
    )


def files(spec: VolumeSpec, catalogue: Catalogue) -> SoldVolume:
    """An Azure Files SSD share over NFS."""
    if spec.size_gib is None:
        raise VolumeError(f"volume {spec.words!r}: say its size, as in files:v2:1TiB")
    provisioned = spec.iops is not None or spec.bytes_per_second is not None
    version = "v2" if provisioned or "v2" in spec.level.lower() else "v1"
    if spec.level and spec.level.lower() not in ("v1", "v2", "ssd v1", "ssd v2"):
        raise VolumeError(f"volume {spec.words!r}: {spec.level!r}, want v1 or v2")
    if version == "v2":
        ceiling = files_v2(spec.size_gib, spec.iops, spec.bytes_per_second)
    else:
        ceiling = files_v1(spec.size_gib)
    figures = Figures(catalogue, FILES, version)
    columns = figures.row(
        "share/provisioned_iops_recommended" if version == "v2" else "share/baseline_iops"
    )
    made = (
        VolumeCeiling(
            "share", Kind.VOLUME, Dimension.IOPS, ceiling.iops or 0.0, burst=ceiling.burst_iops
        ),
        VolumeCeiling(
            "share",
            Kind.VOLUME,
            Dimension.THROUGHPUT,
            ceiling.bytes_per_second or 0.0,
            unit_bytes=float(MIB),
        ),
    )
    many = figures.value("connection/most")
    return SoldVolume(
        title=f"Azure Files SSD {version}{_size(spec)}",
        ceilings=tuple(each.told_by(columns) for each in made),
        connection=figures.ceiling(
            "connections, measured", "connection/measured_mibps", kind=Kind.NFS_CONNECTION
        ),
        most_connections=None if many is None else int(many),
        notices=("the burst of v2 is inferred from names of fields, not documented",)
        if version == "v2"
        else (),
    )


def lustre(spec: VolumeSpec, catalogue: Catalogue) -> SoldVolume:
    """Azure Managed Lustre: so many MB/s for each TiB. Operations are documented nowhere."""
    figures = Figures(catalogue, LUSTRE, spec.level)
    if spec.size_gib is None or not figures.has("file system"):
        raise VolumeError(
            f"volume {spec.words!r}: want the throughput per TiB (40, 125, 250 or 500) and the "
            "size, as in amlfs:125:16TiB"
        )
    tib = spec.size_gib / GIB_PER_TIB
    step = figures.value("file system/size_min_tib")
    notices = ["operations of Azure Managed Lustre are documented nowhere"]
    if step and tib % step:
        notices.append(f"it is sold in steps of {step:g} TiB: {tib:g} TiB is rounded up")
        tib = math.ceil(tib / step) * step
    return SoldVolume(
        title=f"Azure Managed Lustre {spec.level}, {tib:g} TiB",
        ceilings=figures.ceiling("file system", "file system/throughput_mbps_per_tib", times=tib),
        is_nfs=False,
        notices=tuple(notices),
    )


def elastic_san(spec: VolumeSpec, catalogue: Catalogue) -> SoldVolume:
    """A volume of an Elastic SAN, over iSCSI: the SAN by its base capacity, the volume by its own."""
    if spec.size_gib is None:
        raise VolumeError(
            f"volume {spec.words!r}: say the SAN's base capacity, "
            "as in elasticsan:6TiB:volume=500GiB"
        )
    figures = Figures(catalogue, ELASTIC_SAN)
    tib, gib = spec.size_gib / GIB_PER_TIB, spec.share_gib
    ceilings = [
        *figures.ceiling(
            "SAN", "san/iops_per_base_tib", times=tib, most=figures.value("san/iops_max")
        ),
        *figures.ceiling(
            "SAN", "san/mbps_per_base_tib", times=tib, most=megabytes(figures.value("san/mbps_max"))
        ),
    ]
    if gib is not None:
        ceilings += [
            *figures.ceiling(
                "volume", "volume/iops_per_gib", times=gib, most=figures.value("volume/iops_max")
            ),
            *figures.ceiling(
                "volume",
                "volume/mbps_per_gib",
                times=gib,
                most=megabytes(figures.value("volume/mbps_max")),
            ),
        ]
    return SoldVolume(
        title=f"Azure Elastic SAN{_size(spec)} base"
        + ("" if gib is None else f", volume {gib:g} GiB"),
        ceilings=tuple(ceilings),
        is_nfs=False,
        notices=("what one iSCSI session carries is documented nowhere",),
    )


def _own(title: str, bytes_per_second: float, source: str) -> VolumeCeiling:
    return VolumeCeiling(
        title,
        Kind.VOLUME,
        Dimension.THROUGHPUT,
        bytes_per_second,
        unit_bytes=float(MIB),
        source=source,
    )


def _size(spec: VolumeSpec) -> str:
    gib = spec.size_gib
    if gib is None:
        return ""
    return f", {gib / GIB_PER_TIB:g} TiB" if gib >= GIB_PER_TIB else f", {gib:g} GiB"


SERVICES = {
    "netapp": netapp,
    "files": files,
    "amlfs": lustre,
    "elasticsan": elastic_san,
}
