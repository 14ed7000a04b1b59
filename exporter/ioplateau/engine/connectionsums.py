"""What goes on to be counted of each NFS client while some of its connections go and others come.

Two mounts of a server may have connections of their own (nosharetransport, another network
namespace). As one of them is unmounted, a sum over those that are there falls, and whoever scrapes
it counts the rest a second time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ioplateau.engine.socketsums import MOST_ABSENT
from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.measure.mountstats import NfsConnections
from ioplateau.state import ClientKey, ConnectionCounts

Owned = tuple[ClientKey, NfsConnections]


class ConnectionSums:
    """carried: what is to be added to the counters of the connections that are there, by client; never
    changed but made anew.
    """

    def __init__(self) -> None:
        self.carried: Mapping[ClientKey, ConnectionCounts] = NO_ENTRIES

    def change(
        self, ended: Iterable[Owned], begun: Iterable[Owned], present: Collection[ClientKey]
    ) -> None:
        """Connections that are no more, as they were last, and others that were not there, as they are now.

        Those with which a client is first seen count with what there is. present: all clients now.
        """
        known = self.carried
        carried = dict(known)
        for key, was in ended:
            carried[key] = _plus(carried.get(key, ConnectionCounts()), was, 1)
        for key, now in begun:
            # It may have been there all the while, and its record was damaged for a tick.
            before = carried.get(key, ConnectionCounts())
            carried[key] = _plus(before, now, -1) if key in known else before
        absent = [key for key in carried if key not in present]
        for key in absent[:-MOST_ABSENT]:
            del carried[key]
        self.carried = carried


def _plus(before: ConnectionCounts, other: NfsConnections, sign: int) -> ConnectionCounts:
    columns = (other.sends, other.receives, other.bad_xids, other.connects, other.backlog_sums)
    added = (was + sign * sum(column) for was, column in zip(before, columns, strict=True))
    return ConnectionCounts(*added)
