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

    def after(self, before: ServeSettings) -> tuple[ServeSettings, tuple[str, ...]]:
        """These settings as they can be taken while the daemon runs, which has run by those before, and
        the names of what changes with a restart only, where that differs: it stays as it was.
        """
        mine, old = self.engine, before.engine
        kept = {
            "web": (self.web, before.web),
            "path": (self.paths, before.paths),
            "sampling.interval_seconds": (mine.interval_seconds, old.interval_seconds),
            "sampling.rate_window_seconds": (mine.rate_window_seconds, old.rate_window_seconds),
            "nfs.per_connection": (self.per_connection, before.per_connection),
            "nfs.ports": (self.nfs_ports, before.nfs_ports),
            "state.directory": (self.state_directory, before.state_directory),
        }
        taken = self._replace(
            engine=mine._replace(
                interval_seconds=old.interval_seconds, rate_window_seconds=old.rate_window_seconds
            ),
            web=before.web,
            paths=before.paths,
            per_connection=before.per_connection,
            nfs_ports=before.nfs_ports,
            state_directory=before.state_directory,
        )
        return taken, tuple([name for name, (now, then) in kept.items() if now != then])
