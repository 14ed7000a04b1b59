"""Doctor: what we can see on this machine, what is missing, and how to fix it."""

from __future__ import annotations

import errno
import os
import time
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ioplateau.engine import container
from ioplateau.engine.sources import FILES
from ioplateau.limits.budgets import BudgetKey, Kind
from ioplateau.limits.clouds import discover
from ioplateau.limits.clouds.aws import is_ebs
from ioplateau.limits.stacks import is_remote_disk
from ioplateau.measure import ebs
from ioplateau.measure.mountstats import SERVER_READ, SERVER_WRITE
from ioplateau.measure.snapshot import (
    DISKSTATS,
    MEMINFO,
    MOUNTINFO,
    MOUNTSTATS,
    NETDEV,
    PRESSURE,
    STAT,
    Snapshot,
)
from ioplateau.run import files
from ioplateau.run.machine import Machine
from ioplateau.run.reader import LATE
from ioplateau.run.settings import PathSettings, ServeSettings
from ioplateau.run.statefile import TRIED_BYTES
from ioplateau.state import State
from ioplateau.tell import failedsources, formatting
from ioplateau.threads import started

WRITE_SECONDS = 5.0  # for a file in the state directory

# What is allowed by the administrator or the client, whatever the storage would give.
NOT_STORAGE = (Kind.CGROUP, Kind.NFS_SLOTS, Kind.NFS_CONNECTION)


class Finding(NamedTuple):
    """One line of the report. `fix` says what to do, in lines; "" where nothing is to be done."""

    subject: str
    is_good: bool
    what: str
    fix: str = ""
    # Without it budgets are unknown or missing, or the daemon does not start.
    is_vital: bool = False


def _good(subject: str, what: str) -> Finding:
    return Finding(subject, is_good=True, what=what)


def _lacking(subject: str, what: str, fix: str = "", *, is_vital: bool = False) -> Finding:
    return Finding(subject, is_good=False, what=what, fix=fix, is_vital=is_vital)


# By what the engine calls a source: failedsources has the words, and which are vital.
SOURCES = {each.key: each.name for each in FILES}
PROCFS_IN_PART = "mount procfs with subset=pid off (systemd: ProcSubset=all)"
NO_PSI = "boot with psi=1 (kernel 4.20 or newer); verdicts do not need it"
OTHER_PROCFS = "read /proc of the host: --path.procfs"
AS_ROOT = "of process 1 root alone may read it, without any capability (Kubernetes: runAsUser: 0)"
NO_SYSFS = "mount sysfs, or point --path.sysfs to the host's"
WANTED = (
    (DISKSTATS, "disks", PROCFS_IN_PART),
    (MOUNTSTATS, "NFS mounts", OTHER_PROCFS),
    (NETDEV, "network", PROCFS_IN_PART),
    (PRESSURE, "I/O pressure", NO_PSI),
    (MEMINFO, "dirty pages", PROCFS_IN_PART),
    (STAT, "CPU steal and iowait", "mount procfs with subset=pid off"),
)


def look(machine: Machine, apart_seconds: float = 0.5) -> tuple[Finding, ...]:
    """Two ticks of this machine, and what they show."""
    state, first = machine.tick()
    machine.background.add_sources(state, first, wait_seconds=5.0)
    unasked = machine.ask_cloud(first)
    machine.sampler.look_again()
    time.sleep(apart_seconds)
    state, snapshot = machine.tick()
    # What is read seldom was read by the first tick.
    seen = snapshot._replace(
        texts={path: t for path, t in first.texts.items() if path not in snapshot.failed}
        | dict(snapshot.texts),
        took={**first.took, **snapshot.took},
        failed={**first.failed, **snapshot.failed},
    )
    astray = _astray(machine.settings.paths)
    return (
        *_settings(machine.settings),
        *(
            finding._replace(fix=astray) if astray and finding.fix else finding
            for finding in examine(seen, state, unasked)
        ),
    )


