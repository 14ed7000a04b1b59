"""The doctor, on machines of all kinds."""

import os
import tomllib
from pathlib import Path

import pytest

from ioplateau.engine import Engine, EngineSettings
from ioplateau.engine.container import PROCESSES
from ioplateau.limits.budgets import BudgetKey, Dimension, Direction, Kind, Limit, Origin
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.measure.snapshot import DISKSTATS, MOUNTINFO, MOUNTSTATS, Snapshot, Static
from ioplateau.run import doctor
from ioplateau.run.machine import machine as machine_of
from ioplateau.run.sampler import Sampler, SamplerSettings, files
from ioplateau.run.settings import PathSettings, ServeSettings
from machine_tree import nitro_instance
from nfs_texts import entry, mounted

ROOT = Path(__file__).parents[2]
LINE = b"   8       0 sda 1 0 8 1 2 0 16 2 0 3 3 0 0 0 0 0 0\n"


@pytest.fixture
def machine(tmp_path):
    for folder in ("proc/self", "proc/net", "proc/pressure", "sys/block/sda"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "sys/block/sda/size").write_text("2048\n")
    (tmp_path / "proc/diskstats").write_bytes(LINE)
    (tmp_path / "proc/stat").write_bytes(b"cpu  1 0 1 1 5 0 0 7 0 0\nbtime 1\n")
    return tmp_path


def report(machine, **more):
    settings = ServeSettings(EngineSettings(), paths=PathSettings(rootfs=str(machine)), **more)

    def sampler_for(settings, clock):
        host = settings.paths.host()
        return Sampler(host, clock, files(host), SamplerSettings())

    findings = doctor.look(machine_of(settings, sampler_for=sampler_for), 0.01)
    return {finding.subject: finding for finding in findings}, doctor.render(findings)


def test_an_empty_machine_is_told_what_is_vital(tmp_path):
    found, text = report(tmp_path)

    assert found["disks"].is_vital
    assert not found["disks"].is_good
    where = f"{tmp_path}/proc/diskstats: no such file or directory"
    assert f"MISSING  disks: cannot see the disks: {where}" in text
    assert "ok" not in text


def test_what_keeps_the_daemon_from_being_ready_is_vital_here_too(machine):
    found, text = report(
        machine
    )  # without mountstats, mountinfo, net/dev and what is evidence only
    missing = {subject for subject, each in found.items() if each.is_vital and not each.is_good}

    assert missing == {"NFS mounts", "mount table", "network"}
    assert "limited  I/O pressure: " in text


def test_what_is_there_is_good(machine):
    found, _ = report(machine)

    assert found["disks"].is_good
    assert found["block devices"].what == "1: sda"


def test_what_is_read_seldom_is_not_missing(machine):
    found, _ = report(machine)

    assert found["CPU steal and iowait"].is_good


def test_what_is_read_seldom_and_fails_says_why(machine):
    (machine / "proc/stat").unlink()
    found, _ = report(machine)

    what = found["CPU steal and iowait"].what
    assert what.endswith(f"{machine}/proc/stat: no such file or directory")


@pytest.mark.parametrize(("is_in_part", "fix"), [(False, "psi=1"), (True, "subset=pid")])
def test_pressure_is_missed_for_the_kernel_only_where_the_rest_of_procfs_is_there(
    machine, is_in_part, fix
):
    if is_in_part:
        (machine / "proc/stat").unlink()
    found, _ = report(machine)

    assert fix in found["I/O pressure"].fix


def test_a_machine_without_sysfs_is_told(machine):
    (machine / "sys/block/sda/size").unlink()
    found, text = report(machine)

    assert not found["block devices"].is_good
    assert "--path.sysfs" in text


def test_links_that_cannot_be_read_are_told():
    why = "interfaces: no psutil for this machine"
    seen = Snapshot(0.0, 0.0, 0.0, Static(), failed={"interfaces": why})
    found = {each.subject: each for each in doctor.examine(seen, Engine().observe(seen))}

    assert found["link speeds"].what == f"cannot see the links of the interfaces: {why}"
    assert not found["link speeds"].is_vital


