"""Doctor: what we can see on this machine, what is missing, and how to mend it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ioplateau.engine import Engine
from ioplateau.judge.clouds import discover
from ioplateau.measure import ebs
from ioplateau.measure.snapshot import (
    DISKSTATS,
    MEMINFO,
    MOUNTSTATS,
    NETDEV,
    PRESSURE,
    STAT,
    Snapshot,
)
from ioplateau.run.clock import SystemClock
from ioplateau.run.limits import ask_cloud
from ioplateau.run.providers import ProviderCounters
from ioplateau.run.sampler import Sampler
from ioplateau.run.settings import ServeSettings
from ioplateau.run.sources import NfsSockets
from ioplateau.state import State


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. `mend` says what to do; "" where nothing is to be done."""

    subject: str
    is_good: bool
    what: str
    mend: str = ""
    is_vital: bool = False  # without it there is nothing to judge


WANTED = (
    (DISKSTATS, "disks", "mount procfs with subset=pid off (systemd: ProcSubset=all)", True),
    (MOUNTSTATS, "NFS mounts", "read /proc of the host: --path.procfs", False),
    (NETDEV, "network", "mount procfs with subset=pid off (systemd: ProcSubset=all)", False),
    (
        PRESSURE,
        "I/O pressure",
        "boot with psi=1 (kernel 4.20 or newer); verdicts do not need it",
        False,
    ),
    (MEMINFO, "dirty pages", "mount procfs with subset=pid off (systemd: ProcSubset=all)", False),
    (STAT, "CPU steal and iowait", "mount procfs with subset=pid off", False),
)


def look(
    settings: ServeSettings, sampler_for: Callable[[ServeSettings, SystemClock], Sampler]
) -> tuple[Finding, ...]:
    """Two ticks of this machine, half a second apart, and what they show."""
    clock = SystemClock()
    sampler = sampler_for(settings, clock)
    engine = Engine(settings.engine)
    first = sampler.take()
    state = engine.observe(first)
    NfsSockets(sampler, settings.nfs_ports, wait_seconds=5.0)(state, first)
    ProviderCounters(sampler, settings.paths.host(), clock)(state, first)
    unasked = ask_cloud(settings, sampler, first, clock)
    sampler.look_again()
    time.sleep(0.5)
    snapshot = sampler.take()
    state = engine.observe(snapshot)
    # What is read seldom was read by the first tick.
    seen = snapshot._replace(
        texts={path: t for path, t in first.texts.items() if path not in snapshot.failed}
        | dict(snapshot.texts),
        took={**first.took, **snapshot.took},
        failed={**first.failed, **snapshot.failed},
    )
    return examine(seen, state, unasked)


def examine(snapshot: Snapshot, state: State, unasked: Sequence[str] = ()) -> tuple[Finding, ...]:
    """Findings of one tick. `state` is what the engine made of `snapshot`; unasked: why
    metadata could not be had.
    """
    return tuple(
        finding
        for part in (
            _files(snapshot),
            _shape(snapshot, state),
            _nfs(snapshot, state),
            _cloud(snapshot, unasked),
            _volumes(snapshot),
            _limits(state),
        )
        for finding in part
    )


def render(findings: Iterable[Finding]) -> str:
    """The report, a line a finding, its mend below it."""
    lines = []
    for finding in findings:
        mark = "ok     " if finding.is_good else "MISSING" if finding.is_vital else "limited"
        lines.append(f"{mark}  {finding.subject}: {finding.what}")
        if finding.mend and not finding.is_good:
            lines.append(f"         -> {finding.mend}")
    return "\n".join(lines) + "\n"


def _files(snapshot: Snapshot) -> Iterable[Finding]:
    for path, subject, mend, is_vital in WANTED:
        text = snapshot.texts.get(path)
        if text is not None:
            took = snapshot.took.get(path, 0.0)
            what = f"{path}, {len(text):,} bytes in {took * 1e6:,.0f} us"
            yield Finding(subject, is_good=True, what=what)
        else:
            why = snapshot.failed.get(path, f"{path}: not read")
            yield Finding(subject, is_good=False, what=why, mend=mend, is_vital=is_vital)