def _settings(settings: ServeSettings) -> Iterable[Finding]:
    """What is wrong with files that the daemon is told of; nothing where all is well."""
    directory, file = settings.state_directory, settings.web.config_file
    if directory is not None and (why := _unwritable(Path(directory))):
        yield _lacking(
            "state directory",
            f"{directory}: {why}, so that a restart forgets everything",
            fix="a directory that the daemon's user can write to, on a disk with room",
        )
    if file is not None:
        from ioplateau.web.accessfile import AccessFile
        from ioplateau.web.config import WebConfigError

        try:
            AccessFile(file)
        except WebConfigError as error:
            for problem in error.problems:
                fix = "the daemon does not start with it"
                yield _lacking("web.config.file", problem, fix, is_vital=True)


def _unwritable(directory: Path) -> str:
    """Why no file can be written there; "": one can be."""
    found: deque[str] = deque()
    # A disk that is frozen or throttled is not waited for.
    writing = started("doctor", lambda: found.append(_tried(directory)))
    if writing is None:
        return ""
    writing.join(WRITE_SECONDS)
    return found[0] if found else f"no file was written within {WRITE_SECONDS:g} s"


def _tried(directory: Path) -> str:
    try:
        # By a name of its own: a daemon may be writing.
        files.try_write(directory / "doctor", TRIED_BYTES)
    except OSError as error:
        if isinstance(error, PermissionError) and os.geteuid() != 0:
            return ""  # the daemon's user may be allowed to
        if isinstance(error, FileNotFoundError) and not directory.is_dir():
            return "there is no such directory"
        return f"no file can be written ({error.strerror or error})"
    return ""


def _astray(paths: PathSettings) -> str:
    """What to do where a directory that was given is none: then nothing else is of use."""
    given = {
        "--path.rootfs": paths.rootfs,
        "--path.procfs": paths.procfs,
        "--path.sysfs": paths.sysfs,
    }
    wrong = [f"{flag} {path}" for flag, path in given.items() if path and not os.path.isdir(path)]
    return f"there is no such directory: {', '.join(wrong)}" if wrong else ""


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
            _volume_types(state),
            _limits(state),
        )
        for finding in part
    )


def render(findings: Iterable[Finding]) -> str:
    """The report, a line a finding, its fix below it."""
    lines = []
    for finding in findings:
        mark = "ok     " if finding.is_good else "MISSING" if finding.is_vital else "limited"
        lines.append(f"{mark}  {finding.subject}: {finding.what}")
        if finding.fix:
            first, *more = finding.fix.split("\n")
            lines += [f"         -> {first}", *(f"            {line}" for line in more)]
    return "\n".join(map(formatting.printable, lines)) + "\n"


def _files(snapshot: Snapshot) -> Iterable[Finding]:
    for path, subject, fix in WANTED:
        text = snapshot.texts.get(path)
        if text is not None:
            took = snapshot.took.get(path, 0.0)
            what = f"{path}, {len(text):,} bytes in {took * 1e6:,.0f} us"
            yield _good(subject, what)
        else:
            source = SOURCES[path]
            why = failedsources.sentence(source, snapshot.failed.get(path, f"{path}: not read"))
            # A procfs in part has no pressure either, whatever the kernel was booted with.
            is_in_part = fix == NO_PSI and STAT not in snapshot.texts
            fitting = PROCFS_IN_PART if is_in_part else fix
            if why.endswith(os.strerror(errno.EACCES).lower()) and path == MOUNTSTATS:
                fitting = AS_ROOT
            yield _lacking(subject, why, fitting, is_vital=source in failedsources.VITAL)
    if "interfaces" in snapshot.failed:
        why = failedsources.sentence("interfaces", snapshot.failed["interfaces"])
        yield _lacking("link speeds", why)


