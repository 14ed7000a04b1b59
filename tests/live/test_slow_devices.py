"""Devices that are slow and not limited, and a real machine's demand on a disk that is: what is said.

Slow disks answer each request after so many milliseconds, any number at a time (slow_disk.py), and one
becomes slow while an application reads at its own paces. A real trace (replayed_trace.py) is asked of two
disks at once: one is limited to less than it wants at times, one not at all. Needs what slow_disk.py and
throttled_disk.py name.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from threading import Timer

import pytest

import replayed_trace
from live_daemon import Daemon, Exposition, running_daemon
from slow_disk import SlowDisk
from throttled_disk import MIB, Load, ThrottledDisk

pytestmark = [pytest.mark.live, pytest.mark.alone, pytest.mark.timeout(300)]

# Seconds of one request, and how many at a time: 200 to 800 a second.
SLOW = {(0.004, 2): "near", (0.012, 8): "farther", (0.040, 32): "far"}
ONE_SECONDS, MANY_SECONDS = 8, 22
# An application's paces, reads a second and for how many seconds; and when its disk becomes slow: in the second,
# which it has kept for some fourteen seconds, less than a fifth of all the time.
PACES, PACED_SECONDS, PACED_DEPTH = ((90, 60), (300, 34)), 0.003, 64
WHOLE_SECONDS = sum(seconds for _, seconds in PACES)
SLOW_AFTER_SECONDS, SLOW_SECONDS = 74, 0.015
LIMIT_IOPS = 250
FAR_IOPS = 20_000
WAITING = 4  # requests that stand before the limit at both ends of a tick
TICKS_UNTIL_FOUND = 6
# What a daemon was told: every limit, or none. One looks each five seconds, as an operator may set it.
TOLD, UNTOLD, LONG = "told", "untold", "told, long ticks"
LONG_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Glance:
    """What was said of one disk at one tick, and what it had done so far."""

    wall: float
    operations: float
    in_flight: float
    throttled: frozenset[str]


@dataclass(slots=True)
class Watched:
    """What each of the daemons said of each disk."""

    glances: dict[tuple[str, str], list[Glance]] = field(default_factory=dict)
    slow: dict[tuple[float, int], str] = field(default_factory=dict)  # names of disks
    paced: str = ""
    held: str = ""
    free: str = ""

    def look(self, daemon: Daemon, disks: list[str], told: str) -> None:
        now = daemon.scrape()
        for disk in disks:
            seen = self.glances.setdefault((disk, told), [])
            one = glance(now, disk)
            if not seen or one.wall != seen[-1].wall:
                seen.append(one)

    def alarms(self, disk: str, told: str) -> list[Glance]:
        return [one for one in self.glances[disk, told] if one.throttled]


def glance(now: Exposition, disk: str) -> Glance:
    return Glance(
        now.value("ioplateau_last_tick_timestamp_seconds"),
        sum(now.values("ioplateau_disk_operations_total", device=disk, operation="read")),
        now.value("ioplateau_disk_in_flight", device=disk),
        # Also of what several disks draw on. The limit of this rig is one of a control group.
        frozenset(
            found["kind"]
            for found in now.labels("ioplateau_budget_throttled")
            if now.value("ioplateau_budget_throttled", **found) == 1
            and found["kind"] != "cgroup"
            and (found["kind"] != "disk" or found["name"] == disk)
        ),
    )


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    found = Watched()
    with ExitStack() as stack:
        slow = {each: stack.enter_context(SlowDisk(each[0])) for each in SLOW}
        paced = stack.enter_context(SlowDisk(PACED_SECONDS))
        held = stack.enter_context(ThrottledDisk(read_iops=LIMIT_IOPS, size_bytes=64 * MIB))
        free = stack.enter_context(ThrottledDisk(size_bytes=64 * MIB))
        found.slow = {each: disk.name for each, disk in slow.items()}
        found.paced, found.held, found.free = paced.name, held.name, free.name
        delayed = [*found.slow.values(), paced.name]
        names = [*delayed, held.name, free.name]
        limits = dict.fromkeys(names, FAR_IOPS) | {held.name: LIMIT_IOPS}
        told = "".join(f'[[limit]]\ndisk = "{name}"\niops = {limits[name]}\n' for name in names)
        long = f"[sampling]\ninterval_seconds = {LONG_SECONDS}\n{told}"
        daemons = {
            which: (
                stack.enter_context(daemon(tmp_path_factory.mktemp("daemon"), disks, config)),
                disks,
            )
            for which, disks, config in (
                (TOLD, names, told),
                (UNTOLD, delayed, ""),
                (LONG, names, long),
            )
        }

        def look_for(seconds: float) -> None:
            ends = time.monotonic() + seconds
            while time.monotonic() < ends:
                for which, (one, disks) in daemons.items():
                    found.look(one, disks, which)
                time.sleep(0.7)

        place = tmp_path_factory.mktemp("replay")
        replays = [replay(disk, place / disk.name) for disk in (held, free)]
        for load in replays:
            stack.callback(load.stop)
        assert replayed_trace.seconds() < WHOLE_SECONDS
        paced.paces(*PACES, depth=PACED_DEPTH)
        turn = Timer(SLOW_AFTER_SECONDS, paced.become, [SLOW_SECONDS])
        turn.start()
        stack.callback(turn.cancel)
        ones = [disk.load(depth=1, seconds=ONE_SECONDS) for disk in slow.values()]
        look_for(ONE_SECONDS + 1)
        assert all(load.wait(30) == 0 for load in ones)  # fio begins late where CPUs are busy
        loads = [disk.load(depth=depth, seconds=MANY_SECONDS) for (_, depth), disk in slow.items()]
        look_for(MANY_SECONDS + 1)
        assert all(load.wait(30) == 0 for load in loads)
        look_for(WHOLE_SECONDS - ONE_SECONDS - MANY_SECONDS)
        yield found


def daemon(place: Path, disks: list[str], limits: str):
    names = ", ".join(f'"{name}"' for name in disks)
    config = f'[device]\nexclude = ["*"]\ninclude = [{names}]\n{limits}'
    return running_daemon(config, place, ["--no-cloud"])


def replay(disk: ThrottledDisk, log: Path) -> Load:
    replayed_trace.write_log(log, disk.device, disk.size_bytes)
    arguments = [f"--read_iolog={log}", "--direct=1", "--ioengine=libaio", "--iodepth=64"]
    return Load(arguments, disk.cgroup)


@pytest.mark.parametrize("told", [TOLD, UNTOLD])
@pytest.mark.parametrize("slow", SLOW, ids=SLOW.get)
def test_a_slow_device_at_constant_depth_is_never_called_throttled(watched, slow, told):
    glances = watched.glances[watched.slow[slow], told]
    seconds, depth = slow
    done = glances[-1].operations - glances[0].operations

    assert len(glances) >= MANY_SECONDS / 2
    assert max(one.in_flight for one in glances) == depth
    assert 0.2 * MANY_SECONDS * depth / seconds < done  # it was loaded, however busy the machine
    assert watched.alarms(watched.slow[slow], told) == []


@pytest.mark.parametrize("told", [TOLD, UNTOLD])
def test_an_applications_own_pace_on_a_disk_that_becomes_slow_is_not_called_throttled(
    watched, told
):
    glances = watched.glances[watched.paced, told]
    waiting = [one for one in glances if one.in_flight >= 2 * PACES[1][0] * PACED_SECONDS]

    assert len(waiting) >= 10  # it became slow, and was asked for as much
    assert watched.alarms(watched.paced, told) == []


@pytest.mark.rates
def test_what_a_real_machine_asks_is_found_throttled_where_a_limit_holds_it_back(watched):
    glances = watched.glances[watched.held, TOLD]
    at_limit = [
        bool(now.throttled)
        for last, now in pairwise(glances)
        if (now.operations - last.operations) / (now.wall - last.wall) > 0.95 * LIMIT_IOPS
        and min(last.in_flight, now.in_flight) >= WAITING
    ]

    assert len(at_limit) >= TICKS_UNTIL_FOUND + 4
    assert True in at_limit[:TICKS_UNTIL_FOUND]
    found = at_limit[at_limit.index(True) :]
    assert sum(found) >= 0.9 * len(found)
    assert {kind for one in glances for kind in one.throttled} == {"disk"}


def test_and_not_where_its_limit_is_far_away(watched):
    glances = watched.glances[watched.free, TOLD]

    assert glances[-1].operations - glances[0].operations > 1000
    assert watched.alarms(watched.free, TOLD) == []


def test_ticks_of_five_seconds_tell_the_limited_disk_from_those_that_are_slow(watched):
    said = {
        disk: {kind for one in watched.glances[disk, LONG] for kind in one.throttled}
        for disk in (watched.held, watched.free, watched.paced, *watched.slow.values())
    }

    assert len(watched.glances[watched.held, LONG]) >= 0.7 * WHOLE_SECONDS / LONG_SECONDS
    assert said == {disk: {"disk"} if disk == watched.held else set() for disk in said}
