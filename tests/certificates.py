"""Certificates for tests, made by the openssl command, and clients that hold them.

ca = Authority(directory, "ca"); server = ca.issue("server", "DNS:localhost,IP:127.0.0.1")
"""

from __future__ import annotations

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Issued:
    """The files of a certificate and its key."""

    certificate: Path
    key: Path


class Authority:
    """A CA of its own, its files in `directory`."""

    def __init__(self, directory: Path, name: str, *, days: int = 30) -> None:
        self._directory = directory
        self.certificate = directory / f"{name}.crt"
        self._key = directory / f"{name}.key"
        _openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-subj", f"/CN={name}", "-days", str(days)),
            *("-keyout", self._key, "-out", self.certificate),
        )

    def issue(
        self,
        name: str,
        names: str,
        *,
        days: int = 30,
        usage: str = "serverAuth",
        kind: tuple[str, ...] = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
    ) -> Issued:
        """A certificate for `names` ("DNS:a,IP:::1"), or an expired one with negative `days`."""
        made = Issued(self._directory / f"{name}.crt", self._directory / f"{name}.key")
        request, extensions = self._directory / "request", self._directory / "extensions"
        extensions.write_text(
            f"subjectAltName={names}\nextendedKeyUsage={usage}\nbasicConstraints=CA:FALSE\n"
        )
        _openssl(
            *("req", "-newkey", *kind, "-nodes", "-subj", f"/CN={name}"),
            *("-keyout", made.key, "-out", request),
        )
        _openssl(
            *("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self._key),
            *("-set_serial", str(len(list(self._directory.iterdir()))), "-days", str(days)),
            *("-extfile", extensions, "-out", made.certificate),
        )
        made.key.chmod(0o600)
        return made

    def client(self, identity: Issued | None = None) -> ssl.SSLContext:
        """A client that trusts what this authority signed, and shows `identity`."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        # Python 3.13 asks for key identifiers that such small certificates do not have.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if identity:
            context.load_cert_chain(identity.certificate, identity.key)
        return context


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)
