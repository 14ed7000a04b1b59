"""The judge as a detector for the simulator's examiner: JSON lines in, JSON lines out.

The first line is a machine's configuration, every further line one tick's raw procfs texts; an
answer is one line of verdicts by resource. The texts take the whole way a live tick takes:
parsers, rates, topology, limits, judge. Nothing is kept from one process to the next.
"""

# ruff: noqa: E402 - where modules are found and kept is said before they are imported
from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "exporter"))
# A process for each scenario: compiled once, as an installed package is, and not hundreds of times.
sys.pycache_prefix = os.path.join(ROOT, ".cache", "bytecode")
sys.dont_write_bytecode = False
# What the start-up makes lives as long as the process; the collector need not walk it, now or later.
gc.disable()

from ioplateau.engine import Engine, EngineSettings
from ioplateau.limits.budgets import BudgetKey, Dimension, Direction, Kind, Verdict, Word
from ioplateau.limits.claims import ConfiguredLimit, DiskFact
from ioplateau.limits.clouds.discover import Facts
from ioplateau.limits.topology import Rules
from ioplateau.measure import snapshot as sources
from ioplateau.measure.snapshot import Snapshot, Static
from ioplateau.state import State

TEXTS = {
    "diskstats": sources.DISKSTATS,
    "mountstats": sources.MOUNTSTATS,
    "netdev": sources.NETDEV,
    "psi_io": sources.PRESSURE,
    "stat": sources.STAT,
}
LANES = {
    Kind.VM_UNCACHED: "vm:uncached",
    Kind.VM_CACHED: "vm:cached",
    Kind.VM_NETWORK: "vm:nic",
}
IOPS, THROUGHPUT = Dimension.IOPS, Dimension.THROUGHPUT
NAMES = {
    (Kind.DISK, IOPS): "disk_iops",
    (Kind.DISK, THROUGHPUT): "disk_mbps",
    (Kind.STRIPE, IOPS): "disk_iops",
    (Kind.STRIPE, THROUGHPUT): "disk_mbps",
    (Kind.VM_UNCACHED, IOPS): "vm_uncached_iops",
    (Kind.VM_UNCACHED, THROUGHPUT): "vm_uncached_mbps",
    (Kind.VM_CACHED, IOPS): "vm_cached_iops",
    (Kind.VM_CACHED, THROUGHPUT): "vm_cached_mbps",
    (Kind.VM_NETWORK, THROUGHPUT): "nic_egress",
    (Kind.VOLUME, IOPS): "vol_iops",
    (Kind.VOLUME, THROUGHPUT): "vol_mbps",
    (Kind.NFS_SLOTS, Dimension.SLOTS): "nfs_slots",
    (Kind.NFS_CONNECTION, IOPS): "nfs_flow",
    (Kind.NFS_CONNECTION, THROUGHPUT): "nfs_flow",
}
SLOTS = "/proc/sys/sunrpc/tcp_max_slot_table_entries"
CACHING = {"none": "None", "ro": "ReadOnly", "rw": "ReadWrite"}


def main() -> None:
    lines = iter(sys.stdin.readline, "")
    first = next(lines, "")
    if not first:
        return
    config = json.loads(first)
    engine = Engine(settings(config))
    static = machine(config)
    gc.freeze()
    gc.enable()
    for line in lines:
        state = engine.observe(snapshot(json.loads(line), static))
        sys.stdout.write(json.dumps(answers(state)) + "\n")
        sys.stdout.flush()


def settings(config: Mapping[str, Any]) -> EngineSettings:
    """The machine's configuration as an operator would have written it."""
    facts = [
        # A SKU makes the cloud's rules of host caching apply.
        DiskFact(disk=disk["dev"], sku="Premium_LRS", caching=CACHING[disk["cache"]])
        for disk in config["disks"]
        if disk["cache"] != "none"
    ]
    return EngineSettings(
        interval_seconds=config["tick_s"],
        rules=Rules(limits=tuple(limits(config))),
        facts=Facts(disks=facts),
        # The examiner's machines have a disk of their own that is no resource.
        is_hidden=lambda name: name not in devices(config),
    )


def limits(config: Mapping[str, Any]) -> Iterator[ConfiguredLimit]:
    for disk in config["disks"]:
        yield ConfiguredLimit(disk=disk["dev"], source="config", **_ceiling(disk))
    for lane in ("uncached", "cached"):
        yield ConfiguredLimit(vm=lane, source="config", **_ceiling(config["vm"][lane]))
    if config["vm"]["nic_bps"]:
        yield ConfiguredLimit(
            vm="network",
            bytes_per_second=config["vm"]["nic_bps"],
            direction=Direction.WRITE,
            source="config",
        )
    for mount in config["mounts"]:
        yield ConfiguredLimit(
            mount=mount["path"],
            iops=mount.get("vol_iops"),
            bytes_per_second=mount.get("vol_bps"),
            source="config",
        )


