"""What build.sh does before it builds anything. tests/live/test_package.py has what it makes."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from built_packages import BUILD


@pytest.fixture
def script(tmp_path) -> Path:
    """build.sh in a tree of its own, as a source archive has it: without git's history."""
    copy = tmp_path / "tree/deploy/packages/build.sh"
    copy.parent.mkdir(parents=True)
    (tmp_path / "tree/exporter/ioplateau").mkdir(parents=True)
    (tmp_path / "tree/exporter/ioplateau/__init__.py").write_text('__version__ = "1.0"\n')
    shutil.copy(BUILD, copy)
    return copy


def run(script, cwd, *words, **environ):
    """With a uv that only fails, so that it ends where the building begins."""
    tools = cwd / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "uv").write_text("#!/bin/sh\nexit 7\n")
    (tools / "uv").chmod(0o755)
    path = f"{tools}:{os.environ['PATH']}"
    kept = {name: text for name, text in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    return subprocess.run(
        [script, *words],
        cwd=cwd,
        env={**kept, "PATH": path, "GIT_CEILING_DIRECTORIES": str(cwd), **environ},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_without_git_s_history_it_says_what_is_wanted(script, tmp_path):
    done = run(script, tmp_path)

    assert done.returncode == 1
    assert done.stderr.endswith("build.sh: no git history: set SOURCE_DATE_EPOCH\n")
    assert not (tmp_path / "tree/dist").exists()


def test_of_a_directory_with_other_files_it_takes_away_its_own_only(script, tmp_path):
    place = tmp_path / "shared"
    place.mkdir()
    own = ("ioplateau", "ioplateau-0.9-1.x86_64.rpm", "ioplateau_0.9-1_amd64.deb", "SHA256SUMS")
    others = ("thesis.tex", "ioplateau.toml", "ioplateau-notes.txt")
    for name in (*own, *others):
        (place / name).touch()
    done = run(script, tmp_path, "shared", SOURCE_DATE_EPOCH="0")

    assert done.returncode == 7
    assert {file.name for file in place.iterdir()} == set(others)


def test_without_a_directory_it_is_dist_of_the_tree(script, tmp_path):
    run(script, tmp_path, SOURCE_DATE_EPOCH="0")

    assert (tmp_path / "tree/dist").is_dir()
    assert not (tmp_path / "dist").exists()
