"""From what a person types to a question: "netapp:Premium:4TiB", with nconnect and a VM size.

A volume: <service>[:<level>][:<size>][:<option>...]; options = iops=<n>, mibps=<2^20 bytes/s>,
mbps=<10^6 bytes/s>, volume=<size> (of an Elastic SAN), large (of Azure NetApp Files).
"""

from __future__ import annotations

import math
import re

from ioplateau.limits.budgets import Dimension, Direction, Kind
from ioplateau.limits.clouds import discover, registry
from ioplateau.limits.clouds.ask import above_zero
from ioplateau.limits.clouds.identity import Identity
from ioplateau.limits.clouds.protocol import Cloud
from ioplateau.limits.tables import Catalogue
from ioplateau.limits.units import GIB_PER_TIB, MB, MIB
from ioplateau.limits.volumes.ceiling import (
    SoldVolume,
    VolumeCeiling,
    VolumeError,
    VolumeSpec,
)
from ioplateau.limits.volumes.whatif import VolumeQuestion

# https://man7.org/linux/man-pages/man5/nfs.5.html
MOST_CONNECTIONS = 16  # nfs(5): nconnect
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([GTP])i?B?", re.IGNORECASE)
_GIB = {"G": 1.0, "T": GIB_PER_TIB, "P": GIB_PER_TIB**2}


def ask(
    catalogue: Catalogue, words: str, vm: str = "", nconnect: int | None = None
) -> VolumeQuestion:
    """The question those words ask. Raises VolumeError with everything that is wrong."""
    wrong: list[str] = []
    notices: list[str] = []
    cloud, spec = _spec(words, wrong)
    network: tuple[VolumeCeiling, ...] = ()
    if vm and cloud is not None:
        name, network = _network(catalogue, vm, cloud, notices, wrong)
        spec = spec._replace(vm_size=name)
    sold = None
    if cloud is not None and not wrong:
        try:
            sold = cloud.sold_volume(spec, catalogue)
        except VolumeError as error:
            wrong.append(str(error))
    connections = _connections(nconnect, sold, notices, wrong)
    if wrong or sold is None:
        raise VolumeError("\n".join(wrong))
    if vm:
        ways = tuple(_times(each, connections) for each in sold.connection)
        ceilings = (*sold.ceilings, *ways, *network)
    else:
        # Any number of clients, each with connections of its own.
        ceilings = tuple(each for each in sold.ceilings if each.kind is Kind.VOLUME)
        notices.append("no --vm-size: as many clients and connections as the volume can serve")
    if any(each.is_measured for each in ceilings):
        notices.append(
            "measured: what the provider reached in its own benchmark; nobody enforces it. "
            "Of a mix reads and writes are taken to share it"
        )
    return VolumeQuestion(
        title=sold.title,
        vm_size=spec.vm_size,
        connections=connections,
        ceilings=ceilings,
        has_memory=sold.has_memory,
        notices=(*dict.fromkeys((*sold.notices, *notices)),),
    )


def _spec(words: str, wrong: list[str]) -> tuple[Cloud | None, VolumeSpec]:
    name, *parts = (part.strip() for part in words.split(":"))
    # [[volume]] service writes fsx_openzfs.
    spec = VolumeSpec(name.lower().replace("_", "-"), words=words)
    clouds = {word: cloud for cloud in registry.every() for word in cloud.file_services}
    cloud = clouds.get(spec.service)
    if cloud is None:
        wrong.append(f"volume {words!r}: service {name!r}, want one of {', '.join(clouds)}")
        return None, spec
    for part in parts:
        changed = _part(spec, part)
        if changed is None:
            wrong.append(
                f"volume {words!r}: {part!r} is not known, want a level, a size (4TiB), iops=<n>, "
                "mibps=<n>, mbps=<n>, volume=<size> or large"
            )
        else:
            spec = changed
    return cloud, spec


def _part(spec: VolumeSpec, part: str) -> VolumeSpec | None:
    word, equals, value = part.partition("=")
    if not equals:
        size = _gib(part)
        if size is not None:
            return spec._replace(size_gib=size)
        if part.lower() == "large":
            return spec._replace(is_large=True)
        return spec._replace(level=part) if part and not spec.level else None
    if word.lower() == "volume":
        size = _gib(value)
        return None if size is None else spec._replace(share_gib=size)
    number = above_zero(value)
    if number is None:
        return None
    match word.lower():
        case "iops":
            return spec._replace(iops=number)
        case "mibps":
            return spec._replace(bytes_per_second=number * MIB)
        case "mbps":
            return spec._replace(bytes_per_second=number * MB)
    return None


def _gib(text: str) -> float | None:
    found = _SIZE.fullmatch(text.strip())
    size = 0.0 if found is None else float(found[1]) * _GIB[found[2].upper()]
    return size if 0 < size < math.inf else None


def _connections(
    nconnect: int | None, sold: SoldVolume | None, notices: list[str], wrong: list[str]
) -> int:
    """How many connections are of use."""
    if nconnect is None:
        return 1
    if not 1 <= nconnect <= MOST_CONNECTIONS:
        wrong.append(f"nconnect {nconnect}: want 1 to {MOST_CONNECTIONS}")
    if sold is not None and not sold.is_nfs:
        notices.append("nconnect is of NFS and has no effect here")
        return 1
    most = None if sold is None else sold.most_connections
    if most is not None and nconnect > most:
        few = f"{most} connections are" if most > 1 else "one connection is"
        notices.append(f"nconnect {nconnect}: {few} all that this service makes use of")
        return most
    return nconnect


def _times(ceiling: VolumeCeiling, connections: int) -> VolumeCeiling:
    return ceiling._replace(
        title=f"{connections} {ceiling.title}" if connections > 1 else f"one {_single(ceiling)}",
        value=ceiling.value * connections,
    )


def _single(ceiling: VolumeCeiling) -> str:
    return ceiling.title.replace("connections", "connection")


def _network(
    catalogue: Catalogue, vm: str, cloud: Cloud, notices: list[str], wrong: list[str]
) -> tuple[str, tuple[VolumeCeiling, ...]]:
    """The VM size as its table writes it, and what its network carries."""
    identity = Identity("", vm)
    supposed = cloud.what_if(identity, catalogue)
    name = supposed.vm_size
    if not name:
        seller = discover.seller(identity, catalogue)
        if seller is not None and seller.name != cloud.name:
            wrong.append(f"VM size {vm!r} is {seller.name}'s, and the volume is {cloud.name}'s")
        else:
            wrong.append(discover.in_no_table(vm, cloud, catalogue))
        return vm, ()
    limits = supposed.sold.lanes.get(Kind.VM_NETWORK, ())
    if not limits:
        notices.append(f"{name}: what its network carries is documented nowhere that is known here")
    ways = {Direction.READ: (1.0, 0.0), Direction.WRITE: (0.0, 1.0), Direction.TOTAL: (1.0, 1.0)}
    network = [
        VolumeCeiling(
            "VM network",
            Kind.VM_NETWORK,
            limit.dimension,
            limit.value,
            *ways[limit.direction],
            source=limit.source,
        )
        for limit in limits
        if limit.dimension is Dimension.THROUGHPUT
    ]
    return name, tuple(network)
