"""From a throttled device to somebody's webhook: kernel, exporter, Prometheus, Alertmanager.

The rules and routes are the committed ones, 15 times as fast (live_prometheus.faster).
Needs root, fio, losetup and a real disk: see throttled_disk.py.
"""

import json
import subprocess
import time

import pytest

import boards_and_rules as ours
from live_daemon import running_daemon
from live_prometheus import (
    fast_routes,
    fast_rules,
    faster,
    running_alertmanager,
    running_prometheus,
    running_receiver,
)
from throttled_disk import ThrottledDisk

pytestmark = [pytest.mark.live, pytest.mark.alone]

LIMIT_IOPS = 100  # what a disk that others use as well can always deliver
LOAD_SECONDS = 20
DISK = "IoplateauDiskThrottled"
DURATIONS = (
    ("15s", "1s"),
    ("5m", "20s"),
    ("15m", "60s"),
    ("10m", "40s"),
    ("1m", "4s"),
    ("2m", "8s"),
    ("3m", "12s"),
    ("1h", "240s"),
)
CONFIG = """
[device]
include = ["{disk}"]
exclude = ["*"]
[[limit]]
disk = "{disk}"
iops = {iops}
"""


def test_faster_rules_differ_in_durations_only():
    for text in ours.RULE_TEXTS.values():
        pairs = zip(text.splitlines(), faster(text).splitlines(), strict=True)
        changed = [(before, after) for before, after in pairs if before != after]

        assert changed
        for before, after in changed:
            for longer, shorter in DURATIONS:
                for written in ("[%s]", "[%s:", ":%s]", "for: %s", "interval: %s"):
                    before = before.replace(written % longer, written % shorter)  # noqa: PLW2901
            assert before == after


def test_a_throttled_device_is_one_notification_with_its_sentence_and_one_when_it_ends(tmp_path):
    with (
        ThrottledDisk(read_iops=LIMIT_IOPS) as disk,
        running_receiver() as receiver,
        running_alertmanager(tmp_path, fast_routes(tmp_path, receiver.url)) as alertmanager,
        running_daemon(CONFIG.format(disk=disk.name, iops=LIMIT_IOPS), tmp_path) as daemon,
        running_prometheus(
            tmp_path,
            [("vm1", daemon.url.removeprefix("http://"), "/metrics")],
            fast_rules(tmp_path),
            alertmanager,
            # The throttle of this rig is a cgroup's, which the daemon sees as well; a cloud has none.
            untold="IoplateauCgroupThrottled",
        ) as prometheus,
    ):
        load = disk.load(depth=16, seconds=LOAD_SECONDS)
        prometheus.wait_until(lambda: bool(receiver.of(DISK, "firing")), 40, "the notification")
        load.result()
        prometheus.wait_until(lambda: bool(receiver.of(DISK, "resolved")), 130, "its end")
        time.sleep(3)
        firing, resolved = receiver.of(DISK, "firing"), receiver.of(DISK, "resolved")
        paths = {path for path, _ in receiver.got}

    assert len(firing) == 1
    assert len(resolved) == 1
    assert paths == {"/storage"}
    assert firing[0]["groupLabels"] == {"instance": "vm1"}
    (alert,) = firing[0]["alerts"]
    assert alert["labels"]["name"] == disk.name
    told = alert["annotations"]["description"]
    assert told.startswith(f"Disk {disk.name} of vm1 was held at its limit of 100 IOPS for ")
    assert "% of the last 5 minutes" in told
    assert alert["annotations"]["dashboard"] == (
        f"/d/ioplateau-disk?var-instance=vm1&var-device={disk.name}"
    )
    assert alert["annotations"]["runbook_url"].endswith("/docs/runbooks/disk-throttled.md")


