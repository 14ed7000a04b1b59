"""The commands, as a person types them."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ioplateau.cli.commands import COMMANDS
from machine_tree import MachineTree

IOPLATEAU = Path(sys.executable).with_name("ioplateau")
MACHINE = Path(__file__).parent.parent / "machines/disk_iops_p10/recording.jsonl.gz"


def run(*words):
    return subprocess.run([IOPLATEAU, *words], capture_output=True, text=True, timeout=60)


def bytes_in(charset, *words):
    """Standard output where Python writes that character set."""
    environ = {**os.environ, "PYTHONIOENCODING": charset}
    done = subprocess.run([IOPLATEAU, *words], capture_output=True, timeout=60, env=environ)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def limits(tmp_path):
    file = tmp_path / "limits.toml"
    file.write_text('[[limit]]\ndisk = "sda"\niops = 500\nbytes_per_second = 100_000_000\n')
    return file


def test_version_is_said():
    done = run("--version")

    assert done.returncode == 0
    assert done.stdout.startswith("ioplateau 0.")
    assert done.stdout.endswith(", native scan)\n")


def test_without_a_command_all_are_named():
    done = run()

    assert done.returncode == 2
    for name in COMMANDS:
        assert f" {name}" in done.stderr
    assert "--help" in done.stderr


def test_python_runs_the_package_as_the_command():
    command = [sys.executable, "-m", "ioplateau", "serv"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert (done.returncode, done.stderr) == (2, run("serv").stderr)


def test_version_says_that_the_native_scan_is_switched_off(monkeypatch):
    monkeypatch.setenv("IOPLATEAU_NATIVE", "0")

    assert "native" not in run("--version").stdout


def test_an_unknown_command_is_exit_code_2():
    done = run("serv")

    assert done.returncode == 2
    assert "serve" in done.stderr


def test_replay_prints_a_line_of_verdicts_for_each_snapshot(limits):
    done = run("replay", MACHINE, "--config.file", limits, "--format", "json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    words = {
        budget["verdict"]
        for line in lines
        for budget in line["budgets"]
        if (budget["kind"], budget["name"]) == ("disk", "sda")
    }

    assert done.returncode == 0, done.stderr
    assert len(lines) == 168
    assert {"idle", "throttled"} <= words


def test_replay_tells_episodes_in_words(limits):
    done = run("replay", MACHINE, "--config.file", limits)

    assert "disk sda throttled" in done.stdout
    assert "168 snapshots" in done.stdout


def test_replay_and_report_count_the_same_episodes(limits):
    replayed = run("replay", MACHINE, "--config.file", limits).stdout
    reported = run("report", MACHINE, "--config.file", limits).stdout

    assert replayed.count(" disk sda throttled: ") == 2  # a second apart
    assert replayed.endswith(", 1 episode\n")
    assert "\n1 episode, " in reported


def test_replay_tells_slots_in_words_that_say_why():
    done = run("replay", MACHINE.parents[1] / "nfs_slots_v3" / "recording.jsonl.gz")

    assert "62 calls wait for one, 97% of a call's time passes before it is sent" in done.stdout


def test_recordings_one_behind_the_other_have_a_time_axis_each(tmp_path):
    twice = tmp_path / "twice.jsonl.gz"
    twice.write_bytes(MACHINE.read_bytes() * 2)
    once, done = run("replay", MACHINE).stdout.splitlines(), run("replay", twice)

    assert done.stdout.splitlines()[: len(once) - 1] == once[:-1]
    assert done.stdout.count("recorded 2026") == 2
    assert "336 snapshots over 5 min 34 s" in done.stdout
    assert not done.stderr


def test_that_a_recording_was_cut_off_is_told(tmp_path):
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(MACHINE.read_bytes()[:-40])

    assert "1 damaged line was left out: the end: cut off" in run("replay", cut).stderr
    assert "Damaged: the end: cut off" in run("report", cut).stdout


def test_replay_gives_the_last_exposition(limits):
    done = run("replay", MACHINE, "--config.file", limits, "--format", "metrics")

    assert 'ioplateau_disk_operations_total{device="sda",operation="read"}' in done.stdout
    assert "ioplateau_budget_throttle_episodes_total{" in done.stdout


def test_fail_on_throttle_is_exit_code_1(limits):
    done = run("replay", MACHINE, "--config.file", limits, "--fail-on-throttle")

    assert done.returncode == 1


def test_replaying_something_else_is_a_sentence_and_exit_code_2(tmp_path):
    file = tmp_path / "photo.gz"
    file.write_bytes(b"\x89PNG")
    done = run("replay", file)

    assert done.returncode == 2
    assert str(file) in done.stderr
    assert "Traceback" not in done.stderr


def test_record_writes_what_replay_reads(tmp_path):
    file = tmp_path / "here.jsonl.gz"
    recorded = run("record", file, "--seconds", "1", "--sampling.interval", "0.2")
    replayed = run("replay", file, "--format", "json")

    assert recorded.returncode == 0, recorded.stderr
    assert len(replayed.stdout.splitlines()) == 6


def test_record_replaces_a_file_that_is_there_and_its_help_says_so(tmp_path):
    file = tmp_path / "here.jsonl.gz"
    file.write_bytes(b"something longer than nothing" * 100_000)
    recorded = run("record", file, "--seconds", "0.2", "--sampling.interval", "0.2")
    replayed = run("replay", file, "--format", "json")

    assert recorded.returncode == 0, recorded.stderr
    assert len(replayed.stdout.splitlines()) == 2
    assert "a file that is there is replaced" in " ".join(run("record", "--help").stdout.split())


def test_a_recording_of_one_snapshot_is_told_as_one(tmp_path):
    file = tmp_path / "here.jsonl"
    recording = subprocess.Popen(
        [IOPLATEAU, "record", file, "--no-cloud", "--sampling.interval", "7"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not file.exists() and recording.poll() is None:
        time.sleep(0.05)
    recording.terminate()

    assert recording.communicate(timeout=60)[1] == f"{file}: 1 snapshot\n"


def test_a_recording_ends_at_once_when_the_disk_is_full():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [IOPLATEAU, "record", "-", "--seconds", "3600", "--sampling.interval", "0.2"],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
        )  # fmt: skip

    assert done.returncode == 2
    assert "No space left on device" in done.stderr


def test_record_into_nowhere_is_a_sentence(tmp_path):
    done = run("record", tmp_path / "no/such/place.gz", "--seconds", "1")

    assert done.returncode == 2
    assert "place.gz: No such file or directory\n" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("limits", "--size", "D4s_v5"),
            "unrecognized arguments: --size D4s_v5; near it is --vm-size",
        ),
        (("report", "--min", "3"), "unrecognized arguments: --min; near it is --minutes"),
        (("top", "--jsn"), "unrecognized arguments: --jsn; near it is --json"),
        (
            ("top", "--web.listen-adress=:1"),
            "unrecognized arguments: --web.listen-adress=:1; near it is --web.listen-address",
        ),
        (("doctor", "now"), "unrecognized arguments: now"),
    ],
)
def test_a_flag_that_a_command_does_not_have_is_refused_with_the_nearest_it_has(words, told):
    done = run(*words)

    assert done.returncode == 2
    usage, last = done.stderr.splitlines()[0], done.stderr.splitlines()[-1]
    assert usage.startswith(f"usage: ioplateau {words[0]} ")
    assert last == f"ioplateau {words[0]}: error: {told}"


def test_a_daemon_that_would_start_says_so_and_opens_nothing(limits):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = run("serve", "--check", "--config.file", limits, "--web.listen-address", address)

    assert (done.returncode, done.stdout) == (0, "configuration is good\n"), done.stderr


@pytest.mark.parametrize(
    ("web", "told"),
    [
        ('listen_addresses = ["127.0.0.1:9999"]', "web.listen_addresses: found 127.0.0.1:9999"),
        ('config_file = "/nonexistent.yml"', "/nonexistent.yml: No such file or directory"),
        ('config_files = "/a.yml"', "web.config_files: unknown key"),
    ],
)
def test_what_the_service_would_not_start_with_is_told_by_a_check(tmp_path, web, told):
    file = tmp_path / "ioplateau.toml"
    file.write_text(f"[web]\n{web}\n")
    done = run("serve", "--check", "--web.systemd-socket", "--config.file", file)

    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_doctor_says_what_it_sees(tmp_path):
    done = run("doctor")

    assert done.returncode == 0
    assert "ok       disks: /proc/diskstats" in done.stdout


def test_doctor_on_a_machine_without_proc_says_how_to_mend_it(tmp_path):
    done = run("doctor", "--path.procfs", tmp_path)

    assert done.returncode == 1
    assert "MISSING  disks" in done.stdout
    assert "ProcSubset=all" in done.stdout


@pytest.mark.parametrize("flag", ["--path.procfs", "--path.sysfs", "--path.rootfs"])
def test_doctor_says_which_directory_it_was_given_is_none(flag):
    done = run("doctor", flag, "/nonexistent")

    assert done.returncode == 1
    assert f"-> there is no such directory: {flag} /nonexistent" in done.stdout
    assert "ProcSubset=all" not in done.stdout


@pytest.fixture
def without_disks(tmp_path):
    """Flags for a machine of which diskstats cannot be read."""
    tree = MachineTree(tmp_path)
    (tree.procfs / "diskstats").unlink()
    return ["--no-cloud", *tree.flags]


def test_a_report_is_no_all_clear_of_disks_that_it_could_not_see(tmp_path, without_disks):
    command = ("report", "--minutes", "0.02", *without_disks)
    done, told = run(*command), json.loads(run(*command, "--format", "json").stdout)
    (unseen,) = [each for each in told["unseen"] if each["source"] == "diskstats"]

    assert done.returncode == 2
    assert re.search(r"What was found\n-+\nCannot see the disks: .*no such file", done.stdout)
    assert "Nothing was throttled" not in done.stdout
    assert re.search("time with readings +none", done.stdout)
    assert told["seconds_with_readings"] == 0
    assert unseen["sentence"].startswith(f"cannot see the disks: {tmp_path}")
    assert unseen["seconds"] == pytest.approx(told["ended"] - told["began"], abs=0.2)


@pytest.mark.parametrize(
    "command",
    [
        ("limits",),
        ("limits", "--json"),
        ("top", "-b", "-n", "1", "--no-daemon"),
        ("top", "--json", "-n", "1"),
    ],
)
@pytest.mark.parametrize(
    ("lost", "code"), [(("diskstats", "self/mountstats"), 2), (("net/dev",), 0)]
)
def test_a_command_that_could_read_nothing_of_the_storage_says_so_to_a_script(
    tmp_path, command, lost, code
):
    tree = MachineTree(tmp_path)
    tree.scsi_disk("sdc", lun=0, gib=64)
    for name in lost:
        (tree.procfs / name).unlink()
    done = run(*command, "--no-cloud", *tree.flags)

    assert (done.returncode, done.stderr) == (code, "")
    assert "cannot see" in done.stdout.lower()


def test_a_report_that_looks_live_logs_which_source_failed_and_why(without_disks):
    done = run("report", "--minutes", "0.02", *without_disks)

    assert 'level=warning msg="source failed" source=diskstats why="cannot see' in done.stderr
    assert "level=info" not in done.stderr


@pytest.mark.parametrize("command", [("report", "--minutes", "0.02"), ("record", "-")])
def test_what_is_logged_while_one_looks_keeps_its_fields(tmp_path, command):
    script = (
        "import logging, sys; from ioplateau import cli, logs; cli.main(sys.argv[1:]); "
        "logs.event(logging.getLogger('ioplateau.run'), logging.ERROR, 'odd', why='that')"
    )
    words = [*command, "--no-cloud", *MachineTree(tmp_path).flags]
    words += ["--seconds", "0.2"] if "record" in command else []
    done = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, timeout=60, check=True
    )

    assert b"level=error msg=odd why=that" in done.stderr


def test_that_a_recording_is_without_disks_is_told_as_it_is_made_and_as_it_is_judged(
    tmp_path, without_disks
):
    file = tmp_path / "blind.jsonl"
    recorded = run("record", file, "--seconds", "1", *without_disks)
    replayed, reported = run("replay", file), run("report", file)
    warning = f"ioplateau: {file}: cannot see the disks: {tmp_path}/proc/diskstats: no such file"

    assert (recorded.returncode, replayed.returncode, reported.returncode) == (0, 2, 2)
    assert recorded.stderr.count(warning) == replayed.stderr.count(warning) == 1
    assert "Cannot see the disks" in reported.stdout


@pytest.mark.parametrize("seconds", ["nan", "-1", "0", "soon", "inf"])
def test_a_length_of_a_recording_that_cannot_be_is_said(tmp_path, seconds):
    done = run("record", tmp_path / "made.gz", f"--seconds={seconds}")

    assert done.returncode == 2
    assert f"'{seconds}', want seconds above 0" in done.stderr
    assert not (tmp_path / "made.gz").exists()


def test_a_reader_that_has_seen_enough_is_no_error():
    done = subprocess.run(
        ["sh", "-c", f"{IOPLATEAU} replay {MACHINE} --format json | head -n 1"],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert json.loads(done.stdout)["budgets"]
    assert done.stderr == ""


def test_a_report_is_not_written_over_the_recording_that_it_is_of(tmp_path):
    recording, link = tmp_path / "made.jsonl.gz", tmp_path / "link"
    recording.write_bytes(MACHINE.read_bytes())
    link.symlink_to(recording)

    for name in (recording, link):
        done = run("report", recording, "-o", name)

        assert (done.returncode, done.stdout) == (2, "")
        assert f"--output {name} is the RECORDING: want another file" in done.stderr
    assert recording.read_bytes() == MACHINE.read_bytes()


def test_a_report_is_written_where_a_link_leads_and_to_what_is_no_file(tmp_path):
    (tmp_path / "link").symlink_to("made.txt")
    (tmp_path / "made.txt").write_text("of yesterday")
    into_file = run("report", MACHINE, "-o", tmp_path / "link")
    into_device = run("report", MACHINE, "-o", "/dev/stdout")

    assert (into_file.returncode, into_file.stdout) == (0, "")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "made.txt").read_text() == into_device.stdout
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "made.txt"]


@pytest.mark.parametrize("file", ["/nonexistent/report.txt", "/dev/full"])
def test_a_report_that_cannot_be_written_names_what_was_asked_for(file):
    done = run("report", MACHINE, "-o", file)

    assert done.returncode == 2
    assert done.stderr.startswith(f"ioplateau: {file}: No ")


def test_an_output_that_is_full_is_told():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [IOPLATEAU, "replay", MACHINE], stdout=full, stderr=subprocess.PIPE, text=True
        )

    assert done.returncode == 2
    assert "No space left on device" in done.stderr


@pytest.mark.parametrize("machine", sorted(MACHINE.parent.parent.iterdir()), ids=lambda p: p.name)
def test_every_recording_that_is_kept_replays(machine):
    done = run("replay", machine / "recording.jsonl.gz", "--format", "json")

    assert done.returncode == 0
    assert done.stderr == ""
    assert all(json.loads(line)["budgets"] for line in done.stdout.splitlines()[1:])


@pytest.mark.parametrize(
    "words",
    [
        ("report", "--since", "soon"),
        ("report", __file__),
        ("report", "--url", "http://ops@127.0.0.1:1", "--password-file", "/nonexistent"),
        ("replay", __file__),
        ("top", "--batch", "--url", "http://127.0.0.1:1"),
        ("top", "--json", "--url", "http://127.0.0.1:1"),
        ("limits", "--nconnect", "4"),
        ("limits", "--vm-size", "Standard_D8s_v3", "--disk", "Q7"),
    ],
)
def test_what_ends_a_command_is_told_in_one_way(words):
    done = run(*words)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ioplateau: ")
    assert "Traceback" not in done.stderr


def test_a_report_from_a_moment_ahead_is_refused():
    done = run("report", "--from", "2999-01-01T00:00")

    assert done.returncode == 2
    assert "--from 2999-01-01T00:00 is in the future" in done.stderr


@pytest.mark.parametrize("count", ["0", "two", "-1", "\N{SUPERSCRIPT TWO}"])
def test_a_count_that_is_none_is_refused_with_what_is_wanted(count):
    done = run("top", "-b", f"-n{count}", "--no-daemon", "--no-cloud")

    assert done.returncode == 2
    assert "want a number of 1 or more" in done.stderr


def test_top_ends_after_as_many_views_as_were_asked_for():
    top = ("top", "-n3", "--no-daemon", "--no-cloud", "--sampling.interval=0.1")
    lines, texts = run(*top, "--json").stdout.splitlines(), run(*top, "--batch").stdout.splitlines()

    assert len([json.loads(line) for line in lines]) == 3
    assert len([line for line in texts if line.startswith("ioplateau ")]) == 3


def test_top_as_json_of_another_machine_is_refused():
    done = run("top", "--json", "-n1", "--url=http://127.0.0.1:1")

    assert (done.returncode, done.stdout) == (2, "")
    assert "--url does not go with it; /api/v1/state of that daemon tells the same" in done.stderr


def test_top_says_that_it_samples_by_itself_and_where_it_asked(monkeypatch):
    monkeypatch.setenv("IOPLATEAU_WEB_LISTEN_ADDRESS", "127.0.0.1:1")
    top = ("top", "-b", "-n1", "--no-cloud", "--sampling.interval=0.1")
    asked, alone = run(*top).stdout, run(*top, "--no-daemon").stdout

    assert "no daemon tells at 127.0.0.1:1: sampled here" in asked.splitlines()[0]
    assert "sampled here" not in alone


def test_report_asks_where_it_is_told_and_says_what_else_there_is(monkeypatch):
    monkeypatch.setenv("IOPLATEAU_WEB_LISTEN_ADDRESS", "127.0.0.1:1")
    done = run("report")

    assert done.returncode == 2
    assert "no daemon tells (http://127.0.0.1:1: Connection refused): give its --url" in done.stderr


@pytest.mark.parametrize(
    "url",
    [
        *("http://[::1", "http://a b:1", "http://a:abc", "http://localhost:99999", "ftp://a"),
        *("me:S3CRET@a", "http://me:S3CRET@a:99999", "https://me:S3/@CRET@[::1"),
    ],
)
def test_what_is_no_url_of_a_daemon_is_a_sentence_without_its_password(url):
    done = run("top", "-b", "-n1", "--url", url)

    assert done.returncode == 2
    assert "CRET" not in done.stderr
    assert "want a URL like http://db-01:10049" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--minutes", "1", "--url", "http://a"], "--url and --minutes are different sources"),
        ([MACHINE, "--minutes", "1"], "a RECORDING and --minutes are different sources"),
        (["--minutes", "1", "--since", "1h"], "--minutes looks from now on"),
        (["-", "--since", "1h"], "say --from"),
    ],
)
def test_a_report_that_is_asked_for_different_things_at_once_says_so(words, told):
    done = run("report", *map(str, words))

    assert done.returncode == 2
    assert told in done.stderr


def test_minutes_that_are_none_are_told_in_minutes():
    assert "'0', want minutes above 0" in run("report", "--minutes", "0").stderr


def test_since_counts_back_from_the_end_of_a_recording():
    whole, last = (
        json.loads(run("report", str(MACHINE), "--format", "json", *words).stdout)
        for words in ([], ["--since", "30s"])
    )

    assert last["ended"] == whole["ended"]
    assert 28 <= last["ended"] - last["began"] <= 30


def test_a_moment_without_a_zone_is_utc_wherever_one_is(monkeypatch):
    whole = json.loads(run("report", MACHINE, "--format", "json").stdout)
    began = datetime.fromtimestamp(whole["ended"] - 30, UTC).replace(microsecond=0)
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    words = ["--from", began.replace(tzinfo=None).isoformat(), "--format", "json"]
    last = json.loads(run("report", MACHINE, *words).stdout)

    assert 0 <= last["began"] - began.timestamp() <= 1


def test_what_a_character_set_has_not_is_written_in_ascii():
    top = ("top", "-b", "-n1", "--no-daemon", "--no-cloud", "--sampling.interval=0.1")

    assert b" us " in bytes_in("ascii", "report", str(MACHINE))
    assert " µs ".encode("latin-1") in bytes_in("latin-1", "report", str(MACHINE))
    assert b" us " in bytes_in("ascii", "report", str(MACHINE), "--format", "markdown")
    assert bytes_in("ascii", *top).isascii()


@pytest.mark.parametrize("charset", ["ascii", "latin-1"])
def test_a_page_is_utf_8_as_it_says_in_every_locale(charset):
    page = bytes_in(charset, "report", str(MACHINE), "--format", "html").decode()

    assert "<meta charset=utf-8>" in page
    assert " µs" in page


def test_doctor_says_what_the_daemon_would_not_take(tmp_path):
    web = tmp_path / "web.yml"
    web.write_text("nonsense: 1\n")
    done = run("doctor", "--web.config.file", str(web), "--state.directory", str(tmp_path / "none"))

    assert done.returncode == 1
    assert "nonsense" in done.stdout
    assert "none: there is no such directory" in done.stdout


def test_a_flag_before_the_command_is_told_where_it_belongs(limits):
    done = run(f"--config.file={limits}", "doctor")

    assert done.returncode == 2
    assert done.stderr.endswith(f"--config.file={limits}; flags come after the command\n")
