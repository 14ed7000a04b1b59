"""What the operator says of limits, and which of several claims to a limit holds.

Precedence, strongest first: configured, reported, catalogue, learned. A claim that loses is
kept with the reason, so that nobody has to wonder where a number went.
"""

from __future__ import annotations

from dataclasses import dataclass

from ioplateau.judge.budgets import Direction


@dataclass(frozen=True, slots=True)
class ConfiguredLimit:
    """One [[limit]] of the configuration: one selector, and what it is allowed per second.

    Selectors are fnmatch patterns; `vm` is "uncached", "cached" or "network". None: not said.
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


@dataclass(frozen=True, slots=True)
class VmFact:
    """The machine's size, where metadata cannot be reached or is wrong.

    size: "Standard_D8s_v3" or "m5.large". controller: "SCSI" or "NVMe"; None: as found.
    """

    size: str
    controller: str | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class DiskFact:
    """What a disk was sold as, where metadata does not tell. One selector, as in a limit.

    sku: a storage account type ("Premium_LRS"), a tier ("P30") or an EBS volume type ("gp3").
    tier: a performance tier above the one of its size. iops, bytes_per_second: provisioned
    (Ultra, Premium SSD v2, gp3, io2). None: not said, what was discovered holds.
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
    on_demand_burst: bool = False
    performance_plus: bool = False
    source: str = ""


@dataclass(frozen=True, slots=True)
class VolumeFact:
    """What an NFS volume was sold as. One selector: `mount` or `volume` ("server:/export").

    service: "azure_netapp_files" or "azure_files". With quota_gib the limit is the quota
    times the service level's rate; with bytes_per_second it is the assigned (manual)
    throughput. large: a large volume, which has a higher ceiling.
    """

    mount: str | None = None
    volume: str | None = None
    service: str = "azure_netapp_files"
    service_level: str | None = None
    quota_gib: float | None = None
    iops: float | None = None
    bytes_per_second: float | None = None
    large: bool = False
    source: str = ""