@pytest.fixture(scope="module")
def heard(tmp_path_factory):
    """What comes of many alerts at once, of the committed routes and inhibitions."""
    directory = tmp_path_factory.mktemp("inhibition")
    with (
        running_receiver() as receiver,
        running_alertmanager(directory, fast_routes(directory, receiver.url)) as alertmanager,
    ):
        send(alertmanager)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and len(groups(receiver)) < EXPECTED_GROUPS:
            time.sleep(0.2)
        time.sleep(3)
    return receiver


def alert(alertname, severity="warning", scope="vm", /, **labels):
    found = next(one for one in ours.ALERTS if (one.name, one.severity) == (alertname, severity))
    assert found.scope == scope
    return {"alertname": alertname, "severity": severity, "scope": scope, **labels}


def volume_labels(export):
    return {"server": "10.0.0.4", "export": export, "volume": f"10.0.0.4:{export}"}


SENT = [
    # vm1: its own limit and three of its disks.
    alert("IoplateauVmUncachedThrottled", instance="vm1", kind="vm_uncached", name="vm"),
    *(alert(DISK, instance="vm1", kind="disk", name=f"sd{letter}") for letter in "abc"),
    # vm2: two disks, one of them badly.
    alert(DISK, instance="vm2", kind="disk", name="sda"),
    alert(DISK, instance="vm2", kind="disk", name="sdb"),
    alert(DISK, "critical", instance="vm2", kind="disk", name="sdb"),
    # A full volume and twenty of its clients; another one that only a client feels.
    alert("IoplateauVolumeAtLimit", "warning", "volume", **volume_labels("/full")),
    *(
        alert(
            "IoplateauNfsVolumeThrottled",
            "warning",
            "volume",
            instance=f"client{number}",
            **volume_labels("/full"),
        )
        for number in range(20)
    ),
    *(
        alert(
            "IoplateauNfsVolumeThrottled",
            "warning",
            "volume",
            instance=f"client{number}",
            **volume_labels("/other"),
        )
        for number in range(3)
    ),
    # vm6: disks with host caching wait for the VM, and one without at its own limit, badly.
    alert("IoplateauVmCachedThrottled", instance="vm6", kind="vm_cached", name="vm"),
    alert(DISK, instance="vm6", kind="disk", name="sda"),
    alert(DISK, instance="vm6", kind="disk", name="sdb"),
    alert(DISK, "critical", instance="vm6", kind="disk", name="sdb"),
    # vm7: the VM badly, and a disk of another lane at its own limit, badly too.
    alert("IoplateauVmUncachedThrottled", instance="vm7", kind="vm_uncached", name="vm"),
    alert(
        "IoplateauVmUncachedThrottled", "critical", instance="vm7", kind="vm_uncached", name="vm"
    ),
    alert(DISK, "critical", instance="vm7", kind="disk", name="sda"),
    # A client of the full volume that waits badly.
    alert(
        "IoplateauNfsVolumeThrottled",
        "critical",
        "volume",
        instance="client20",
        **volume_labels("/full"),
    ),
    # In another network a volume has the same address.
    alert(
        "IoplateauNfsVolumeThrottled",
        "warning",
        "volume",
        network="vnet-2",
        instance="client0",
        **volume_labels("/full"),
    ),
    # A client that takes the full volume for a full connection.
    alert("IoplateauNfsConnectionThrottled", instance="client0", **volume_labels("/full")),
    # vm3: one connection.
    alert("IoplateauNfsWithoutNconnect", instance="vm3", kind="nfs_connection", name="/mnt/a"),
    alert("IoplateauNfsConnectionThrottled", instance="vm3", kind="nfs_connection", name="/mnt/a"),
    # vm4: the network, and NFS over it.
    alert("IoplateauVmNetworkThrottled", instance="vm4", kind="vm_network", name="vm"),
    alert("IoplateauNfsSlotsThrottled", instance="vm4", kind="nfs_slots", name="/mnt/a"),
    # vm5: down, and what it said last.
    alert("IoplateauExporterDown", instance="vm5"),
    alert("IoplateauSourceFailing", instance="vm5", source="mountstats"),
    # vm8 and others: down too, at an update of all.
    *(alert("IoplateauExporterDown", instance=f"vm{number}") for number in range(8, 28)),
]
EXPECTED_GROUPS = 13


