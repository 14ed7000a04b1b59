"""What Google Cloud's machine types and disks are sold with, as limits.

https://cloud.google.com/compute/docs/disks/performance: a persistent disk may do what the sizes
of all disks of its type on the VM give together, up to what the machine type lets that type do
(optimizing-pd-performance there: reads and writes share operations, of standard disks bytes too);
https://docs.cloud.google.com/compute/docs/disks/hyperdisk-performance: a Hyperdisk may do what
it was provisioned with, reads and writes together, up to the machine type's limit. Throughput
is in MiB/s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ioplateau.limits.budgets import Dimension, Direction, Kind, Limit
from ioplateau.limits.ceilings import NOTHING, Ceiling, limits_of
from ioplateau.limits.clouds.gcp.tables import (
    Cap,
    DiskType,
    cap,
    disk_type,
    is_series,
    machine_name,
)
from ioplateau.limits.clouds.identity import (
    LOCAL,
    OWN,
    REMOTE,
    DiskIdentity,
    Identity,
    Sold,
    SoldDisk,
)
from ioplateau.limits.clouds.provisioned import as_said, unprovisionable
from ioplateau.limits.tables import Catalogue
from ioplateau.limits.units import MIB, mebibytes

# Where Google tells what a machine type lets Hyperdisks do, and no copy of it with its tables was
# found: whoever can read it may put its figures into a row of their own.
PAGE = "https://docs.cloud.google.com/compute/docs/disks/hyperdisk-perf-limits"
# Of a disk that the machine type does not support as one: it does what an SSD does there.
LIKE = {"pd-extreme": "pd-ssd"}
# Series that take none: https://docs.cloud.google.com/compute/docs/disks/hyperdisks, machine series support.
WITHOUT_HYPERDISKS = frozenset(("c2", "c2d", "e2", "n1", "t2a"))
PROVISIONED = "provisioned"
# gcp_disks.csv has a quarter of what four do together.
DOCUMENTED_LOCAL = 4
# What is said of a disk, by the directions in which it is limited.
Parts = Mapping[Direction, Ceiling]
NO_PARTS: Parts = {}


def sold(identity: Identity, catalogue: Catalogue) -> Sold:
    """The limits of the VM and of every disk. Local SSDs do not draw on the VM's."""
    reasons = [*identity.reasons]
    is_known = not identity.vm_size or is_series(catalogue, machine_name(identity.vm_size).series)
    if not is_known:
        reasons.append(in_no_table(identity.vm_size))
    by_type: dict[str, list[DiskIdentity]] = {}
    for disk in identity.disks.values():
        by_type.setdefault(disk.sku, []).append(disk)
    types = {sku: disk_type(catalogue, sku) for sku in by_type}
    # Of one type alone the lane is what the machine type lets it do.
    is_mixed = len({disk.sku for disk in identity.disks.values() if disk.role != LOCAL}) > 1
    disks = {}
    for name, disk in identity.disks.items():
        kind = types[disk.sku]
        found, more = _sold_disk(disk, kind, by_type[disk.sku])
        allowed = cap_of(catalogue, identity.vm_size, disk.sku) if is_mixed else None
        disks[name] = found if allowed is None else _within(found, kind, allowed, identity.vm_size)
        reasons.extend((*found.notes, *more))
    local = sum(1 for disk in identity.disks.values() if disk.role == LOCAL)
    if local > DOCUMENTED_LOCAL:
        reasons.append(
            f"{local} local SSDs: what more than {DOCUMENTED_LOCAL} do together is documented nowhere "
            "that was found, it may be less than their sum"
        )
    lanes, more = _lanes(identity.vm_size, by_type, types, catalogue, is_mixed=is_mixed)
    reasons.extend(more)
    is_said = bool(lanes) and not is_mixed
    by_sku = {} if is_said else _by_sku(identity.vm_size, by_type, types, catalogue)
    return Sold(identity, lanes, disks, tuple(dict.fromkeys(reasons)), is_known, by_sku)


def in_no_table(vm_size: str) -> str:
    """What is said of a machine type that nobody documents."""
    return f"machine type {vm_size!r} is in no table: the VM's limits are unknown"


