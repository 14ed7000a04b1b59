"""The daemon as a process on this machine's real /proc: signals, systemd, scrapers, attackers."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from contextlib import ExitStack

import pytest

from ioplateau.tell.prometheus import TABLES
from live_daemon import IOPLATEAU, free_port, running_daemon, scrape
from waiting import wait_until

pytestmark = pytest.mark.live

LIMIT = '[[limit]]\ndisk = "{disk}"\niops = {iops}\n'


@pytest.fixture
def daemon(tmp_path):
    with running_daemon(LIMIT.format(disk="*", iops=1e9), tmp_path) as running:
        yield running


def test_sigterm_ends_it_cleanly(daemon):
    daemon.process.send_signal(signal.SIGTERM)

    assert daemon.process.wait(timeout=5) == 0
    assert "stopped" in daemon.log.read_text()


def test_a_restart_keeps_what_was_counted(tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    arguments = ["--state.directory", str(state)]
    with running_daemon("", tmp_path, arguments):
        pass
    with running_daemon("", tmp_path, arguments) as again:
        log = again.log.read_text()

    assert "state restored" in log
    assert json.loads((state / "state.json").read_text())["format"] == 1


def test_sighup_takes_a_new_configuration(daemon, tmp_path):
    sampling = "[sampling]\ninterval_seconds = 0.1\n"  # of which each tick of ours would be a gap
    (tmp_path / "ioplateau.toml").write_text(LIMIT.format(disk="*", iops=777) + sampling)
    daemon.process.send_signal(signal.SIGHUP)
    now = daemon.wait_until(
        lambda found: 777 in found.values("ioplateau_budget_limit_operations_per_second"), 20
    )
    ticks = now.value("ioplateau_tick_seconds_count")
    daemon.wait_until(
        lambda found: (
            found.value("ioplateau_tick_seconds_count") >= ticks + 3
            and found.values("ioplateau_disk_operations_per_second")
        ),
        20,
    )

    log = daemon.log.read_text()
    assert "configuration reloaded" in log
    assert "some settings change with a restart only" in log
    assert "sampling.interval_seconds" in log
    assert daemon.scrape().value("ioplateau_sampling_interval_seconds") == 1.0


def test_a_bad_configuration_is_reported_and_the_old_one_stays(daemon, tmp_path):
    (tmp_path / "ioplateau.toml").write_text(LIMIT.format(disk="*", iops=-5) + "nonsense = 1\n")
    daemon.process.send_signal(signal.SIGHUP)
    is_told = wait_until(lambda: "the old one stays" in daemon.log.read_text())
    log = daemon.log.read_text()

    assert is_told, log
    assert "limit[0].iops" in log
    assert "nonsense" in log
    assert 1e9 in daemon.scrape().values("ioplateau_budget_limit_operations_per_second")


def test_a_fifo_in_the_place_of_a_configuration_holds_up_no_later_one(daemon, tmp_path):
    file = tmp_path / "ioplateau.toml"
    file.unlink()
    os.mkfifo(file)
    daemon.process.send_signal(signal.SIGHUP)
    assert wait_until(lambda: "no regular file" in daemon.log.read_text()), daemon.log.read_text()
    file.unlink()
    file.write_text(LIMIT.format(disk="*", iops=777))
    daemon.process.send_signal(signal.SIGHUP)
    now = daemon.wait_until(
        lambda found: 777 in found.values("ioplateau_budget_limit_operations_per_second"), 20
    )

    assert 1e9 not in now.values("ioplateau_budget_limit_operations_per_second")


def test_a_bad_configuration_at_the_start_is_exit_code_2_with_every_error(tmp_path):
    file = tmp_path / "bad.toml"
    file.write_text('[[limit]]\ndisk = "sda"\niops = "many"\n[sampling]\nintervall = 1\n')
    done = subprocess.run(
        [IOPLATEAU, "serve", "--config.file", file], capture_output=True, text=True, timeout=20
    )

    assert done.returncode == 2
    assert "limit[0].iops" in done.stderr
    assert "intervall" in done.stderr
    assert "interval" in done.stderr.replace("intervall", "")  # the nearest known key


def test_a_port_in_use_is_a_sentence_and_exit_code_2(daemon):
    address = daemon.url.removeprefix("http://")
    done = subprocess.run(
        [IOPLATEAU, "serve", "--web.listen-address", address],
        capture_output=True,
        text=True,
        timeout=20,
    )

    assert done.returncode == 2
    assert address in done.stderr
    assert "Traceback" not in done.stderr


def test_systemd_hears_ready_status_watchdog_and_stopping(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(20)
        process = subprocess.Popen(
            [IOPLATEAU, "serve", "--web.listen-address", f"127.0.0.1:{free_port()}"],
            env={"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "2000000"},
            stderr=subprocess.DEVNULL,
        )
        heard = ""
        while not ("READY=1" in heard and "WATCHDOG=1" in heard and "STATUS=" in heard):
            heard += manager.recv(4096).decode() + "\n"
        process.terminate()
        while "STOPPING=1" not in heard:
            heard += manager.recv(4096).decode() + "\n"
        code = process.wait(timeout=10)

    assert code == 0


def test_the_pages_answer_and_others_do_not_exist(daemon):
    landing = urllib.request.urlopen(daemon.url + "/", timeout=5).read().decode()
    healthy = urllib.request.urlopen(daemon.url + "/-/healthy", timeout=5).status
    ready = urllib.request.urlopen(daemon.url + "/-/ready", timeout=5).status

    assert 'href="metrics"' in landing
    assert (healthy, ready) == (200, 200)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(daemon.url + "/nowhere", timeout=5)


def test_promtool_accepts_the_exposition(daemon):
    text = urllib.request.urlopen(daemon.url + "/metrics", timeout=5).read()
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, timeout=30
    )

    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()


def test_a_real_prometheus_scrapes_it_and_every_family_arrives(daemon, tmp_path):
    shown = {
        line.split()[2]
        for line in urllib.request.urlopen(daemon.url + "/metrics", timeout=5)
        .read()
        .decode()
        .splitlines()
        if line.startswith("# TYPE")
    }
    address = f"127.0.0.1:{free_port()}"
    (tmp_path / "prometheus.yml").write_text(
        "scrape_configs:\n- job_name: ioplateau\n  scrape_interval: 1s\n"
        f"  static_configs: [{{targets: ['{daemon.url.removeprefix('http://')}']}}]\n"
    )
    with ExitStack() as stack:
        prometheus = subprocess.Popen(
            [
                shutil.which("prometheus") or "prometheus",
                f"--config.file={tmp_path}/prometheus.yml",
                f"--storage.tsdb.path={tmp_path}/data",
                f"--web.listen-address={address}",
            ],
            stderr=subprocess.DEVNULL,
        )
        stack.callback(prometheus.wait)
        stack.callback(prometheus.terminate)
        suffixes = ("", "_total", "_bucket", "_info")
        missing, deadline = shown, time.monotonic() + 40
        url = f"http://{address}/api/v1/label/__name__/values"
        while missing:  # of a scrape that is under way some have arrived
            assert time.monotonic() < deadline, missing
            time.sleep(1)
            try:
                with urllib.request.urlopen(url, timeout=5) as answer:
                    names = set(json.load(answer)["data"])
            except OSError:
                continue
            missing = {each for each in shown if not any(each + end in names for end in suffixes)}

    assert len(shown) > 30
    assert len(shown) <= sum(len(table.rows) for table in TABLES)


def test_500_half_open_and_trickling_connections_do_not_keep_the_scraper_out(daemon):
    host, port = daemon.url.removeprefix("http://").split(":")
    before = daemon.scrape().value("process_resident_memory_bytes")
    attackers = []
    for number in range(500):
        attacker = socket.create_connection((host, int(port)), timeout=5)
        if number % 2:
            attacker.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        attackers.append(attacker)
    answered = [len(scrape(daemon.url + "/metrics", seconds=5).samples) for _ in range(3)]
    for attacker in attackers[1::2]:
        try:
            attacker.sendall(b"a")  # trickling on
        except OSError:
            continue
    answered.append(len(scrape(daemon.url + "/metrics", seconds=5).samples))
    for attacker in attackers:
        attacker.close()
    time.sleep(2)
    after = daemon.scrape()

    assert all(count > 100 for count in answered)
    assert after.value("process_open_fds") < 64
    assert after.value("process_resident_memory_bytes") < 1.25 * before
