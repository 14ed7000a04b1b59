"""`ioplateau limits`: what this machine is allowed, or what would bind first on another one."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ioplateau.cli.arguments import count
from ioplateau.cli.exitcodes import GOOD, WRONG
from ioplateau.cli.output import print_json
from ioplateau.cli.settings import own_rows, serve_settings
from ioplateau.run.commanderror import CommandError

if TYPE_CHECKING:
    from ioplateau.config import Settings
    from ioplateau.limits.ownrows import OwnRows


def add_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="as one JSON object")
    asked = command.add_argument_group(
        "instead of this machine: what would bind first, on any machine"
    )
    asked.add_argument(
        "--vm-size", metavar="SIZE", help="like Standard_D8s_v3, m5.large or n2-standard-8"
    )
    asked.add_argument(
        "--disk",
        action="append",
        metavar="DISK",
        help="like P30, P30:ReadOnly, 4xP30, PremiumV2_LRS:size=1024:iops=20000:mbps=600, gp3, "
        "pd-ssd:size=500",
    )
    asked.add_argument(
        "--request-size", action="append", metavar="BYTES", help="like 8k; may be repeated"
    )
    asked.add_argument("--controller", metavar="TYPE", help="SCSI or NVMe, where that matters")
    asked.add_argument(
        "--volume",
        action="append",
        metavar="VOLUME",
        help="like netapp:Premium:4TiB, files:v2:1TiB, efs:elastic, filestore:zonal:2TiB",
    )
    asked.add_argument(
        "--nconnect", type=count, metavar="N", help="connections of the NFS mount; default: 1"
    )
    asked.add_argument(
        "--reads",
        action="append",
        type=float,
        metavar="PERCENT",
        help="share of reads in the requests to a volume; may be repeated",
    )


def run(options: argparse.Namespace, settings: Settings) -> int:
    of_disks = options.disk or options.controller
    of_volume = options.volume or options.nconnect or options.reads
    if of_volume and (of_disks or not options.volume):
        raise CommandError(
            "--nconnect and --reads go with --volume; --disk and --controller do not"
        )
    if of_volume or of_disks or options.vm_size is not None or options.request_size:
        return _what_if(options, settings)
    from ioplateau.run.limits import look
    from ioplateau.run.machine import machine
    from ioplateau.run.owncatalogue import catalogue_with
    from ioplateau.tell import limits

    own = own_rows(settings)
    found = look(machine(serve_settings(settings, catalogue_with(own))))
    if options.json:
        print_json(
            limits.budgets_json(found.budgets, found.notices, found.unseen) | _edition_json()
        )
    else:
        print(
            limits.budgets_text(found.budgets, found.notices, found.unseen)
            + _edition_words(settings, own),
            end="",
        )
    return WRONG if found.is_storage_unreadable else GOOD


def _what_if(options: argparse.Namespace, settings: Settings) -> int:
    from ioplateau.run import whatif
    from ioplateau.run.owncatalogue import catalogue_with
    from ioplateau.tell import limits, volumes

    own = own_rows(settings)
    catalogue, size = catalogue_with(own), options.vm_size or ""
    requests = options.request_size or ()
    if options.volume:
        asked = (options.volume, size, options.nconnect, requests, options.reads or ())
        about_volume = whatif.of_volume(catalogue, *asked)
        text, value = volumes.render(about_volume), volumes.as_json(about_volume)
    else:
        about_disks = whatif.of_disks(
            catalogue, size, options.disk or (), requests, options.controller
        )
        text, value = limits.render(about_disks), limits.as_json(about_disks)
    if options.json:
        print_json(value | _edition_json())
    else:
        print(text + _edition_words(settings, own), end="")
    return GOOD


def _edition_words(settings: Settings, own: OwnRows) -> str:
    from ioplateau.run.cataloguefiles import edition
    from ioplateau.tell import formatting

    rows = formatting.counted(own.total, "row")
    mine = f", over it {rows} of {settings.catalogue_directory}" if own.total else ""
    return f"catalogue of {edition().day[:7] or 'an unknown date'}{mine}\n"


def _edition_json() -> dict[str, object]:
    from ioplateau.run.cataloguefiles import edition

    return {"catalogue_date": edition().day or None}
