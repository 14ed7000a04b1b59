"""`ioplateau serve`: the daemon, or whether it would start."""

from __future__ import annotations

import argparse
import gc
import os
from typing import TYPE_CHECKING

from ioplateau.cli.exitcodes import GOOD
from ioplateau.cli.settings import serve_settings

if TYPE_CHECKING:
    from ioplateau.config import Settings
    from ioplateau.run.settings import ServeSettings


def add_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--check",
        action="store_true",
        help="say whether it would start with these settings, and end; no address is opened",
    )


def run(options: argparse.Namespace, settings: Settings) -> int:
    if options.check:
        return _check(settings)
    gc.collect()  # the parser of the command line, while there is little else to look through
    gc.disable()  # until the loop begins: what is imported from here on stays
    from ioplateau import config, logs
    from ioplateau.config import ConfigurationError
    from ioplateau.run import cataloguefiles, serve
    from ioplateau.run.reload import ReloadError

    logs.setup(settings.log)

    def reload() -> ServeSettings:
        try:
            fresh = config.load(options, os.environ, again=True)
        except ConfigurationError as error:
            raise ReloadError("\n".join(error.messages)) from error
        return serve_settings(fresh, cataloguefiles.CatalogueFiles())

    serve.serve(serve_settings(settings, cataloguefiles.CatalogueFiles()), reload)
    return GOOD


def _check(settings: Settings) -> int:
    """Whether the daemon would start with what was loaded. Raises OSError with what it would refuse."""
    if settings.web.config_file:
        from ioplateau.web.accessfile import AccessFile

        AccessFile(settings.web.config_file)
    print("configuration is good")
    return GOOD
