"""Which of the judge's numbers matter: scores with each at 0.7 and at 1.4 times what it is.

    uv run --frozen --with numpy --with numba python bench/sensitivity.py --lab ../shared/lab

Judges a sample of recorded requests behind a limiter, of an examiner's scenarios and of devices
whose pace wanders (tests/helpers/wandering_devices.py), once as it is and twice for each number, and
writes docs/judge-sensitivity.md. The machines are simulated the first time and kept in .cache/cases.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "exporter"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "helpers"))

import cases
from ioplateau.judge import parameters
from wandering_devices import KINDS, throttled_seconds

ROOT = Path(__file__).resolve().parent.parent
WRITTEN = ROOT / "docs" / "judge-sensitivity.md"
FACTORS = (0.7, 1.4)
MATTERS = 0.002  # a change of a score that counts as one
COLUMNS = ("traces known", "traces unknown", "examiner", "attribution", "free")
WANDERING_SECONDS = 400
Scores = tuple[float, ...]
Row = tuple[str, float, list[Scores]]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--lab", type=Path, required=True, help="the laboratory: sim/ and traces/")
    parser.add_argument("--keep", type=Path, default=ROOT / ".cache" / "cases")
    parser.add_argument("--every", type=int, default=13, help="take every so many runs of traces")
    parser.add_argument("--families", default="unknown", help="part of the scenarios' names")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--numbers", default="", help="a pattern of names: not all of them")
    options = parser.parse_args(arguments)
    sample = Sample(options)
    begun = time.monotonic()
    now = sample.scores()
    names = [name for name in numbers() if re.search(options.numbers, name)]
    rows: list[Row] = []
    for place, name in enumerate(names, 1):
        value = getattr(parameters, name)
        rows.append((name, value, [sample.scores_with(name, each) for each in changes(value)]))
        print(f"{place} of {len(names)}, {time.monotonic() - begun:.0f} s: {name}", flush=True)
        WRITTEN.write_text(page(now, rows, sample))  # what is interrupted has said something
    return 0


def numbers() -> Iterator[str]:
    """The names of the judge's numbers."""
    return (name for name in vars(parameters) if name.isupper())


def changes(value: float) -> list[float]:
    """The number, smaller and larger; what counts blocks stays whole, and moves by one at least."""
    less, more = (value * factor for factor in FACTORS)
    if isinstance(value, int):
        return [max(1, min(value - 1, round(less))), max(value + 1, round(more))]
    return [less, more]


class Sample:
    """The machines that every value is scored on."""

    def __init__(self, options: argparse.Namespace) -> None:
        commit = subprocess.check_output(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True
        )
        self.origin = (
            f"Measured on {datetime.now(UTC):%Y-%m-%d} with `--every {options.every}` at commit "
            f"{commit.strip()}."
        )
        self.lab: Path = options.lab
        keep: Path = options.keep
        self.traces = list(cases.traces(self.lab, keep, options.seed, options.every))
        self.examined = list(
            cases.examined(
                self.lab, keep, "heldout", 51, per=2, only=lambda name: options.families in name
            )
        )

    def scores(self) -> Scores:
        """F1 per tick of the traces, F1 and attribution of the examiner, seconds free of alarms."""
        answers = {
            (case.name, way): (case, cases.said(case, way))
            for case in self.traces
            for way in ("known", "unknown")
        }
        traced = cases.of_traces(self.lab, answers)
        judged = [(case, cases.said(case, "told")) for case in self.examined]
        examined = cases.of_examiner(self.lab, judged)
        wandered = [
            len(throttled_seconds(kind, 1, told=False, seconds=WANDERING_SECONDS)) for kind in KINDS
        ]
        return (
            traced["known_f1"],
            traced["unknown_f1"],
            examined["f1"],
            examined["attribution"],
            1 - sum(wandered) / len(wandered) / WANDERING_SECONDS,
        )

    def scores_with(self, name: str, value: float) -> Scores:
        """The scores with one number changed."""
        before = getattr(parameters, name)
        setattr(parameters, name, value)
        try:
            return self.scores()
        except (ZeroDivisionError, IndexError, ValueError):
            return tuple(0.0 for _ in COLUMNS)  # it cannot even be that
        finally:
            setattr(parameters, name, before)


def table(now: Scores, rows: Iterable[Row]) -> str:
    """Markdown: what each change costs, the one that matters most first."""
    lines = [
        "| number | is | " + " | ".join(f"{c}, x 0.7 / x 1.4" for c in COLUMNS) + " |",
        "| --- | --- |" + " --- |" * len(COLUMNS),
        "| as it is | | " + " | ".join(f"{score:.3f}" for score in now) + " |",
    ]
    for name, value, found in sorted(rows, key=lambda row: -most(now, row[2])):
        cells = [
            " / ".join(_change(scores[place] - score) for scores in found)
            for place, score in enumerate(now)
        ]
        lines.append(f"| `{name}` | {value:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def most(now: Scores, found: Sequence[Scores]) -> float:
    """The largest change of any score."""
    return max(abs(a - b) for scores in found for a, b in zip(scores, now, strict=True))


def _change(difference: float) -> str:
    return f"{difference:+.3f}" if abs(difference) >= MATTERS / 4 else "0"


def page(now: Scores, rows: Sequence[Row], sample: Sample) -> str:
    """The whole of docs/judge-sensitivity.md."""
    still = [name for name, _, found in rows if most(now, found) < MATTERS]
    return f"""# Which numbers of the judge matter

Written by `bench/sensitivity.py`: numbers of `judge/parameters.py` at 0.7 and at 1.4 times their value
(what counts blocks: rounded, by one at least), and by how much that changes the scores of a sample:
F1 per tick of {len(sample.traces)} runs of recorded requests, limits told and not; F1 and attribution
of {len(sample.examined)} scenarios; and the share of time in which devices whose pace wanders are
*not* called throttled, from the first second on. The examiner is a simulator of machines with families of
scenarios, of which it knows what is true; it is no part of this project (`bench/cases.py`).

{len(rows)} of {len(list(numbers()))} numbers, of which {len(still)} change no score of this sample by
{MATTERS} or more. A sample is not the world: what NFS, control groups, host caches and words need is
hardly in it, and the tests of those decide. It tells where care is due. Where all is lost, the judge
cannot count with that number at all; one that is computed from others was changed by itself.
{sample.origin}

{table(now, rows)}"""


if __name__ == "__main__":
    sys.exit(main())
