"""How well the judge judges: stories of a simulated machine, and recordings of real ones.

    python bench/score.py [--raise]

Prints one table and exits 1 where a score is below its floor (bench/score_floors.json). The
floors only rise: --raise writes the scores of this run where they are higher.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "helpers"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "exporter"))

import recordings
from ioplateau.limits.budgets import Kind, Word
from story_book import STORIES
from story_world import Moment, Story, told

FLOORS = Path(__file__).resolve().parent / "score_floors.json"
EDGE_SECONDS = 5.0  # after an act begins, nothing is held against the judge
UNKNOWN_SECONDS = 12.0  # and longer where nobody told it the limits
SLACK = 0.005  # the stories have noise, and noise has another seed some day


@dataclass(frozen=True, slots=True)
class Score:
    """Ticks by what was true and what was said, and seconds to the first right verdict."""

    true_alarms: int = 0
    false_alarms: int = 0
    missed: int = 0
    right_owner: int = 0
    right_words: int = 0
    words: int = 0
    delays: tuple[float, ...] = ()

    @property
    def f1(self) -> float:
        total = 2 * self.true_alarms + self.false_alarms + self.missed
        return 2 * self.true_alarms / total if total else 1.0

    @property
    def precision(self) -> float:
        alarms = self.true_alarms + self.false_alarms
        return self.true_alarms / alarms if alarms else 1.0

    @property
    def attribution(self) -> float:
        return self.right_owner / self.true_alarms if self.true_alarms else 1.0


def story_score(story: Story, *, known: bool, seed: int = 1) -> Score:
    """One story, judged with its limits known or unknown."""
    edge = EDGE_SECONDS if known else UNKNOWN_SECONDS
    counts = {"true": 0, "false": 0, "missed": 0, "owner": 0, "right": 0, "words": 0}
    delays: list[float] = []
    act, found = None, False
    for moment in told(story, known=known, seed=seed):
        if moment.act is not act:
            act, found = moment.act, False
        alarm, owner = _alarm(moment)
        if moment.act.binds is not None and owner and not found:
            found = True
            delays.append(moment.since_act)
        if moment.since_act <= edge and not (moment.act.binds is None and moment.since_act > 4):
            continue
        if moment.act.binds is not None:
            counts["true"] += alarm
            counts["missed"] += not alarm
            counts["owner"] += owner
        else:
            counts["false"] += alarm
        if moment.act.word is not None and moment.act.about is not None:
            counts["words"] += 1
            counts["right"] += moment.verdicts[moment.act.about].word is moment.act.word
    return Score(
        counts["true"], counts["false"], counts["missed"], counts["owner"],
        counts["right"], counts["words"], tuple(delays),
    )  # fmt: skip


def _alarm(moment: Moment) -> tuple[bool, bool]:
    """Whether any budget is called throttled, and whether it is the right one, rightly."""
    alarms = [
        v
        for v in moment.verdicts.values()
        if v.word is Word.THROTTLED and v.key.kind is not Kind.STRIPE
    ]
    act = moment.act
    right = any(v.key == act.binds and v.dimension is act.dimension for v in alarms)
    return bool(alarms), right


def summed(scores: Iterable[Score]) -> Score:
    """All of them as one."""
    every = list(scores)
    return Score(
        sum(s.true_alarms for s in every),
        sum(s.false_alarms for s in every),
        sum(s.missed for s in every),
        sum(s.right_owner for s in every),
        sum(s.right_words for s in every),
        sum(s.words for s in every),
        tuple(sorted(delay for s in every for delay in s.delays)),
    )


def story_lines() -> tuple[list[str], dict[str, float]]:
    """The table of the stories, and the figures that have floors."""
    lines, figures = [], {}
    for known in (True, False):
        name = "known" if known else "unknown"
        every = []
        for story in STORIES:
            score = story_score(story, known=known)
            every.append(score)
            told_words = f" words {score.right_words}/{score.words}" if score.words else ""
            lines.append(
                f"story {name:8} {story.name:38} F1 {score.f1:5.3f} false {score.false_alarms:3}"
                f" missed {score.missed:3} delays {_seconds(score.delays)}{told_words}"
            )
        total = summed(every)
        figures[f"stories_{name}_f1"] = total.f1
        figures[f"stories_{name}_macro_f1"] = sum(s.f1 for s in every) / len(every)
        figures[f"stories_{name}_precision"] = total.precision
        figures[f"stories_{name}_attribution"] = total.attribution
        figures[f"stories_{name}_words"] = total.right_words / max(1, total.words)
    return lines, figures


def recording_lines() -> tuple[list[str], dict[str, float]]:
    """The table of the recordings, phase by phase, and the figures that have floors."""
    lines, figures = [], {}
    for with_limits in (True, False):
        name = "with_limits" if with_limits else "without_limits"
        binding, wrong = [], 0.0
        for machine in recordings.machines():
            for found in recordings.judged(machine, with_limits=with_limits):
                if not found.ticks:
                    continue
                lines.append(
                    f"{name:14} {found.machine:22} {found.phase:16}"
                    f" {'binding' if found.binding else '-':8} right {found.share:4.2f}"
                    f" wrong {found.wrong_share:4.2f} of {found.ticks}"
                )
                if found.binding:
                    binding.append(found.share)
                else:
                    wrong = max(wrong, found.wrong_share)
        figures[f"recordings_{name}_mean"] = sum(binding) / len(binding)
        figures[f"recordings_{name}_worst"] = min(binding)
        figures[f"recordings_{name}_never_wrong"] = 1.0 - wrong
    return lines, figures


def below_floor(figures: dict[str, float], floors: dict[str, float]) -> list[str]:
    """Every figure that fell below its floor, in words."""
    return [
        f"{name}: {figures.get(name, 0.0):.4f} is below its floor of {floor:.4f}"
        for name, floor in floors.items()
        if figures.get(name, 0.0) < floor - SLACK
    ]


def _seconds(delays: Sequence[float]) -> str:
    return "/".join(f"{delay:.0f}" for delay in delays) or "-"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--raise", dest="raises", action="store_true", help="raise the floors")
    options = parser.parse_args(arguments)
    stories, figures = story_lines()
    machines, more = recording_lines()
    figures |= more
    floors = json.loads(FLOORS.read_text()) if FLOORS.exists() else {}
    print("\n".join([*stories, *machines]))
    for name, value in figures.items():
        print(f"{name:36} {value:6.4f}  floor {floors.get(name, 0.0):6.4f}")
    if options.raises:
        risen = {name: round(max(v, floors.get(name, 0.0)), 4) for name, v in figures.items()}
        FLOORS.write_text(json.dumps(risen, indent=2) + "\n")
    fallen = below_floor(figures, floors)
    print("\n".join(fallen) or "every score is at its floor or above")
    return 1 if fallen else 0


if __name__ == "__main__":
    sys.exit(main())
