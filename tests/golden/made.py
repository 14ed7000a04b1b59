"""What each recorded machine is told, as text that a reviewer reads in a diff.

    python tests/golden/made.py      # writes the files again: make golden

A file a machine: every verdict but the ordinary ones, when it begins to hold, and what Prometheus
is told of the budgets after the last snapshot. Figures have four digits: more of them would change
with every touch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ioplateau.limits.budgets import Word
from ioplateau.run.replay import Replayed
from ioplateau.state import State
from ioplateau.tell import prometheus

HERE = Path(__file__).parent
MACHINES = HERE.parent / "machines"
ORDINARY = {Word.IDLE, Word.HEALTHY, Word.UNKNOWN}
_NUMBER = re.compile(r"(?<![\d.])-?\d+\.\d+(?:e[+-]?\d+)?(?![\d.])")


def names() -> list[str]:
    """Of every recorded machine."""
    return sorted(path.parent.name for path in MACHINES.glob("*/recording.jsonl.gz"))


def file_of(name: str) -> Path:
    """Where the machine's golden text lies."""
    return HERE / f"{name}.txt"


def text_of(name: str) -> str:
    """What the machine is told now."""
    return "\n".join(_lines(Replayed(MACHINES / name / "recording.jsonl.gz"))) + "\n"


def _lines(found: Iterable[State]) -> Iterator[str]:
    yield "# verdicts: seconds since the first snapshot, when each begins"
    before: dict[object, Word] = {}
    began = last = None
    for last in found:
        began = last.mono if began is None else began
        for key, budget in sorted(last.budgets.items()):
            word = budget.verdict.word
            if word is not before.get(key) and not {word, before.get(key)} <= {*ORDINARY, None}:
                said = f": {_rounded(budget.verdict.sentence)}" if word not in ORDINARY else ""
                yield f"{last.mono - began:7.1f} {key.kind} {key.name} {word}{said}"
            before[key] = word
    yield "# budgets as Prometheus sees them after the last snapshot"
    if last is not None:
        for line in prometheus.render(last).decode().splitlines():
            is_told = line.startswith(("ioplateau_budget_", "ioplateau_flow_throttled"))
            # A verdict is a series for each word: those that do not hold say nothing.
            if is_told and not (
                line.startswith("ioplateau_budget_verdict{") and line.endswith(" 0.0")
            ):
                yield _rounded(line)


def _rounded(line: str) -> str:
    return _NUMBER.sub(lambda found: f"{float(found[0]):.4g}", line)


if __name__ == "__main__":
    for each in names():
        file_of(each).write_text(text_of(each), encoding="utf-8")
