"""One machine as every command has it: what reads it, and the engine that understands what was read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from ioplateau.engine import Engine, EngineSettings
from ioplateau.measure.snapshot import Snapshot
from ioplateau.run import statefile
from ioplateau.run.background import BackgroundReaders
from ioplateau.run.clock import Clock, SystemClock
from ioplateau.run.cloud import fetch_once, volume_types
from ioplateau.run.loop import Loop
from ioplateau.run.sampler import Sampler
from ioplateau.run.settings import ServeSettings
from ioplateau.run.sources import sampler_for as sampler_of_everything
from ioplateau.state import State

SamplerFor: TypeAlias = Callable[[ServeSettings, Clock], Sampler]
AfterTick: TypeAlias = Callable[[State, Snapshot], None]


class Machine(NamedTuple):
    """The parts. background: sources that join later, and what asks the cloud."""

    settings: ServeSettings
    clock: Clock
    sampler: Sampler
    engine: Engine
    background: BackgroundReaders

    def loop(
        self,
        after_tick: AfterTick,
        before_tick: Callable[[], None] = lambda: None,
        together_seconds: float = 0.0,
    ) -> Loop:
        """A loop over its ticks; each finds out what more there is to read, then `after_tick`.
        together_seconds: of how long the ticks may be understood at once.
        """

        def both(state: State, snapshot: Snapshot) -> None:
            self.background(state, snapshot)
            after_tick(state, snapshot)

        interval = self.settings.engine.interval_seconds
        together = max(int(together_seconds / interval), 1)
        return Loop(self.sampler, self.engine, self.clock, interval, both, before_tick, together)

    def tick(self) -> tuple[State, Snapshot]:
        """One tick by itself, for who wants two of them and no loop."""
        snapshot = self.sampler.take()
        return self.engine.observe(snapshot), snapshot

    def ask_cloud(self, first: Snapshot) -> tuple[str, ...]:
        """Ask for the metadata documents once, for the next tick; why one of them is missing."""
        if not self.settings.engine.asks_cloud:
            return ()
        volumes = volume_types(self.settings.volumes, self.clock)
        documents, reasons = fetch_once(first.static, self.clock, volumes)
        self.sampler.tell(documents)
        return reasons

    def recall(self) -> str:
        """Take up what the daemon of this machine has learned; why not, or ""."""
        return statefile.peek(self.settings.state_directory, self.engine.restore, self.clock.wall())


def machine(
    settings: ServeSettings,
    *,
    sampler_for: SamplerFor = sampler_of_everything,
    clock: Clock | None = None,
) -> Machine:
    """The machine that these settings speak of, not read yet. sampler_for: another reader of it; clock:
    another than the system's.
    """
    clock = clock or SystemClock()
    sampler = sampler_for(settings, clock)
    background = BackgroundReaders(settings, sampler, clock)
    return Machine(settings, clock, sampler, engine(settings.engine), background)


def engine(settings: EngineSettings, learned: Mapping[str, Any] | None = None) -> Engine:
    """What understands snapshots, wherever they come from. learned: what was known of limits
    when they were taken. Raises one of saved.UNSOUND for what is no memory of ours.
    """
    made = Engine(settings)
    if learned is not None:
        made.restore(learned, 0.0)
    return made
