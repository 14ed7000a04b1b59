"""Where a daemon answers, and what it must be shown: a name with its password, a certificate."""

from __future__ import annotations

import base64
import ssl
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit

from ioplateau.regular import read_whole
from ioplateau.run.commanderror import CommandError

MOST_BYTES = 4096  # of a password


class AddressError(CommandError):
    """What is wrong with the address or one of its files, in a sentence."""


class Proofs(NamedTuple):
    """Files: who signed the daemon's certificate, the password, a certificate of ours and its key."""

    ca_file: str | None = None
    password_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None


NO_PROOFS = Proofs()


class DaemonAddress(NamedTuple):
    """url: without name and password, like "https://db-01:10049". authorization: the header's value."""

    url: str
    authorization: str = ""
    context: ssl.SSLContext | None = None

    @property
    def place(self) -> str:
        """Host and port, for a person."""
        return urlsplit(self.url).netloc


def address(url: str, proofs: Proofs = NO_PROOFS) -> DaemonAddress:
    """Of a URL as people write it, like "https://name@db-01:10049" or "https://name:password@db-01".
    Raises AddressError.
    """
    parts = urlsplit(url)
    is_tls = parts.scheme == "https"
    if not is_tls and (proofs.ca_file or proofs.certificate_file or proofs.key_file):
        raise AddressError(f"certificates are for https, not for {parts.scheme}://")
    bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")
    name, password = unquote(parts.username or ""), unquote(parts.password or "")
    if proofs.password_file:
        if not name:
            raise AddressError("whose password is it? want a name, like https://NAME@db-01:10049")
        password = _password(proofs.password_file)
    words = ""
    if name:
        words = "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()
    return DaemonAddress(bare, words, _context(proofs) if is_tls else None)


def wants_password(url: str, proofs: Proofs) -> bool:
    """Whether a name is there and nobody says its password."""
    parts = urlsplit(url)
    return bool(parts.username) and parts.password is None and not proofs.password_file


def with_password(url: str, password: str) -> str:
    """The URL of a name, with its password."""
    from urllib.parse import quote

    parts = urlsplit(url)
    name, _, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{name}:{quote(password, safe='')}@{host}"))


def _password(file: str) -> str:
    try:
        with Path(file).open("rb") as stream:
            return read_whole(stream, MOST_BYTES).decode().rstrip("\r\n")
    except OSError as error:
        raise AddressError(f"{file}: {error.strerror or error}") from error
    except ValueError as error:
        raise AddressError(f"{file}: is no text in UTF-8") from error


def _context(proofs: Proofs) -> ssl.SSLContext:
    """Trusts the system's authorities (or those of SSL_CERT_FILE), or those of a file alone."""
    file = proofs.ca_file
    try:
        context = ssl.create_default_context(cafile=file)
        file = proofs.certificate_file
        if file is not None:
            context.load_cert_chain(file, proofs.key_file)
        elif proofs.key_file is not None:
            raise AddressError("a key without a certificate: say --cert-file, too")
    except ssl.SSLError as error:
        raise AddressError(f"{file}: is no certificate in PEM ({error.reason})") from error
    except OSError as error:
        names = ", ".join(filter(None, (file, proofs.key_file if file else None)))
        raise AddressError(f"{names}: {error.strerror or error}") from error
    # Authorities of one's own seldom have the key identifiers that Python 3.13 asks for.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
