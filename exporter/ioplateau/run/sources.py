"""What is read of a machine: a sampler of every source, and those that join it later."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ioplateau.measure import cgroups, interfaces, mountinfo, ownview
from ioplateau.measure.host import Host
from ioplateau.measure.snapshot import MOUNTSTATS, Snapshot
from ioplateau.run.clock import Clock
from ioplateau.run.reader import Source
from ioplateau.run.sampler import Sampler, SamplerSettings, files
from ioplateau.run.settings import ServeSettings
from ioplateau.threads import AGAIN_SECONDS, started

if TYPE_CHECKING:
    from ioplateau.measure.inetdiag import SocketDiagnostics

# Between two looks for control groups with a limit. One takes some 20 us a group (v1: 65 us), and all of
# them together this share of a CPU, a tenth of the ticks: 60 groups are looked at each 12 s. A job that
# lives less than that under a limit may be missed.
LEAST_GROUPS_SECONDS, GROUPS_SECONDS = 5.0, 30.0
GROUPS_SHARE = 1e-4


def sampler_for(settings: ServeSettings, clock: Clock) -> Sampler:
    """A sampler of every source that costs little; the sockets join when an NFS mount exists."""
    host = settings.paths.host()
    # Those of a namespace of our own may be called like the machine's.
    links = Source(
        "interfaces",
        lambda: {} if ownview.is_other_network(host) else interfaces.links(),
        every_seconds=60.0,
    )
    # Whatever hangs, there must be time left in the tick for the rest of it; and on a machine
    # that is short of CPU a healthy source takes its 0.1 s.
    patience = min(max(0.4 * settings.engine.interval_seconds, 0.2), 0.4)
    sources = (*files(host), links, LimitedGroups(host, clock).source())
    return Sampler(host, clock, sources, SamplerSettings(answer_seconds=patience))


class LimitedGroups:
    """Control groups with a block limit. Which there are is looked up every 5 to 30 s, and whether any can
    be seen every 30; that, and opening their files, is for the thread that may wait.
    """

    def __init__(self, host: Host, clock: Clock) -> None:
        self._host = host
        self._clock = clock
        self._due = float("-inf")
        self._found = cgroups.Limited()
        self._files: tuple[str, ...] = ()
        self._refusal: OSError | None = None

    def source(self) -> Source:
        """What a sampler reads."""
        place = self._host.place("/sys/fs/cgroup")
        return Source("cgroups", self.read, place=place, is_prompt=self.is_prompt)

    def read(self) -> list[dict[str, object]]:
        now = self._clock.mono()
        if now >= self._due:
            self._look()
            self._due = now + self._pause_seconds(self._clock.mono() - now)
        if self._refusal is not None:
            raise OSError(*self._refusal.args, self._refusal.filename)
        return cgroups.read(self._host, self._found)

    def _look(self) -> None:
        try:
            cgroups.require(self._host)
        except OSError as error:
            self._refusal, self._found = error, cgroups.Limited()
        else:
            self._refusal, self._found = None, cgroups.limited(self._host)
        before = self._files
        self._files = tuple([path for place in self._found.places for path in cgroups.files(place)])
        for gone in {*before}.difference(self._files):
            self._host.forget(gone)

    def _pause_seconds(self, took_seconds: float) -> float:
        if self._refusal is not None:
            return GROUPS_SECONDS
        return min(max(took_seconds / GROUPS_SHARE, LEAST_GROUPS_SECONDS), GROUPS_SECONDS)

    def is_prompt(self) -> bool:
        return self._clock.mono() < self._due and all(map(self._host.is_prompt, self._files))


class NfsSockets:
    """Adds the socket diagnostics to a sampler once there is an NFS mount.

    Importing pyroute2 takes 0.1 s, a quarter of what a tick waits for an answer: that is done beside
    the loop, and waited for where there is no loop.
    """

    def __init__(self, sampler: Sampler, ports: tuple[int, ...]) -> None:
        self._sampler = sampler
        self._ports = ports
        self._is_begun = False
        self._mount_table: bytes | None = None
        self._is_changed = False
        self._diagnostics: SocketDiagnostics | None = None

    def look(self, snapshot: Snapshot, wait_seconds: float = 0.0) -> None:
        """Look for an NFS mount, the only kind that tells statistics."""
        if snapshot.static.mountinfo is not self._mount_table:
            self._mount_table, self._is_changed = snapshot.static.mountinfo, True
        if not self._is_begun and b" statvers=" in snapshot.texts.get(MOUNTSTATS, b""):
            beside = started("sockets", self._add, AGAIN_SECONDS)
            self._is_begun = beside is not None
            if beside is not None:
                beside.join(wait_seconds)

    def _add(self) -> None:
        from ioplateau.measure import inetdiag

        # A refusal is the source's own to tell.
        with suppress(OSError):
            inetdiag.SocketDiagnostics(self._ports).close()
        self._sampler.add(Source("tcp", self._read, is_prompt=self._is_prompt))

    def _is_prompt(self) -> bool:
        diagnostics = self._diagnostics
        return diagnostics is not None and not self._is_changed and diagnostics.is_prompt

    def _read(self) -> object:
        from ioplateau.measure.inetdiag import SocketDiagnostics

        if self._diagnostics is None:
            self._diagnostics = SocketDiagnostics(self._ports)
        if self._is_changed:
            self._is_changed = False
            table = self._mount_table or b""
            self._diagnostics.find_soon(server_ports(table, self._ports), server_addresses(table))
        return self._diagnostics.read()


def server_ports(mount_table: bytes, configured: tuple[int, ...]) -> tuple[int, ...]:
    """The configured ports and those that NFS mounts tell (`port=`), each once."""
    told = (entry.server_port for entry in mountinfo.parse(mount_table).entries)
    return tuple(dict.fromkeys((*configured, *(port for port in told if port is not None))))


def server_addresses(mount_table: bytes) -> tuple[str, ...]:
    """The addresses that NFS mounts tell (`addr=`), each once; "" if one of them tells none."""
    entries = mountinfo.parse(mount_table).entries
    told = (e.super_options.get("addr", "") for e in entries if e.fstype in mountinfo.NFS_TYPES)
    return tuple(dict.fromkeys(told))
