"""What the operator says of limits, and which of several claims to a limit holds.

Precedence, strongest first: configured, reported, catalogue, learned. A claim that loses is
kept with the reason, so that nobody has to wonder where a number went.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from ioplateau.limits import units
from ioplateau.limits.budgets import Burst, Dimension, Direction, Limit, Origin


class ConfiguredLimit(NamedTuple):
    """One [[limit]] of the configuration: one selector, and what it is allowed per second.

    Selectors are fnmatch patterns; `vm` is "uncached", "cached", "ultra" or "network". None: not said.
    `source` is for people: "config.toml limit[2]".
    """

    disk: str | None = None
    lun: int | None = None
    serial: str | None = None
    vm: str | None = None
    mount: str | None = None
    volume: str | None = None
    iops: float | None = None
    bytes_per_second: float | None = None
    burst_iops: float | None = None
    burst_bytes_per_second: float | None = None
    burst_seconds: float | None = None
    direction: Direction = Direction.TOTAL
    source: str = ""


class VmFact(NamedTuple):
    """The machine's size, where metadata cannot be reached or is wrong.

    size: "Standard_D8s_v3" or "m5.large". controller: "SCSI" or "NVMe"; None: as found.
    """

    size: str
    controller: str | None = None
    source: str = ""


class DiskFact(NamedTuple):
    """What a disk was sold as, where metadata does not tell. One selector, as in a limit.

    sku: a storage account type ("Premium_LRS"), a tier ("P30") or an EBS volume type ("gp3").
    tier: a performance tier above the one of its size. iops, bytes_per_second: provisioned
    (Ultra, Premium SSD v2, gp3, io2). None: not said, what was discovered, or a rule before, holds;
    but a sku puts an end to tier, iops and bytes_per_second of a rule before.
    """

    disk: str | None = None
    lun: int | None = None
    serial: str | None = None
    sku: str | None = None
    tier: str | None = None
    size_gib: float | None = None
    caching: str | None = None  # None, ReadOnly, ReadWrite
    iops: float | None = None
    bytes_per_second: float | None = None
    on_demand_burst: bool | None = None
    performance_plus: bool | None = None
    source: str = ""


class VolumeFact(NamedTuple):
    """What an NFS volume was sold as. One selector: `mount` or `volume` ("server:/export"). Of several
    that choose a volume the last one holds, as a whole.

    service: one of clouds.registry.services(); empty: the default one. With quota_gib the
    limit is the quota times the service level's rate; with bytes_per_second it is the assigned
    (manual) throughput. large: a large volume, which has a higher ceiling. is_proxied: it is mounted
    through a proxy of this machine, as efs-utils does; None: not known, and no key of the configuration.
    """

    mount: str | None = None
    volume: str | None = None
    service: str = ""
    service_level: str | None = None
    quota_gib: float | None = None
    iops: float | None = None
    bytes_per_second: float | None = None
    large: bool = False
    source: str = ""
    is_proxied: bool | None = None


class Target(NamedTuple):
    """What a selector may choose: a disk by its names, LUN or serial, a volume by its mounts."""

    disks: tuple[str, ...] = ()  # kernel and mapper name, and those of its paths
    lun: int | None = None
    serial: str = ""
    mounts: tuple[str, ...] = ()
    volume: str = ""  # "server:/export"


RANK = {origin: rank for rank, origin in enumerate(Origin)}
# So near, a plateau and a documented limit are the same.
AGREES = 0.06
# No tolerance and no look that came late makes that much of a limit, second after second.
OUTDONE = 2.0
NEAR = 0.75  # of difflib's ratio: two letters of eight may be wrong

Lost = tuple[Limit, str]


def selects(rule: ConfiguredLimit | DiskFact | VolumeFact, target: Target) -> bool:
    """Whether a rule's selector chooses this disk or volume; patterns as in the shell. "/" at the end
    of a mount point or export, which the kernel has as it was typed, makes no other one.
    """
    found = _names(rule, target)
    if found is not None:
        pattern, names = found
        wanted = pattern.rstrip("/")
        return any(name and fnmatchcase(name.rstrip("/"), wanted) for name in names)
    lun = getattr(rule, "lun", None)
    return lun is not None and lun == target.lun


def _names(
    rule: ConfiguredLimit | DiskFact | VolumeFact, target: Target
) -> tuple[str, tuple[str, ...]] | None:
    """A rule's pattern, and the names that it is held against; None: it chooses by none."""
    tests = (
        (getattr(rule, "disk", None), target.disks),
        (getattr(rule, "serial", None), (target.serial,)),
        (getattr(rule, "mount", None), target.mounts),
        (getattr(rule, "volume", None), (target.volume,)),
    )
    return next(((pattern, names) for pattern, names in tests if pattern is not None), None)