def _sold_disk(
    disk: DiskIdentity, kind: DiskType | None, alike: Iterable[DiskIdentity]
) -> tuple[SoldDisk, tuple[str, ...]]:
    """A disk with its limits, and what could not be told of it."""
    draws = OWN if disk.role == LOCAL else REMOTE
    figure = {
        "role": disk.role,
        "sku": disk.sku,
        "size": "" if disk.size_gib is None else f"{disk.size_gib:g} GiB",
        "provider_name": disk.name,
    }
    bare = SoldDisk(disk, draws, info={name: value for name, value in figure.items() if value})
    what = disk.device or disk.name or disk.sku
    # A performance tier is Azure's, and named as what is in no table here.
    name = disk.sku or disk.tier
    if not name:
        return bare, ()
    if kind is None:
        unknown = "" if disk.configured else ": limits unknown"
        return bare, (f"{what}: {name!r} is no disk type of the table{unknown}",)
    if kind.is_provisioned:
        return _provisioned(bare, kind, what)
    found, reasons = (
        _local(bare, kind, what) if disk.role == LOCAL else _sized(bare, kind, what, alike)
    )
    limits = as_said(disk, PROVISIONED, found.limits)
    return found._replace(limits=limits, notes=unprovisionable(what, disk, kind.name)), reasons


def _sized(
    bare: SoldDisk, kind: DiskType, what: str, alike: Iterable[DiskIdentity]
) -> tuple[SoldDisk, tuple[str, ...]]:
    total = _total_gib(alike)
    if total is None:
        return bare, (f"{what}: {kind.name} without a size: limits unknown",)
    source = f"{kind.name} of {total:g} GiB on this VM, {kind.source} {kind.date}"
    return bare._replace(limits=_limits(together(kind, _by_size(kind, total)), source)), ()


def _within(sold: SoldDisk, kind: DiskType | None, allowed: Cap, machine: str) -> SoldDisk:
    """A disk that does at most what the machine type lets all disks of its type do."""
    limits = {(limit.dimension, limit.direction): limit for limit in sold.limits}
    source = f"{machine}, {sold.identity.sku}, {allowed.source}"
    for limit in _limits(together(kind, ways(allowed)), source):
        key = (limit.dimension, limit.direction)
        held = [limits.get(key), limits.get((limit.dimension, Direction.TOTAL))]
        if all(other is None or other.value > limit.value for other in held):
            limits[key] = limit
    return sold._replace(limits=tuple(limits.values()))


def _by_size(kind: DiskType, gib: float) -> Parts:
    """What disks of this type and of this size together may do."""

    def of(base: str, per_gib: str) -> float | None:
        more = kind.number(per_gib)
        return None if more is None else (kind.number(base) or 0.0) + more * gib

    data = mebibytes(of("base_mibps", "mibps_per_gib"))

    def way(direction: Direction) -> tuple[Direction, Ceiling]:
        size = Ceiling(of("base_iops", f"{direction}_iops_per_gib"), data)
        return direction, _least(size, _own(kind, direction))

    return dict((way(Direction.READ), way(Direction.WRITE)))


def _own(kind: DiskType, direction: Direction) -> Ceiling:
    """A local SSD's figures, or the most that disks of a type may do on any machine type."""
    return Ceiling(kind.number(f"{direction}_iops"), mebibytes(kind.number(f"{direction}_mibps")))


def _provisioned(bare: SoldDisk, kind: DiskType, what: str) -> tuple[SoldDisk, tuple[str, ...]]:
    """Figures that its owner tells; one of the two gives the other where the type couples them."""
    disk = bare.identity
    iops, data = disk.iops, disk.bytes_per_second
    per_iops, per_mibps = kind.number("mibps_per_iops"), kind.number("iops_per_mibps")
    most = kind.number("max_mibps")
    if data is None and iops is not None and per_iops is not None:
        data = min(per_iops * iops, most or per_iops * iops) * MIB
    if iops is None and data is not None and per_mibps is not None:
        iops = per_mibps * data / MIB
    limits = as_said(disk._replace(iops=iops, bytes_per_second=data), PROVISIONED)
    if not limits:
        words = f"{kind.name} is provisioned, and nobody tells with what"
        return bare, (f"{what}: {words}: say [[disk]] iops or bytes_per_second",)
    missing = tuple(
        f"{what}: {kind.name} is provisioned with {key} too, and nobody tells how much: say [[disk]] {key}"
        for key, figure in (("iops", iops), ("bytes_per_second", data))
        if figure is None
    )
    return bare._replace(limits=limits, notes=tuple(_excess(disk, kind, what))), missing


