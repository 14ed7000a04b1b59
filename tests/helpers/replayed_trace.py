"""What a real machine asked of its disk, asked again of another: a log that fio replays.

The counts are in replayed_trace.csv, with where they come from. Direction is left out, all are
reads: a limit that a control group sets is one of reads or of writes, a cloud's is one of both.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

COUNTS = Path(__file__).with_suffix(".csv")
STEP_SECONDS = 0.1
BLOCK_BYTES = 4096


def seconds() -> float:
    """How long it takes where nothing holds it back."""
    return (int(_counts()[-1]["tenth_of_a_second"]) + 1) * STEP_SECONDS


def write_log(file: Path, device: str, size_bytes: int) -> None:
    """A log of fio's version 3: microseconds, file, what, offset, bytes. Requests of a step come
    evenly, each as large as their mean, anywhere.
    https://fio.readthedocs.io/en/latest/fio_doc.html#trace-file-format-v3
    """
    numbers = random.Random(1)
    lines = ["fio version 3 iolog", f"0 {device} add", f"0 {device} open"]
    for row in _counts():
        requests = int(row["reads"]) + int(row["writes"])
        blocks = max(1, round(int(row["bytes"]) / requests / BLOCK_BYTES))
        for index in range(requests):
            at = (int(row["tenth_of_a_second"]) + index / requests) * STEP_SECONDS
            offset = numbers.randrange(size_bytes // BLOCK_BYTES - blocks) * BLOCK_BYTES
            lines.append(f"{round(at * 1e6)} {device} read {offset} {blocks * BLOCK_BYTES}")
    lines.append(f"{round(seconds() * 1e6)} {device} close")
    file.write_text("\n".join(lines) + "\n")


def _counts() -> list[dict[str, str]]:
    lines = COUNTS.read_text().splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))
