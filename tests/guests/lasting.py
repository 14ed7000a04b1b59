"""A guest that keeps what it wrote when it is switched off and on again.

A reset of a running QEMU would emulate what follows far more slowly: it writes over pages that it
had translated, minutes on a busy host. A new QEMU on the same disk boots as fast as the first.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Self

from guests.guest import Guest, image
from guests.qmp import Qmp

SHUTDOWN_SECONDS = 180.0


class LastingGuest(Guest):
    """A Guest with a disk of its own, gone with it."""

    def __enter__(self) -> Self:
        with tempfile.NamedTemporaryFile(dir=image(), prefix="disk-", delete=False) as file:
            self._disk = Path(file.name)
        source = image() / "root.ext4"
        subprocess.run(["cp", "--sparse=always", source, self._disk], check=True)
        return super().__enter__()

    def __exit__(self, *of: object) -> None:
        super().__exit__(None, None, None)
        self._disk.unlink(missing_ok=True)

    def power_cycle(self) -> None:
        """Shut down from inside, and boot again; without its link to other guests from then on."""
        self.run("(sleep 1; systemctl poweroff) >/dev/null 2>&1 &")
        self._process.wait(timeout=SHUTDOWN_SECONDS)
        self._log_out()
        self._qmp.close()
        self.link = None
        self._process = self._start()
        self._qmp = Qmp(self._directory / "qmp", self._process)
        self._cleanup.callback(self._qmp.close)
        self._host_ports = self._qmp.forwarded_ports()
        self.wait_until_up()

    def _machine(self) -> list[str]:
        shared = f"snapshot=on,file={self._image}/root.ext4"
        return [word.replace(shared, f"file={self._disk}") for word in super()._machine()]