def configured(rule: ConfiguredLimit) -> tuple[Limit, ...]:
    """The limits that one rule states; what is wrong with them, `settle` finds."""
    stated = (
        (Dimension.IOPS, rule.iops, rule.burst_iops),
        (Dimension.THROUGHPUT, rule.bytes_per_second, rule.burst_bytes_per_second),
    )
    return tuple(
        Limit(
            dimension,
            rule.direction,
            value,
            Origin.CONFIGURED,
            rule.source,
            burst=_burst(value, burst, rule.burst_seconds),
        )
        for dimension, value, burst in stated
        if value is not None
    )


def _burst(base: float, burst: float | None, seconds: float | None) -> Burst | None:
    if burst is None:
        return None
    return Burst(burst, None if seconds is None else (burst - base) * seconds)


def settle(claims: Iterable[Limit]) -> tuple[tuple[Limit, ...], tuple[Lost, ...]]:
    """The limit in force for each dimension and direction, and why each other claim lost.

    The stronger origin wins; of two with one origin the later, as in a configuration file. A
    configured total wins over what was sold for reads or writes alone.
    """
    rivals: dict[tuple[Dimension, Direction], list[Limit]] = {}
    lost: list[Lost] = []
    for claim in claims:
        sound, complaint = _sound(claim)
        if complaint:
            lost.append((claim, complaint))
        if sound is not None:
            rivals.setdefault((sound.dimension, sound.direction), []).append(sound)
    winners = {
        way: min(reversed(group), key=lambda claim: RANK[claim.origin])
        for way, group in rivals.items()
    }
    chosen = []
    for way, group in rivals.items():
        winner, total = winners[way], winners.get((way[0], Direction.TOTAL))
        if total is not None and _is_overruled(winner, total):
            winner = total
        else:
            chosen.append(winner)
        lost.extend((claim, _why(claim, winner)) for claim in group if claim is not winner)
    return tuple(chosen), tuple(lost)


def _is_overruled(one_way: Limit, total: Limit) -> bool:
    # A learned one stays: it was met below the total.
    return (
        one_way.direction is not Direction.TOTAL
        and one_way.origin in (Origin.REPORTED, Origin.CATALOGUE)
        and total.origin is Origin.CONFIGURED
    )


def _sound(claim: Limit) -> tuple[Limit | None, str]:
    """What of a claim can hold, and what is wrong with the rest."""
    speaker = _SPEAKERS[claim.origin]
    if not (math.isfinite(claim.value) and claim.value > 0):
        return None, f"{speaker} says {_figure(claim.value)}: that is no limit, ignored"
    if claim.burst is None or claim.burst.rate > claim.value:
        return claim, ""
    words = (
        f"{speaker} says burst {_figure(claim.burst.rate)}, which is not above "
        f"{_figure(claim.value)}: no burst"
    )
    return claim._replace(burst=None), words


def _why(loser: Limit, winner: Limit) -> str:
    # As in: catalogue says 12,800, configuration says 10,000: 10,000
    what, instead = _figure(loser.value), _figure(winner.value)
    if loser.direction is not winner.direction:
        what, instead = f"{what} ({loser.direction})", f"{instead} ({winner.direction})"
    return f"{_SPEAKERS[loser.origin]} says {what}, {_SPEAKERS[winner.origin]} says {instead}: {instead}"


