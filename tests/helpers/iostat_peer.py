"""sysstat's iostat, made to print rates of two readings that we choose."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ioplateau.measure.diskstats import DiskRates, KindRates

# iostat takes the interval from /proc/uptime and does not print it. This disk reads 10**9
# times between the readings, so its r/s tells the interval to far less than the 1/100 s
# that it is a whole number of.
CLOCK = "clock"
CLOCK_READS = 10**9


@dataclass(frozen=True, slots=True)
class Report:
    """What one run printed for the interval between the readings, by device and column."""

    elapsed_seconds: float
    columns: dict[str, dict[str, Any]]


def report(before: bytes, after: bytes, flags: str, seconds: int) -> Report:
    """The second report of `iostat FLAGS`, which saw `before` and then `after` as diskstats."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "diskstats")
        # The first reading comes through a pipe, so that we know when it has been taken.
        os.mkfifo(place)
        command = ["iostat", flags, "-o", "JSON", "-f", folder, "-p", "ALL", str(seconds), "2"]
        plain = {**os.environ, "LC_ALL": "C", "S_COLORS": "never"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=plain) as iostat:
            place.write_bytes(before + _clock(0))
            later = Path(folder, "later")
            later.write_bytes(after + _clock(CLOCK_READS))
            later.replace(place)
            printed = json.loads(iostat.communicate(timeout=60)[0])
    _, second = printed["sysstat"]["hosts"][0]["statistics"]
    columns = {line.pop("disk_device"): line for line in second["disk"]}
    clock = columns.pop(CLOCK)
    per_second = clock.get("r/s", clock.get("tps"))
    return Report(round(CLOCK_READS / per_second * 100) / 100, columns)


def _clock(reads: int) -> bytes:
    return b" 259 9999999 clock %d 0 0 0 0 0 0 0 0 0 0\n" % reads


def ours(rates: DiskRates) -> dict[str, float]:
    """Our rates under iostat's names and in its units; it prints 0 for what nobody can know."""
    total = _total(rates)
    columns = {
        "tps": total.operations_per_second,
        "kB/s": total.bytes_per_second / 1024,
        "rqm/s": total.merges / total.elapsed_seconds,
        "await": (total.await_seconds or 0) * 1000,
        "areq-sz": (total.request_bytes or 0) / 1024,
        "aqu-sz": rates.queue_length,
        "util": rates.busy_ratio * 100,
    }
    nothing = KindRates(0, 0, 0, 0, total.elapsed_seconds)
    kinds = {"r": rates.read, "w": rates.write, "d": rates.discard, "f": rates.flush}
    for letter, kind in kinds.items():
        columns |= _of_kind(letter, kind or nothing)
    words = {"read": rates.read, "wrtn": rates.write, "dscd": rates.discard}
    for word, kind in words.items():
        columns[f"kB_{word}/s"] = (kind or nothing).bytes_per_second / 1024
        columns[f"kB_{word}"] = (kind or nothing).sectors // 2
    return columns


def _total(rates: DiskRates) -> KindRates:
    """Reads, writes and discards, as iostat's tps and -s: flushes are not in it."""
    kinds = [kind for kind in (rates.read, rates.write, rates.discard) if kind is not None]
    return KindRates(
        sum(kind.operations for kind in kinds),
        sum(kind.sectors for kind in kinds),
        sum(kind.merges for kind in kinds),
        sum(kind.milliseconds for kind in kinds),
        rates.elapsed_seconds,
    )


def _of_kind(letter: str, kind: KindRates) -> dict[str, float]:
    asked = kind.operations + kind.merges
    return {
        f"{letter}/s": kind.operations_per_second,
        f"{letter}kB/s": kind.bytes_per_second / 1024,
        f"{letter}rqm/s": kind.merges / kind.elapsed_seconds,
        f"{letter}rqm": kind.merges / asked * 100 if asked else 0.0,
        f"{letter}_await": (kind.await_seconds or 0) * 1000,
        f"{letter}areq-sz": (kind.request_bytes or 0) / 1024,
    }


def differences(printed: dict[str, Any], rates: DiskRates) -> list[str]:
    """Every printed value that is not ours to the last digit printed."""
    expected = ours(rates)
    return [
        f"{name}: iostat prints {value}, we have {expected[name]}"
        for name, value in printed.items()
        # Two digits are printed; the rest of the bound is for the last bit of a double.
        if abs(value - expected[name]) > 0.005 + abs(value) * 1e-12
    ]