@pytest.mark.parametrize(
    ("reads", "example"), [(0, 'disk = "sda"'), (100, 'mount = "/a"\nbytes_per_second = ')]
)
def test_a_limit_is_proposed_of_what_data_moved_on(reads, example):
    text, static = mounted("/a", reads=reads), Static(mountinfo=entry("/a", "0:40"))
    snapshot = Snapshot(
        mono=1.0, mono_end=1.0, wall=1e9, boot=1.0, static=static,
        texts={MOUNTSTATS: text, DISKSTATS: LINE},
    )  # fmt: skip
    state = Engine().observe(snapshot)

    [found] = [each for each in doctor.examine(snapshot, state) if each.subject == "limits"]

    assert found.fix.partition("[[limit]]\n")[2].startswith(example)


@pytest.mark.parametrize(
    ("why", "may_be_refused"),
    [("sockets: no answer within 0.4 s, going on without it", False), ("not permitted", True)],
)
def test_sockets_whose_answer_came_late_are_not_said_to_be_refused(why, may_be_refused):
    text = mounted("/a", ports=(0,), reads=1)
    static = Static(mountinfo=entry("/a", "0:40"))
    snapshot = Snapshot(
        mono=1.0, mono_end=1.0, wall=1e9, boot=1.0, static=static, texts={MOUNTSTATS: text},
        failed={"tcp": why},
    )  # fmt: skip
    state = Engine().observe(snapshot)

    [found] = [each for each in doctor.examine(snapshot, state) if each.subject == "NFS sockets"]

    assert found.what.startswith("fs (NFSv4.1): 1 connection, ")
    assert ("AF_NETLINK" in found.fix) is may_be_refused


def test_mounts_are_told_with_their_connections(machine):
    (machine / "proc/self/mountstats").write_bytes(mounted("/a"))
    (machine / "proc/self/mountinfo").write_bytes(entry("/a", "0:40"))
    found, _ = report(machine)

    assert "fs (NFSv4.1): 2 connections" in found["NFS sockets"].what
    assert "no answer" not in found["NFS sockets"].what


@pytest.mark.parametrize("is_container", [False, True])
def test_mounts_of_the_host_are_missed_in_a_container_alone(is_container):
    files = {PROCESSES: "pid:[4026532000]"} if is_container else {}
    seen = Snapshot(0.0, 0.0, 0.0, Static(files=files), texts={MOUNTSTATS: b""})
    state = Engine(EngineSettings()).observe(seen)
    found = {each.subject: each for each in doctor.examine(seen, state)}["NFS"]

    assert found.is_good is not is_container
    assert ("those of the host are not seen" in found.what) is is_container


def test_a_container_that_has_mounts_misses_none():
    files = {PROCESSES: "pid:[4026532000]"}
    texts = {MOUNTSTATS: mounted("/a"), MOUNTINFO: entry("/a", "0:40")}
    seen = Snapshot(0.0, 0.0, 0.0, Static(files=files), texts=texts)
    state = Engine(EngineSettings()).observe(seen)

    assert not [each for each in doctor.examine(seen, state) if "are not seen" in each.what]


def test_ebs_volumes_that_tell_nothing_are_fixed_by_the_drop_in_of_the_service():
    asked = Snapshot(0.0, 0.0, 0.0, Static(), blobs={"ebs": {"nvme1": "permission denied"}})
    state = Engine(EngineSettings()).observe(asked)
    found = {each.subject: each for each in doctor.examine(asked, state)}["EBS volumes"]
    drop_in = (ROOT / "deploy/systemd/ebs.conf").read_text()

    assert found.what == "nvme1 does not tell its exceeded time: permission denied"
    assert found.fix.startswith("it takes CAP_SYS_ADMIN, which the service gets by: ")
    service, pod = found.fix.split("\n")
    for command in service.partition(": ")[2].split(" && "):
        assert command in drop_in
    assert "privileged: true" in pod


