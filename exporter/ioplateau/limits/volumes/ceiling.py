"""A ceiling of an NFS volume, of the way to it, or of its client: what a read and a write take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ioplateau.limits.budgets import Dimension, Kind
from ioplateau.limits.tables import Catalogue
from ioplateau.limits.units import MIB
from ioplateau.measure.mappings import NO_ENTRIES

TABLE = "file_services"


class VolumeCeiling(NamedTuple):
    """value, burst: operations or bytes per second, of which one read (or byte read) takes `read`
    and one write `write`: 1 and 0 is a ceiling of reads, 1 and 1 one of both together, 1 and 5
    one of which a write takes five times as much.

    is_measured: what the provider reached in its own benchmark, which nobody enforces.
    least_bytes: a smaller request counts for so much. behind_memory: reads that the server's
    memory answers do not take from it.
    """

    title: str
    kind: Kind
    dimension: Dimension
    value: float
    read: float = 1.0
    write: float = 1.0
    burst: float | None = None
    is_measured: bool = False
    behind_memory: bool = False
    least_bytes: int = 0
    unit_bytes: float = 1e6  # the document's MB or MiB, to be shown in
    source: str = ""
    date: str = ""  # of the document; empty: it has none

    def told_by(self, row: Mapping[str, Any]) -> VolumeCeiling:
        """The same with a row's source and date."""
        return self._replace(source=row.get("source", ""), date=row.get("source_date", ""))


class VolumeSpec(NamedTuple):
    """A volume as a person describes it. None or empty: not said."""

    service: str
    level: str = ""  # "Premium", "zonal", "512"
    size_gib: float | None = None
    share_gib: float | None = None  # of an Elastic SAN: the volume in it
    iops: float | None = None
    bytes_per_second: float | None = None
    is_large: bool = False
    vm_size: str = ""  # of the client, as its table writes it
    words: str = ""  # as typed, for messages
    is_proxied: bool | None = None  # mounted through a proxy of this machine


class VolumeError(ValueError):
    """What is wrong with a VolumeSpec: one line for each thing."""


class SoldVolume(NamedTuple):
    """A volume of a VolumeSpec, with its ceilings. connection: those of each connection by itself."""

    title: str
    ceilings: tuple[VolumeCeiling, ...]
    connection: tuple[VolumeCeiling, ...] = ()
    most_connections: int | None = None  # more are of no use; None: not documented
    is_nfs: bool = True
    has_memory: bool = False  # some ceilings are behind the server's memory
    notices: tuple[str, ...] = ()


class Figures:
    """The facts of a service and level, by "part/parameter"; those of level "any" below them."""

    def __init__(self, catalogue: Catalogue, service: str, *levels: str) -> None:
        self._rows: dict[str, Mapping[str, Any]] = {}
        for level in ("any", *levels):
            for line in catalogue.lines(TABLE, f"{service}/{level}/"):
                row = json.loads(line)
                self._rows[f"{row['part']}/{row['parameter']}"] = row

    def value(self, key: str) -> float | None:
        """The figure as printed, in the unit its name ends in; None: there is none."""
        value = self.row(key).get("value")
        return None if value is None or isinstance(value, str) else float(value)

    def row(self, key: str) -> Mapping[str, Any]:
        """Everything that is known of a figure; empty: nothing."""
        return self._rows.get(key, NO_ENTRIES)

    def has(self, part: str) -> bool:
        return any(key.startswith(f"{part}/") for key in self._rows)

    def ceiling(
        self,
        title: str,
        key: str,
        *,
        kind: Kind = Kind.VOLUME,
        times: float = 1.0,
        most: float | None = None,
        read: float = 1.0,
        write: float = 1.0,
        behind_memory: bool = False,
    ) -> tuple[VolumeCeiling, ...]:
        """The ceiling that a figure states, or none. `times`: TiB of a figure per TiB; `most`:
        no more than that. A burst is the figure of the same name with "burst_" before it.
        """
        figure = self.value(key)
        if figure is None:
            return ()
        part, _, parameter = key.rpartition("/")
        scale = times * unit_of(parameter)
        value = figure * scale
        burst = self.value(f"{part}/burst_{parameter}")
        ceiling = VolumeCeiling(
            title,
            kind,
            dimension_of(parameter),
            value if most is None else min(value, most),
            read,
            write,
            None if burst is None else burst * scale,
            is_measured=parameter.startswith("measured_"),
            behind_memory=behind_memory,
            unit_bytes=float(MIB) if "mibps" in parameter.split("_") else 1e6,
        )
        return (ceiling.told_by(self.row(key)),)

    def shared(
        self,
        title: str,
        part: str,
        unit: str,
        *,
        prefix: str = "",
        kind: Kind = Kind.VOLUME,
        times: float = 1.0,
    ) -> tuple[VolumeCeiling, ...]:
        """A figure of reads alone and one of writes alone, as one ceiling: of a mix each takes
        its share. If there is only one of the two, the ceiling is of that direction.
        """
        keys = (f"{part}/{prefix}read_{unit}", f"{part}/{prefix}write_{unit}")
        reads, writes = self.value(keys[0]), self.value(keys[1])
        if reads is None or writes is None:
            if reads is None:
                return self.ceiling(title, keys[1], kind=kind, times=times, read=0.0)
            return self.ceiling(title, keys[0], kind=kind, times=times, write=0.0)
        return self.ceiling(title, keys[0], kind=kind, times=times, write=reads / writes)


def unit_of(parameter: str) -> float:
    """Bytes in one of the unit that a parameter is in; 1 for operations."""
    words = parameter.split("_")
    if "mibps" in words:
        return float(MIB)
    if "mbps" in words:
        return 1e6
    return 1e6 / 8 if words[-2:] == ["mbit", "s"] else 1.0


def dimension_of(parameter: str) -> Dimension:
    return Dimension.IOPS if "iops" in parameter.split("_") else Dimension.THROUGHPUT
