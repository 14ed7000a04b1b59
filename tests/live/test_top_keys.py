"""The live screen in a terminal, with a person at its keys. Nothing here measures a rate."""

import re
import signal
import subprocess

import pytest

from live_daemon import IOPLATEAU
from terminals import LEFT_THE_SCREEN, Terminal

pytestmark = pytest.mark.live

TOP = ("top", "--no-cloud", "--no-daemon")


def table(terminal):
    """Rows of the table that is shown."""
    lines = terminal.lines
    head = next((n for n, line in enumerate(lines) if "QUEUE" in line or "aqu-sz" in line), 99)
    return [line for line in lines[head + 1 : -3] if line]


def test_keys_drive_it_and_q_ends_it():
    with Terminal(*TOP) as top:
        top.wait_for("VERDICT")
        top.press("i")
        top.wait_for("vm disks")  # there on every machine with a disk
        top.press("/vm disks\r")
        top.wait_until(lambda t: len(table(t)) == 1, "the filtered row")
        top.press("\r")
        top.wait_for("Esc back")
        assert "Limits" in top.text
        top.press("\x1b")
        top.wait_for("filter vm disks")
        top.press("\x1b")
        top.wait_until(lambda t: "filter" not in t.text, "everything")
        top.press("\t")
        top.wait_for("aqu-sz")
        top.press("s")
        top.wait_for("by used")
        top.press("u")
        top.wait_for("rMiB/s")
        top.press("p")
        top.wait_for("PAUSED")
        top.press("h")
        top.wait_for("Columns")
        top.press("qq")

        assert top.wait_for_end() == 0


def test_it_follows_the_size_of_the_terminal():
    with Terminal(*TOP) as top:
        top.wait_for("VERDICT")
        assert "LIMIT FROM" not in top.text
        top.resize(50, 200)
        top.wait_for("LIMIT FROM")
        top.wait_until(lambda t: "q quit" in t.lines[49], "the last line")
        top.resize(10, 40)
        top.wait_until(lambda t: "VERDICT" in t.text and "LIMIT FROM" not in t.text, "it small")
        top.press("q")

        assert top.wait_for_end() == 0


@pytest.mark.parametrize(
    ("environ", "is_ascii", "is_coloured"),
    [
        ({}, False, True),
        ({"LANG": "C"}, True, True),
        ({"LANG": "", "LC_ALL": "C"}, True, True),
        ({"LANG": "xx_XX.UTF-8"}, False, True),
        ({"LC_ALL": "xx_XX.UTF-8"}, False, True),
        ({"NO_COLOR": "1"}, False, False),
        ({"TERM": "vt100"}, False, False),
    ],
)
def test_the_locale_and_no_color_are_kept_to(environ, is_ascii, is_coloured):
    with Terminal(*TOP, environ=environ) as top:
        top.wait_for("VERDICT")
        top.wait_for("dirty")
        top.press("q")
        assert top.wait_for_end() == 0

        colours = re.search(rb"\x1b\[[0-9;]*3[0-7]m", top.seen) is not None
        assert all(byte < 128 for byte in top.seen) is is_ascii
        assert colours is is_coloured


def test_sigterm_gives_the_terminal_back():
    with Terminal(*TOP, environ={"TERM": "xterm-256color"}) as top:
        top.wait_for("ioplateau")
        top.process.send_signal(signal.SIGTERM)

        assert top.wait_for_end() == 128 + signal.SIGTERM
    assert LEFT_THE_SCREEN in top.seen


def test_it_ends_when_its_terminal_goes_away_even_if_nobody_tells_it():
    with Terminal(*TOP, hears_hangup=False) as top:
        top.wait_for("VERDICT")
        top.hang_up()

        assert top.process.wait(timeout=60) == 0


@pytest.mark.parametrize("kind", ["nonsense", "dumb"])
def test_a_terminal_that_cannot_be_drawn_on_is_told(kind):
    with Terminal(*TOP, environ={"TERM": kind}) as top:
        assert top.wait_for_end() == 2

    assert "cannot be drawn on" in top.text.replace("\n", " ")
    assert "--batch" in top.text.replace("\n", "")


def test_a_closed_pipe_ends_the_text():
    process = subprocess.Popen(
        [IOPLATEAU, *TOP, "--batch"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline().startswith(b"ioplateau ")
    process.stdout.close()

    assert process.wait(timeout=60) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


def test_text_that_cannot_be_written_is_told():
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [IOPLATEAU, *TOP, "--batch"], stdout=full, stderr=subprocess.PIPE, timeout=60
        )

    assert done.returncode == 2
    assert done.stderr == b"ioplateau: No space left on device\n"