def test_who_is_not_root_is_told_so_where_the_mounts_of_process_1_are_read():
    snapshot = Snapshot(
        *(0.0, 0.0, 0.0, Static()),
        failed={MOUNTSTATS: "/host/proc/1/mountstats: Permission denied"},
    )
    state = Engine(EngineSettings()).observe(snapshot)
    found = {each.subject: each for each in doctor.examine(snapshot, state)}["NFS mounts"]

    assert found.is_vital
    assert "runAsUser: 0" in found.fix


def test_ebs_volumes_that_tell_nothing_for_one_reason_are_one_finding():
    refused = {"nvme0n1": "not permitted", "nvme1n1": "not permitted", "nvme2n1": "gone"}
    asked = Snapshot(0.0, 0.0, 0.0, Static(), blobs={"ebs": refused})
    state = Engine(EngineSettings()).observe(asked)
    found = [each for each in doctor.examine(asked, state) if each.subject == "EBS volumes"]

    assert [each.what for each in found] == [
        "nvme0n1, nvme1n1 do not tell their exceeded time: not permitted",
        "nvme2n1 does not tell its exceeded time: gone",
    ]


def test_limits_are_known_where_a_disk_has_one_and_not_where_a_control_group_has():
    seen = Snapshot(0.0, 0.0, 0.0, Static(), texts={DISKSTATS: LINE})

    def limits(*rules):
        state = Engine(EngineSettings(rules=Rules(rules))).observe(seen)
        disk = state.budgets[BudgetKey(Kind.DISK, "sda")]
        allowed = Limit(Dimension.IOPS, Direction.READ, 100.0, Origin.CONFIGURED)
        key = BudgetKey(Kind.CGROUP, "db.slice on sda")
        group = disk._replace(budget=disk.budget._replace(key=key, limits=(allowed,)))
        state = state._replace(budgets={**state.budgets, key: group})
        return {each.subject: each for each in doctor.examine(seen, state)}["limits"]

    assert not limits().is_good
    assert limits(ConfiguredLimit(disk="sda", iops=500.0)).what == "known for disk sda"


@pytest.mark.parametrize(
    ("subject", "entry"),
    [
        ("limits", {"limit": [{"disk": "nvme0n1", "iops": 5000}]}),
        (
            "EBS volume types",
            {"disk": [{"serial": "vol0123456789abcdef0", "sku": "gp3", "iops": 3000}]},
        ),
    ],
)
def test_what_doctor_says_to_configure_is_toml_with_a_disk_of_this_machine(
    subject, entry, tmp_path
):
    nitro_instance(tmp_path)
    found, _ = report(tmp_path)
    text = doctor.render((found[subject],))

    assert tomllib.loads(text.partition("like:\n")[2]) == entry


def test_garbage_everywhere_is_a_report_all_the_same(machine):
    for path in ("diskstats", "stat", "self/mountstats", "self/mountinfo", "meminfo", "net/dev"):
        (machine / "proc" / path).write_bytes(bytes(range(256)) * 10)
    (machine / "sys/block/sda/size").write_bytes(b"\xff\xfe")
    found, text = report(machine)

    assert found["block devices"]
    assert all(line.isprintable() for line in text.split("\n"))


def test_a_state_directory_that_takes_no_file_is_said(machine, tmp_path_factory):
    writable = tmp_path_factory.mktemp("state")
    refused = report(machine, state_directory="/proc")[0]["state directory"]

    assert not refused.is_good
    assert refused.what.startswith("/proc: no file can be written (")
    assert "state directory" not in report(machine, state_directory=str(writable))[0]
    assert list(writable.iterdir()) == []


def test_whether_another_user_may_write_there_is_not_told(machine, tmp_path_factory):
    writable = tmp_path_factory.mktemp("state")
    writable.chmod(0o500)
    was = os.geteuid()
    os.seteuid(was or 65534)
    try:
        assert "state directory" not in report(machine, state_directory=str(writable))[0]
    finally:
        os.seteuid(was)
