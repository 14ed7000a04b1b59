"""`ioplateau doctor`: what can be seen on this machine, and how to fix what is not."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ioplateau.cli.exitcodes import FOUND, GOOD
from ioplateau.cli.output import print_json
from ioplateau.cli.settings import serve_settings

if TYPE_CHECKING:
    from ioplateau.config import Settings


def add_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="as one JSON object")


def run(options: argparse.Namespace, settings: Settings) -> int:
    from ioplateau.run import doctor
    from ioplateau.run.machine import machine

    findings = doctor.look(machine(serve_settings(settings)))
    if options.json:
        print_json({"findings": [finding._asdict() for finding in findings]})
    else:
        print(doctor.render(findings), end="")
    return FOUND if any(finding.is_vital and not finding.is_good for finding in findings) else GOOD
