"""The fold: observe(Snapshot) -> State. The same live and in replay.

kernel text -> counters -> rates -> held against limits -> what we found
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from ioplateau import saved
from ioplateau.engine import accounts, container
from ioplateau.engine.absences import Absences
from ioplateau.engine.accounts import Accounts, SavedAccounts
from ioplateau.engine.consumers import Devices, DevicesOf, devices_of_disk, devices_of_mount
from ioplateau.engine.identities import Identities, SavedIdentity
from ioplateau.engine.settings import EngineSettings
from ioplateau.engine.sources import SOURCES, Followers, TrackedSource
from ioplateau.engine.ticktiming import TickTiming
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.judge import Judge
from ioplateau.judge.memory import SavedJudge
from ioplateau.limits import topology
from ioplateau.limits.budgets import HELD, Budget, BudgetKey, Dimension, FlowKey, Kind, Verdict
from ioplateau.limits.clouds import discover
from ioplateau.limits.clouds.identity import Sold
from ioplateau.limits.topology import Topology
from ioplateau.measure import interfaces
from ioplateau.measure.mappings import NO_ENTRIES, LazyMapping
from ioplateau.measure.parsing import count_of
from ioplateau.measure.snapshot import Snapshot, Static
from ioplateau.saved import Seconds
from ioplateau.state import BudgetState, MachineState, State

FlowSeconds: TypeAlias = Mapping[tuple[FlowKey, BudgetKey, Dimension], float]


class SavedEngine(NamedTuple):
    """What `Engine.memory` gives, before it is JSON. awaited: by name, for how long that was away of
    which something is kept.
    """

    judge: SavedJudge
    accounts: SavedAccounts
    identities: tuple[SavedIdentity, ...] = ()
    awaited: Mapping[str, Seconds] = NO_ENTRIES


class Engine:
    """Owns what must be remembered between ticks; everything it hands out is immutable."""

    def __init__(self, settings: EngineSettings | None = None, judge: Judge | None = None) -> None:
        self._settings = settings or EngineSettings()
        self._judge = judge or Judge()
        self._last: Snapshot | None = None
        self._timing = TickTiming()
        self._ticks = 0
        self._follow = follow = Followers(self._settings)
        self._unwell: set[str] = set()  # sources
        self._sources = [
            TrackedSource(source, source.follower(follow), self._unwell) for source in SOURCES
        ]
        self._disks, self._nfs, self._nics = follow.disks, follow.nfs, follow.nics
        self._groups, self._providers = follow.groups, follow.providers
        self._consumers, self._witnesses = follow.consumers, follow.witnesses
        self._topology: Topology | None = None
        self._drawn_from: tuple[object, ...] = ()
        self._last_sold = topology.NOTHING_SOLD
        self._sold_by: tuple[object, ...] = ()
        self._accounts = Accounts()
        self._identities = Identities()
        self._absences = Absences()
        self._shown: Mapping[BudgetKey, Budget] = {}  # all but those of hidden disks
        self._limited: list[BudgetKey] = []  # those of them that have a known limit
        self._shown_of: tuple[object, object] = (None, None)  # budgets, and disks that are hidden

    def configure(self, settings: EngineSettings) -> None:
        """Take new settings from the next tick on; nothing measured is lost."""
        self._settings = settings
        self._disks.settings = self._nfs.settings = self._nics.settings = settings
        self._topology = None

    def observe(self, snapshot: Snapshot) -> State:
        """One tick: the snapshot's text, held against what came before."""
        passed = self._passed(snapshot)
        elapsed = self._elapsed(snapshot, passed)
        flows = self._measure(snapshot, elapsed)
        budgets = self._layout(snapshot).budgets
        witness = self._witnesses.witness(
            self._nfs.client_readings(self._follow.sockets.known, _slot_limit(snapshot.static)),
            self._groups.witnesses,
            self._providers,
        )
        verdicts = self._judge.observe(snapshot.mono, elapsed, budgets, flows, witness)
        self._last, self._ticks = snapshot, self._ticks + 1
        held = [verdict for verdict in verdicts.values() if verdict.word in HELD]
        self._accounts.tick(elapsed, held, passed)
        if self._absences.is_due(passed):
            self._let_go(self._absences.over(self._waited_for()))
        return self._state(snapshot, elapsed, flows, verdicts, held)

    def _passed(self, snapshot: Snapshot) -> float:
        """Seconds since the last tick, a suspend included; 0 at the first."""
        last = self._last
        if last is None:
            return 0.0
        if snapshot.boot is not None and last.boot is not None:
            # CLOCK_BOOTTIME goes on through a suspend, CLOCK_MONOTONIC does not.
            return max(snapshot.boot - last.boot, 0.0)
        return max(snapshot.mono - last.mono, 0.0)

    def _elapsed(self, snapshot: Snapshot, passed: float) -> float | None:
        """Seconds since the last tick, of which `passed` went by with a suspend; None: a gap, or the first."""
        last = self._last
        if last is None:
            return None
        elapsed = snapshot.mono - last.mono
        return self._timing.elapsed(elapsed, passed - elapsed, self._settings.interval_seconds)

    def _measure(self, snapshot: Snapshot, elapsed: float | None) -> dict[FlowKey, FlowTick | None]:
        """What every flow did since the last tick, source by source."""
        flows: dict[FlowKey, FlowTick | None] = {}
        interval, gap = self._settings.interval_seconds, elapsed is None
        if self._timing.is_late and elapsed is not None:
            interval = elapsed  # a source comes no more often than the looks
        due = {*snapshot.texts, *snapshot.blobs, *snapshot.failed, *snapshot.took}
        for source in self._sources:
            is_asked = source.key in due or source.is_always_asked
            if is_asked and (found := source.take(snapshot, interval, gap=gap)):
                flows.update(found)
        return flows

    def _devices_of(self, static: Static) -> DevicesOf:
        """Tells the block devices or the file system of a disk or mount, for who draws on it."""
        numbers, devices = self._disks.numbers, self._disks.devices
        entries = self._nfs.entries

        def of(flow: FlowKey) -> Devices | None:
            if flow.kind == "disk":
                return devices_of_disk(flow.name, numbers, static, devices)
            return devices_of_mount(entries.get(flow.name)) if flow.kind == "nfs" else None

        return of

    def _layout(self, snapshot: Snapshot) -> Topology:
        """Who draws on what; made anew when the machine's shape or the settings changed."""
        static, settings = snapshot.static, self._settings
        drawn_from = (
            static,
            self._disks.names,
            self._nfs.layout,
            self._nics.names,
            self._groups.flows,
            settings,
        )
        is_same = drawn_from == self._drawn_from
        self._drawn_from = drawn_from  # what is the same object is not compared again
        if self._topology is None or not is_same:
            self._topology = topology.build(
                self._disks.with_partitions(),
                self._nfs.flows(_slot_limit(static)),
                interfaces.outward(self._nics.names, static.files),
                settings.rules,
                settings.catalogue,
                self._sold(static),
                self._groups.flows,
                self._disks.unwanted(),
            )
            self._learn_names()
            self._accounts.keep_only(self._topology.budgets)
        return self._topology

    def _learn_names(self) -> None:
        """What was learned of a disk or a volume is held against that one, whatever its name is now, and not
        against the one that stands under its name.
        """
        identities = {**self._disks.identities(), **self._nfs.identities()}
        diskseqs = self._disks.diskseqs()
        if gone := self._identities.gone(identities):
            self._judge.wait_for(gone)
            self._accounts.wait_for(gone)
            self._absences.wait_for(gone)
        if moved := self._identities.hand_over(identities, diskseqs):
            self._judge.rename(moved)
            self._accounts.rename(moved)
            self._absences.rename(moved)
        if others := self._identities.update(identities, diskseqs):
            self._judge.forget(others)
            self._accounts.forget(others)

    def _waited_for(self) -> set[str]:
        """The names of that of which something is known, and which is gone or has not been seen in this run."""
        return self._judge.awaited | self._accounts.awaited | self._identities.awaited

    def _let_go(self, names: set[str]) -> None:
        self._judge.let_go(names)
        self._accounts.let_go(names)
        self._identities.let_go(names)

    def _sold(self, static: Static) -> Sold:
        """What this machine was sold with, as far as its cloud and the configuration tell.

        Half a millisecond a disk, so not again because a mount came or went.
        """
        settings = self._settings
        told_by = (static.files, static.documents, self._disks.devices, settings)
        if told_by != self._sold_by:
            cloud = discover.detect(static.files) if settings.asks_cloud else ""
            identity = discover.identify(
                cloud, static.documents, self._disks.devices, static.files, settings.facts
            )
            self._last_sold = discover.sold(identity, settings.catalogue)
            self._sold_by = told_by
        return self._last_sold

    def _state(
        self,
        snapshot: Snapshot,
        elapsed: float | None,
        flows: Mapping[FlowKey, FlowTick | None],
        verdicts: Mapping[BudgetKey, Verdict],
        held: Sequence[Verdict],
    ) -> State:
        layout = self._topology
        assert layout is not None  # observe() asked for it
        hidden, flow_seconds = self._disks.hidden, self._accounts.flow_seconds
        counted = self._judge.as_counted(flows)
        budgets = self._budget_states(snapshot.mono, elapsed, counted, verdicts, held)
        return State(
            mono=snapshot.mono,
            wall=snapshot.wall,
            interval_seconds=self._settings.interval_seconds,
            ticks=self._ticks,
            boot=snapshot.boot,
            is_late=self._timing.is_late,
            disks=self._disks.states(),
            volumes=self._providers.volumes,
            mounts=self._nfs.mount_states(),
            clients=self._nfs.client_states(_slot_limit(snapshot.static)),
            interfaces=self._nics.states(snapshot.blobs.get("interfaces")),
            allowances=self._providers.interfaces,
            machine=MachineState(
                self._follow.pressure.value, self._follow.cpu.value, self._follow.memory.value
            ),
            is_unfamiliar=(self._disks.is_strange or self._nfs.is_strange or self._nics.is_strange),
            flows=flows,
            counted=counted,
            budgets=budgets,
            held=tuple([verdict for verdict in held if verdict.key in self._shown]),
            moved=tuple(self._accounts.moved),
            flow_throttled_seconds=LazyMapping(lambda: _without_disks(flow_seconds, hidden)),
            sources={each.state.name: each.state for each in self._sources if each.state},
            are_sources_well=not self._unwell,
            sold=self._last_sold,
            catalogue=self._settings.catalogue,
            rules=self._settings.rules,
            consumers=self._consumers.by_budget(
                snapshot.mono,
                layout.budgets,
                lambda: self._devices_of(snapshot.static),
                snapshot.static.mountinfo,
                frozenset(v.key for v in held if v.dimension is Dimension.IOPS),
            ),
            notices=self._notices(snapshot.static, layout),
        )

    def _notices(self, static: Static, layout: Topology) -> tuple[str, ...]:
        return (
            *container.notices(static.files),
            *self._timing.notices,
            *layout.notices,
            *self._accounts.corrections,
            *self._accounts.doubts(layout.budgets),
            *self._disks.notices,
            *self._providers.notices,
            *self._groups.notices,
            *self._follow.sockets.notices,
        )

    def _budget_states(
        self,
        at: float,
        elapsed: float | None,
        counted: Mapping[FlowKey, FlowTick | None],
        verdicts: Mapping[BudgetKey, Verdict],
        held: Sequence[Verdict],
    ) -> Mapping[BudgetKey, BudgetState]:
        """The budgets, made when somebody asks; what has a limit, known or met, is booked now."""
        assert self._topology is not None
        budgets, hidden = self._topology.budgets, self._disks.hidden
        if self._shown_of[0] is not budgets or self._shown_of[1] is not hidden:
            self._shown_of = (budgets, hidden)
            self._shown = {
                key: budget
                for key, budget in budgets.items()
                if key.kind is not Kind.DISK or key.name not in hidden
            }
            self._limited = [key for key, budget in self._shown.items() if budget.limits]
        shown, window = self._shown, self._settings.rate_window_seconds
        binding = [verdict.key for verdict in held if verdict.dimension is not None]
        booked = dict.fromkeys((*self._limited, *self._accounts.learned, *binding))
        lines = {
            key: self._accounts.book(shown[key], at, elapsed, counted, verdicts[key], window)
            for key in booked
            if key in shown
        }
        untold = self._accounts.book_untold(at, elapsed, verdicts)
        return LazyMapping(
            lambda: {
                key: BudgetState(budget, verdicts[key], lines.get(key, ()), untold.get(key, ()))
                for key, budget in shown.items()
            }
        )

    def budgets(self) -> tuple[Budget, ...]:
        """Every budget that is shown after the last tick, what was learned beside what is known."""
        return tuple(map(self._accounts.with_learned, self._shown.values()))

    def memory(self) -> dict[str, Any]:
        """JSON values of all that must survive a restart."""
        found: dict[str, Any] = saved.write(
            SavedEngine(
                self._judge.memory(),
                self._accounts.memory(),
                self._identities.memory(),
                self._absences.memory(self._waited_for()),
            )
        )
        return found

    def restore(self, memory: Mapping[str, Any], away_seconds: float) -> None:
        """Take back what `memory` gave, `away_seconds` ago. Raises ShapeError for what is no memory
        of ours, and then is as it was.
        """
        found = parse_memory(memory)
        self._judge.restore(found.judge, away_seconds)
        self._accounts.restore(found.accounts, away_seconds)
        self._identities.restore(found.identities)
        self._absences.restore(found.awaited, away_seconds)


def without_counts(memory: Mapping[str, Any]) -> dict[str, Any]:
    """What `Engine.memory` gave, but for what is counted, as long as more may be counted after it: a counter
    that goes back by less than all is counted twice by whoever scrapes, one that begins at 0 is not.
    """
    return {**memory, "accounts": {**memory["accounts"], "meters": [], "flows": [], "holds": []}}


def parse_memory(memory: Mapping[str, Any]) -> SavedEngine:
    """What `Engine.memory` gave, all of it checked. Raises ShapeError."""
    found = saved.read(SavedEngine, memory, "memory")
    accounts.check(found.accounts, "memory.accounts")
    return found


def _without_disks(
    flow_seconds: FlowSeconds, hidden: Collection[str]
) -> dict[tuple[FlowKey, BudgetKey, Dimension], float]:
    return {
        key: seconds
        for key, seconds in flow_seconds.items()
        if not (key[0].name in hidden and key[0].kind == "disk")
    }


def _slot_limit(static: Static) -> int | None:
    return count_of(static.files.get("/proc/sys/sunrpc/tcp_max_slot_table_entries", "").strip())
