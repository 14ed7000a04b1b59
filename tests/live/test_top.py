"""The live screen while a disk is really throttled: in terminals of some kinds, and as text."""

import contextlib
import os
import re
import subprocess

import pytest

from live_daemon import IOPLATEAU, running_daemon
from terminals import Terminal
from throttled_disk import ThrottledDisk

pytestmark = [pytest.mark.live, pytest.mark.alone]

# Size, environment, and whether it shows what a daemon found or samples by itself.
TERMINALS = {
    "80x24": ((24, 80), {}, True),
    "80x24, C": ((24, 80), {"LANG": "C"}, False),
    "200x50": ((50, 200), {}, False),
    "200x50, C, no colours": ((50, 200), {"LANG": "", "LC_ALL": "C", "NO_COLOR": "1"}, True),
}


def test_each_terminal_shows_the_throttled_disk_with_its_limit_and_its_rates(tmp_path):
    with contextlib.ExitStack() as stack:
        disk = stack.enter_context(ThrottledDisk(read_iops=500))
        limits = f'[[limit]]\ndisk = "{disk.name}"\niops = 500\n'
        daemon = stack.enter_context(running_daemon(limits, tmp_path, ["--no-cloud"]))
        alone = ("--no-daemon", f"--config.file={tmp_path}/ioplateau.toml")
        shown = {
            name: stack.enter_context(
                Terminal(
                    *("top", "--no-cloud"),
                    *((f"--url={daemon.url}",) if attached else alone),
                    size=size,
                    environ=environ,
                )
            )
            for name, (size, environ, attached) in TERMINALS.items()
        }
        disk.load(depth=16, seconds=120)  # ends with the disk
        row = re.compile(
            rf"^{disk.name} +throttled +\d+s +\d+% 500 IOPS +\d+ +[\d.]+ +[\d.]+ms +\d",
            re.MULTILINE,
        )
        for name, top in shown.items():
            words = ["throttled", "held at"]
            words += ["daemon at 127.0.0.1"] if TERMINALS[name][2] else []
            words += ["ioplateau.toml limit[0]"] if name.startswith("200x50") else []

            is_red = "NO_COLOR" not in TERMINALS[name][1]

            # A screen may be read while it is half drawn: all of it must hold at once.
            def holds(t, words=words, is_red=is_red):
                told = all(word in t.text for word in words) and "throttled" in t.lines[1]
                return told and row.search(t.text) and ("red" in t.colours()) is is_red

            top.wait_until(holds, f"{disk.name} throttled ({name})")
            assert top.text.isascii() is ("C" in name)
            top.press(f"/{disk.name}\r")
            top.wait_for(f"filter {disk.name}")
            top.press("\r")
            top.wait_for("configured: ioplateau.toml limit[0]")
            top.wait_for("share of its limit, the last")
            top.wait_for("#" if "C" in name else "█")
            top.press("qq")
            assert top.wait_for_end() == 0


def test_without_a_terminal_it_is_plain_text_and_names_the_throttled_disk(tmp_path):
    with ThrottledDisk(read_iops=500) as disk:
        config = tmp_path / "limits.toml"
        config.write_text(f'[[limit]]\ndisk = "{disk.name}"\niops = 500\n')
        disk.load(depth=16, seconds=120)  # ends with the disk
        done = subprocess.run(
            [
                IOPLATEAU,
                "top",
                "--no-cloud",
                "--no-daemon",
                "--count=20",
                f"--config.file={config}",
            ],
            env={**os.environ, "COLUMNS": "160"},
            capture_output=True,
            text=True,
            timeout=100,
        )
    row = rf"^{disk.name} +disk +throttled .* 500 IOPS \(limits.toml"
    rates = rf"^{disk.name} +\d[^a-z]+ms "

    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.count("ioplateau 0.") == 20
    assert re.search(row, done.stdout, re.MULTILINE), done.stdout
    assert re.search(rates, done.stdout, re.MULTILINE), done.stdout
