"""What NFS volumes of Azure are sold with: Azure NetApp Files, Azure Files.

Formulas: azure-netapp-files-service-levels.md and storage-files-scale-targets.md of azure-docs.

https://learn.microsoft.com/azure/azure-netapp-files/azure-netapp-files-service-levels
https://learn.microsoft.com/azure/storage/files/storage-files-scale-targets
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from ioplateau.limits.budgets import Limit, Origin
from ioplateau.limits.ceilings import Ceiling, limits_of, with_credit
from ioplateau.limits.claims import VolumeFact
from ioplateau.limits.tables import Catalogue
from ioplateau.limits.units import GIB_PER_TIB, MIB
from ioplateau.limits.volumes.ceiling import Figures
from ioplateau.limits.volumes.larger import larger

# azure-netapp-files-resource-limits.md: more than this no regular and no large volume does.
# https://learn.microsoft.com/azure/azure-netapp-files/azure-netapp-files-resource-limits
REGULAR_VOLUME_MIBPS, LARGE_VOLUME_MIBPS = 4500, 12_800
# The same: a regular volume's most.
REGULAR_VOLUME_GIB = 100 * GIB_PER_TIB
FILES_BURST_SECONDS = 3600
# The most a share may be sold, and in throughput one with provisioned performance:
# data/limits/file_services.csv.
FILES_IOPS, FILES_V2_MIBPS = 102_400, 10_340
# The largest share billed by its size: it has the 10,340 MiB/s that no share has more of.
FILES_V1_GIB = 100 * GIB_PER_TIB


def volume_limits(
    volume: VolumeFact, catalogue: Catalogue
) -> tuple[tuple[Limit, ...], tuple[str, ...]]:
    """What an NFS volume of this service, level and quota may do, and what is wrong with that."""
    return _files(volume) if volume.service == "azure_files" else _netapp(volume, catalogue)


def _netapp(volume: VolumeFact, catalogue: Catalogue) -> tuple[tuple[Limit, ...], tuple[str, ...]]:
    large = is_large(volume.quota_gib, said=volume.large)
    most = (LARGE_VOLUME_MIBPS if large else REGULAR_VOLUME_MIBPS) * MIB
    small = too_small(volume.source, volume.quota_gib, catalogue, large=large)
    stated = _volume(Ceiling(volume.iops), volume.source, Origin.CONFIGURED)
    if volume.bytes_per_second is not None:
        assigned = Ceiling(None, volume.bytes_per_second)
        source = f"{volume.source}, manual QoS".removeprefix(", ")
        excess = unassignable(volume.source, volume.bytes_per_second, most, large=large)
        wrong = (*excess, *small)
        return (*stated, *_volume(assigned, source, Origin.CONFIGURED)), wrong
    if stated and volume.service_level is None and volume.quota_gib is None:
        return stated, ()
    level = (volume.service_level or "").capitalize()
    figures = Figures(catalogue, "azure_netapp_files", level)
    rate = figures.value("volume/throughput_mibps_per_tib")
    if level == "Flexible":
        words = "a Flexible volume has the throughput that it was assigned: say bytes_per_second"
        return stated, (f"{volume.source}: {words}",)
    if rate is None:
        words = (
            f"{volume.source}: service level {volume.service_level!r} has no rate, "
            "want Standard, Premium or Ultra, or bytes_per_second"
        )
        return stated, (words,)
    if volume.quota_gib is None or volume.quota_gib <= 0:
        return stated, (f"{volume.source}: {level} without a quota: limit unknown",)
    mibps = volume.quota_gib / GIB_PER_TIB * rate
    source = f"{level} x {volume.quota_gib:g} GiB ({rate:g} MiB/s per TiB), file_services"
    return (*stated, *_volume(Ceiling(None, min(mibps * MIB, most)), source)), small


def larger_volume(volume: VolumeFact, catalogue: Catalogue) -> Iterable[tuple[str, VolumeFact]]:
    """More quota, up to what a volume of this kind can have; where throughput does not follow from it,
    twice as much of that.
    """
    if volume.service == "azure_files":
        return _more_provisioned(volume) if _is_v2(volume) else larger(volume, FILES_V1_GIB)
    large = is_large(volume.quota_gib, said=volume.large)
    if volume.bytes_per_second is not None:
        most = LARGE_VOLUME_MIBPS if large else REGULAR_VOLUME_MIBPS
        return _more_assigned(volume, volume.bytes_per_second, most * MIB)
    figures = Figures(catalogue, "azure_netapp_files")
    tib = figures.value(f"{'large volume' if large else 'volume'}/volume_size_max_tib")
    gib = None if tib is None else tib * GIB_PER_TIB
    growth = figures.value("large volume/volume_growth_max_ratio") if large else None
    if growth is not None and volume.quota_gib is not None:
        gib = min(gib or math.inf, growth * volume.quota_gib)
    return larger(volume, gib)


def _more_assigned(volume: VolumeFact, now: float, most: float) -> Iterable[tuple[str, VolumeFact]]:
    """Of a NetApp volume with manual QoS. What others of its pool were assigned nobody tells."""
    if now < most:
        data = min(2 * now, most)
        words = f"{data / MIB:,.0f} MiB/s assigned in place of {now / MIB:,.0f}"
        yield f"{words}, as far as its pool has them", volume._replace(bytes_per_second=data)


def _more_provisioned(volume: VolumeFact) -> Iterable[tuple[str, VolumeFact]]:
    """Of a share with provisioned performance: each figure by itself, without more quota."""
    now = files_v2(volume.quota_gib, volume.iops, volume.bytes_per_second)
    if now.iops is not None and now.iops < FILES_IOPS:
        iops = min(2 * now.iops, FILES_IOPS)
        words = f"{iops:,.0f} IOPS provisioned in place of {now.iops:,.0f}"
        yield words, volume._replace(iops=iops, bytes_per_second=now.bytes_per_second)
    if now.bytes_per_second is not None and now.bytes_per_second < FILES_V2_MIBPS * MIB:
        data = min(2 * now.bytes_per_second, FILES_V2_MIBPS * MIB)
        words = f"{data / MIB:,.0f} MiB/s provisioned in place of {now.bytes_per_second / MIB:,.0f}"
        yield words, volume._replace(iops=now.iops, bytes_per_second=data)


def is_large(quota_gib: float | None, *, said: bool) -> bool:
    """Whether a NetApp volume is a large one: called so, or of a quota that no regular one has."""
    return said or (quota_gib is not None and quota_gib > REGULAR_VOLUME_GIB)


def unassignable(
    what: str, bytes_per_second: float, most: float, *, large: bool
) -> tuple[str, ...]:
    """A word where a NetApp volume cannot be assigned that much; most: bytes/s."""
    if bytes_per_second <= most:
        return ()
    kind = "large" if large else "regular"
    words = f"{bytes_per_second / MIB:,.0f} MiB/s is more than a {kind} volume can be assigned"
    return (f"{what}: {words} ({most / MIB:,.0f}): believed",)


def too_small(
    what: str, quota_gib: float | None, catalogue: Catalogue, *, large: bool
) -> tuple[str, ...]:
    """A word where a NetApp volume is called large, and no large one has so little quota."""
    figures = Figures(catalogue, "azure_netapp_files")
    least = figures.value("large volume/volume_size_min_tib") if large else None
    if least is None or quota_gib is None or quota_gib >= least * GIB_PER_TIB:
        return ()
    words = f"{quota_gib / GIB_PER_TIB:g} TiB is less than a large volume can have"
    return (f"{what}: {words} ({least:g} TiB): believed",)


def _files(volume: VolumeFact) -> tuple[tuple[Limit, ...], tuple[str, ...]]:
    is_provisioned = volume.iops is not None or volume.bytes_per_second is not None
    gib = volume.quota_gib if volume.quota_gib is not None and volume.quota_gib > 0 else None
    if gib is None and not is_provisioned:
        return (), (f"{volume.source}: Azure Files without a quota: limit unknown",)
    if gib is None or _is_v2(volume):
        ceiling, source = files_v2(gib, volume.iops, volume.bytes_per_second), "v2"
    else:
        ceiling, source = files_v1(gib), "v1"
    size = "" if gib is None else f", {gib:g} GiB"
    origin = Origin.CONFIGURED if is_provisioned else Origin.CATALOGUE
    return _volume(ceiling, f"Azure Files SSD {source}{size}, file_services", origin), ()


def _is_v2(volume: VolumeFact) -> bool:
    """Whether a share has provisioned performance: called so, or told with it."""
    is_provisioned = volume.iops is not None or volume.bytes_per_second is not None
    return is_provisioned or "v2" in (volume.service_level or "").lower()


def files_v1(gib: float) -> Ceiling:
    """A premium share billed by its size."""
    iops = min(3000 + gib, FILES_IOPS)
    burst = min(max(10_000, 3 * gib), FILES_IOPS)
    data = (100 + math.ceil(4 * gib / 100) + math.ceil(6 * gib / 100)) * MIB
    return with_credit(iops, data, burst, None, seconds=FILES_BURST_SECONDS)


def files_v2(
    gib: float | None, iops: float | None = None, bytes_per_second: float | None = None
) -> Ceiling:
    """A share with provisioned performance; what is not given is as the service recommends for its size, and
    unknown without one.

    The burst is inferred from the names of fields, not documented.
    """
    if gib is not None:
        iops = 3000 + gib if iops is None else iops
        bytes_per_second = (125 + 0.1 * gib) * MIB if bytes_per_second is None else bytes_per_second
    burst = None
    if iops is not None:
        iops = min(iops, FILES_IOPS)
        burst = min(max(10_000, 3 * iops), FILES_IOPS)
    if bytes_per_second is not None:
        bytes_per_second = min(bytes_per_second, FILES_V2_MIBPS * MIB)
    return with_credit(iops, bytes_per_second, burst, None, seconds=FILES_BURST_SECONDS)


def _volume(ceiling: Ceiling, source: str, origin: Origin = Origin.CATALOGUE) -> tuple[Limit, ...]:
    return limits_of(ceiling, source, origin=origin)
