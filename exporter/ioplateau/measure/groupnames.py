r"""What a control group is to a person: a systemd unit, a container, a pod. From its path alone.

systemd: systemd.slice(5), systemd.unit(5) ("\x2d" for "-" in names). Containers:
docker-<id>.scope and /docker/<id>, cri-containerd-<id>.scope, crio-<id>.scope, libpod-<id>.scope,
lxc.payload.<name>. Pods: kubepods[-besteffort|-burstable]-pod<uid>.slice with "_" for "-" (systemd
driver) and kubepods/[besteffort|burstable/]pod<uid> (cgroupfs driver), in
pkg/kubelet/cm/cgroup_manager_linux.go of Kubernetes. CSI volumes are mounted at
<kubelet>/pods/<uid>/volumes/kubernetes.io~csi/<volume>/mount (pkg/volume/csi/csi_mounter.go), those of its own
NFS plugin at <kubelet>/pods/<uid>/volumes/kubernetes.io~nfs/<volume> (pkg/volume/nfs/nfs.go).

https://www.freedesktop.org/software/systemd/man/latest/systemd.slice.html
https://www.freedesktop.org/software/systemd/man/latest/systemd.unit.html
"""

from __future__ import annotations

import re
from typing import NamedTuple

_CONTAINER = re.compile(
    r"(?:\A|/)(?:(docker|cri-containerd|crio|libpod)-)?([0-9a-f]{64})(?:\.scope)?(?=/|\Z)"
)
_LXC = re.compile(r"(?:\A|/)lxc(?:\.payload\.|/)([^/]+)")
_POD = re.compile(
    r"(?:\A|/|-)pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})"
    r"(?:\.slice)?(?=/|\Z)"
)
_UNIT = re.compile(r"\.(?:service|scope|socket|mount|swap|slice)\Z")
_WORD = re.compile(r"[\w./:@\\+-]+")
_POD_VOLUME = re.compile(
    r"/pods/([^/]+)/volumes/kubernetes\.io~(?:csi/([^/]+)/mount|nfs/([^/]+))\Z"
)


class GroupName(NamedTuple):
    """Who a control group is; "" where the path does not tell."""

    unit: str = ""  # "postgresql.service"
    container: str = ""  # first twelve digits of its id, or its name
    pod: str = ""  # uid

    def __str__(self) -> str:
        container = f"container {quoted(self.container)}" if self.container else ""
        if self.pod:
            return ", ".join(filter(None, [f"pod {self.pod}", container]))
        return container or (quoted(self.unit) if self.unit else "")


def name(path: str) -> GroupName:
    """Who the control group at `path` is. A path that fits nothing known names nobody."""
    containers = _CONTAINER.findall(path)
    container = containers[-1][1][:12] if containers else ""
    if not container and (lxc := _LXC.search(path)):
        container = lxc[1]
    pods = _POD.findall(path)
    pod = pods[-1].replace("_", "-") if pods else ""
    units = [part for part in path.split("/") if _UNIT.search(part)]
    # The innermost service or scope; a slice only where nothing else is.
    named = [unit for unit in units if not unit.endswith(".slice")] or units
    # The scope of a container, of this one or of one around it, is no unit of its own.
    unit = named[-1] if named and not _CONTAINER.search(named[-1]) else ""
    return GroupName(_unescaped(unit), container, pod)


def quoted(text: str) -> str:
    """A name for a sentence: in quotes if it holds what a sentence is made of, since anybody may choose one."""
    return text if _WORD.fullmatch(text) else '"' + text.replace('"', "'") + '"'


class PodVolume(NamedTuple):
    """A persistent volume in a pod."""

    pod: str  # uid
    # Name of the PersistentVolume, "pvc-...", or of what the pod itself declares.
    volume: str


def pod_volume(mount_point: str) -> PodVolume | None:
    """The pod and volume that a mount point of kubelet belongs to."""
    found = _POD_VOLUME.search(mount_point)
    return PodVolume(found[1], found[2] or found[3]) if found else None


def lasting_volume(mount_point: str) -> str:
    """The name of the PersistentVolume that is mounted there; "": it is none, or has the name that a pod gives a
    volume of its own, as other pods do.
    """
    found = _POD_VOLUME.search(mount_point)
    if found is None:
        return ""
    return found[2] or (found[3] if found[3].startswith("pvc-") else "")


def _unescaped(unit: str) -> str:
    return re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), unit)
