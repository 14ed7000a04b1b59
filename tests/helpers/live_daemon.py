"""The real daemon on the real machine, and what it tells, for live tests.

with running_daemon(config, directory) as daemon:
    daemon.scrape().value("ioplateau_budget_throttled", kind="disk", name="loop3")
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

IOPLATEAU = Path(sys.executable).with_name("ioplateau")


@dataclass(frozen=True, slots=True)
class Exposition:
    """One scrape: (name, labels, value) of each sample."""

    samples: tuple[tuple[str, dict[str, str], float], ...]

    def values(self, metric: str, **labels: str) -> list[float]:
        """Of every sample of the metric that carries these labels."""
        return [
            value
            for name, found, value in self.samples
            if name == metric and labels.items() <= found.items()
        ]

    def value(self, metric: str, **labels: str) -> float:
        """Of the one sample with these labels. Raises LookupError if there is none, or two."""
        values = self.values(metric, **labels)
        if len(values) != 1:
            raise LookupError(f"{len(values)} samples of {metric} with {labels}, want 1")
        return values[0]

    def labels(self, metric: str, **labels: str) -> list[dict[str, str]]:
        """Of every sample of the metric that carries these labels."""
        return [
            found
            for name, found, _ in self.samples
            if name == metric and labels.items() <= found.items()
        ]

    def verdict(self, kind: str, name: str) -> str:
        """The word that holds for a budget."""
        for found in self.labels("ioplateau_budget_verdict", kind=kind, name=name):
            if self.value("ioplateau_budget_verdict", **found) == 1:
                return found["verdict"]
        raise LookupError(f"no verdict of {kind} {name}")


def scrape(url: str, seconds: float = 5.0) -> Exposition:
    """What `url` answers within `seconds`. Raises OSError if it does not."""
    with urllib.request.urlopen(url, timeout=seconds) as answer:
        return read_exposition(answer.read().decode())


def read_exposition(text: str) -> Exposition:
    """The samples of a text exposition."""
    return Exposition(
        tuple(
            (sample.name, sample.labels, sample.value)
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        )
    )


class Daemon:
    """A running `ioplateau serve`, listening at `url` (without a path)."""

    def __init__(self, url: str, process: subprocess.Popen[bytes], log: Path) -> None:
        self.url, self.process, self.log = url, process, log

    def scrape(self) -> Exposition:
        return scrape(f"{self.url}/metrics")

    def ask(self, what: str) -> Any:
        """What /api/v1/ answers."""
        with urllib.request.urlopen(f"{self.url}/api/v1/{what}", timeout=10) as answer:
            return json.load(answer)

    def page(self) -> str:
        with urllib.request.urlopen(f"{self.url}/", timeout=20) as answer:
            return answer.read().decode()

    def wait_until(
        self, holds: Callable[[Exposition], bool], seconds: float, *, told: str = "it"
    ) -> Exposition:
        """The first scrape, one a second, of which `holds`. Raises TimeoutError with the log."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            with contextlib.suppress(OSError, LookupError):
                if holds(found := self.scrape()):
                    return found
            time.sleep(1)
        log = self.log.read_text(errors="replace")[-3000:]
        raise TimeoutError(f"{told} did not come within {seconds:g} s; log of the daemon:\n{log}")


@contextlib.contextmanager
def running_daemon(config: str, directory: Path, arguments: Sequence[str] = ()) -> Iterator[Daemon]:
    """Serve with `config` (TOML), its files and log in `directory`, until the context ends."""
    file, log = directory / "ioplateau.toml", directory / "ioplateau.log"
    file.write_text(config)
    address = f"127.0.0.1:{free_port()}"
    flags = ["--config.file", str(file), "--web.listen-address", address, *arguments]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [IOPLATEAU, "serve", *flags], stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    daemon = Daemon(f"http://{address}", process, log)
    try:
        daemon.wait_until(lambda found: bool(found.samples), 60, told="the first scrape")
        yield daemon
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask it to end, and have the kernel end it where it does not."""
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens at now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