def _shape(snapshot: Snapshot, state: State) -> Iterable[Finding]:
    unseen = snapshot.failed.get("sysfs")
    if unseen is not None:
        yield _lacking(
            "block devices",
            f"{failedsources.sentence('sysfs', unseen)}: no sizes, serials or stripes",
            fix=NO_SYSFS,
            is_vital="sysfs" in failedsources.VITAL,
        )
    elif DISKSTATS in snapshot.failed:
        pass  # which there are nobody can say
    elif snapshot.static.block:
        names = ", ".join(state.disks) or "none that does I/O"
        yield _good("block devices", f"{len(state.disks)}: {names}")
    else:
        yield _lacking(
            "block devices",
            "/sys/block shows nothing: no sizes, serials or stripes",
            fix=NO_SYSFS,
        )
    if snapshot.static.mountinfo is None:
        why = snapshot.failed.get(MOUNTINFO, f"{MOUNTINFO}: not readable")
        yield _lacking(
            "mount table",
            f"{failedsources.sentence('mountinfo', why)}: superblocks cannot be told apart",
            fix=OTHER_PROCFS,
            is_vital="mountinfo" in failedsources.VITAL,
        )


def _nfs(snapshot: Snapshot, state: State) -> Iterable[Finding]:
    if MOUNTSTATS in snapshot.failed:
        return  # told with the files
    if not state.mounts and container.is_container(snapshot.static.files):
        yield _lacking(
            "NFS",
            "no NFS mounts in this container; those of the host are not seen",
            fix="mount the host's /proc here and say --path.procfs",
        )
        return
    if not state.mounts:
        yield _good("NFS", "no NFS mounts in this mount namespace")
        return
    for client in state.clients.values():
        connections = formatting.counted(len(client.now), "connection")
        found = f"{client.key.server} (NFSv{client.key.version}): {connections}"
        if client.sockets is None:
            why = snapshot.failed.get("tcp", "socket diagnostics not asked yet")
            yield _lacking(
                "NFS sockets",
                f"{found}, {why}",
                # Who answers late may be asked.
                fix="" if LATE in why else "allow AF_NETLINK (systemd: RestrictAddressFamilies)",
            )
        elif not client.sockets and client.key.protocol.startswith("tcp"):
            yield _lacking(
                "NFS sockets",
                f"{found}, but none of its sockets is in this network namespace",
                fix="run in the network namespace in which the mount was made (Kubernetes: hostNetwork: true)",
            )
        else:
            yield _good("NFS sockets", f"{found}, {len(client.sockets)} sockets seen")


def _cloud(snapshot: Snapshot, unasked: Sequence[str]) -> Iterable[Finding]:
    cloud = discover.detect(snapshot.static.files)
    if not any(path.startswith(discover.DMI) for path in snapshot.static.files):
        yield _lacking(
            "cloud",
            f"cannot be told: nothing in {discover.DMI} can be read, so no metadata is asked for",
            fix="say [vm] size and [[disk]] sku, if it has any",
        )
    elif not cloud:
        yield _good("cloud", "none that its DMI names: no metadata is asked for")
    elif snapshot.static.documents:
        documents = ", ".join(sorted(snapshot.static.documents))
        yield _good("cloud", f"{cloud}, which told {documents}")
    else:
        yield _lacking(
            "cloud",
            f"{cloud}, no metadata: {'; '.join(unasked) or 'not asked (--no-cloud)'}",
            fix="let 169.254.169.254 be reached, or say [vm] size and [[disk]] sku",
        )