def send(alertmanager):
    body = json.dumps([{"labels": labels} for labels in SENT])
    subprocess.run(
        [
            *("curl", "-sf", "-XPOST", "-H", "Content-Type: application/json", "-d", body),
            f"http://{alertmanager}/api/v2/alerts",
        ],
        check=True,
        timeout=30,
    )


def groups(receiver):
    """The alerts of each notification, by what it was grouped by, and where it went."""
    found = {}
    for path, body in list(receiver.got):
        key = (path, *body["groupLabels"].values())
        found.setdefault(key, []).extend(
            (one["labels"]["alertname"], one["labels"].get("name") or one["labels"].get("instance"))
            for one in body["alerts"]
        )
    return found


def test_a_vms_limit_silences_its_disks(heard):
    assert groups(heard)["/storage", "vm1"] == [("IoplateauVmUncachedThrottled", "vm")]


def test_other_vms_disks_are_heard_and_critical_goes_to_the_pager_instead(heard):
    assert groups(heard)["/storage", "vm2"] == [(DISK, "sda")]
    assert groups(heard)["/pager", "vm2"] == [(DISK, "sdb")]


def test_a_warning_of_the_vm_hides_no_page_of_a_disk(heard):
    assert groups(heard)["/storage", "vm6"] == [("IoplateauVmCachedThrottled", "vm")]
    assert groups(heard)["/pager", "vm6"] == [(DISK, "sdb")]


def test_a_page_of_the_vm_hides_no_page_of_a_disk(heard):
    assert sorted(groups(heard)["/pager", "vm7"]) == [
        (DISK, "sda"),
        ("IoplateauVmUncachedThrottled", "vm"),
    ]
    assert ("/storage", "vm7") not in groups(heard)


def test_a_warning_of_a_volume_hides_no_page_of_a_client(heard):
    assert groups(heard)["/pager", "10.0.0.4:/full"] == [
        ("IoplateauNfsVolumeThrottled", "client20")
    ]


def test_a_full_volume_silences_its_clients(heard):
    assert groups(heard)["/storage", "10.0.0.4:/full"] == [("IoplateauVolumeAtLimit", None)]


def test_clients_of_one_volume_are_one_message(heard):
    told = groups(heard)["/storage", "10.0.0.4:/other"]

    assert sorted(told) == [("IoplateauNfsVolumeThrottled", f"client{n}") for n in range(3)]
    assert sum("/other" in str(body["groupLabels"]) for _, body in heard.got) == 1


def test_a_mount_without_nconnect_is_told_once(heard):
    assert groups(heard)["/storage", "vm3"] == [("IoplateauNfsWithoutNconnect", "/mnt/a")]


def test_the_network_silences_nfs_on_that_vm(heard):
    assert groups(heard)["/storage", "vm4"] == [("IoplateauVmNetworkThrottled", "vm")]


def test_of_vms_that_are_down_nothing_old_is_told_and_all_are_one_message(heard):
    told = groups(heard)["/storage", "IoplateauExporterDown"]

    assert sorted(told) == sorted(
        ("IoplateauExporterDown", f"vm{number}") for number in (5, *range(8, 28))
    )


def test_a_full_volume_silences_no_client_of_one_with_its_address_in_another_network(heard):
    assert groups(heard)["/storage", "vnet-2", "10.0.0.4:/full"] == [
        ("IoplateauNfsVolumeThrottled", "client0")
    ]


def test_nothing_else_was_heard(heard):
    assert len(groups(heard)) == EXPECTED_GROUPS
    assert len(heard.got) == EXPECTED_GROUPS
