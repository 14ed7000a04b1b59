"""The fold: observe(Snapshot) -> State. The whole flow on one screen, the same live and in replay.

kernel text -> counters -> rates -> held against limits -> what we found
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from ioplateau.engine.accounts import Accounts
from ioplateau.engine.disks import Disks
from ioplateau.engine.groups import Groups
from ioplateau.engine.hearsay import Hearsay
from ioplateau.engine.interfaces import Interfaces
from ioplateau.engine.nfs import Nfs
from ioplateau.engine.providers import Providers
from ioplateau.engine.settings import EngineSettings
from ioplateau.judge import topology
from ioplateau.judge.budgets import Budget, BudgetKey, FlowKey, Kind, Verdict
from ioplateau.judge.clouds import discover
from ioplateau.judge.clouds.identity import Sold
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.judge import Judge
from ioplateau.judge.topology import Topology
from ioplateau.measure import (
    cgroups,
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
    MOUNTINFO,
    MOUNTSTATS,
    NETDEV,
    PRESSURE,
    STAT,
    Snapshot,
    Static,
)
from ioplateau.measure.sockets import TcpSocket
from ioplateau.state import BudgetState, MachineState, SourceState, State

T = TypeVar("T")

# Longer than this many intervals between two snapshots is a gap: the VM was paused, or nobody
# looked. What happened in between is not one tick's story.
GAP_INTERVALS = 2.5


class _Read(Protocol):
    def __call__(self, name: str, path: str, parse: Callable[[bytes], T]) -> T | None: ...


class Engine:
    """Owns what must be remembered between ticks; everything it hands out is immutable."""

    def __init__(self, settings: EngineSettings | None = None, judge: Judge | None = None) -> None:
        self._settings = settings or EngineSettings()
        self._judge = judge or Judge()
        self._last: Snapshot | None = None
        self._ticks = 0
        self._sources: dict[str, SourceState] = {}
        self._arrived: dict[str, float] = {}
        self._machine = MachineState()
        self._disks = Disks(self._settings)
        self._nfs = Nfs(self._settings)
        self._nics = Interfaces(self._settings)
        self._groups = Groups()
        self._providers = Providers()
        self._tcp: tuple[TcpSocket, ...] | None = None
        self._topology: Topology | None = None
        self._drawn_from: tuple[object, ...] = ()
        self._last_sold = topology.NOTHING_SOLD
        self._sold_by: tuple[object, ...] = ()
        self._accounts = Accounts()
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
        budgets = self._layout(snapshot).budgets
        witness = self._hearsay.witness(
            self._nfs.news(self._tcp, _slot_limit(snapshot.static)),
            self._machine.memory,
            self._groups.witnesses,
            self._providers,
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
        at, late = self._arrival(snapshot, DISKSTATS)
        self._disks.observe(at, disks, static, gap=gap or late, flows=flows)

        mounts = read("mountstats", MOUNTSTATS, lambda t: mountstats.parse(t, self._nfs.table))
        self._observe_mount_table(snapshot)
        at, late = self._arrival(snapshot, MOUNTSTATS)
        self._nfs.observe(at, mounts, gap=gap or late, flows=flows)

        nics = read("netdev", NETDEV, lambda text: interfaces.parse(text, self._nics.table))
        at, late = self._arrival(snapshot, NETDEV)
        self._nics.observe(at, nics, gap=gap or late, flows=flows)

        last, texts, failed = self._machine, snapshot.texts, snapshot.failed

        def latest(name: str, path: str, parse: Callable[[bytes], T], before: T | None) -> T | None:
            # What was not due this tick still holds; what failed does not.
            was_due = path in texts or path in failed
            return read(name, path, parse) if was_due else before

        self._machine = MachineState(
            latest("pressure", PRESSURE, pressure.parse, last.pressure),
            latest("stat", STAT, procstat.parse, last.cpu),
            latest("meminfo", MEMINFO, meminfo.parse, last.memory),
        )
        self._observe_tcp(snapshot)
        self._observe_shape(snapshot)
        self._observe_groups(snapshot, gap=gap, flows=flows)
        self._observe_providers(snapshot, gap=gap)
        return flows

    def _arrival(self, snapshot: Snapshot, name: str) -> tuple[float, bool]:
        """When a source was read, and whether a gap lies before it: it may have been away while
        the others were not.
        """
        at = snapshot.read_at(name)
        before = self._arrived.get(name, at)
        if name in snapshot.texts or name in snapshot.blobs:
            self._arrived[name] = at
        return at, at - before > GAP_INTERVALS * self._settings.interval_seconds

    def _reader(self, snapshot: Snapshot) -> _Read:
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
        seconds = snapshot.took.get(path, 0.0)
        if before.up and not (why or seconds or rejects) and name in self._sources:
            return  # nothing new
        self._sources[name] = SourceState(
            name,
            not why,
            why,
            before.seconds + seconds,
            before.rejects + len(rejects),
            rejects[-1] if rejects else before.last_reject,
        )

    def _observe_mount_table(self, snapshot: Snapshot) -> None:
        rejects = self._nfs.read_mounts(snapshot.static.mountinfo)
        if (why := snapshot.failed.get(MOUNTINFO)) is not None or rejects is not None:
            self._book(snapshot, "mountinfo", MOUNTINFO, why or "", rejects or ())
        elif MOUNTINFO in snapshot.took:
            self._book(snapshot, "mountinfo", MOUNTINFO, "")

    def _observe_shape(self, snapshot: Snapshot) -> None:
        """Sources that are not followed: only how they fare."""
        for name in ("interfaces", "sysfs"):
            why = snapshot.failed.get(name)
            before = self._sources.get(name)
            if why is not None:
                self._book(snapshot, name, name, why)
            elif name in snapshot.took or (name == "sysfs" and before and not before.up):
                self._book(snapshot, name, name, "")

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

    def _observe_groups(
        self, snapshot: Snapshot, *, gap: bool, flows: dict[FlowKey, FlowTick | None]
    ) -> None:
        blob = snapshot.blobs.get("cgroups")
        if blob is None:
            if (why := snapshot.failed.get("cgroups")) is not None:
                self._book(snapshot, "cgroups", "cgroups", why)
            return
        found, rejects = cgroups.parse(blob)
        self._book(snapshot, "cgroups", "cgroups", "", rejects)
        at, late = self._arrival(snapshot, "cgroups")
        self._groups.observe(at, found, self._disks.numbers, gap=gap or late, flows=flows)

    def _observe_providers(self, snapshot: Snapshot, *, gap: bool) -> None:
        for name, hear in (
            ("ebs", self._providers.hear_volumes),
            ("allowances", self._providers.hear_interfaces),
        ):
            blob, why = snapshot.blobs.get(name), snapshot.failed.get(name)
            if blob is not None:
                rejects = hear(snapshot.read_at(name), blob, gap=gap)
                self._book(snapshot, name, name, "", rejects)
            elif why is not None:
                hear(snapshot.mono, {}, gap=True)  # what it said before holds no longer
                self._book(snapshot, name, name, why)

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
                settings.shelf,
                self._sold(static),
                self._groups.flows,
            )
            self._accounts.keep_only(self._topology.budgets)
        return self._topology

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
            self._last_sold = discover.sold(identity, settings.shelf)
            self._sold_by = told_by
        return self._last_sold

    def _state(
        self,
        snapshot: Snapshot,
        elapsed: float | None,
        flows: Mapping[FlowKey, FlowTick | None],
        verdicts: Mapping[BudgetKey, Verdict],
    ) -> State:
        layout = self._topology
        assert layout is not None  # observe() asked for it
        self._accounts.tick(elapsed, verdicts)
        hidden = self._disks.hidden
        return State(
            mono=snapshot.mono,
            wall=snapshot.wall,
            interval_seconds=self._settings.interval_seconds,
            ticks=self._ticks,
            disks=self._disks.states(),
            volumes=self._providers.volumes,
            mounts=self._nfs.mount_states(),
            clients=self._nfs.client_states(_slot_limit(snapshot.static)),
            interfaces=self._nics.states(snapshot.blobs.get("interfaces")),
            allowances=self._providers.interfaces,
            machine=self._machine,
            budgets=self._budget_states(snapshot.mono, elapsed, flows, verdicts),
            flow_throttled_seconds={
                key: seconds
                for key, seconds in self._accounts.flow_seconds.items()
                if not (key[0].name in hidden and key[0].kind == "disk")
            },
            sources=dict(self._sources),
            notices=(
                *layout.notices,
                *self._accounts.corrections,
                *self._accounts.doubts(layout.budgets),
                *self._providers.notices,
            ),
        )

    def _budget_states(
        self,
        at: float,
        elapsed: float | None,
        flows: Mapping[FlowKey, FlowTick | None],
        verdicts: Mapping[BudgetKey, Verdict],
    ) -> dict[BudgetKey, BudgetState]:
        assert self._topology is not None
        hidden, window = self._disks.hidden, self._settings.rate_window_seconds
        found = {}
        for key, budget in self._topology.budgets.items():
            if key.name in hidden and key.kind is Kind.DISK:
                continue
            verdict = verdicts[key]
            limits = self._accounts.book(budget, at, elapsed, flows, verdict, window)
            found[key] = BudgetState(budget, verdict, limits)
        return found

    def budgets(self) -> tuple[Budget, ...]:
        """Every budget after the last tick, what was learned beside what is known."""
        layout = self._topology
        return (
            () if layout is None else tuple(map(self._accounts.explained, layout.budgets.values()))
        )

    def memory(self) -> dict[str, Any]:
        """JSON values of all that must survive a restart."""
        return {"judge": self._judge.memory(), "accounts": self._accounts.memory()}

    def restore(self, memory: Mapping[str, Any], away_seconds: float) -> None:
        """Take back what `memory` gave, `away_seconds` ago. Raises ValueError and the like for
        what is no memory of ours.
        """
        self._judge.restore(memory["judge"])
        self._accounts.restore(memory["accounts"], away_seconds)


def _slot_limit(static: Static) -> int | None:
    text = static.files.get("/proc/sys/sunrpc/tcp_max_slot_table_entries", "").strip()
    return int(text) if text.isdigit() else None
