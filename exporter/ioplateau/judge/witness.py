"""What the judge is told besides the flows themselves: of clients, providers and control groups.

Everything is optional. None is "not known" and never counts as evidence of anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ioplateau.measure.mappings import NO_ENTRIES


class ClientWitness(NamedTuple):
    """One NFS client (all its connections to a server) over one tick.

    slot_limit: calls it may have outstanding, all connections together. backlog: mean calls
    that waited for a slot at each send (v3; v4.1 waits elsewhere and shows 0). on_wire: calls
    sent and not answered now. *_limited_ratio: share of the tick in which TCP was held back,
    mean over the connections. shortest_trip_seconds: the shortest round trip that TCP of any of them has
    seen in the last minutes. sending: mean calls that waited to be written to a connection at each send.
    disturbances: how often, since the mount, a connection was made, or an answer came that nobody awaited; as
    long as there are no more of them, each call is answered once.
    """

    connections: int | None = None
    slot_limit: int | None = None
    backlog: float | None = None
    on_wire: int | None = None
    receives_per_second: float | None = None
    sender_limited_ratio: float | None = None
    shortest_trip_seconds: float | None = None
    sending: float | None = None
    disturbances: int | None = None


class EbsWitness(NamedTuple):
    """Shares of the tick (0 to 1) in which demand on a volume of EC2 exceeded what is provisioned, as the device
    counts it itself (NVMe log page 0xD0). instance_*: of the limit for all EBS volumes; an instance store volume
    has no part in it.
    """

    volume_iops: float | None = None
    volume_throughput: float | None = None
    instance_iops: float | None = None
    instance_throughput: float | None = None


class CgroupWitness(NamedTuple):
    """A control group with a block limit of its own, over one tick.

    device: kernel name of the limited disk.
    pressure_ratio: share of the tick in which tasks of the group waited for I/O. path: of the group, below
    the hierarchy's root.
    """

    device: str
    pressure_ratio: float | None = None
    path: str = ""


class Witness(NamedTuple):
    """All that is known of one tick besides the flows. Keys: client label, device, ENA counter, and
    the name of a control group's budget. allowances: exceeded packets per second.
    """

    clients: Mapping[str, ClientWitness] = NO_ENTRIES
    ebs: Mapping[str, EbsWitness] = NO_ENTRIES
    allowances: Mapping[str, float] = NO_ENTRIES
    cgroups: Mapping[str, CgroupWitness] = NO_ENTRIES


NOTHING = Witness()
