"""Names in the program: what a stranger looks up by name is found once."""

import ast
from collections import defaultdict
from pathlib import Path

PROGRAM = Path(__file__).parent.parent.parent / "exporter"


def test_no_two_classes_have_the_same_name():
    places = defaultdict(list)
    for file in sorted(PROGRAM.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{file.relative_to(PROGRAM)}:{node.lineno}")

    assert {name: found for name, found in places.items() if len(found) > 1} == {}
