"""Google Cloud's file service over NFS: Filestore, by tier and capacity.

https://docs.cloud.google.com/filestore/docs/performance. Figures come from the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterable

from ioplateau.limits.budgets import Dimension, Kind
from ioplateau.limits.claims import VolumeFact
from ioplateau.limits.tables import Catalogue
from ioplateau.limits.units import GIB_PER_TIB
from ioplateau.limits.volumes.ceiling import (
    Figures,
    SoldVolume,
    VolumeCeiling,
    VolumeError,
    VolumeSpec,
)
from ioplateau.limits.volumes.larger import larger

FILESTORE = "filestore"
TIERS = ("basic-hdd", "basic-ssd", "zonal", "regional", "enterprise")
# What a larger instance of the tier is in the table.
LARGER = {"basic-hdd": "basic-hdd above 10 TiB", "regional": "regional from 10 TiB"}


def filestore(spec: VolumeSpec, catalogue: Catalogue) -> SoldVolume:
    """A Filestore instance; with `iops=` one of custom performance."""
    tier = spec.level.lower().replace("_", "-")
    if tier not in TIERS:
        raise VolumeError(
            f"volume {spec.words!r}: tier {spec.level!r}, want {', '.join(TIERS[:-1])} "
            f"or {TIERS[-1]}"
        )
    if spec.size_gib is None:
        raise VolumeError(f"volume {spec.words!r}: say its capacity, as in filestore:{tier}:2TiB")
    tib = spec.size_gib / GIB_PER_TIB
    figures = Figures(catalogue, FILESTORE, _row(tier, tib))
    suffix, times = ("", 1.0) if tier.startswith("basic") else ("_per_tib", tib)
    return SoldVolume(
        title=f"Filestore {tier}, {round(tib, 2):g} TiB",
        ceilings=(
            *_operations(spec, figures, suffix, times),
            *figures.ceiling("instance", f"instance/read_mibps{suffix}", times=times, write=0.0),
            *figures.ceiling("instance", f"instance/write_mibps{suffix}", times=times, read=0.0),
        ),
        notices=(
            *_outside(tier, tib, figures),
            "Filestore: the figures are Google's estimates, not guaranteed",
            "Filestore: what one connection carries is documented nowhere",
        ),
    )


def _row(tier: str, tib: float) -> str:
    is_larger = tib > 10 if tier == "basic-hdd" else tib >= 10
    return LARGER.get(tier, tier) if is_larger else tier


def larger_volume(fact: VolumeFact, catalogue: Catalogue) -> Iterable[tuple[str, VolumeFact]]:
    """More capacity, within the range of an instance of this tier and capacity."""
    tier = (fact.service_level or "").lower().replace("_", "-")
    figures = Figures(catalogue, FILESTORE, _row(tier, (fact.quota_gib or 0.0) / GIB_PER_TIB))
    tib = figures.value("instance/size_max_tib")
    return larger(fact, None if tib is None else tib * GIB_PER_TIB)


def _operations(
    spec: VolumeSpec, figures: Figures, suffix: str, times: float
) -> tuple[VolumeCeiling, ...]:
    if spec.iops is not None:
        write = figures.value("instance/write_operations") or 1.0
        custom = VolumeCeiling("custom performance", Kind.VOLUME, Dimension.IOPS, spec.iops)
        return (custom._replace(write=write, source="purchased"),)
    # "combined 100 % of read and write IOPS that have different weights"
    return figures.shared("instance", "instance", f"iops{suffix}", times=times)


def _outside(tier: str, tib: float, figures: Figures) -> tuple[str, ...]:
    low, high = figures.value("instance/size_min_tib"), figures.value("instance/size_max_tib")
    if (low is None or tib >= low) and (high is None or tib <= high):
        return ()
    return (
        f"Filestore {tier} is documented from {low:g} to {high:g} TiB, not for {round(tib, 2):g}",
    )


SERVICES = {"filestore": filestore}
