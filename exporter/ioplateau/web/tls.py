"""TLS as web-config.yml wants it: files to a context that was tried out, sockets that never block.

The standard library's ssl, and so the OpenSSL of the machine. Imported only where TLS is
asked for: it costs some MiB. https://docs.python.org/3/library/ssl.html
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import ssl
import stat
from collections.abc import Mapping
from pathlib import Path
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any, NamedTuple

from ioplateau.regular import open_regular, read_whole
from ioplateau.web.config import Pem, TlsConfig
from ioplateau.web.connection import PlainHttpError, WaitsForError
from ioplateau.web.keys import IF_GIVEN, REQUIRED, ProblemsError

VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
VERIFY = {IF_GIVEN: ssl.CERT_OPTIONAL, REQUIRED: ssl.CERT_REQUIRED}
MOST_BYTES = 1 << 20  # of a PEM file
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----")
# X509_V_ERR_*, openssl/x509_vfy.h
_NOT_YET, _EXPIRED, _PURPOSE = 9, 10, 26


class Pems(NamedTuple):
    """The contents of the files, read once, so that they are of one moment."""

    certificate: bytes
    key: bytes
    client_ca: bytes | None = None


class Tls:
    """A certificate in force. valid_from, valid_until: seconds since 1970. client_auth, client_names: what
    is asked of clients.

    Raises ProblemsError.
    """

    def __init__(self, config: TlsConfig, pems: Pems, wall: float) -> None:
        self.client_auth = config.client_auth
        self.client_names = {_plain(name) for name in config.allowed_names}
        self._context, self.valid_from, self.valid_until = _tried(config, pems, wall)

    def wrap(self, accepted: socket.socket) -> ssl.SSLSocket:
        """A socket whose handshake is still to be done. Raises OSError if the peer has gone."""
        return self._context.wrap_socket(accepted, server_side=True, do_handshake_on_connect=False)

    def shake(self, wrapped: socket.socket) -> bool:
        """Go on with the handshake; whether the client, verified by then, has a name wanted.

        Raises WaitsForError until it is done, PlainHttpError, and OSError where it fails.
        """
        if not isinstance(wrapped, ssl.SSLSocket):
            raise TypeError(f"{wrapped!r} was not wrapped")
        wrapped.do_handshake()
        if not self.client_names:
            return True
        try:
            certificate = wrapped.getpeercert() or {}
        except ValueError:  # a name in it is no UTF-8
            return False
        return bool(_names(certificate) & self.client_names)


class TlsSocket(ssl.SSLSocket):
    """A socket that says what it waits for instead of blocking, and that ends with close_notify.

    TLS may have to read in order to write and the other way round: WaitsForError tells which.
    """

    def do_handshake(self, block: bool = False) -> None:
        try:
            super().do_handshake(block)
        except ssl.SSLError as error:
            if error.reason == "HTTP_REQUEST":
                raise PlainHttpError from error
            raise _waits_for(error) from error

    # One record holds at most 16 KiB, and no more is read ahead: a recv() of that size leaves
    # nothing behind that the selector would not see.
    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        try:
            return super().recv(buflen, flags)
        except ssl.SSLError as error:
            raise _waits_for(error) from error

    def send(self, data: Any, flags: int = 0) -> int:
        try:
            return super().send(data, flags)
        except ssl.SSLError as error:
            raise _waits_for(error) from error

    def shutdown(self, how: int) -> None:
        """Say that the answer ends here (close_notify), then close TCP's half like any socket.

        From then on `recv` gives what arrives as it is: nobody looks at it any more.
        """
        try:
            self.unwrap()
        except ssl.SSLWantWriteError as error:
            raise WaitsForError(EVENT_WRITE) from error
        except (ssl.SSLError, ValueError):
            pass  # ours is sent; we do not wait for theirs
        super().shutdown(how)


def _waits_for(error: ssl.SSLError) -> OSError:
    if isinstance(error, ssl.SSLWantReadError):
        return WaitsForError(EVENT_READ)
    return WaitsForError(EVENT_WRITE) if isinstance(error, ssl.SSLWantWriteError) else error


def read(config: TlsConfig, base: Path, own_mode: int | None = None) -> Pems:
    """The files that `config` names, relative to `base`. own_mode: of the file `config` is from.

    Raises ProblemsError with all that cannot be had.
    """
    problems: list[str] = []
    found = {
        name: _read(name, pem, base, own_mode, problems)
        for name, pem in (
            ("cert", config.certificate),
            ("key", config.key),
            ("client_ca", config.client_ca),
        )
        if pem
    }
    if problems:
        raise ProblemsError(problems)
    return Pems(found["cert"], found["key"], found.get("client_ca"))


def _read(name: str, pem: Pem, base: Path, own_mode: int | None, problems: list[str]) -> bytes:
    place = f"tls_server_config.{name}" + ("_file" if pem.file else "")
    text, mode, where = (pem.text or "").encode(errors="replace"), own_mode, "the web config file"
    if pem.file:
        where = str(base / pem.file)
        try:
            with open_regular(where) as file:
                text, mode = read_whole(file, MOST_BYTES), os.fstat(file.fileno()).st_mode
        except OSError as error:
            problems.append(f"{place}: {where}: {error.strerror}")
            return b""
    problem = _key(text, mode, where) if name == "key" else _certificates(text)
    if problem:
        problems.append(f"{place}: {problem}")
    return text


def _key(text: bytes, mode: int | None, where: str) -> str | None:
    if mode is not None and mode & 0o007:
        said = f"{stat.S_IMODE(mode):04o}"
        return f"{where} has mode {said}, open to everybody; want 0640 or less (chmod o= {where})"
    if b"PRIVATE KEY-----" not in text:
        return "no private key in PEM, want -----BEGIN PRIVATE KEY-----"
    if b"ENCRYPTED" in text:
        return "the key is encrypted and nobody is here to type a passphrase, want it without"
    return None


def _certificates(text: bytes) -> str | None:
    if _CERTIFICATE.search(text):
        return None
    return "no certificate in PEM, want -----BEGIN CERTIFICATE-----"


def _tried(config: TlsConfig, pems: Pems, wall: float) -> tuple[ssl.SSLContext, float, float]:
    """The context, tried with a client in memory; from and until when the certificate is valid."""
    try:
        context = _context(config, pems)
        # Not yet with clients' certificates: ours has none.
        context.verify_mode = ssl.CERT_NONE
        least, most = VERSIONS[config.least_version], VERSIONS[config.most_version]
        certificates = [_tried_with_a_client(context, pems, version) for version in {least, most}]
        context.verify_mode = VERIFY.get(config.client_auth, ssl.CERT_NONE)
    except ssl.SSLCertVerificationError as error:
        raise ProblemsError([f"tls_server_config.cert: {_invalid(error)}"]) from error
    except ssl.SSLError as error:
        raise ProblemsError([f"tls_server_config: {_unusable(error)}"]) from error
    dead = [ca for ca in context.get_ca_certs() if _seconds(ca, "notAfter") < wall]
    if dead and len(dead) == context.cert_store_stats()["x509"]:
        raise ProblemsError([f"tls_server_config.client_ca: expired on {dead[0]['notAfter']}"])
    own = certificates[0]
    return context, _seconds(own, "notBefore"), _seconds(own, "notAfter")


def _context(config: TlsConfig, pems: Pems) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sslsocket_class = TlsSocket
    context.minimum_version = VERSIONS[config.least_version]
    context.maximum_version = VERSIONS[config.most_version]
    # Sessions would outlive the file that allowed them, and who renegotiates has no good reason.
    context.num_tickets = 0
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    if not config.is_own_order:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    if config.cipher_suites:
        context.set_ciphers(":".join(config.cipher_suites))
    if config.curve:
        try:
            context.set_ecdh_curve(config.curve)
        except (ValueError, ssl.SSLError) as error:
            raise ProblemsError(
                [
                    f"tls_server_config.curve_preferences: {ssl.OPENSSL_VERSION} has no {config.curve}"
                ]
            ) from error
    _load_chain(context, pems)
    if pems.client_ca:
        context.load_verify_locations(cadata=_text(pems.client_ca))
        context.verify_mode = VERIFY[config.client_auth]
    return context


def _load_chain(context: ssl.SSLContext, pems: Pems) -> None:
    # load_cert_chain() takes names only. One file in memory for both: the certificate and
    # the key are those that were read and looked at, whatever is on the disk by now.
    descriptor = os.memfd_create("pem", os.MFD_CLOEXEC)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(pems.certificate + b"\n" + pems.key + b"\n")
        context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=lambda: b"")
    finally:
        os.close(descriptor)


def _tried_with_a_client(
    context: ssl.SSLContext, pems: Pems, version: ssl.TLSVersion
) -> Mapping[str, Any]:
    """The certificate as a client sees it that trusts it, whoever signed it."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    client.load_verify_locations(cadata=_text(pems.certificate, most=1))
    client.set_ciphers("ALL:@SECLEVEL=0")
    client.minimum_version = client.maximum_version = version
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    theirs, ours = client.wrap_bio(down, up), context.wrap_bio(up, down, server_side=True)
    for _ in range(3):
        for side in (theirs, ours):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return theirs.getpeercert() or {}


