"""Control groups by name: systemd, containers and pods, as each runtime writes their paths."""

import pytest

from ioplateau.measure.groupnames import GroupName, PodVolume, name, pod_volume

ID = "0123456789ab" + "c" * 52
POD = "2c48913c-b29f-11e7-9350-020968147796"
POD_ = POD.replace("-", "_")


@pytest.mark.parametrize(
    ("path", "who"),
    [
        ("/system.slice/postgresql.service", GroupName("postgresql.service")),
        ("/system.slice/system-getty.slice/getty@tty1.service", GroupName("getty@tty1.service")),
        (r"/system.slice/a\x2db.service", GroupName("a-b.service")),
        ("/user.slice/user-0.slice/session-4.scope", GroupName("session-4.scope")),
        ("/user.slice", GroupName("user.slice")),
        (f"/system.slice/docker-{ID}.scope", GroupName(container=ID[:12])),
        (f"/docker/{ID}", GroupName(container=ID[:12])),
        (
            f"/docker/{ID}/system.slice/nginx.service",
            GroupName("nginx.service", container=ID[:12]),
        ),
        (f"/machine.slice/libpod-{ID}.scope", GroupName(container=ID[:12])),
        (
            f"/kubepods.slice/kubepods-burstable-pod{POD_}.slice/cri-containerd-{ID}.scope",
            GroupName(container=ID[:12], pod=POD),
        ),
        (
            f"/kubepods.slice/kubepods-pod{POD_}.slice/crio-{ID}.scope",
            GroupName(container=ID[:12], pod=POD),
        ),
        (f"/kubepods/besteffort/pod{POD}/{ID}", GroupName(container=ID[:12], pod=POD)),
        (f"/docker/{'d' * 64}/docker/{ID}", GroupName(container=ID[:12])),
        (
            f"/system.slice/docker-{'d' * 64}.scope/kubelet/kubepods/pod{POD}/{ID}",
            GroupName(container=ID[:12], pod=POD),
        ),
        ("/lxc.payload.web1", GroupName(container="web1")),
        ("/lxc/web1/init.scope", GroupName("init.scope", container="web1")),
        ("/batch", GroupName()),
        ("/", GroupName()),
        ("", GroupName()),
    ],
)
def test_a_path_names_who_it_is(path, who):
    assert name(path) == who


def test_a_person_reads_the_nearest_name():
    assert str(name("/system.slice/db.service")) == "db.service"
    assert str(name(f"/kubepods/pod{POD}/{ID}")) == f"pod {POD}, container {ID[:12]}"
    assert str(name("/batch")) == ""


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/a; b.service", '"a; b.service"'),
        (r"/a\x22\x20b.service", '"a\' b.service"'),
        ("/a (9 kB).scope", '"a (9 kB).scope"'),
        ("/lxc/a, pod b", 'container "a, pod b"'),
        ("/system.slice/getty@tty1.service", "getty@tty1.service"),
        ("/größe.service", "größe.service"),
    ],
)
def test_a_name_that_reads_like_a_part_of_a_sentence_is_told_in_quotes(path, told):
    assert str(name(path)) == told


def test_a_mount_of_kubelets_own_nfs_plugin_tells_pod_and_volume():
    place = f"/var/lib/kubelet/pods/{POD}/volumes/kubernetes.io~nfs/pvc-12"

    assert pod_volume(place) == PodVolume(POD, "pvc-12")
    assert pod_volume(f"{place}/below") is None


def test_a_csi_mount_tells_pod_and_volume():
    place = f"/var/lib/kubelet/pods/{POD}/volumes/kubernetes.io~csi/pvc-12/mount"

    assert pod_volume(place) == PodVolume(POD, "pvc-12")
    assert pod_volume("/var/lib/kubelet/pods/x/volumes/kubernetes.io~empty-dir/y") is None
