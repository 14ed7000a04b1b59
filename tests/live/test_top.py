"""The live screen on this machine: in a terminal, and as text while a disk is really throttled."""

import os
import pty
import re
import select
import signal
import subprocess
import time

import pytest

from live_daemon import IOPLATEAU
from throttled_disk import ThrottledDisk

pytestmark = [pytest.mark.live, pytest.mark.alone]

TERMINAL = {**os.environ, "TERM": "xterm-256color", "LINES": "40", "COLUMNS": "120"}
LEFT_THE_SCREEN = b"\x1b[?1049l"


class Terminal:
    """A pseudo-terminal with `ioplateau top` in it."""

    def __init__(self, *words: str) -> None:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [IOPLATEAU, "top", "--no-cloud", *words],
            env=TERMINAL,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            close_fds=True,
        )
        os.close(slave)
        self.seen = b""

    def read_until(self, words: bytes) -> None:
        """Read what is drawn. Raises TimeoutError."""
        deadline = time.monotonic() + 60
        while words not in self.seen:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{words!r} was not drawn: {self.seen[-2000:]!r}")
            if select.select([self.master], [], [], 0.5)[0]:
                try:
                    self.seen += os.read(self.master, 65536)
                except OSError:  # the other end is closed
                    if words not in self.seen:
                        raise TimeoutError(f"it ended: {self.seen[-2000:]!r}") from None

    def ended(self) -> int:
        try:
            return self.process.wait(timeout=30)
        finally:
            self.process.kill()
            os.close(self.master)


@pytest.fixture
def terminal():
    opened = []

    def open_terminal(*words: str) -> Terminal:
        opened.append(Terminal(*words))
        return opened[-1]

    yield open_terminal
    for one in opened:
        one.process.kill()
        one.process.wait()


def test_it_draws_this_machine_and_ends_with_q(terminal):
    top = terminal()
    top.read_until(b"idle")  # of the many loop devices, if of nothing else
    os.write(top.master, b"q")
    top.read_until(LEFT_THE_SCREEN)

    assert b"ioplateau" in top.seen
    assert top.ended() == 0


def test_sigterm_gives_the_terminal_back(terminal):
    top = terminal()
    top.read_until(b"ioplateau")
    top.process.send_signal(signal.SIGTERM)
    top.read_until(LEFT_THE_SCREEN)

    assert top.ended() == 128 + signal.SIGTERM


def test_a_terminal_that_cannot_be_drawn_on_is_told():
    done = subprocess.run(
        ["script", "-qec", f"{IOPLATEAU} top --no-cloud", "/dev/null"],
        env={**TERMINAL, "TERM": "nonsense"},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 2
    assert "cannot be drawn on" in done.stdout
    assert "--batch" in done.stdout


def test_without_a_terminal_it_is_plain_text_and_names_the_throttled_disk(tmp_path):
    with ThrottledDisk(read_iops=500) as disk:
        config = tmp_path / "limits.toml"
        config.write_text(f'[[limit]]\ndisk = "{disk.name}"\niops = 500\n')
        disk.load(depth=16, seconds=120)  # ends with the disk
        done = subprocess.run(
            [IOPLATEAU, "top", "--no-cloud", "--count=20", f"--config.file={config}"],
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