def _volumes(snapshot: Snapshot) -> Iterable[Finding]:
    """EC2's volumes count the time over their limits, for those who may ask."""
    if "ebs" not in snapshot.blobs:
        return
    counters, refused, _ = ebs.parse_all(snapshot.blobs["ebs"])
    for what, is_store in ("EBS volumes", False), ("instance store", True):
        names = [name for name, each in counters.items() if each.is_instance_store is is_store]
        if names:
            tell = "tell their" if names[1:] else "tells its"
            yield _good(what, f"{', '.join(names)} {tell} exceeded time")
    for why in dict.fromkeys(refused.values()):
        alike = [device for device, reason in refused.items() if reason == why]
        do = "do" if alike[1:] else "does"
        yield _lacking(
            "EBS volumes",
            f"{', '.join(alike)} {do} not tell {'their' if alike[1:] else 'its'} exceeded time: {why}",
            fix="it takes CAP_SYS_ADMIN, which the service gets by: install -D -m 644 /usr/share/ioplateau/ebs.conf "
            "/etc/systemd/system/ioplateau.service.d/ebs.conf && systemctl daemon-reload && "
            "systemctl restart ioplateau\nin a pod: privileged: true without allowPrivilegeEscalation and "
            "capabilities, and the node's /dev at /dev",
        )


def _volume_types(state: State) -> Iterable[Finding]:
    """Nobody inside an instance is told what its EBS volumes were sold as."""
    ours = [name for name, disk in state.disks.items() if disk.device and is_ebs(disk.device)]
    unknown = [name for name in ours if not _sku(state, name)]
    if unknown:
        disks = state.sold.identity.disks
        untold = [disk.untold for name in unknown if (disk := disks.get(name)) and disk.untold]
        whose = "; ".join(untold) or "told by nobody here"
        # Kernel names of NVMe disks are given anew at each start.
        device = state.disks[unknown[0]].device
        which = (
            f'serial = "{device.serial}"' if device and device.serial else f'disk = "{unknown[0]}"'
        )
        yield _lacking(
            "EBS volume types",
            f"what {', '.join(unknown)} were sold as is unknown ({whose}): no limits",
            fix="cloud.volumes_file with what `aws ec2 describe-volumes --output json` prints, or, "
            "not with deb, rpm or the single file, cloud.describe_volumes = true (the extra "
            "ioplateau[ec2], a role that may ec2:DescribeVolumes), or in the configuration, like:"
            f'\n[[disk]]\n{which}\nsku = "gp3"\niops = 3000',
        )
    elif ours:
        types = ", ".join(f"{name} {_sku(state, name)}" for name in ours)
        yield _good("EBS volume types", types)


def _sku(state: State, name: str) -> str:
    found = state.budgets.get(BudgetKey(Kind.DISK, name))
    return "" if found is None else found.budget.info.get("sku", "")


def _limits(state: State) -> Iterable[Finding]:
    if failedsources.vital(state):
        yield _lacking("limits", "cannot be told of what cannot be seen")
        return
    known = [
        f"{key.kind} {key.name}"
        for key, budget in state.budgets.items()
        if budget.budget.limits and key.kind not in NOT_STORAGE
    ]
    if known:
        yield _good("limits", f"known for {', '.join(known)}")
    else:
        lines = _example(state)
        example = f", like:\n[[limit]]\n{lines}" if lines else ""
        yield _lacking(
            "limits",
            "none known: only plateaus that were met can be named",
            fix=f"state them in the configuration{example}",
        )
    for notice in state.notices:
        yield _lacking("configuration", notice)


def _example(state: State) -> str:
    """A limit to state, of what most data moved on: an NFS volume, or else a disk; "": there is neither."""
    moved = {
        label: sum(mount.now.bytes[SERVER_READ : SERVER_WRITE + 1])
        for label, mount in state.mounts.items()
    }
    busiest = max(moved, key=lambda label: moved[label], default=None)
    if busiest is not None and moved[busiest]:
        return f'mount = "{busiest}"\nbytes_per_second = 100_000_000'
    remote = (name for name, disk in state.disks.items() if is_remote_disk(name, disk.device))
    disk = next(remote, next(iter(state.disks), None))
    return "" if disk is None else f'disk = "{disk}"\niops = 5000'