def _excess(disk: DiskIdentity, kind: DiskType, what: str) -> Iterable[str]:
    """A note for each provisioned figure that no disk of this type and size can have."""
    most = provisionable(kind, disk.size_gib, disk.iops)
    couples = disk.iops is not None and kind.number("max_mibps_per_iops") is not None
    pairs = (
        ("IOPS", disk.iops, most.iops, ""),
        (
            "bytes per second",
            disk.bytes_per_second,
            most.bytes_per_second,
            f" with {disk.iops:,.0f} IOPS" if couples else "",
        ),
    )
    for unit, figure, ceiling, of in pairs:
        if figure is not None and ceiling is not None and figure > ceiling:
            yield (
                f"{what}: {figure:,.0f} {unit} is more than {kind.name}{of} can be set to "
                f"({ceiling:,.0f}): believed"
            )


def provisionable(kind: DiskType, gib: float | None, iops: float | None = None) -> Ceiling:
    """The most that a disk of this type and size can be set to. Throughput goes with the operations
    provisioned; without `iops`, with the most of them.
    """
    most, per_gib = kind.number("max_iops"), kind.number("max_iops_per_gib")
    if most is not None and per_gib is not None and gib is not None:
        most = min(most, per_gib * gib)
    mibps, per_iops = kind.number("max_mibps"), kind.number("max_mibps_per_iops")
    provisioned = most if iops is None else iops
    if mibps is not None and per_iops is not None and provisioned is not None:
        mibps = min(mibps, per_iops * provisioned)
    return Ceiling(most, mebibytes(mibps))


def _local(bare: SoldDisk, kind: DiskType, what: str) -> tuple[SoldDisk, tuple[str, ...]]:
    size, wanted = bare.identity.size_gib, kind.number("disk_gib")
    if size is None or wanted is None or abs(size - wanted) > 1:
        gib = "no size" if size is None else f"{size:g} GiB"
        return bare, (f"{what}: a local SSD of {gib} is in no table: limits unknown",)
    limits = [
        limit
        for direction in (Direction.READ, Direction.WRITE)
        for limit in limits_of(
            _own(kind, direction),
            f"{kind.name}, {kind.source} {kind.date}",
            direction=direction,
        )
    ]
    return bare._replace(limits=tuple(limits)), ()


def _lanes(
    machine: str,
    by_type: Mapping[str, list[DiskIdentity]],
    types: Mapping[str, DiskType | None],
    catalogue: Catalogue,
    *,
    is_mixed: bool,
) -> tuple[dict[Kind, tuple[Limit, ...]], tuple[str, ...]]:
    """What all remote disks share. Of several types: the most that the machine type lets one do."""
    remote = {
        sku: kind
        for sku, kind in types.items()
        if kind is not None and any(disk.role != LOCAL for disk in by_type[sku])
    }
    found = {sku: cap_of(catalogue, machine, sku) for sku in remote}
    caps = {sku: figure for sku, figure in found.items() if figure is not None}
    is_known = is_series(catalogue, machine_name(machine).series)
    reasons = tuple(unknown(machine, sku) for sku in remote if sku not in caps and is_known)
    if len(caps) < len(remote):
        return {}, reasons
    parts = [
        limit
        for sku, figure in caps.items()
        for limit in _shared(machine, sku, figure, remote[sku], () if is_mixed else by_type[sku])
    ]
    largest: dict[tuple[Dimension, Direction], Limit] = {}
    apart = {limit.dimension for limit in parts if limit.direction is not Direction.TOTAL}
    for part in parts:
        # What one type does in both directions together, beside one that has each alone: in either.
        is_split = part.direction is Direction.TOTAL and part.dimension in apart
        for direction in (Direction.READ, Direction.WRITE) if is_split else (part.direction,):
            key = (part.dimension, direction)
            if key not in largest or part.value > largest[key].value:
                largest[key] = part._replace(direction=direction)
    if len({sku.startswith("hyperdisk") for sku in caps}) > 1:
        words = f"{machine}: what persistent disks and Hyperdisks share there was found nowhere"
        return {}, (*reasons, words)
    return ({Kind.VM_UNCACHED: tuple(largest.values())} if largest else {}), reasons


def _by_sku(
    machine: str,
    by_type: Mapping[str, list[DiskIdentity]],
    types: Mapping[str, DiskType | None],
    catalogue: Catalogue,
) -> dict[str, tuple[Limit, ...]]:
    """What the remote disks of each type that has several share."""
    found = {
        sku: tuple(_shared(machine, sku, cap_of(catalogue, machine, sku), kind, by_type[sku]))
        for sku, kind in types.items()
        if kind is not None and sum(1 for disk in by_type[sku] if disk.role != LOCAL) > 1
    }
    return {sku: limits for sku, limits in found.items() if limits}


