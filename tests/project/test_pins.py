"""What is fetched to build and test is one version, by its hash."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
TOOLS = (
    PROJECT / "tools/uv.txt",
    *(PROJECT / "deploy/packages" / f"{tool}.txt" for tool in ("go", "zig")),
)
SCRIPTS = (
    *(PROJECT / "tools").glob("*.sh"),
    *(PROJECT / "deploy").rglob("*.sh"),
    PROJECT / ".ci/run",
    PROJECT / "Makefile",
)


@pytest.mark.parametrize("path", TOOLS, ids=lambda path: path.name)
def test_a_tool_is_one_version_with_hashes(path):
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]

    assert re.fullmatch(r"[a-z-]+==[0-9.]+ \\", lines[0])
    assert all(re.fullmatch(r" {4}--hash=sha256:[0-9a-f]{64}( \\)?", line) for line in lines[1:])
    assert len(lines) > 1


def test_what_builds_the_wheel_is_of_one_version_each_with_hashes():
    text = (PROJECT / "deploy/packages/build-constraints.txt").read_text()
    whole = text.replace("\\\n", "").splitlines()
    pinned = [line for line in whole if not line.startswith("#")]
    builds = [
        line
        for path in SCRIPTS
        for line in path.read_text().replace("\\\n", "").splitlines()
        if re.search(r"\buv build\b", line)
    ]

    assert pinned
    assert all(
        re.fullmatch(r"[a-z-]+==[0-9.]+( +--hash=sha256:[0-9a-f]{64})+ *", x) for x in pinned
    )
    assert builds
    assert all({"--require-hashes", "--build-constraints"} <= set(line.split()) for line in builds)


def test_no_script_installs_without_hashes():
    assert len(SCRIPTS) > 4
    for path in SCRIPTS:
        for line in path.read_text().splitlines():
            if re.search(r"\bpip install\b", line) and "$wheel" not in line:  # that one is ours
                assert "--require-hashes" in line, f"{path.name}: {line}"
            assert "uvx" not in line, f"{path.name}: {line}"
