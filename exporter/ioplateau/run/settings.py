"""What the daemon and the other commands that look at a machine are told. Imports next to nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ioplateau.logs import LogSettings
from ioplateau.measure.host import Host
from ioplateau.web.settings import WebSettings

if TYPE_CHECKING:
    from ioplateau.engine import EngineSettings


class PathSettings(NamedTuple):
    """Where the machine's files lie; elsewhere in a container. None: below rootfs."""

    rootfs: str = "/"
    procfs: str | None = None
    sysfs: str | None = None

    def host(self) -> Host:
        return Host(Path(self.rootfs), procfs=self.procfs, sysfs=self.sysfs)


class VolumeQuestions(NamedTuple):
    """How to find out what EBS volumes were sold as. file: what `aws ec2 describe-volumes
    --output json` wrote; describe: ask the EC2 API by the instance's role; endpoint: another
    than the region's own.
    """

    file: str | None = None
    describe: bool = False
    endpoint: str = ""


class ServeSettings(NamedTuple):
    """Everything `serve` needs, and those who look at the machine as it does."""

    engine: EngineSettings
    web: WebSettings = WebSettings()
    paths: PathSettings = PathSettings()
    per_connection: bool = False
    nfs_ports: tuple[int, ...] = (2049,)
    state_directory: str | None = None
    refresh_seconds: float = 300.0  # of metadata
    volumes: VolumeQuestions = VolumeQuestions()
    catalogue_directory: str | None = None  # a user's own rows
    log: LogSettings = LogSettings()
