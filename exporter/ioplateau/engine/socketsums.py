"""What the TCP connections of each NFS client counted together, those that are closed too.

Linux closes a connection that was idle for five minutes, and a socket takes its counters along: a
sum over those that are open falls, and whoever scrapes it counts the rest a second time.

https://github.com/torvalds/linux/blob/v6.1/net/sunrpc/xprtsock.c (XS_IDLE_DISC_TO)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.measure.sockets import Name, TcpCounts, TcpSocket, counts, name
from ioplateau.state import ClientKey

K = TypeVar("K")

# Sockets, and clients, that are not there now, of which what they counted is kept: a reading may
# miss one that is open, and NFS connects again from the same port.
MOST_ABSENT = 200


class SocketSums:
    """Remembers each socket, to add up what it counted since.

    last: the sockets that were taken last; sums: by client, never changed but made anew.
    """

    def __init__(self) -> None:
        self.last: tuple[TcpSocket, ...] = ()
        self.sums: Mapping[ClientKey, TcpCounts] = NO_ENTRIES
        self._known: dict[Name, TcpCounts] = {}

    def take(
        self,
        sockets: tuple[TcpSocket, ...],
        of_clients: Iterable[tuple[ClientKey, Iterable[TcpSocket]]],
    ) -> None:
        """A fresh reading of all sockets, and whose they are; a client may be told several times.

        A client's first reading counts what there is.
        """
        known = self._known
        now = {name(one): counts(one) for one in sockets}
        grown = {own: _growth(known.get(own), found) for own, found in now.items()}
        owned: dict[ClientKey, set[Name]] = {}
        for key, own in of_clients:
            owned.setdefault(key, set()).update(map(name, own))
        sums = {
            key: _added([self.sums[key], *map(grown.__getitem__, names)])
            if key in self.sums
            else _added([*map(now.__getitem__, names)])
            for key, names in owned.items()
        }
        self.last = sockets
        self._known = _newest(known, now)
        self.sums = _newest(self.sums, sums)


def _growth(before: TcpCounts | None, now: TcpCounts) -> TcpCounts:
    """What was counted since; all of it, where the socket is another one."""
    if before is None:
        return now
    grown = [
        None if was is None or is_now is None else is_now - was
        for was, is_now in zip(before, now, strict=True)
    ]
    return now if any(each is not None and each < 0 for each in grown) else TcpCounts(*grown)


def _added(several: Sequence[TcpCounts]) -> TcpCounts:
    known = ([each for each in column if each is not None] for column in zip(*several, strict=True))
    return TcpCounts(*(sum(column) if column else None for column in known))


def _newest(before: Mapping[K, TcpCounts], now: Mapping[K, TcpCounts]) -> dict[K, TcpCounts]:
    """What is there now, and of what is not the newest."""
    absent = [key for key in before if key not in now][-MOST_ABSENT:]
    return {**{key: before[key] for key in absent}, **now}
