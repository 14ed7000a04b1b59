"""/proc/self/mountstats: NFS counters, a record a mount, and the rates between two readings.

What others import is here. The text is read by nfsrecords.py, which knows the file, with
nfsheads.py, nfslines.py and nfstables.py for the pieces of a record; rates are in growth.py.
Reading the file never talks to a server and cannot hang on a dead one.
"""

from ioplateau.measure.mountstats.growth import (
    DELAY,
    LATER_MILLISECONDS,
    SERVER_READ,
    SERVER_WRITE,
    ClientRates,
    ConnectionRates,
    MountRates,
    OperationRates,
    client_rates,
    grown,
    has_lost_data,
    is_continuous,
    rates,
    told_later,
)
from ioplateau.measure.mountstats.nfslines import NfsConnection, NfsConnections
from ioplateau.measure.mountstats.nfsrecords import Mount, MountTable, parse, server_and_export
from ioplateau.measure.mountstats.nfstables import DATA, Operation, data, everything, forget

__all__ = [
    "DATA",
    "DELAY",
    "LATER_MILLISECONDS",
    "SERVER_READ",
    "SERVER_WRITE",
    "ClientRates",
    "ConnectionRates",
    "Mount",
    "MountRates",
    "MountTable",
    "NfsConnection",
    "NfsConnections",
    "Operation",
    "OperationRates",
    "client_rates",
    "data",
    "everything",
    "forget",
    "grown",
    "has_lost_data",
    "is_continuous",
    "parse",
    "rates",
    "server_and_export",
    "told_later",
]
