"""From the configuration to what a command is given."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ioplateau.config import Settings
    from ioplateau.limits.ownrows import OwnRows
    from ioplateau.limits.tables import Catalogue
    from ioplateau.run.settings import ServeSettings


def serve_settings(settings: Settings, catalogue: Catalogue | None = None) -> ServeSettings:
    """The parts of the settings that the daemon and its relatives need.

    catalogue: the catalogue; None: with the user's own rows, read now. The daemon reads these beside
    its loop.
    """
    from ioplateau.engine import EngineSettings
    from ioplateau.limits.clouds.discover import Facts
    from ioplateau.limits.topology import Rules
    from ioplateau.run.owncatalogue import catalogue_with
    from ioplateau.run.settings import ServeSettings, VolumeQuestions

    if catalogue is None:
        catalogue = catalogue_with(own_rows(settings))
    return ServeSettings(
        web=settings.web,
        engine=EngineSettings(
            interval_seconds=settings.sampling.interval_seconds,
            rate_window_seconds=settings.sampling.rate_window_seconds,
            rules=Rules(settings.limits, settings.volumes),
            facts=Facts(settings.vm, settings.disks),
            catalogue=catalogue,
            asks_cloud=settings.cloud.enabled,
            is_hidden=settings.devices.is_hidden,
        ),
        paths=settings.paths,
        per_connection=settings.nfs.per_connection,
        nfs_ports=settings.nfs.ports,
        state_directory=settings.state_directory,
        refresh_seconds=settings.cloud.refresh_seconds,
        volumes=VolumeQuestions(
            settings.cloud.volumes_file,
            settings.cloud.describe_volumes,
            settings.cloud.ec2_endpoint,
        ),
        catalogue_directory=settings.catalogue_directory,
        log=settings.log,
    )


def own_rows(settings: Settings) -> OwnRows:
    """The user's own rows of the catalogue; what was left out of them is told."""
    from ioplateau.run.owncatalogue import read_directory

    own = read_directory(settings.catalogue_directory)
    for words in own.complaints:
        print(f"ioplateau: own catalogue: {words}", file=sys.stderr)
    return own


def log_warnings(settings: Settings) -> None:
    """Log as the daemon does, but nothing that goes well: who gave a command waits for its answer."""
    from ioplateau import logs

    level = max(settings.log.level, "warning", key=logs.LEVELS.__getitem__)
    logs.setup(settings.log._replace(level=level))
