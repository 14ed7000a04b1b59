"""Everything that can be set, as one frozen tree. Each part receives its own branch."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple

from ioplateau.limits.claims import ConfiguredLimit, DiskFact, VmFact, VolumeFact
from ioplateau.logs import LogSettings
from ioplateau.run.settings import PathSettings
from ioplateau.web.settings import WebSettings


class SamplingSettings(NamedTuple):
    """How often we look, and what the derived gauges cover."""

    # A cloud enforces its limits over about a second; see docs/how-it-decides.md.
    interval_seconds: float = 1.0
    # The usual scrape interval: gauges of one window then tile time without gaps.
    rate_window_seconds: float = 15.0


class DeviceSettings(NamedTuple):
    """Which block devices are followed: shell patterns of kernel names, include wins.

    RAM disks, floppies and optical drives are no storage anyone is throttled on; zram is
    memory (node_exporter leaves out the same). Loop devices stay, like in iostat: those
    without a file have no size and do no I/O, and are left out by that.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ("ram*", "zram*", "fd[0-9]*", "sr[0-9]*")

    def is_hidden(self, name: str) -> bool:
        """Whether the operator does not want to see the device."""
        if any(fnmatchcase(name, pattern) for pattern in self.include):
            return False
        return any(fnmatchcase(name, pattern) for pattern in self.exclude)


class CloudSettings(NamedTuple):
    """enabled: ask the cloud's metadata service, where the DMI names a cloud. refresh_seconds:
    within so long an attached disk or a changed tier is noticed; a question each is cheap.
    volumes_file, describe_volumes, ec2_endpoint: as run.settings.VolumeQuestions.
    """

    enabled: bool = True
    refresh_seconds: float = 300.0
    volumes_file: str | None = None
    describe_volumes: bool = False
    ec2_endpoint: str = ""


class NfsSettings(NamedTuple):
    """ports: of NFS servers, to find our sockets by. per_connection: a set of series for each
    connection; off, since it multiplies by nconnect and by mounts.
    """

    ports: tuple[int, ...] = (2049,)
    per_connection: bool = False


class Settings(NamedTuple):
    """The whole tree; the defaults are those of an empty file."""

    web: WebSettings = WebSettings()
    log: LogSettings = LogSettings()
    sampling: SamplingSettings = SamplingSettings()
    paths: PathSettings = PathSettings()
    devices: DeviceSettings = DeviceSettings()
    nfs: NfsSettings = NfsSettings()
    cloud: CloudSettings = CloudSettings()
    state_directory: str | None = None  # None: nothing outlives a restart
    catalogue_directory: str | None = None  # a user's own rows
    limits: tuple[ConfiguredLimit, ...] = ()
    vm: VmFact | None = None
    disks: tuple[DiskFact, ...] = ()
    volumes: tuple[VolumeFact, ...] = ()
