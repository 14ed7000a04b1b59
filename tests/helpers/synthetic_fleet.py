"""History of a fleet of VMs for a real Prometheus, made in seconds: who is throttled when is known.

python tests/helpers/synthetic_fleet.py DIRECTORY   # 500 VMs, 3 hours, a sample each 15 s
prometheus --storage.tsdb.path=DIRECTORY/tsdb   # and look at the hours before END

Recorded series are written as the rules would have recorded them. What boards ask for at one time
only, and not over a range, has samples in the last minutes only.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TextIO

import boards_and_rules as ours
from ioplateau.limits.budgets import Word

VMS = 500
HOURS = 3
STEP_SECONDS = 15
# A round time, for blocks of two hours begin at one; nothing here asks the clock.
END = 1_799_999_999 // 7200 * 7200
LAST_SECONDS = 120
MINUTE = 60
NOW = END - MINUTE  # when boards are looked at: the last sample of every series

EACH_THROTTLED = 20  # of so many VMs one is throttled in some minutes
DOWN = ("vm-007", "vm-123")
VOLUMES = 5
EACH_CLIENT = 2  # of so many VMs one mounts a volume
# The VM, disk, mount and volume that the pages on one thing are asked for.
LARGE_VM, LARGE_DISKS = "vm-000", 32
MOUNT = "/mnt/vol0"

Labels = Mapping[str, str]


def vm_name(number: int) -> str:
    return f"vm-{number:03}"


def volume(number: int) -> dict[str, str]:
    export = f"/vol{number % VOLUMES}"
    return {"server": "10.0.0.4", "export": export, "volume": f"10.0.0.4:{export}"}


def is_client(number: int) -> bool:
    return number % EACH_CLIENT == 0


def is_throttled(number: int, at: int) -> bool:
    """Whether the first disk of a VM is held at its limit: for ten of each thirty minutes, or always."""
    if number % EACH_THROTTLED:
        return False
    return number % (4 * EACH_THROTTLED) == 0 or (at // 600 + number) % 3 == 0


def throttled_now() -> set[str]:
    return {vm_name(number) for number in range(VMS) if is_throttled(number, NOW)}


def ever_throttled() -> set[str]:
    return {vm_name(number) for number in range(0, VMS, EACH_THROTTLED)}


def disks(number: int) -> list[str]:
    count = LARGE_DISKS if number == 0 else 4
    return [f"disk{index:02}" for index in range(count)]


def limits(number: int) -> list[dict[str, str]]:
    """kind, name, dimension and direction of every limit of a VM; its first disk's comes first."""
    both = ("iops", "throughput")
    found = [_limit("disk", disk, dimension) for disk in disks(number) for dimension in both]
    found += [_limit("vm_uncached", "vm", dimension) for dimension in both]
    found.append(_limit("vm_network", "vm", "throughput", "write"))
    if is_client(number):
        found.append(_limit("volume", f"/mnt/vol{number % VOLUMES}", "throughput"))
    if number == 0:
        found.append(_limit("cgroup", "/system.slice/backup.service", "iops"))
        found.append(_limit("nfs_slots", MOUNT, "slots"))
    return found


def _limit(kind: str, name: str, dimension: str, direction: str = "total") -> dict[str, str]:
    return {"kind": kind, "name": name, "dimension": dimension, "direction": direction}


def make(directory: Path, step: int = STEP_SECONDS) -> Path:
    """Write DIRECTORY/tsdb and give its path. Raises CalledProcessError with what promtool said."""
    text, blocks = directory / "fleet.om", directory / "tsdb"
    with text.open("w", encoding="ascii") as file:
        _write(file, step)
    subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", "-q", text, blocks],
        check=True,
        capture_output=True,
    )
    text.unlink()
    return blocks