def _shape(snapshot: Snapshot, state: State) -> Iterable[Finding]:
    if snapshot.static.block:
        names = ", ".join(state.disks) or "none that does I/O"
        yield Finding("block devices", is_good=True, what=f"{len(state.disks)}: {names}")
    else:
        yield Finding(
            "block devices",
            is_good=False,
            what="/sys/block shows nothing: no sizes, serials or stripes",
            mend="mount sysfs, or point --path.sysfs to the host's",
        )
    if snapshot.static.mountinfo is None:
        yield Finding(
            "mount table",
            is_good=False,
            what="/proc/self/mountinfo is not readable: superblocks cannot be told apart",
            mend="read /proc of the host: --path.procfs",
        )


def _nfs(snapshot: Snapshot, state: State) -> Iterable[Finding]:
    if not state.mounts:
        yield Finding("NFS", is_good=True, what="no NFS mounts in this mount namespace")
        return
    for client in state.clients.values():
        found = f"{client.key.server} (NFSv{client.key.version}): {len(client.now)} connections"
        if client.sockets is None:
            why = snapshot.failed.get("tcp", "socket diagnostics not asked yet")
            yield Finding(
                "NFS sockets",
                is_good=False,
                what=f"{found}, {why}",
                mend="allow AF_NETLINK (systemd: RestrictAddressFamilies)",
            )
        elif not client.sockets and client.key.protocol.startswith("tcp"):
            yield Finding(
                "NFS sockets",
                is_good=False,
                what=f"{found}, but none of its sockets is in this network namespace",
                mend="run in the network namespace in which the mount was made",
            )
        else:
            yield Finding(
                "NFS sockets", is_good=True, what=f"{found}, {len(client.sockets)} sockets seen"
            )


def _cloud(snapshot: Snapshot, unasked: Sequence[str]) -> Iterable[Finding]:
    cloud = discover.detect(snapshot.static.files)
    if not cloud:
        yield Finding(
            "cloud", is_good=True, what="none that its DMI names: no metadata is asked for"
        )
    elif snapshot.static.documents:
        documents = ", ".join(sorted(snapshot.static.documents))
        yield Finding("cloud", is_good=True, what=f"{cloud}, which told {documents}")
    else:
        yield Finding(
            "cloud",
            is_good=False,
            what=f"{cloud}, no metadata: {'; '.join(unasked) or 'not asked (--no-cloud)'}",
            mend="let 169.254.169.254 be reached, or say [vm] size and [[disk]] sku",
        )


def _volumes(snapshot: Snapshot) -> Iterable[Finding]:
    """EBS volumes count the time over their limits, for those who may ask."""
    if "ebs" not in snapshot.blobs:
        return
    counters, refused, _ = ebs.parse_all(snapshot.blobs["ebs"])
    if counters:
        names = ", ".join(counters)
        yield Finding("EBS volumes", is_good=True, what=f"{names} tell their exceeded time")
    for device, why in refused.items():
        yield Finding(
            "EBS volumes",
            is_good=False,
            what=f"{device} does not tell its exceeded time: {why}",
            mend="systemd: AmbientCapabilities=CAP_SYS_ADMIN, PrivateDevices=no and "
            "DeviceAllow=char-nvme r",
        )


def _limits(state: State) -> Iterable[Finding]:
    known = [str(key.name) for key, budget in state.budgets.items() if budget.budget.limits]
    if known:
        yield Finding("limits", is_good=True, what=f"known for {', '.join(known)}")
    else:
        yield Finding(
            "limits",
            is_good=False,
            what="none known: only plateaus that were met can be named",
            mend='state them in the configuration: [[limit]] disk = "sdc" iops = 5000',
        )
    for notice in state.notices:
        yield Finding("configuration", is_good=False, what=notice)
