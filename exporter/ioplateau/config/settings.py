"""Everything that can be set, as one frozen tree. Each part receives its own branch."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from ioplateau.judge.limits import ConfiguredLimit, DiskFact, VmFact, VolumeFact
from ioplateau.run.logs import LogSettings
from ioplateau.run.settings import PathSettings, WebSettings


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """How often we look, and what the derived gauges cover."""

    # A cloud enforces its limits over about a second; see docs/how-it-decides.md.
    interval_seconds: float = 1.0
    # The usual scrape interval: gauges of one window then tile time without gaps.
    rate_window_seconds: float = 15.0


@dataclass(frozen=True, slots=True)
class DeviceSettings:
    """Which block devices are followed: shell patterns of kernel names, include wins.

    RAM disks, floppies and optical drives are no storage anyone is throttled on; zram is
    memory (node_exporter leaves out the same). Loop devices stay, like in iostat: those
    without a file have no size and do no I/O, and are left out by that.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ("ram*", "zram*", "fd[0-9]*", "sr[0-9]*")

    def is_hidden(self, name: str, size_bytes: int | None) -> bool:  # noqa: ARG002
        """Whether the operator does not want to see the device."""
        if any(fnmatchcase(name, pattern) for pattern in self.include):
            return False
        return any(fnmatchcase(name, pattern) for pattern in self.exclude)


@dataclass(frozen=True, slots=True)
class CloudSettings:
    """enabled: ask the cloud's metadata service, where the DMI names a cloud. refresh_seconds:
    within so long an attached disk or a changed tier is noticed; a question each is cheap.
    """

    enabled: bool = True
    refresh_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class NfsSettings:
    """ports: of NFS servers, to find our sockets by. per_connection: a set of series for each
    connection; off, since it multiplies by nconnect and by mounts.
    """

    ports: tuple[int, ...] = (2049,)
    per_connection: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """The whole tree; the defaults are those of an empty file."""

    web: WebSettings = field(default_factory=WebSettings)
    log: LogSettings = field(default_factory=LogSettings)
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    paths: PathSettings = field(default_factory=PathSettings)
    devices: DeviceSettings = field(default_factory=DeviceSettings)
    nfs: NfsSettings = field(default_factory=NfsSettings)
    cloud: CloudSettings = field(default_factory=CloudSettings)
    state_directory: str | None = None  # None: nothing outlives a restart
    limits: tuple[ConfiguredLimit, ...] = ()
    vm: VmFact | None = None
    disks: tuple[DiskFact, ...] = ()
    volumes: tuple[VolumeFact, ...] = ()
    config_file: str | None = None
