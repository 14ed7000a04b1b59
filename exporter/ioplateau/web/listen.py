"""`--web.listen-address`: words to listening sockets, as other exporters spell them.

":10049" is every address of the machine, IPv4 and IPv6; "127.0.0.1:10049", "[::1]:10049"
and "localhost:10049" are what they say, and "[127.0.0.1]:10049" is the first of them.
"[::]:10049" is IPv6 only, so that it can stand beside "0.0.0.0:10049".
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress

# Connections the kernel completes before we accept them. Ours are accepted at once; the
# queue only has to outlast one turn of a loop under a flood. Capped by net.core.somaxconn.
BACKLOG = 128
FIRST_PASSED = 3  # SD_LISTEN_FDS_START


def split_address(address: str) -> tuple[str, int]:
    """Host ("" for all) and port of "host:port". Raises ValueError saying what is wrong."""
    host, colon, port = address.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal()) or int(port) > 65535:
        raise ValueError(f'want "host:port" or ":port" with a port of 0 to 65535, not "{address}"')
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        for family, words in (
            (socket.AF_INET6, host.partition("%")[0]),
            (socket.AF_INET, host),  # where one template serves both, like a pod's address
        ):
            with suppress(OSError):
                socket.inet_pton(family, words)
                return host, int(port)
        raise ValueError(f'"{host}" in "{address}" is no IPv6 or IPv4 address')
    if ":" in host:
        raise ValueError(f'an IPv6 address is written in brackets: "[{host}]:{port}"')
    return host, int(port)


def listen(address: str) -> list[socket.socket]:
    """Listening, non-blocking sockets for one address; a name may have several.

    Raises ValueError for what is no address, OSError naming it for what cannot be had.
    """
    host, port = split_address(address)
    try:
        if not host:
            return [_everywhere(port)]
        return _named(host, port)
    except OSError as error:
        raise OSError(error.errno, f"cannot listen on {address}: {_reason(error)}") from error


def listen_all(addresses: Sequence[str]) -> list[socket.socket]:
    """Sockets for all of them, or none: closed again when one cannot be had."""
    sockets: list[socket.socket] = []
    for number, address in enumerate(addresses):
        try:
            sockets += listen(address)
        except (OSError, ValueError) as error:
            for one in sockets:
                one.close()
            before = ", ".join(addresses[:number])
            if before and getattr(error, "errno", None) == errno.EADDRINUSE and _is_free(address):
                words = f"cannot listen on {address}: the address before it has the port ({before})"
                raise OSError(errno.EADDRINUSE, words) from error
            raise
    return sockets


def _is_free(address: str) -> bool:
    try:
        for one in listen(address):
            one.close()
    except OSError:
        return False
    return True


def passed(environ: Mapping[str, str] = os.environ) -> list[socket.socket]:
    """The listening sockets that systemd opened for this process: sd_listen_fds(3).

    Raises OSError with a sentence where there are none, or others than TCP's.

    https://www.freedesktop.org/software/systemd/man/latest/sd_listen_fds.html
    """
    count = environ.get("LISTEN_FDS", "")
    is_ours = environ.get("LISTEN_PID") == str(os.getpid())
    if not is_ours or not (count.isascii() and count.isdecimal()) or not int(count):
        raise OSError(errno.ENOTCONN, "systemd passed no sockets: is there a .socket unit for us?")
    return [_passed(FIRST_PASSED + number) for number in range(int(count))]


def _passed(descriptor: int) -> socket.socket:
    os.set_inheritable(descriptor, False)
    listener = socket.socket(fileno=descriptor)
    if listener.family not in {socket.AF_INET, socket.AF_INET6}:
        listener.detach()
        raise OSError(errno.EAFNOSUPPORT, "systemd passed a socket that is none of TCP's")
    if not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        raise OSError(errno.EINVAL, "systemd passed a socket that does not listen: want Accept=no")
    listener.setblocking(False)
    return listener


def spell(listener: socket.socket) -> str:
    """The address a socket is bound to, as one would write it: "[::1]:10049"."""
    host, port, *_ = listener.getsockname()
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _everywhere(port: int) -> socket.socket:
    # One IPv6 socket that takes IPv4 too. A kernel started with ipv6.disable=1 has no such
    # family (EAFNOSUPPORT); a name space without any IPv6 address refuses to bind.
    try:
        return _bind(socket.AF_INET6, ("::", port), both=True)
    except OSError as error:
        if error.errno not in {errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL}:
            raise
        return _bind(socket.AF_INET, ("0.0.0.0", port))


def _named(host: str, port: int) -> list[socket.socket]:
    # As bytes: with text, Python loads the tables of all international names first.
    name = host.encode() if host.isascii() else host
    found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    absent: OSError | None = None
    for family, place in dict.fromkeys((family, place) for family, *_, place in found):
        # "localhost:0": the second address takes the port that the first was given.
        chosen = sockets[0].getsockname()[1] if sockets else port
        try:
            sockets.append(_bind(family, (place[0], chosen, *place[2:])))
        except OSError as error:
            # "localhost" is also ::1 in /etc/hosts where IPv6 is off: not our operator's
            # mistake, as long as one address remains.
            if error.errno not in {errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL}:
                for one in sockets:
                    one.close()
                raise
            absent = error
    if not sockets and absent:
        raise absent
    return sockets


def _bind(family: int, place: tuple[str | int, ...], *, both: bool = False) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        # A restart must not wait for connections in TIME_WAIT; on Linux this does not let
        # two listeners share a port.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if both else 1)
        listener.bind(place)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def _reason(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "the port is in use by another program (ss -ltnp shows which)"
    if error.errno == errno.EADDRNOTAVAIL:
        return "this machine has no such address"
    if error.errno == errno.EACCES:
        return "no permission (ports below 1024 need CAP_NET_BIND_SERVICE)"
    if isinstance(error, socket.gaierror):
        return f"the name does not resolve ({error.strerror})"
    return error.strerror or os.strerror(error.errno or 0)
