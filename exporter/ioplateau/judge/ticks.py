"""Rates of one tick in the judge's terms: the same questions for disks, NFS and interfaces."""

from __future__ import annotations

from functools import lru_cache

from ioplateau.judge.flows import FlowTick
from ioplateau.measure import diskstats
from ioplateau.measure.diskstats import SECTOR_BYTES, DiskCounters
from ioplateau.measure.interfaces import InterfaceCounters
from ioplateau.measure.mountstats import (
    LATER_MILLISECONDS,
    SERVER_READ,
    SERVER_WRITE,
    Mount,
    data,
    grown,
    told_later,
)

# A named tuple's own way takes twice as long, and each flow is made anew at each tick.
_made = tuple.__new__

READS = ("READ", "READ_PLUS")  # NFSv4.2 may read with either
WRITES = ("WRITE",)


def of_disk(before: DiskCounters, after: DiskCounters, elapsed_seconds: float) -> FlowTick | None:
    """A block device between two readings; None if its counters began anew."""
    if after is before:  # the line did not change by a byte
        return _disk_at_rest(elapsed_seconds, diskstats.in_flight(after))
    grown = diskstats.grown(before, after)
    if grown is None or elapsed_seconds <= 0:
        return None
    (
        reads, _, read_sectors, read_milliseconds,
        writes, _, write_sectors, write_milliseconds,
        _, busy_milliseconds, weighted_milliseconds,
        discards, _, _, _, flushes, _,
    ) = grown  # fmt: skip
    t = elapsed_seconds
    return _made(
        FlowTick,
        (
            t,
            reads / t,
            writes / t,
            read_sectors * SECTOR_BYTES / t,
            write_sectors * SECTOR_BYTES / t,
            read_milliseconds / reads / 1000 if reads else None,
            write_milliseconds / writes / 1000 if writes else None,
            weighted_milliseconds / t / 1000,
            diskstats.in_flight(after),
            busy_milliseconds / t / 1000,
            discards / t,
            flushes / t,
            None, None, None, None, 0.0,  # what only NFS tells
        ),
    )  # fmt: skip


# What rests is most of a machine, and all of it looks the same within a tick.
@lru_cache(16)
def _disk_at_rest(elapsed_seconds: float, in_flight: int) -> FlowTick:
    return FlowTick(elapsed_seconds, queue_length=0.0, busy_ratio=0.0, in_flight=in_flight)


@lru_cache(4)
def mount_at_rest(elapsed_seconds: float) -> FlowTick:
    """A superblock that did nothing."""
    return FlowTick(elapsed_seconds, queue_length=0.0)


@lru_cache(4)
def _interface_at_rest(elapsed_seconds: float) -> FlowTick:
    return FlowTick(elapsed_seconds)


def of_mount(before: Mount, after: Mount, elapsed_seconds: float) -> FlowTick | None:
    """READ and WRITE calls of a superblock between two readings, payload bytes only."""
    if after.operations is before.operations:
        return mount_at_rest(elapsed_seconds)
    was, now = data(before.operations), data(after.operations)
    reads, _, _, _, received, read_queue, read_rtt, read_execute = grown(was, now, READS)
    writes, _, _, sent, _, write_queue, write_rtt, write_execute = grown(was, now, WRITES)
    if len(after.bytes) > SERVER_WRITE and len(before.bytes) > SERVER_WRITE:
        read_bytes = after.bytes[SERVER_READ] - before.bytes[SERVER_READ]
        write_bytes = after.bytes[SERVER_WRITE] - before.bytes[SERVER_WRITE]
    else:
        read_bytes, write_bytes = received, sent
    later, queue = told_later(before, after), read_queue + write_queue
    here = max(0.0, 1 - LATER_MILLISECONDS * later / queue) if later and queue else 1.0
    t = elapsed_seconds
    return _made(
        FlowTick,
        (
            t,
            reads / t,
            writes / t,
            max(read_bytes, 0) / t,
            max(write_bytes, 0) / t,
            read_execute / reads / 1000 if reads else None,
            write_execute / writes / 1000 if writes else None,
            # Little's law over completed calls, the NFS counterpart of aqu-sz.
            # https://doi.org/10.1287/opre.9.3.383
            (read_execute + write_execute) / t / 1000,
            None, None, 0.0, 0.0,  # in flight and busy are unknown; discards and flushes are none
            read_rtt / reads / 1000 if reads else None,
            write_rtt / writes / 1000 if writes else None,
            here * read_queue / reads / 1000 if reads else None,
            here * write_queue / writes / 1000 if writes else None,
            later / t,
        ),
    )  # fmt: skip


def of_interface(
    before: InterfaceCounters, after: InterfaceCounters, elapsed_seconds: float
) -> FlowTick | None:
    """An interface between two readings: bytes only, transmitting is writing."""
    if after is before:
        return _interface_at_rest(elapsed_seconds)
    received = after.receive_bytes - before.receive_bytes
    transmitted = after.transmit_bytes - before.transmit_bytes
    if received < 0 or transmitted < 0:
        return None
    return FlowTick(
        elapsed_seconds,
        0.0,
        0.0,
        received / elapsed_seconds,
        transmitted / elapsed_seconds,
        *UNKNOWN_ON_INTERFACES,
    )


# Times, queue, in flight and busy; discards and flushes are none; rtt and queue.
UNKNOWN_ON_INTERFACES = (None, None, None, None, None, 0.0, 0.0, None, None, None, None)
