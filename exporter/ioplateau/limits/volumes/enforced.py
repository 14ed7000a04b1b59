"""What of a file service's ceilings the provider enforces, as limits of a [[volume]].

What was only measured is no limit. A ceiling of which reads and writes take unequal shares holds
for each alone. Reads that the server's memory may answer are held by no disk. A figure of the
configuration that the service is not sold by holds as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ioplateau.limits.budgets import Burst, Dimension, Direction, Kind, Limit, Origin
from ioplateau.limits.ceilings import Ceiling, limits_of
from ioplateau.limits.claims import VolumeFact
from ioplateau.limits.tables import Catalogue
from ioplateau.limits.volumes.ceiling import SoldVolume, VolumeCeiling, VolumeError, VolumeSpec

# Of a ceiling that the spec states itself.
SAID = ("provisioned", "purchased")
FileService = Callable[[VolumeSpec, Catalogue], SoldVolume]


def volume_limits(
    fact: VolumeFact, file_services: Mapping[str, FileService], catalogue: Catalogue
) -> tuple[tuple[Limit, ...], tuple[str, ...]]:
    """The limits of a volume of a service by its name in the configuration, and what is wrong."""
    word = fact.service.replace("_", "-")
    spec = VolumeSpec(
        word,
        fact.service_level or "",
        fact.quota_gib,
        iops=fact.iops,
        bytes_per_second=fact.bytes_per_second,
        is_large=fact.large,
        words=fact.source,
        is_proxied=fact.is_proxied,
    )
    figures = Ceiling(fact.iops, fact.bytes_per_second)
    stated = limits_of(figures, fact.source, origin=Origin.CONFIGURED)
    try:
        sold = file_services[word](spec, catalogue)
    except VolumeError as error:
        return stated, (str(error),)
    limits = _least(limit for each in sold.ceilings for limit in _limits(each, sold.title))
    used = {each.dimension for each in sold.ceilings if each.source in SAID}
    return (*limits, *(limit for limit in stated if limit.dimension not in used)), ()


def _limits(ceiling: VolumeCeiling, title: str) -> Iterable[Limit]:
    if ceiling.is_measured or ceiling.kind is Kind.VM_NETWORK:
        return
    said = ceiling.source in SAID
    date = f" {ceiling.date}" if ceiling.date else ""
    read = 0.0 if ceiling.behind_memory else ceiling.read
    both = read == ceiling.write
    ways = (
        [(Direction.TOTAL, read)]
        if both
        else [(Direction.READ, read), (Direction.WRITE, ceiling.write)]
    )
    for direction, weight in ways:
        if weight <= 0:
            continue
        burst = None if ceiling.burst is None else Burst(ceiling.burst / weight)
        yield Limit(
            ceiling.dimension,
            direction,
            ceiling.value / weight,
            Origin.CONFIGURED if said else Origin.CATALOGUE,
            f"{title}: {ceiling.title}, {ceiling.source}{date}",
            burst=burst,
            each_client=ceiling.kind is Kind.NFS_CONNECTION,
        )


def _least(limits: Iterable[Limit]) -> Iterable[Limit]:
    """Of several for one dimension and direction the lowest."""
    found: dict[tuple[Dimension, Direction], Limit] = {}
    for limit in limits:
        key = (limit.dimension, limit.direction)
        if key not in found or limit.value < found[key].value:
            found[key] = limit
    return found.values()
