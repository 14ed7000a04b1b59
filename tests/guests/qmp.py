"""Talking to a running QEMU. https://www.qemu.org/docs/master/interop/qmp-intro.html"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import subprocess
import time
from pathlib import Path
from typing import Any


class Qmp:
    """The monitor of one QEMU at the socket `path`, waited for while `process` runs."""

    def __init__(self, path: Path, process: subprocess.Popen[bytes]) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(30)
        while True:
            with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                self._socket.connect(str(path))
                break
            if process.poll() is not None:
                raise RuntimeError(f"qemu: {path.with_name('qemu').read_text(errors='replace')}")
            time.sleep(0.1)
        self._file = self._socket.makefile("rw")
        self._file.readline()  # its greeting
        self.execute("qmp_capabilities")

    def execute(self, command: str, **arguments: Any) -> Any:
        """What the command returns. Raises RuntimeError with QEMU's reason."""
        self._file.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self._file.flush()
        while True:
            answer = json.loads(self._file.readline())
            if "error" in answer:
                raise RuntimeError(f"qemu: {command}: {answer['error']['desc']}")
            if "return" in answer:  # else an event
                return answer["return"]

    def forwarded_ports(self) -> dict[int, int]:
        """TCP port of the guest -> port of 127.0.0.1 that leads there."""
        # "TCP[HOST_FORWARD]  14  127.0.0.1 40123  10.0.2.15 22  0 0"
        lines = re.findall(
            r"TCP\[HOST_FORWARD\]\s+\d+\s+\S+\s+(\d+)\s+\S+\s+(\d+)", self.hmp("info usernet")
        )
        return {int(guest): int(host) for host, guest in lines}

    def hmp(self, command: str) -> str:
        """A command of the monitor for people."""
        return str(self.execute("human-monitor-command", **{"command-line": command}))

    def close(self) -> None:
        self._file.close()
        self._socket.close()
