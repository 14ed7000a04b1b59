"""State, episodes and series as JSON values: what /api/v1/ answers, and `--json` prints.

docs/api.md says what they mean and docs/api.schema.json what they look like; a test holds the
answers to it. Verdicts have the words of `replay --format json`, limits those of `limits --json`.
Rates are per second, times in seconds, shares from 0 to 1; null is what is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ioplateau.history import Episode, Event, Series
from ioplateau.limits.budgets import Kind
from ioplateau.state import (
    BudgetConsumers,
    BudgetState,
    Consumer,
    DiskState,
    LimitState,
    NfsMountState,
    State,
)
from ioplateau.tell import (
    consumers,
    failedsources,
    formatting,
    lifting,
    limits,
    othercalls,
    summary,
    verdicts,
    view,
)
from ioplateau.tell.verdicts import finite


def state(found: State, about: Mapping[str, Any]) -> dict[str, Any]:
    """Everything known after one tick. about: "version", "host", "started"."""
    return {
        **about,
        "wall": found.wall,
        "mono": found.mono,
        "interval_seconds": found.interval_seconds,
        "headline": formatting.valid(summary.headline(found)),
        "severity": str(summary.severity(found)),
        "failed_sources": [_failed_source(each) for each in failedsources.failed(found)],
        "vm": _vm(found),
        "machine": _machine(found),
        "budgets": [_budget(found, budget) for budget in summary.worst_first(found)],
        "disks": [_disk(disk) for _, disk in sorted(found.disks.items())],
        "mounts": [_mount(mount) for _, mount in sorted(found.mounts.items())],
        "notices": [
            formatting.valid(notice) for notice in (*found.notices, *othercalls.notices(found))
        ],
    }


def episodes(
    found: Sequence[Episode], events: Sequence[Event], since: float, until: float
) -> dict[str, Any]:
    """Episodes and events of a span of UNIX seconds, the oldest first."""
    return {
        "since": since,
        "until": until,
        "episodes": [episode(each) for each in found],
        "events": [
            {
                "at": each.at,
                "what": str(each.what),
                "subject": formatting.valid(each.subject),
                "sentence": formatting.valid(each.sentence),
            }
            for each in events
        ],
    }


def episode(found: Episode) -> dict[str, Any]:
    """One episode; `ended` is null while it goes on."""
    values = found._asdict()
    del values["drawn"]
    values["verdict"] = values.pop("word")
    return {name: _plain(value) for name, value in values.items()}


def series(found: Series) -> dict[str, Any]:
    """Columns of equal length; `at` is the UNIX second in which a point begins."""
    return {name: _plain(value) for name, value in found._asdict().items()}


def _vm(found: State) -> dict[str, str | None]:
    identity = found.sold.identity
    parts = {"cloud": identity.cloud, "size": identity.vm_size, "region": identity.region}
    return {name: formatting.valid(value) if value else None for name, value in parts.items()}


def _machine(found: State) -> dict[str, Any]:
    pressure, memory = found.machine.pressure, found.machine.memory
    waited = None if pressure is None else pressure.some_microseconds
    return {
        "io_waiting_seconds_total": None if waited is None else waited / 1e6,
        "dirty_bytes": memory and memory.dirty_bytes,
        "writeback_bytes": memory and memory.writeback_bytes,
    }


def _budget(found: State, budget: BudgetState) -> dict[str, Any]:
    verdict = budget.verdict
    verdict_values = verdicts.budget(budget)
    return {
        **verdict_values,
        "name": formatting.valid(verdict_values["name"]),
        "title": formatting.kind(budget.budget.key.kind, budget.budget.lane),
        "lane": budget.budget.lane if budget.budget.key.kind is Kind.VM_UNCACHED else None,
        "for_seconds": max(found.mono - verdict.since, 0.0),
        "sentence": formatting.valid(failedsources.of_budget(found, budget)),
        "parent": _key(verdict.parent),
        "sufferers": [_key(flow) for flow in verdict.sufferers],
        "members": [_key(flow) for flow in budget.budget.members],
        "limits": [_limit(limit) for limit in budget.limits],
        "rejected": [
            limits.limit_json(lost) | {"why": formatting.valid(why)}
            for lost, why in budget.budget.rejected
        ],
        "lifting": [formatting.valid(step) for step in lifting.sentences(found, budget)],
        "consumers": _consumers(found.consumers.get(budget.budget.key)),
        "info": {name: formatting.valid(value) for name, value in budget.budget.info.items()},
    }


def _limit(found: LimitState) -> dict[str, Any]:
    return limits.limit_json(found.limit) | {
        "effective": found.effective,
        "effective_origin": str(found.effective_origin),
        "utilization": finite(found.utilization),
        "peak_utilization": finite(found.peak_utilization),
        "throttled": found.throttled,
        "throttled_seconds": found.throttled_seconds,
        "episodes": found.episodes,
        "demand": finite(found.demand),
        "credit_ratio": finite(found.credit_ratio),
        "exhaustion_seconds": finite(found.exhaustion_seconds),
    }


def _consumers(found: BudgetConsumers | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "sentence": formatting.valid(consumers.sentence(found)),
        "seconds": found.seconds,
        "groups": [_consumer(each) for each in found.groups],
        "processes": [_consumer(each) for each in found.processes],
        "unseen": [formatting.valid(words) for words in found.unseen],
    }


def _consumer(found: Consumer) -> dict[str, Any]:
    return {
        "name": formatting.valid(found.name),
        "label": formatting.valid(found.label),
        "bytes_per_second": found.bytes_per_second,
        "operations_per_second": found.operations_per_second,
        "share": found.share,
        "by_flusher": found.by_flusher,
        "at_most": found.is_at_most,
    }


def _disk(disk: DiskState) -> dict[str, Any]:
    device, rates = disk.device, view.disk(disk)
    return {
        "device": formatting.valid(disk.name),
        "kind": device.kind if device and device.kind else None,
        "model": formatting.valid(device.model) if device and device.model else None,
        "size_bytes": device.size_bytes if device else None,
        **{name: getattr(rates, name, None) for name in view.DISK_RATES},
    }


def _mount(mount: NfsMountState) -> dict[str, Any]:
    rates = view.mount(mount)
    return {
        "mount": formatting.valid(mount.mount),
        "mount_points": [formatting.valid(point) for point in mount.mount_points],
        "server": formatting.valid(mount.client.server) if mount.client else None,
        "version": mount.client.version if mount.client else None,
        "connections": len(mount.now.connections),
        **{name: getattr(rates, name, None) for name in view.MOUNT_RATES},
    }


def _failed_source(found: failedsources.FailedSource) -> dict[str, Any]:
    return {
        "source": found.source,
        "why": formatting.valid(found.why),
        "is_vital": found.is_vital,
        "sentence": formatting.valid(found.sentence),
    }


def _key(key: tuple[str, str] | None) -> dict[str, str] | None:
    return None if key is None else {"kind": str(key[0]), "name": formatting.valid(key[1])}


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return formatting.valid(str(value))
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, Iterable):
        return [_plain(each) for each in value]
    return value