def unknown(machine: str, sku: str) -> str:
    """That no row says what it lets these disks do; where that stands and how to add it, if known."""
    if not sku.startswith("hyperdisk"):
        return f"{machine}: what it lets {sku} do is documented nowhere that was found"
    series = machine_name(machine).series
    if series in WITHOUT_HYPERDISKS:
        return f"{machine}: Google lists no Hyperdisk for {series.upper()}"
    return (
        f"{machine}: what it lets all its {sku} disks do together (IOPS, MiB/s) is in none of our "
        f"tables, but in Google's: {PAGE} - to add it, write gcp_machine_types.csv into the "
        "directory that limits.catalogue of the configuration names, with the lines "
        f"series,machine,disk_type,iops,mibps and {series},{machine},{sku},<IOPS>,<MiB/s>"
    )


def cap_of(catalogue: Catalogue, machine: str, sku: str) -> Cap | None:
    """What a machine type lets disks of this type do together; None: no row says it."""
    return cap(catalogue, machine, sku) or (
        cap(catalogue, machine, LIKE[sku]) if sku in LIKE else None
    )


def _shared(
    machine: str, sku: str, figure: Cap | None, kind: DiskType, alike: Sequence[DiskIdentity]
) -> Iterable[Limit]:
    """What the machine type lets disks of a type do, or less where their sizes together give less."""
    allowed = NO_PARTS if figure is None else ways(figure)
    source = "" if figure is None else f"{machine}, {sku}, {figure.source}"
    total = _total_gib(alike)
    by_size, sized = NO_PARTS, ""
    if len(alike) > 1 and total is not None and not kind.is_provisioned:
        # Several disks of one type draw on one sum, which is not each disk's own limit.
        by_size, sized = _by_size(kind, total), f"{total:g} GiB of {sku} together"
    least = {
        direction: _least(part, by_size.get(direction, NOTHING))
        for direction, part in (allowed or by_size).items()
    }
    for limit in _limits(together(kind, least), source):
        if _has(allowed, limit):
            yield limit
        else:
            by = f"{sized}, on any machine type, {kind.source} {kind.date}"
            yield limit._replace(source=by, sized=sized)


def _has(parts: Parts, limit: Limit) -> bool:
    """Whether one of these figures is the limit's."""
    return any(
        (other.dimension, other.value) == (limit.dimension, limit.value)
        for other in _limits(parts, "")
        if limit.direction in (Direction.TOTAL, other.direction)
    )


def ways(figure: Cap) -> Parts:
    """A machine type's figures by direction."""
    return {
        Direction.READ: figure.read,
        Direction.WRITE: figure.write,
        Direction.TOTAL: figure.total,
    }


def together(kind: DiskType | None, parts: Parts) -> Parts:
    """Figures of reads and of writes that are one of both together. Of unequal ones each holds alone."""
    read, write = parts.get(Direction.READ, NOTHING), parts.get(Direction.WRITE, NOTHING)
    total = parts.get(Direction.TOTAL, NOTHING)
    if kind is None:
        return parts
    if kind.shares("iops") and read.iops == write.iops is not None:
        total = total._replace(iops=read.iops)
        read, write = read._replace(iops=None), write._replace(iops=None)
    if kind.shares("mibps") and read.bytes_per_second == write.bytes_per_second is not None:
        total = total._replace(bytes_per_second=read.bytes_per_second)
        read, write = read._replace(bytes_per_second=None), write._replace(bytes_per_second=None)
    return {Direction.READ: read, Direction.WRITE: write, Direction.TOTAL: total}


def _least(one: Ceiling, other: Ceiling) -> Ceiling:
    return Ceiling(
        _lesser(one.iops, other.iops), _lesser(one.bytes_per_second, other.bytes_per_second)
    )


def _lesser(one: float | None, other: float | None) -> float | None:
    return min(one, other) if one is not None and other is not None else one


def _total_gib(disks: Iterable[DiskIdentity]) -> float | None:
    total = 0.0
    for disk in disks:
        if disk.size_gib is None:
            return None
        total += disk.size_gib
    return total


def _limits(parts: Parts, source: str) -> tuple[Limit, ...]:
    return tuple(
        limit
        for direction, ceiling in parts.items()
        for limit in limits_of(ceiling, source, direction=direction)
    )
