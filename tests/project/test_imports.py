"""Programs beside the package, which neither the type checker nor each test run loads, import what there is."""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(
    path
    for folder in ("bench", "dashboards", "data", "deploy", "docs", "tools")
    for path in (ROOT / folder).rglob("*.py")
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_program_imports_of_the_package_exists(program):
    for node in ast.walk(ast.parse(program.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ioplateau"):
            module = importlib.import_module(node.module)
            for name in node.names:
                is_there = hasattr(module, name.name)
                assert is_there or importlib.import_module(f"{node.module}.{name.name}")
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("ioplateau"):
                    importlib.import_module(name.name)
