"""What a disk is said to be set to, whoever sells it: it holds over what tables make of the disk."""

from __future__ import annotations

from collections.abc import Iterable

from ioplateau.limits.budgets import Limit, Origin
from ioplateau.limits.ceilings import Ceiling, limits_of
from ioplateau.limits.clouds.identity import DiskIdentity


def as_said(disk: DiskIdentity, told_by: str, sold: Iterable[Limit] = ()) -> tuple[Limit, ...]:
    """The figures that the configuration, or else `told_by`, states of a disk, and what it was
    sold with in the dimension that they are not of.
    """
    origin = Origin.CONFIGURED if disk.configured else Origin.REPORTED
    figures = Ceiling(disk.iops, disk.bytes_per_second)
    said = limits_of(figures, disk.configured or told_by, origin=origin)
    dimensions = {limit.dimension for limit in said}
    rest = (limit for limit in sold if limit.dimension not in dimensions)
    return tuple(sorted((*said, *rest), key=lambda limit: limit.dimension))


def unprovisionable(what: str, disk: DiskIdentity, name: str) -> tuple[str, ...]:
    """A word where the configuration states figures of what is sold by its size alone."""
    if not disk.configured:
        return ()
    return (f"{what}: {name} cannot be provisioned, its size decides: believed",)
