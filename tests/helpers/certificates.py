"""Certificates for tests, made by the openssl command, and clients that hold them.

ca = Authority(directory, "ca"); server = ca.issue("server", "DNS:localhost,IP:127.0.0.1")
"""

from __future__ import annotations

import ssl
import subprocess
import time
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
        between: tuple[float, float] | None = None,
    ) -> Issued:
        """A certificate for `names` ("DNS:a,IP:::1"), or an expired one with negative `days`.

        between: valid from and until, in seconds since 1970, where days are too coarse.
        """
        made = Issued(self._directory / f"{name}.crt", self._directory / f"{name}.key")
        request, extensions = self._directory / "request", self._directory / "extensions"
        extensions.write_text(
            f"subjectAltName={names}\nextendedKeyUsage={usage}\nbasicConstraints=CA:FALSE\n"
        )
        _openssl(
            *("req", "-newkey", *kind, "-nodes", "-subj", f"/CN={name}"),
            *("-keyout", made.key, "-out", request),
        )
        if between:
            self._sign(request, extensions, made.certificate, between)
            made.key.chmod(0o600)
            return made
        _openssl(
            *("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self._key),
            *("-set_serial", str(len(list(self._directory.iterdir()))), "-days", str(days)),
            *("-extfile", extensions, "-out", made.certificate),
        )
        made.key.chmod(0o600)
        return made

    def _sign(
        self, request: Path, extensions: Path, to: Path, between: tuple[float, float]
    ) -> None:
        # Only `openssl ca` takes times of a day, before OpenSSL 3.4; it wants its books kept.
        books = self._directory / "books"
        books.mkdir()
        (books / "index").touch()
        (books / "config").write_text(
            f"[ca]\ndefault_ca=own\n[own]\ndatabase={books}/index\nnew_certs_dir={books}\n"
            "default_md=sha256\nrand_serial=yes\npolicy=any\n[any]\ncommonName=supplied\n"
        )
        begin, end = (time.strftime("%Y%m%d%H%M%SZ", time.gmtime(each)) for each in between)
        _openssl(
            *("ca", "-batch", "-notext", "-config", books / "config"),
            *("-cert", self.certificate, "-keyfile", self._key, "-extfile", extensions),
            *("-startdate", begin, "-enddate", end, "-in", request, "-out", to),
        )

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
