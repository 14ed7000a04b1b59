"""Arguments that several commands take: their types, and the flags for reaching a daemon."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ioplateau.run.daemonaddress import DaemonAddress


def seconds(text: str) -> float:
    """A time above 0. Raises ArgumentTypeError, as all of these."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < 1e9:  # neither is nan
        raise argparse.ArgumentTypeError(f"{text!r}, want seconds above 0, like 60")
    return found


def minutes(text: str) -> float:
    """A time above 0."""
    try:
        return seconds(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"{text!r}, want minutes above 0, like 5") from None


def count(text: str) -> int:
    """A number from 1 on."""
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r}, want a number of 1 or more")
    return int(text)


def url(text: str) -> str:
    """The URL of a web server."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
        is_web = parts.scheme in {"http", "https"} and parts.port != 0  # ValueError: it is no port
    except ValueError:
        is_web = False
    if not is_web or not parts.hostname or re.search(r"\s", parts.netloc):
        secret, _, rest = text.rpartition("@")
        # What is printed may be kept, as cron does.
        shown = f"...@{rest}" if secret else rest
        raise argparse.ArgumentTypeError(f"{shown!r}, want a URL like http://db-01:10049")
    return text


def add_daemon_flags(command: argparse.ArgumentParser) -> None:
    """The flags for a daemon that wants TLS or a password."""
    proofs = command.add_argument_group("for a daemon behind TLS or passwords")
    proofs.add_argument(
        "--ca-file",
        metavar="FILE",
        help="who signs its certificate (PEM); default: the system's authorities, or SSL_CERT_FILE",
    )
    proofs.add_argument(
        "--password-file",
        metavar="FILE",
        help="of the name in the URL, https://NAME@db-01:10049; default: asked for in a terminal",
    )
    proofs.add_argument("--cert-file", metavar="FILE", help="a certificate to show (PEM)")
    proofs.add_argument("--key-file", metavar="FILE", help="its key, where it is in another file")


def daemon_address(options: argparse.Namespace, at: str) -> DaemonAddress:
    """The daemon at a URL, with what it must be shown. Raises AddressError."""
    import getpass

    from ioplateau.run.daemonaddress import Proofs, address, wants_password, with_password

    proofs = Proofs(options.ca_file, options.password_file, options.cert_file, options.key_file)
    if wants_password(at, proofs) and sys.stdin.isatty():
        at = with_password(at, getpass.getpass("Password: "))
    return address(at, proofs)
