"""`ioplateau` in a real tmux, of a server of its own: keys go in, the screen comes out.

with Tmux(directory, "top", "--no-cloud", size=(24, 80)) as top:
    top.wait_for("VERDICT")
    top.keys("q")

Needs tmux (Debian: tmux).
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from live_daemon import IOPLATEAU

SECONDS = 60.0  # a machine may be busy; nothing here measures how long something takes


class Tmux:
    """One session of one window of `size` (lines, columns)."""

    def __init__(
        self,
        directory: Path,
        *words: str,
        size: tuple[int, int] = (24, 80),
        environ: dict[str, str] | None = None,
    ) -> None:
        # A path of a socket has at most 107 characters: not below pytest's own directories.
        self._own = tempfile.TemporaryDirectory(prefix="tmux-")
        self._socket = f"{self._own.name}/socket"
        self._exit = Path(self._own.name) / "exit"
        kept = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("LC_", "LANG", "NO_COLOR", "TMUX"))
        }
        self._environ = {**kept, "LANG": "C.UTF-8", **(environ or {})}
        config = directory / "tmux.conf"
        config.write_text(
            "set -g default-shell /bin/sh\nset -g remain-on-exit on\nset -g escape-time 0\nset -g status off\n"
        )
        height, width = size
        self._tmux(
            *("-f", str(config), "new-session", "-d", "-x", str(width), "-y", str(height)),
            # tmux does not always tell how a program ended: the shell does.
            f"{shlex.join([str(IOPLATEAU), *words])}; echo $? >{self._exit}.new; mv {self._exit}.new {self._exit}",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._tmux("kill-server", check=False)
        self._own.cleanup()

    @property
    def text(self) -> str:
        """What is on the screen."""
        return self._tmux("capture-pane", "-p")

    @property
    def coloured(self) -> str:
        """The same with the escape sequences of colours and attributes."""
        return self._tmux("capture-pane", "-p", "-e")

    def keys(self, *names: str) -> None:
        """Press keys as tmux names them: "q", "Enter", "Escape", "Tab"."""
        self._tmux("send-keys", *names)

    def type(self, text: str) -> None:
        """Press one key after another."""
        self._tmux("send-keys", "-l", text)

    def resize(self, height: int, width: int) -> None:
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def wait_for(self, words: str) -> None:
        """Until they are on the screen. Raises TimeoutError with it."""
        self._wait(lambda: words in self.text, words)

    def wait_for_line(self, pattern: str) -> None:
        """Until a line on the screen begins so, as a regular expression. Raises TimeoutError."""
        self._wait(lambda: re.search(f"^{pattern}", self.text, re.MULTILINE), pattern)

    def wait_for_none_of(self, words: str) -> None:
        self._wait(lambda: words not in self.text, f"no {words}")

    def wait_for_end(self) -> int:
        """The exit code of the program."""
        self._wait(self._exit.exists, "the end")
        return int(self._exit.read_text())

    def _wait(self, holds: Callable[[], object], told: str) -> None:
        deadline = time.monotonic() + SECONDS
        while not holds():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{told!r} did not come:\n{self.text}")
            time.sleep(0.2)

    def _tmux(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *words],
            env=self._environ,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            encoding="utf-8",
        )
        if check and done.returncode:
            raise RuntimeError(f"tmux {' '.join(words)}: {done.stderr}")
        return done.stdout
