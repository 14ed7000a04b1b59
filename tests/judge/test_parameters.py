"""Every number that decides stands in one file, with what it means; nothing else holds one."""

import ast
from collections.abc import Iterator
from pathlib import Path

from ioplateau.judge import parameters

JUDGE = Path(parameters.__file__).parent
# None, one, twice and half are plain words: half of the mounts or of the calls (a majority), half way from a mean to
# what is new, twice a share or as many blocks where more certainty is needed, of two at a time. None was fitted.
PLAIN = {0, 1, 2, 0.5}
# What is no evidence: where columns stand and what a saved memory may hold; how a person is told
# seconds; windows that show, and decide nothing; the arithmetic of a line through points.
ALLOWED = {
    "memory.py": None,
    "ticks.py": None,
    "usage.py": None,
    "words.py": None,
    "floors.py": {4},  # a place in a row
    "signals.py": {3},  # a place in an enumeration
    "window.py": {3, 5, 12},  # sums of squares of equal steps, deciles
}


def numbers(source: str) -> Iterator[tuple[int, float]]:
    """Numbers that stand in a program, with their lines."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, int | float)
            and not isinstance(node.value, bool)
        ):
            yield node.lineno, node.value


def test_no_number_stands_outside_the_parameters():
    strangers = [
        f"{path.name}:{line}: {value}"
        for path in sorted(JUDGE.glob("*.py"))
        if path.name != "parameters.py" and ALLOWED.get(path.name, ()) is not None
        for line, value in numbers(path.read_text())
        if value not in PLAIN and value not in (ALLOWED.get(path.name) or ())
    ]

    assert not strangers


def test_every_number_is_used_and_explained():
    source = "".join(path.read_text() for path in JUDGE.glob("*.py"))
    lines = Path(parameters.__file__).read_text().splitlines()
    named = [name for name in vars(parameters) if name.isupper()]

    assert [name for name in named if f"number.{name}" not in source] == []
    for place, line in enumerate(lines):
        if line[:1].isupper() and " = " in line and "," in line.split(" = ", maxsplit=1)[0]:
            assert lines[place - 1].strip(), line