def _text(pem: bytes, most: int | None = None) -> str:
    return "\n".join(found.decode() for found in _CERTIFICATE.findall(pem)[:most])


def _invalid(error: ssl.SSLCertVerificationError) -> str:
    if error.verify_code == _EXPIRED:
        return "the certificate has expired, want a new one"
    if error.verify_code == _NOT_YET:
        return "the certificate is not valid yet (or this machine's clock is wrong)"
    if error.verify_code == _PURPOSE:
        return "the certificate is not one for servers (extendedKeyUsage), no client would take it"
    return f"no client could take the certificate: {error.verify_message}"


def _unusable(error: ssl.SSLError) -> str:
    reason = error.reason or str(error)
    if reason == "KEY_VALUES_MISMATCH":
        return "the key does not belong to the certificate"
    if reason in {"NO_SHARED_CIPHER", "NO_CIPHER_MATCH"}:
        return "the cipher_suites do not go with the key: none for its kind (RSA or ECDSA)"
    if reason.endswith(("TOO_SMALL", "TOO_WEAK")):
        return f"the certificate is too weak for {ssl.OPENSSL_VERSION}: {reason}"
    return f"certificate and key are not usable: {reason}"


def _seconds(certificate: Mapping[str, Any], name: str) -> float:
    return float(ssl.cert_time_to_seconds(certificate[name]))


def _names(certificate: Mapping[str, Any]) -> set[str]:
    return {_plain(str(value)) for _, value in certificate.get("subjectAltName", ())}


def _plain(name: str) -> str:
    # OpenSSL writes 0:0:0:0:0:0:0:1 where people write ::1.
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name
