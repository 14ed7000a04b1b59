"""`ioplateau limits` as a person types it: this machine's budgets, and what would bind first."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ioplateau.engine import Engine, EngineSettings
from machine_tree import MachineTree, azure_vm

IOPLATEAU = Path(sys.executable).with_name("ioplateau")
KIB = 1024


def run(*words):
    return subprocess.run([IOPLATEAU, "limits", *words], capture_output=True, text=True, timeout=60)


def asked(size, *disks, request=(), controller=()):
    words = [word for disk in disks for word in ("--disk", disk)]
    words += [word for one in request for word in ("--request-size", one)]
    words += [word for one in controller for word in ("--controller", one)]
    done = run("--json", "--vm-size", size, *words)

    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def first(found, cache=None):
    """What binds the smallest requests: [(title, dimension, limit, how many of them)]."""
    case = next(c for c in found["cases"] if not c["burst"] and cache in (None, c["cache"]))
    return case, [(b["title"], b["dimension"], b["limit"], b["count"]) for b in case["bindings"]]


def machine(tree, toml="", *words):
    file = tree.procfs.parent / "ioplateau.toml"
    file.write_text(toml)
    done = run("--json", "--no-cloud", "--config.file", file, *tree.flags, *words)

    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def budget(found, kind, name):
    return next(b for b in found["budgets"] if (b["kind"], b["name"]) == (kind, name))


# Documented worked cases.


def test_a_ds1_with_a_p30_is_vm_bound_at_3200():
    case, bound = first(asked("Standard_DS1", "P30", request=["8k"]))

    assert case["operations_per_second"] == 3200
    assert bound == [("VM uncached", "iops", 3200, 1)]


def test_a_ds4_with_a_p30_is_disk_bound_at_200_mb():
    case, bound = first(asked("Standard_DS4", "P30", request=["256k"]))

    assert case["megabytes_per_second"] == 200
    assert bound == [("P30", "throughput", 200e6, 1)]


def test_four_p30_on_a_ds13_are_disk_bound_at_20000():
    case, bound = first(asked("Standard_DS13", "P30", "P30", "P30", "P30", request=["8k"]))

    assert case["operations_per_second"] == 20_000
    assert bound == [("P30", "iops", 5000, 4)]


def test_eleven_p30_on_a_ds14_are_vm_bound_at_51200():
    case, bound = first(asked("Standard_DS14", "11xP30", request=["8k"]))

    assert case["operations_per_second"] == 51_200
    assert bound == [("VM uncached", "iops", 51_200, 1)]


def test_a_p30_gives_what_is_documented_at_four_request_sizes():
    found = asked("Standard_DS14", "P30", request=["8k", "32k", "64k", "1024k"])
    got = [
        (c["operations_per_second_if_mebibytes"], c["megabytes_per_second"]) for c in found["cases"]
    ]
    documented = [(5000, 40), (5000, 160), (3200, 200), (200, 200)]

    # The document mixes MB and MiB: its operations are exact with MiB, its bytes within 5 %.
    assert [operations for operations, _ in got] == [operations for operations, _ in documented]
    for (_, megabytes), (_, wanted) in zip(got, documented, strict=True):
        assert megabytes == pytest.approx(wanted, rel=0.05)


def test_first_case_of_the_mechanics_the_vm_holds_the_uncached_disks_and_no_disk_holds_itself():
    found = asked("Standard_D8s_v3", "P30", "2xP30:ReadWrite", "2xP30", request=["4k"])
    case, bound = first(found, cache="hits")
    uncached = [disk for disk in case["disks"] if disk["title"] == "P30"]

    # 28,800 possible in all; the even division 4,267 + 4,266 + 4,266 is documented.
    assert case["operations_per_second"] == 28_800
    assert bound == [("VM uncached", "iops", 12_800, 1), ("VM cached", "iops", 16_000, 1)]
    assert {disk["bound_by"] for disk in uncached} == {"VM uncached"}
    assert all(disk["operations_per_second"] == pytest.approx(4266.667) for disk in uncached)


def test_second_case_of_the_mechanics_three_e30_are_disk_bound_at_1500():
    case, bound = first(asked("Standard_D8s_v3", "E30", "E30", "E30", request=["8k"]))

    assert case["operations_per_second"] == 1500
    assert bound == [("E30", "iops", 500, 3)]


@pytest.mark.parametrize(
    ("disk", "iops", "lane"), [("P30", 3200, "VM uncached"), ("P30:ReadOnly", 4000, "VM cached")]
)
def test_third_case_of_the_mechanics_a_d2s_v3_is_vm_bound(disk, iops, lane):
    case, bound = first(asked("Standard_D2s_v3", disk, request=["4k"]))

    assert case["operations_per_second"] == iops
    assert bound == [(lane, "iops", iops, 1)]


def test_the_controller_matters_where_the_documents_say_so():
    scsi = asked("Standard_E4bds_v5", "8xP30", request=["8k"])
    nvme = asked("Standard_E4bds_v5", "8xP30", request=["8k"], controller=["NVMe"])

    assert first(scsi)[0]["operations_per_second"] == 12_100
    assert first(nvme)[0]["operations_per_second"] == 16_000


def test_in_words_it_says_what_binds_first_and_from_which_request_size_on():
    done = run("--vm-size", "DS1", "--disk", "P30", "--request-size", "8k")

    assert done.returncode == 0
    assert "requests up to 9.5 KiB: VM uncached, 3,200 IOPS" in done.stdout


def test_everything_wrong_with_a_question_is_said_at_once_and_is_exit_code_2():
    done = run(
        "--vm-size",
        "Standard_D8_v33",
        "--disk",
        "Q7",
        "--request-size",
        "9x",
        "--controller",
        "USB",
    )

    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("ioplateau: ") for line in lines)
    assert "near it are Standard_D8" in lines[0]


def test_disks_without_a_vm_size_ask_for_one():
    done = run("--disk", "P30")

    assert done.returncode == 2
    assert "--vm-size" in done.stderr


# This machine.


def test_without_a_cloud_configuration_alone_gives_limits(tmp_path):
    tree = MachineTree(tmp_path)
    tree.scsi_disk("sdc", lun=3, gib=1024)
    found = machine(tree, "[[limit]]\nlun = 3\niops = 7500\n")
    limit = budget(found, "disk", "sdc")["limits"][0]

    assert (limit["limit"], limit["origin"], limit["source"]) == (
        7500,
        "configured",
        "ioplateau.toml limit[0]",
    )
    assert budget(found, "vm_uncached", "vm")["members"] == [{"kind": "disk", "name": "sdc"}]


def test_a_vm_size_by_configuration_gives_the_catalogues_limits_with_source_and_date(tmp_path):
    tree = MachineTree(tmp_path)
    tree.scsi_disk("sdc", lun=0, gib=1024)
    found = machine(
        tree, '[vm]\nsize = "Standard_D8s_v3"\n[[disk]]\ndisk = "sdc"\nsku = "Premium_LRS"\n'
    )
    lane, disk = budget(found, "vm_uncached", "vm"), budget(found, "disk", "sdc")

    assert [limit["limit"] for limit in lane["limits"]] == [12_800, 192e6]
    assert "2024" in lane["limits"][0]["source"] or "2025" in lane["limits"][0]["source"]
    assert [limit["limit"] for limit in disk["limits"]] == [5000, 200e6]
    assert disk["info"]["tier"] == "P30"


def test_what_lost_is_kept_with_the_reason(tmp_path):
    tree = MachineTree(tmp_path)
    tree.scsi_disk("sdc", lun=0, gib=1024)
    found = machine(
        tree, '[vm]\nsize = "Standard_D8s_v3"\n[[limit]]\nvm = "uncached"\niops = 10_000\n'
    )
    lane = budget(found, "vm_uncached", "vm")

    assert [(limit["limit"], limit["origin"]) for limit in lane["limits"]] == [
        (10_000, "configured"),
        (192e6, "catalogue"),
    ]
    assert lane["rejected"][0]["why"] == "catalogue says 12,800, configuration says 10,000: 10,000"


def test_a_size_nobody_knows_and_a_rule_that_matches_nothing_are_notices(tmp_path):
    tree = MachineTree(tmp_path)
    tree.scsi_disk("sdc", lun=0, gib=1024)
    found = machine(
        tree,
        '[vm]\nsize = "Standard_Z9"\n[[limit]]\ndisk = "sdz"\niops = 1\n[[disk]]\nlun = 9\nsku = "P30"\n',
    )

    assert any("'Standard_Z9' is in no table" in notice for notice in found["notices"])
    assert any("no disk matches 'sdz'" in notice for notice in found["notices"])
    assert any("no disk matches LUN 9" in notice for notice in found["notices"])
    assert budget(found, "vm_uncached", "vm")["limits"] == []


def learned_state(directory):
    """A state file of a daemon that met a plateau of 3,200 operations a second on sdc."""
    engine = Engine(EngineSettings())
    memory = engine.memory()
    memory["accounts"]["learned"] = [["disk", "sdc", "iops", "total", 3200.0]]
    (directory / "state.json").write_text(
        json.dumps({"format": 1, "ioplateau": "0", "wall": 0, "memory": memory})
    )


def test_a_learned_limit_stands_beside_the_catalogues_with_a_warning(tmp_path):
    tree = MachineTree(tmp_path)
    tree.scsi_disk("sdc", lun=0, gib=1024)
    learned_state(tmp_path)
    found = machine(tree, '[[disk]]\nlun = 0\nsku = "P30"\n', "--state.directory", tmp_path)
    disk = budget(found, "disk", "sdc")

    assert [limit["limit"] for limit in disk["limits"]] == [5000, 200e6]
    assert [(lost["limit"], lost["origin"]) for lost in disk["rejected"]] == [(3200, "learned")]
    assert any(
        "disk sdc: held at 3,200 IOPS, but catalogue says 5,000 IOPS" in notice
        for notice in found["notices"]
    )


def test_a_learned_limit_alone_is_the_limit(tmp_path):
    tree = MachineTree(tmp_path)
    tree.scsi_disk("sdc", lun=0, gib=1024)
    learned_state(tmp_path)
    found = machine(tree, "", "--state.directory", tmp_path)

    assert [(one["limit"], one["origin"]) for one in budget(found, "disk", "sdc")["limits"]] == [
        (3200, "learned")
    ]


def test_a_state_file_that_is_none_is_said_and_stays_where_it_is(tmp_path):
    tree = MachineTree(tmp_path)
    (tmp_path / "state.json").write_text("[]")
    found = machine(tree, "", "--state.directory", tmp_path)

    assert any("state.json" in notice for notice in found["notices"])
    assert (tmp_path / "state.json").read_text() == "[]"


def test_in_words_each_budget_is_a_line(tmp_path):
    tree = azure_vm(tmp_path)
    file = tmp_path / "c.toml"
    file.write_text('[vm]\nsize = "Standard_D8s_v3"\n[[limit]]\nvm = "uncached"\niops = 10_000\n')
    done = run("--no-cloud", "--config.file", file, *tree.flags)

    assert done.returncode == 0, done.stderr
    assert "VM, uncached disks vm" in done.stdout
    assert "not 12,800 IOPS (burst 16,000 IOPS): catalogue says 12,800" in done.stdout


def test_an_empty_size_is_no_question_about_this_machine():
    done = run("--vm-size", "")

    assert done.returncode == 2
    assert "no VM size: name one" in done.stderr


def test_the_last_line_says_how_many_rows_are_ones_own(tmp_path):
    (tmp_path / "own.toml").write_text(f'[limits]\ncatalogue = "{tmp_path}"\n')
    (tmp_path / "gcp_machine_types.csv").write_text(
        "series,vcpus_min,vcpus_max,disk_type,iops,mibps\nn4,8,8,hyperdisk-balanced,50000,800\n"
    )
    done = run("--config.file", str(tmp_path / "own.toml"), "--vm-size", "n4-standard-8")

    assert "together 50,000 IOPS, 838.9 MB/s" in done.stdout
    assert done.stdout.splitlines()[-1].endswith(f", over it 1 row of {tmp_path}")
