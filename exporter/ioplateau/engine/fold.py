"""The fold: observe(Snapshot) -> State. The whole flow on one screen, the same live and in replay.

kernel text -> counters -> rates -> held against limits -> what we found
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ioplateau.engine.disks import Disks
from ioplateau.engine.hearsay import Hearsay
from ioplateau.engine.interfaces import Interfaces
from ioplateau.engine.nfs import Nfs
from ioplateau.engine.settings import EngineSettings
from ioplateau.judge import topology
from ioplateau.judge.budgets import BudgetKey, Dimension, Direction, FlowKey, Limit, Origin, Verdict
from ioplateau.judge.first import Judge
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.topology import Topology
from ioplateau.judge.usage import FlowClock, Meter, drawn, is_throttled_at
from ioplateau.measure import (
    diskstats,
    interfaces,
    meminfo,
    mountstats,
    pressure,
    procstat,
    sockets,
)
from ioplateau.measure.reading import FormatError
from ioplateau.measure.snapshot import (
    DISKSTATS,
    MEMINFO,
    MOUNTSTATS,
    NETDEV,
    PRESSURE,
    STAT,
    Snapshot,
    Static,
)
from ioplateau.measure.sockets import TcpSocket
from ioplateau.state import BudgetState, LimitState, MachineState, SourceState, State

T = TypeVar("T")

# Longer than this many intervals between two snapshots is a gap: the VM was paused, or nobody
# looked. What happened in between is not one tick's story.
GAP_INTERVALS = 2.5


class Engine:
    """Owns what must be remembered between ticks; everything it hands out is immutable."""

    def __init__(self, settings: EngineSettings | None = None) -> None:
        self._settings = settings or EngineSettings()
        self._judge = Judge()
        self._last: Snapshot | None = None
        self._ticks = 0
        self._sources: dict[str, SourceState] = {}
        self._machine = MachineState()
        self._disks = Disks(self._settings)
        self._nfs = Nfs(self._settings)
        self._nics = Interfaces(self._settings)
        self._tcp: tuple[TcpSocket, ...] | None = None
        self._topology: Topology | None = None
        self._drawn_from: tuple[object, ...] = ()
        self._meters: dict[tuple[BudgetKey, Dimension, Direction], Meter] = {}
        self._learned: dict[tuple[BudgetKey, Dimension, Direction], Limit] = {}
        self._clock = FlowClock()
        self._hearsay = Hearsay()

    def configure(self, settings: EngineSettings) -> None:
        """Take new settings from the next tick on; nothing measured is lost."""
        self._settings = settings
        self._disks.settings = self._nfs.settings = self._nics.settings = settings
        self._topology = None

    def observe(self, snapshot: Snapshot) -> State:
        """One tick: the snapshot's text, held against what came before."""
        elapsed = self._elapsed(snapshot)
        flows = self._measure(snapshot, gap=elapsed is None)
        budgets = self._budgets(snapshot).budgets
        witness = self._hearsay.witness(
            self._nfs.news(self._tcp, _slot_limit(snapshot.static)), self._machine.memory
        )
        verdicts = self._judge.observe(snapshot.mono, elapsed, budgets, flows, witness)
        self._last, self._ticks = snapshot, self._ticks + 1
        return self._state(snapshot, elapsed, flows, verdicts)

    def _elapsed(self, snapshot: Snapshot) -> float | None:
        last = self._last
        if last is None:
            return None
        elapsed = snapshot.mono - last.mono
        nominal = self._settings.interval_seconds
        if not 0 < elapsed <= GAP_INTERVALS * nominal:
            return None
        if snapshot.boot is not None and last.boot is not None:
            # CLOCK_BOOTTIME goes on through a suspend, CLOCK_MONOTONIC does not.
            asleep = (snapshot.boot - last.boot) - elapsed
            if asleep > GAP_INTERVALS * nominal:
                return None
        return elapsed

    def _measure(self, snapshot: Snapshot, *, gap: bool) -> dict[FlowKey, FlowTick | None]:
        flows: dict[FlowKey, FlowTick | None] = {}
        static = snapshot.static
        read = self._reader(snapshot)

        disks = read("diskstats", DISKSTATS, lambda text: diskstats.parse(text, self._disks.table))
        self._disks.observe(snapshot.read_at(DISKSTATS), disks, static, gap=gap, flows=flows)

        mounts = read("mountstats", MOUNTSTATS, lambda t: mountstats.parse(t, self._nfs.table))
        self._nfs.observe(snapshot.read_at(MOUNTSTATS), mounts, static, gap=gap, flows=flows)

        nics = read("netdev", NETDEV, lambda text: interfaces.parse(text, self._nics.table))
        self._nics.observe(snapshot.read_at(NETDEV), nics, gap=gap, flows=flows)

        self._machine = MachineState(
            read("pressure", PRESSURE, pressure.parse),
            read("stat", STAT, procstat.parse),
            read("meminfo", MEMINFO, meminfo.parse),
        )
        self._observe_tcp(snapshot)
        return flows

    def _reader(self, snapshot: Snapshot) -> Callable[[str, str, Callable[[bytes], T]], T | None]:
        """A function that reads one source and books how it fared; None: nothing to be had."""

        def read(name: str, path: str, parse: Callable[[bytes], T]) -> T | None:
            text = snapshot.texts.get(path)
            if text is None:
                why = snapshot.failed.get(path)
                if why is not None:
                    self._book(snapshot, name, path, why)
                return None
            try:
                value = parse(text)
            except FormatError as error:
                self._book(snapshot, name, path, str(error))
                return None
            except Exception as error:  # a defect in one parser must not blind us to the rest
                self._book(snapshot, name, path, f"{path}: {type(error).__name__}: {error}")
                return None
            self._book(snapshot, name, path, "", getattr(value, "rejects", ()))
            return value

        return read

    def _book(
        self, snapshot: Snapshot, name: str, path: str, why: str, rejects: Sequence[str] = ()
    ) -> None:
        before = self._sources.get(name) or SourceState(name, up=True)
        self._sources[name] = SourceState(
            name,
            up=not why,
            why=why,
            seconds=before.seconds + snapshot.took.get(path, 0.0),
            rejects=before.rejects + len(rejects),
            last_reject=rejects[-1] if rejects else before.last_reject,
        )

    def _observe_tcp(self, snapshot: Snapshot) -> None:
        blob = snapshot.blobs.get("tcp")
        if blob is not None:
            found, rejects = sockets.parse(blob)
            self._tcp = found
            self._hearsay.hear_sockets(snapshot.read_at("tcp"), found)
            self._book(snapshot, "sockets", "tcp", "", rejects)
        elif (why := snapshot.failed.get("tcp")) is not None:
            self._tcp = None
            self._book(snapshot, "sockets", "tcp", why)

    def _budgets(self, snapshot: Snapshot) -> Topology:
        drawn_from = (
            snapshot.static,
            self._disks.names,
            self._nfs.layout,
            self._nics.names,
            self._settings,
        )
        if self._topology is None or any(
            now is not was for now, was in zip(drawn_from, self._drawn_from, strict=True)
        ):
            self._drawn_from = drawn_from
            self._topology = topology.build(
                {name: self._disks.devices.get(name) for name in self._disks.names},
                self._nfs.flows(_slot_limit(snapshot.static)),
                self._nics.names,
                self._settings.limits,
            )
            self._forget_budgets(self._topology.budgets.keys())
        return self._topology

    def _forget_budgets(self, alive: Any) -> None:
        for key in [key for key in self._meters if key[0] not in alive]:
            del self._meters[key]
            self._learned.pop(key, None)
        for clock in [key for key in self._clock.seconds if key[1] not in alive]:
            del self._clock.seconds[clock]

    def _state(
        self,
        snapshot: Snapshot,
        elapsed: float | None,
        flows: Mapping[FlowKey, FlowTick | None],
        verdicts: Mapping[BudgetKey, Verdict],
    ) -> State:
        budgets = self._budgets(snapshot)
        self._clock.observe(elapsed, verdicts)
        return State(
            mono=snapshot.mono,
            wall=snapshot.wall,
            interval_seconds=self._settings.interval_seconds,
            ticks=self._ticks,
            disks=self._disks.states(),
            mounts=self._nfs.mount_states(),
            clients=self._nfs.client_states(self._tcp, _slot_limit(snapshot.static)),
            interfaces=self._nics.states(snapshot.blobs.get("interfaces")),
            machine=self._machine,
            budgets={
                key: BudgetState(
                    budget,
                    verdicts[key],
                    self._meter(key, budget.limits, snapshot.mono, elapsed, flows, verdicts[key]),
                )
                for key, budget in budgets.budgets.items()
            },
            flow_throttled_seconds=dict(self._clock.seconds),
            sources=dict(self._sources),
            notices=budgets.notices,
        )

    def _meter(
        self,
        key: BudgetKey,
        limits: tuple[Limit, ...],
        at: float,
        elapsed: float | None,
        flows: Mapping[FlowKey, FlowTick | None],
        verdict: Verdict,
    ) -> tuple[LimitState, ...]:
        assert self._topology is not None
        budget = self._topology.budgets[key]
        found = []
        for limit in self._known_and_learned(key, limits, verdict):
            name = (key, limit.dimension, limit.direction)
            meter = self._meters.get(name)
            if meter is None:
                meter = self._meters[name] = Meter(self._settings.rate_window_seconds)
            rate = drawn(budget, flows, limit.dimension, limit.direction)
            throttled = is_throttled_at(verdict, limit.dimension, limit.direction)
            meter.observe(at, elapsed, rate, throttled)
            effective = verdict.limit if throttled and verdict.limit else limit.value
            used = meter.used(at, effective)
            found.append(
                LimitState(
                    limit,
                    effective,
                    used.utilization,
                    used.peak,
                    throttled,
                    used.throttled_seconds,
                    used.episodes,
                    demand=verdict.demand if throttled else None,
                )
            )
        return tuple(found)

    def _known_and_learned(
        self, key: BudgetKey, limits: tuple[Limit, ...], verdict: Verdict
    ) -> tuple[Limit, ...]:
        """The known limits, and those the judge found by itself: once met, they stay."""
        known = {(limit.dimension, limit.direction) for limit in limits}
        if verdict.dimension is not None and verdict.limit is not None:
            place = (verdict.dimension, verdict.direction or Direction.TOTAL)
            if place not in known:
                self._learned[key, *place] = Limit(*place, verdict.limit, Origin.LEARNED)
        learned = tuple(
            limit
            for (owner, *place), limit in self._learned.items()
            if owner == key and tuple(place) not in known
        )
        return (*limits, *learned)


def _slot_limit(static: Static) -> int | None:
    text = static.files.get("/proc/sys/sunrpc/tcp_max_slot_table_entries", "").strip()
    return int(text) if text.isdigit() else None