def _write(file: TextIO, step: int) -> None:
    times = range(END - HOURS * 3600, END, step)
    last = times[-(LAST_SECONDS // step) :]
    minutes = range(END - HOURS * 3600, END, MINUTE)
    for number in range(VMS):
        _vm(_Series(file, times, number), number)
        _now(_Series(file, last, number), number)
        _throttled_minutes(file, minutes, number)
        if is_client(number):
            _client(_Series(file, times, number), number)
    for number in range(VOLUMES):
        _volume(_Series(file, times), number)
    _page_on_one_thing(_Series(file, times, 0))
    file.write("# EOF\n")


class _Series:
    """Writes series that have a sample at each of these times."""

    def __init__(self, file: TextIO, times: Sequence[int], number: int | None = None) -> None:
        self._file, self._times = file, times
        self._ends = [f" {at}\n" for at in times]
        self._of = {} if number is None else {"instance": vm_name(number), "job": "ioplateau"}

    def constant(self, metric: str, value: float, labels: Labels = {}) -> None:  # noqa: B006
        begin = f"{_name(metric, self._of | dict(labels))} {value}"
        self._file.write("".join([begin + end for end in self._ends]))

    def growing(self, metric: str, per_second: float, labels: Labels = {}) -> None:  # noqa: B006
        first = self._times[0]
        self.values(metric, [(at - first) * per_second for at in self._times], labels)

    def values(self, metric: str, values: Iterable[float], labels: Labels = {}) -> None:  # noqa: B006
        begin = _name(metric, self._of | dict(labels))
        lines = [f"{begin} {value}{end}" for value, end in zip(values, self._ends, strict=True)]
        self._file.write("".join(lines))

    def states(self, metric: str, number: int, labels: Labels = {}) -> None:  # noqa: B006
        """1 while the VM is throttled."""
        self.values(metric, [float(is_throttled(number, at)) for at in self._times], labels)


def _name(metric: str, labels: Labels) -> str:
    return metric + "{" + ",".join(f'{key}="{value}"' for key, value in labels.items()) + "}"


def _vm(series: _Series, number: int) -> None:
    """What the fleet's board asks for over a range."""
    series.constant("up", float(vm_name(number) not in DOWN))
    series.growing("ioplateau_ticks_total", 1.0)
    series.states("ioplateau:vm_throttled:max", number)
    for kind in sorted({limit["kind"] for limit in limits(number)}):
        if kind == "disk":
            series.states("ioplateau:vm_throttled:sum", number, {"kind": kind})
        else:
            series.constant("ioplateau:vm_throttled:sum", 0.0, {"kind": kind})
        share = 0.99 if kind == "disk" and is_throttled(number, NOW) else 0.3 + number % 5 / 10
        series.constant("ioplateau:vm_utilization:max", share, {"kind": kind})
    first, *others = limits(number)
    series.states("ioplateau_budget_throttled", number, first)
    for limit in others:
        series.constant("ioplateau_budget_throttled", 0.0, limit)


def _now(series: _Series, number: int) -> None:
    """What the fleet's board asks for at one time; of the large VM `_page_on_one_thing` tells more."""
    first, *_ = limits(number)
    for kind, name in sorted({(one["kind"], one["name"]) for one in limits(number)}):
        size = {"size": "Standard_D16s_v5"} if kind == "vm_uncached" else {}
        told = {"kind": kind, "name": name, "origin": "configured", **size}
        series.constant("ioplateau_budget_info", 1.0, told)
    if is_client(number) and number:
        stalled = {"kind": "volume", "name": f"/mnt/vol{number % VOLUMES}", "verdict": "stalled"}
        series.constant("ioplateau_budget_verdict", 0.0, stalled)
    if is_throttled(number, NOW):
        series.constant("ioplateau_budget_throttled_since_timestamp_seconds", END - 300.0, first)
        if number:
            series.constant("ioplateau_budget_demand_ratio", 2.0 + number % 20, first)
        if number % 40:
            series.constant("ioplateau_budget_learned_confidence_ratio", 0.75, first)
        alert = {
            "alertname": "IoplateauDiskThrottled",
            "severity": "warning",
            "scope": "vm",
            **first,
        }
        series.constant("ALERTS", 1.0, {**alert, "alertstate": "firing"})
        series.constant("ALERTS_FOR_STATE", END - 240.0, alert)


def _throttled_minutes(file: TextIO, minutes: Sequence[int], number: int) -> None:
    """Recorded only of the limit that holds, and only while it does."""
    held = [at for at in minutes if is_throttled(number, at)]
    if held:
        first, *_ = limits(number)
        series = _Series(file, held, number)
        series.constant("ioplateau:budget_throttled_seconds:increase1m", float(MINUTE), first)


def _client(series: _Series, number: int) -> None:
    """What the rules record of a client of a volume."""
    which = volume(number)
    where = {"mount": f"/mnt/vol{number % VOLUMES}"}
    series.constant("ioplateau:nfs_mount_volume:info", 1.0, which | where)
    for direction, rate in (("read", 1e6 + number), ("write", 5e5), ("total", 1.5e6 + number)):
        series.constant(
            "ioplateau:nfs_client_bytes:rate1m", rate, {**which, "direction": direction}
        )
    series.constant("ioplateau:volume_client_share:ratio", 0.02, which)
    series.constant("ioplateau:nfs_client_await_seconds:mean1m", 0.001 * (1 + number % 9), which)
    series.constant("ioplateau:nfs_client_throttled:ratio5m", 0.0, which)


def _volume(series: _Series, number: int) -> None:
    which = volume(number)
    clients = sum(is_client(each) and each % VOLUMES == number for each in range(VMS))
    both = {**which, "direction": "total"}
    series.constant("ioplateau:volume_bytes:rate1m", clients * 1.5e6, both)
    series.constant("ioplateau:volume_operations:rate1m", clients * 100.0, both)
    series.constant("ioplateau:volume_limit_bytes:max", clients * 1.6e6, both)
    series.constant("ioplateau:volume_limit_operations:max", clients * 200.0, both)
    full = {**both, "dimension": "throughput"}
    series.constant("ioplateau:volume_utilization:ratio", 0.94 + number / 100, full)
    series.constant("ioplateau:volume_at_limit:bool", float(number > 0), full)
    series.constant("ioplateau:volume_clients:count", float(clients), which)
    series.constant("ioplateau:volume_throttled_clients:count", 0.0, which)


DETAILED = ("vm", "disk", "nfs")
_ALREADY = {
    "ioplateau_ticks_total",
    "ioplateau_budget_throttled",
    "ioplateau_budget_info",
    "ioplateau_budget_learned_confidence_ratio",
}
_VALUES: Mapping[str, Sequence[str]] = {
    "device": disks(0),
    "mount": [MOUNT],
    "server": ["10.0.0.4"],
    "version": ["4.1"],
    "protocol": ["tcp"],
    "interface": ["eth0", "lo"],
    "direction": ["read", "write"],
    "flow_kind": ["disk"],
    "flow": disks(0),
    "serial": ["1"],
}


def _page_on_one_thing(series: _Series) -> None:
    """Every metric of the pages on one thing, of one large VM."""
    asked = {
        name
        for board in DETAILED
        for panel in ours.panels(ours.BOARDS[board])
        for target in panel["targets"]
        for name in ours.names_in(target["expr"])
    }
    for metric in sorted(asked - _ALREADY):
        for labels in _label_sets(metric):
            if metric.endswith("_total"):
                series.growing(metric, 0.5, labels)
            else:
                series.constant(metric, 1.0 if metric.endswith("_info") else 0.5, labels)


def _label_sets(metric: str) -> Iterator[Labels]:
    names = ours.LABELS[metric]
    if "dimension" in names and "flow" not in names:
        yield from limits(0)
        return
    budgets = sorted({(limit["kind"], limit["name"]) for limit in limits(0)})
    if "verdict" in names:
        for (kind, name), word in product(budgets, Word):
            yield {"kind": kind, "name": name, "verdict": word}
        return
    if "flow" in names:
        for disk in disks(0):
            vm = {"kind": "vm_uncached", "name": "vm", "dimension": "iops"}
            yield {"flow_kind": "disk", "flow": disk, **vm}
        return
    known = {name: _VALUES[name] for name in names if name in _VALUES}
    if "operation" in names:
        nfs = ("READ", "WRITE", "GETATTR", "LOOKUP", "COMMIT")
        known["operation"] = nfs if "mount" in names else ("read", "write", "flush")
    for values in product(*known.values()):
        yield dict(zip(known, values, strict=True))


if __name__ == "__main__":
    print(make(Path(sys.argv[1])))
