"""A terminal with a program in it, as a person sees it: pyte reads what is drawn.

with Terminal("top", "--no-cloud", size=(24, 80)) as top:
    top.wait_for("VERDICT")
    top.press("q")
"""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

import pyte

from live_daemon import IOPLATEAU

SECONDS = 60.0  # a machine may be busy; nothing here measures how long something takes
LEFT_THE_SCREEN = b"\x1b[?1049l"


class Terminal:
    """`ioplateau WORDS` in a pseudo-terminal of `size` (lines, columns)."""

    def __init__(self, *words, size=(24, 80), environ=None, hears_hangup=True):
        def begin():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            if not hears_hangup:
                signal.signal(signal.SIGHUP, signal.SIG_IGN)

        self.screen = pyte.Screen(size[1], size[0])
        self._stream = pyte.ByteStream(self.screen)
        self.seen = b""
        self.master, slave = pty.openpty()
        self._set_size(*size)
        kept = {
            k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "NO_COLOR"))
        }
        self.process = subprocess.Popen(
            [IOPLATEAU, *words],
            # What pyte knows whole; of xterm it lacks the repetition of a character, for one.
            env={**kept, "TERM": "linux", "LANG": "C.UTF-8", **(environ or {})},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            close_fds=True,
            start_new_session=True,
            preexec_fn=begin,  # noqa: PLW1509
        )
        os.close(slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.hang_up()

    @property
    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    @property
    def text(self):
        return "\n".join(self.lines)

    def colours(self):
        """The colours of everything that is drawn."""
        cells = (cell for row in self.screen.buffer.values() for cell in row.values())
        return {cell.fg for cell in cells if cell.data != " "}

    def press(self, keys):
        os.write(self.master, keys.encode())

    def resize(self, height, width):
        self.screen.resize(height, width)
        self._set_size(height, width)  # the kernel tells the program: SIGWINCH

    def wait_until(self, holds, told):
        """Read what is drawn until `holds(self)`. Raises TimeoutError with the screen."""
        deadline = time.monotonic() + SECONDS
        while not holds(self):
            if time.monotonic() > deadline or not self._read():
                raise TimeoutError(f"{told} was not drawn:\n{self.text}")
        return self

    def wait_for(self, words):
        return self.wait_until(lambda terminal: words in terminal.text, repr(words))

    def wait_for_end(self):
        """Its exit code, when all it drew was read."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline and self._read():
            pass
        return self.process.wait(timeout=SECONDS)

    def hang_up(self):
        if self.master >= 0:
            os.close(self.master)
            self.master = -1

    def _read(self):
        if select.select([self.master], [], [], 0.5)[0]:
            try:
                part = os.read(self.master, 65536)
            except OSError:  # the other end is closed
                return False
            self.seen += part
            self._stream.feed(part)
        return True

    def _set_size(self, height, width):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