def _ceiling(words: Mapping[str, Any]) -> dict[str, float | None]:
    return {
        "iops": words.get("iops"),
        "bytes_per_second": words.get("bps"),
        "burst_iops": words.get("burst_iops") or None,
        "burst_bytes_per_second": words.get("burst_bps") or None,
        "burst_seconds": words.get("credit_s"),
    }


def devices(config: Mapping[str, Any]) -> set[str]:
    return {each["dev"] for each in (*config["disks"], *config["stripes"])}


def machine(config: Mapping[str, Any]) -> Static:
    """What sysfs and sysctl would say of the machine."""
    slaves = {stripe["dev"]: tuple(stripe["members"]) for stripe in config["stripes"]}
    # Version 4.1 has session slots, of which the kernel tells nothing.
    slots = [m["slots"] for m in config["mounts"] if m.get("slots") and m.get("vers") == 3]
    return Static(
        block={name: {"dev": ""} for name in devices(config)},
        slaves=slaves,
        files={SLOTS: f"{min(slots)}\n"} if slots else {},
    )


def snapshot(record: Mapping[str, Any], static: Static) -> Snapshot:
    """One tick as the sampler would have taken it."""
    texts = {path: record[key].encode() for key, path in TEXTS.items() if key in record}
    mounts = texts.get(sources.MOUNTSTATS)
    if mounts is not None and not mounts.endswith(b"\n\n"):
        # The kernel closes each record with a blank line, which the simulator leaves out.
        texts[sources.MOUNTSTATS] = mounts.replace(b"\ndevice ", b"\n\ndevice ") + b"\n"
    return Snapshot(
        mono=record["t"],
        mono_end=record["t"],
        wall=record["t"],
        static=static,
        texts=texts,
        blobs={"tcp": sockets(record)} if record.get("tcp") else {},
    )


def sockets(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The sockets of the mounts, as socket diagnostics would tell them."""
    ports = ports_of(record["mountstats"])
    return [
        {
            "local_address": "10.0.0.5",
            "local_port": ports[one["mount"]][one["i"]],
            "remote_address": "10.0.0.4",
            "remote_port": 2049,
            "state": "established",
            "rtt_microseconds": one["rtt_us"],
            "min_rtt_microseconds": one["min_rtt_us"],
            "delivery_rate_bytes_per_second": one["delivery_rate"],
            "bytes_sent": one["bytes_sent"],
            "bytes_received": one["bytes_received"],
            "busy_microseconds": one["busy_us"],
            "receiver_limited_microseconds": one["rwnd_limited_us"],
            "sender_limited_microseconds": one["sndbuf_limited_us"],
            "receive_queue_bytes": 0,
            "send_queue_bytes": 0,
        }
        for one in record["tcp"]
    ]


def ports_of(mountstats: str) -> dict[str, list[int]]:
    """Local ports of each mount's connections, in the order of their lines."""
    found: dict[str, list[int]] = {}
    for block in mountstats.split("device ")[1:]:
        mount = block.split(" mounted on ", 1)[1].split(" ", 1)[0]
        found[mount] = [int(each.split(None, 1)[0]) for each in block.split("xprt:\ttcp ")[1:]]
    return found


def answers(state: State) -> dict[str, dict[str, Any]]:
    """Every resource that a limit holds back, or whose burst credit has an end in sight; what
    is missing is not throttled."""
    found: dict[str, dict[str, Any]] = {}
    for key, budget in state.budgets.items():
        verdict = budget.verdict
        ends = [line.exhaustion_seconds for line in budget.limits if line.exhaustion_seconds]
        if verdict.word is not Word.THROTTLED and not ends:
            continue
        resource = resource_of(key)
        is_first = resource not in found or key.kind is Kind.VOLUME
        if verdict.word is Word.THROTTLED and is_first:
            found[resource] = answer(verdict)
        if ends:
            found.setdefault(resource, {"state": verdict.word.value})["eta_s"] = min(ends)
    return found


def resource_of(key: BudgetKey) -> str:
    """The examiner's name of what a budget is about."""
    if key.kind in LANES:
        return LANES[key.kind]
    if key.kind in {Kind.DISK, Kind.STRIPE}:
        return f"{key.kind.value}:{key.name}"
    return f"nfs:{key.name}"


def answer(verdict: Verdict) -> dict[str, Any]:
    """The examiner's words for what holds a budget back."""
    assert verdict.dimension is not None
    return {
        "state": "throttled",
        "limit": NAMES.get((verdict.key.kind, verdict.dimension)),
        "value": verdict.evidence.get("level"),
    }


if __name__ == "__main__":
    main()
