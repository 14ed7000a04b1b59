"""Disks as rows: whole disks and stacked devices, never partitions. Source: /proc/diskstats.

Counters are the kernel's, in base units; gauges are iostat -x over the rate window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ioplateau.measure import diskstats
from ioplateau.measure.diskstats import SECTOR_BYTES, DiskRates, KindRates
from ioplateau.state import DiskState
from ioplateau.tell.rows import Labels, MetricTable, Scene, counter, gauge, info, text


class MeasuredDisk(NamedTuple):
    state: DiskState
    rates: DiskRates | None  # over the rate window


class DiskOperation(NamedTuple):
    """One kind of operation of one disk. None: the kernel does not count it."""

    operations: int
    merges: int | None
    sectors: int | None
    milliseconds: int
    rates: KindRates | None

    @property
    def moves(self) -> bool:
        """Whether it carries bytes: a flush does not."""
        return self.sectors is not None


def disks(scene: Scene) -> Iterator[MeasuredDisk]:
    for _, state in sorted(scene.state.disks.items()):
        span = state.window
        rates = diskstats.rates(span.before, span.after, span.elapsed_seconds) if span else None
        yield MeasuredDisk(state, rates)


def _whole(disk: MeasuredDisk) -> Iterable[tuple[Labels, MeasuredDisk]]:
    yield (disk.state.name,), disk


def _by_operation(disk: MeasuredDisk) -> Iterator[tuple[Labels, DiskOperation]]:
    now, rates, name = disk.state.now, disk.rates, disk.state.name
    yield (
        (name, "read"),
        DiskOperation(
            now.reads,
            now.read_merges,
            now.read_sectors,
            now.read_milliseconds,
            rates.read if rates else None,
        ),
    )
    yield (
        (name, "write"),
        DiskOperation(
            now.writes,
            now.write_merges,
            now.write_sectors,
            now.write_milliseconds,
            rates.write if rates else None,
        ),
    )
    # Most disks never see a discard: a kind never used costs no series.
    if now.discards:
        yield (
            (name, "discard"),
            DiskOperation(
                now.discards,
                now.discard_merges,
                now.discard_sectors,
                now.discard_milliseconds or 0,
                rates.discard if rates else None,
            ),
        )
    if now.flushes:
        yield (
            (name, "flush"),
            DiskOperation(
                now.flushes, None, None, now.flush_milliseconds or 0, rates.flush if rates else None
            ),
        )


def _described(disk: MeasuredDisk) -> Iterator[tuple[Labels, MeasuredDisk]]:
    device = disk.state.device
    if device is None:
        return
    scsi = device.scsi_address
    yield (
        (
            disk.state.name,
            device.kind,
            device.vendor,
            device.model,
            device.serial,
            device.wwid,
            text(device.diskseq),
            text(":".join(map(str, scsi)) if scsi else None),
            text(scsi[3] if scsi else None),
            text(device.nvme_namespace),
            device.mapper_name or device.md_level,
            text(device.size_bytes),
            device.scheduler,
            text(device.nr_requests),
        ),
        disk,
    )


OPERATIONS: MetricTable[MeasuredDisk, DiskOperation] = MetricTable(
    "Disks, by operation",
    ("device", "operation"),
    disks,
    _by_operation,
    (
        counter(
            "disk_operations_total",
            "Requests the disk completed, after merging and splitting. A cloud may count a large one as several "
            "operations, and none that a host's cache answers: budget_utilization_ratio is of what counts.",
            lambda d: d.operations,
        ),
        counter(
            "disk_bytes_total",
            "Bytes moved; compare with a throughput limit.",
            lambda d: None if d.sectors is None else d.sectors * SECTOR_BYTES,
        ),
        counter(
            "disk_merged_operations_total",
            "Requests the kernel joined to a neighbour, which the disk never saw.",
            lambda d: d.merges,
        ),
        counter(
            "disk_operation_seconds_total",
            "Time requests took, each in full, waiting behind a limit included.",
            lambda d: d.milliseconds / 1000,
        ),
        gauge(
            "disk_operations_per_second",
            "Requests completed per second over the rate window (iostat r/s, w/s, d/s, f/s).",
            lambda d: d.rates.operations_per_second if d.rates else None,
        ),
        gauge(
            "disk_bytes_per_second",
            "Bytes moved per second over the rate window (iostat rkB/s, wkB/s, dkB/s).",
            lambda d: d.rates.bytes_per_second if d.rates and d.moves else None,
        ),
        gauge(
            "disk_await_seconds",
            "Mean time a request took over the rate window (iostat r_await, w_await); none if none completed.",
            lambda d: d.rates.await_seconds if d.rates else None,
        ),
        gauge(
            "disk_request_bytes",
            "Mean size of a request over the rate window; it decides whether IOPS or throughput binds first.",
            lambda d: d.rates.request_bytes if d.rates and d.moves else None,
        ),
    ),
)

WHOLE: MetricTable[MeasuredDisk, MeasuredDisk] = MetricTable(
    "Disks",
    ("device",),
    disks,
    _whole,
    (
        counter(
            "disk_busy_seconds_total",
            "Time with at least one request outstanding; it says not idle, it does not say full.",
            lambda d: d.state.now.busy_milliseconds / 1000,
        ),
        counter(
            "disk_queue_seconds_total",
            "Time all requests took together; its growth per second is the mean queue length.",
            lambda d: d.state.now.weighted_milliseconds / 1000,
        ),
        gauge(
            "disk_in_flight",
            "Requests outstanding at the last tick.",
            lambda d: diskstats.in_flight(d.state.now),
        ),
        gauge(
            "disk_queue_length",
            "Mean requests outstanding over the rate window (iostat aqu-sz), flushes included.",
            lambda d: d.rates.queue_length if d.rates else None,
        ),
        gauge(
            "disk_busy_ratio",
            "Share of the rate window with a request outstanding (iostat %util / 100).",
            lambda d: d.rates.busy_ratio if d.rates else None,
        ),
    ),
)

IDENTITY: MetricTable[MeasuredDisk, MeasuredDisk] = MetricTable(
    "Disks, what they are",
    (
        "device",
        "kind",
        "vendor",
        "model",
        "serial",
        "wwid",
        "diskseq",
        "scsi_address",
        "lun",
        "nvme_namespace",
        "stack",
        "size_bytes",
        "scheduler",
        "nr_requests",
    ),
    disks,
    _described,
    (info("disk_info", "What the disk is: its identity, size and queue settings."),),
)

TABLES = (OPERATIONS, WHOLE, IDENTITY)
