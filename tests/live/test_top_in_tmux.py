"""The live screen in a real tmux while a disk is really throttled: sizes, locales, colours, keys."""

import contextlib
import re

import pytest

from live_daemon import running_daemon
from throttled_disk import ThrottledDisk
from tmux import Tmux

pytestmark = [pytest.mark.live, pytest.mark.alone]

SMALL, LARGE = (24, 80), (50, 200)
C, PLAIN = {"LANG": "", "LC_ALL": "C"}, {"NO_COLOR": "1"}
SESSIONS = {
    "80x24": (SMALL, {}),
    "80x24, C, no colours": (SMALL, C | PLAIN),
    "200x50, C": (LARGE, C),
    "200x50, no colours": (LARGE, PLAIN),
}


def test_in_tmux_it_shows_the_throttled_disk_and_follows_keys_and_sizes(tmp_path):
    with contextlib.ExitStack() as stack:
        disk = stack.enter_context(ThrottledDisk(read_iops=500))
        limits = f'[[limit]]\ndisk = "{disk.name}"\niops = 500\n'
        daemon = stack.enter_context(running_daemon(limits, tmp_path, ["--no-cloud"]))
        disk.load(depth=16, seconds=180)  # ends with the disk
        shown = {
            name: stack.enter_context(
                Tmux(tmp_path, "top", f"--url={daemon.url}", size=size, environ=environ)
            )
            for name, (size, environ) in SESSIONS.items()
        }
        for name, top in shown.items():
            top.wait_for_line(rf"{disk.name} +throttled +\d+\w +\d+% 500 IOPS +\d")
            assert top.text.isascii() is ("C" in name), top.text
            assert ("LIMIT FROM" in top.text) is ("200x50" in name)
            is_red = re.search(r"\x1b\[[0-9;]*31m", top.coloured) is not None
            assert is_red is ("no colours" not in name), top.coloured

            top.type(f"/{disk.name}")
            top.keys("Enter")
            top.wait_for(f"filter {disk.name}")
            top.keys("Enter")
            top.wait_for("configured: ioplateau.toml limit[0]")
            top.keys("Escape")
            top.wait_for("VERDICT")
            top.keys("e")
            top.wait_for("Episodes")
            top.wait_for("goes on")
            top.keys("e")
            top.wait_for("VERDICT")

            top.resize(*(LARGE if "80x24" in name else SMALL))
            if "80x24" in name:
                top.wait_for("LIMIT FROM")
            else:
                top.wait_for_none_of("LIMIT FROM")
            top.wait_for("VERDICT")
            top.keys("q")
            assert top.wait_for_end() == 0
