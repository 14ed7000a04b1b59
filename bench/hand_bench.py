"""A made-up machine and an engine, moved by hand: without threads, and a second at a time."""

from __future__ import annotations

from pathlib import Path

from ioplateau.engine import Engine
from ioplateau.engine.settings import EngineSettings
from ioplateau.measure.host import Host
from ioplateau.measure.snapshot import Snapshot
from ioplateau.run.sampler import files, read_static
from ioplateau.state import State
from ioplateau.tell.prometheus import Exposition
from machine import Machine, Shape
from sizes import SIZES
from tree import Tree

ACCEPT = "text/plain;version=0.0.4"


class HandBench:
    """One machine and one engine, moved by hand."""

    def __init__(self, root: Path, size: str) -> None:
        self.tree = Tree(root, Machine(Shape(*SIZES[size])))
        self.host = Host(procfs=root / "proc", sysfs=root / "sys")
        self.static = read_static(self.host)
        self.engine = Engine(EngineSettings())
        self.exposition = Exposition()
        self.now = 0.0

    def snapshot(self) -> Snapshot:
        """A second later."""
        self.now += 1.0
        self.tree.advance(1.0)
        texts = {source.name: source.read() for source in files(self.host)}
        at = dict.fromkeys(texts, self.now)
        now = self.now
        return Snapshot(
            mono=now, mono_end=now, wall=now, boot=now, static=self.static, texts=texts, at=at
        )

    def scrape(self, state: State) -> None:
        self.exposition.answer(state, ACCEPT, "gzip")