def doubt(known: Limit, learned: Limit) -> str:
    """What to say where a level that was met and a limit that we were told disagree; or ""."""
    rates = [known.value] if known.burst is None else [known.value, known.burst.rate]
    # Enforced caps sit up to 6 % beside the documented value, more where that is ambiguous.
    if any(abs(learned.value / rate - 1) <= AGREES + known.tolerance for rate in rates):
        return ""
    return (
        f"held at {units.rate(learned.value, learned.dimension)}, but {_SPEAKERS[known.origin]} says "
        f"{units.rate(known.value, known.dimension)} ({known.source or 'no source'}): if that is wrong, say what it was sold with"
    )


def is_outdone(known: Limit, rate: float) -> bool:
    """Whether a rate, kept up for seconds, tells that a limit was told wrong: so far it lies above it, and above
    its burst.
    """
    most = known.value if known.burst is None else max(known.value, known.burst.rate)
    return rate > OUTDONE * most


def outdone(known: Limit, rate: float) -> str:
    """What to say where more is done than a limit that we were told allows."""
    return (
        f"does {units.rate(rate, known.dimension)}, but {_SPEAKERS[known.origin]} says "
        f"{units.rate(known.value, known.dimension)} ({known.source or 'no source'}): is its unit right, or does it burst?"
    )


def _figure(value: float) -> str:
    return f"{value:,.10g}"


_SPEAKERS = {
    Origin.CONFIGURED: "configuration",
    Origin.REPORTED: "the provider",
    Origin.CATALOGUE: "catalogue",
    Origin.LEARNED: "observation",
}


def selector(rule: ConfiguredLimit | DiskFact | VolumeFact) -> str:
    """What a rule chooses by, for people: "'sd*'", "LUN 3"."""
    for name in ("disk", "serial", "mount", "volume"):
        pattern = getattr(rule, name, None)
        if pattern is not None:
            return f"{pattern!r}"
    return f"LUN {getattr(rule, 'lun', None)}"


def is_exact(rule: ConfiguredLimit | DiskFact | VolumeFact) -> bool:
    """Whether it was meant for one disk: by LUN or by a serial number that is no pattern."""
    serial = getattr(rule, "serial", None)
    if serial is not None:
        return not any(letter in serial for letter in "*?[")
    return getattr(rule, "lun", None) is not None


def unmatched(
    rule: ConfiguredLimit | DiskFact | VolumeFact, what: str, targets: Iterable[Target]
) -> str:
    """What to say of a rule that chooses none of these, with what is written nearly so."""
    near = _near(rule, targets)
    hint = f" (near it is {near!r})" if near else ""
    return (
        f"{rule.source}: no {what} matches {selector(rule)} now{hint}; it applies when one appears"
    )


def _near(rule: ConfiguredLimit | DiskFact | VolumeFact, targets: Iterable[Target]) -> str:
    from difflib import get_close_matches  # only who has made a mistake needs it

    compared = [found for target in targets if (found := _names(rule, target)) is not None]
    by_lower = {name.lower(): name for _, names in compared for name in names}
    wanted = compared[0][0].lower() if compared else ""
    near = get_close_matches(wanted, by_lower, n=1, cutoff=NEAR)
    return by_lower[near[0]] if near else ""


def counted(request_bytes: int, unit: int) -> int:
    """As how many operations the cloud counts one request of this size."""
    return max(math.ceil(request_bytes / unit), 1)


def least_counted(operations: float, bytes_per_second: float, unit: int) -> float:
    """The least that operations of unknown sizes can count for: each is one, each unit is one.

    Exact where all sizes are at most a unit, or all are whole units, as the kernel splits large requests; of a
    mix of both it is too low by up to bytes / unit.
    Rounding the mean up instead would double a mix of 4 KiB and 512 KiB.
    """
    return max(operations, bytes_per_second / unit)
