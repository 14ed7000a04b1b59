"""Two loads in two control groups on one throttled disk: the heavy one is named, everywhere, and soon."""

import subprocess
import time

import pytest

from ioplateau.engine import Engine, EngineSettings
from ioplateau.limits.budgets import BudgetKey, Kind, Word
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.run.background import BackgroundReaders
from ioplateau.run.clock import SystemClock
from ioplateau.run.loop import Loop
from ioplateau.run.settings import ServeSettings
from ioplateau.run.sources import sampler_for
from live_daemon import IOPLATEAU, running_daemon
from throttled_disk import MIB, ThrottledDisk

pytestmark = [pytest.mark.live, pytest.mark.alone]

CONFIG = """
[[limit]]
disk = "{name}"
{what} = {value}
"""
DRAWN = "ioplateau_budget_consumer_bytes_per_second"
MOST_TICKS = (
    5  # of a second each, from the first that is throttled to the first that names somebody
)
WRITE_BYTES_PER_SECOND = 2 * MIB


def of_disk(found, name):
    """The one budget or episode of the disk."""
    (one,) = [each for each in found if (each["kind"], each["name"]) == ("disk", name)]
    return one


def until_named(daemon, name, heavy, seconds=90, *, by_flusher):
    """Who draws on the disk, once the heavy group is the first of them."""
    deadline = time.monotonic() + seconds
    while True:
        budget = of_disk(daemon.ask("state")["budgets"], name)
        consumers = budget["consumers"]
        first = consumers and consumers["groups"] and consumers["groups"][0]
        if first and (first["name"], first["by_flusher"]) == (heavy, by_flusher):
            return consumers
        assert time.monotonic() < deadline, (budget["verdict"], consumers)
        time.sleep(1)


def test_the_heavy_one_of_two_is_named(tmp_path):
    with ThrottledDisk(read_iops=400) as disk:
        light = disk.unlimited_group()
        config = CONFIG.format(name=disk.name, what="iops", value=420)
        with running_daemon(config, tmp_path) as daemon:
            disk.load(depth=16, seconds=120)
            disk.load(rate_iops=20, depth=1, seconds=120, group=light)
            found = daemon.wait_until(
                lambda scrape: bool(scrape.values(DRAWN, kind="disk", name=disk.name)),
                60,
                told="who draws on the disk",
            )
            state = daemon.ask("state")
            page = daemon.page()
            episodes = daemon.ask("episodes")
            top = told_by("top", "--batch", "--count", "6", config=tmp_path / "ioplateau.toml")
            report = told_by("report", "--since", "5min", "--url", daemon.url)
            drawn = {
                labels["cgroup"]: found.value(DRAWN, **labels)
                for labels in found.labels(DRAWN, kind="disk", name=disk.name)
            }

    budget = of_disk(state["budgets"], disk.name)
    episode = of_disk(episodes["episodes"], disk.name)
    heavy = f"/{disk.cgroup.name}"
    assert budget["consumers"]["groups"][0]["name"] == heavy
    assert budget["consumers"]["processes"][0]["label"].startswith("fio (pid ")
    assert episode["drew_most"] == heavy
    assert f"most I/O by {heavy}" in page
    assert f"most I/O by {heavy} (" in top
    assert heavy in report
    assert len(drawn) <= 3
    assert max(drawn, key=drawn.get).endswith(disk.cgroup.name), drawn
    assert drawn[f"/{disk.cgroup.name}"] == pytest.approx(400 * 4096, rel=0.5)


def told_by(*command, config=None):
    flags = () if config is None else ("--config.file", config)
    done = subprocess.run(
        [IOPLATEAU, *command, *flags], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def test_it_is_named_within_a_few_ticks_of_the_verdict():
    """Ticks are counted, not seconds: a busy machine leaves some out."""
    with ThrottledDisk(read_iops=400, size_bytes=32 * MIB) as disk:
        light = disk.unlimited_group()
        key, heavy = BudgetKey(Kind.DISK, disk.name), f"/{disk.cgroup.name}"
        limit = ConfiguredLimit(disk=disk.name, iops=420, source="here")
        settings = ServeSettings(EngineSettings(rules=Rules((limit,)), asks_cloud=False))
        clock = SystemClock()
        sampler = sampler_for(settings, clock)
        readers = BackgroundReaders(settings, sampler, clock)
        throttled, named = [], []

        def after_tick(state, snapshot):
            readers(state, snapshot)
            if state.ticks == 3:
                disk.load(depth=16, seconds=120)
                disk.load(rate_iops=20, depth=1, seconds=120, group=light)
            if state.budgets[key].verdict.word is Word.THROTTLED:
                throttled.append(state.ticks)
            found = state.consumers.get(key)
            if found is not None and found.groups and found.groups[0].name == heavy:
                named.append(state.ticks)
                loop.stop()

        loop = Loop(sampler, Engine(settings.engine), clock, 1.0, after_tick)
        loop.run(90)
        readers.end()

    assert throttled
    assert named
    assert named[0] - throttled[0] <= MOST_TICKS, (throttled, named)


def test_whom_the_kernels_flusher_writes_for_is_named(tmp_path):
    limits = {"write_bps": WRITE_BYTES_PER_SECOND, "dirty_bytes": 4 * MIB}
    with ThrottledDisk(writeback=True, size_bytes=64 * MIB, **limits) as disk:
        # v1 counts what the flusher writes for the root group, v2 for the group that dirtied it.
        is_v2 = (disk.cgroup / "cgroup.controllers").exists()
        heavy = disk.cgroup if is_v2 else disk.unlimited_group()
        light = disk.unlimited_group()
        config = CONFIG.format(
            name=disk.name, what="bytes_per_second", value=WRITE_BYTES_PER_SECOND
        )
        with running_daemon(config, tmp_path) as daemon:
            write = {"rw": "randwrite", "bs": "64k", "direct": False, "seconds": 120, "depth": 1}
            disk.load(group=heavy, **write)
            disk.load(group=light, rate_iops=1, **write)
            consumers = until_named(daemon, disk.name, f"/{heavy.name}", by_flusher=not is_v2)
            scrape = daemon.wait_until(
                lambda scrape: bool(
                    scrape.values(DRAWN, kind="disk", name=disk.name, cgroup=f"/{heavy.name}")
                ),
                60,
                told="the heavy group",
            )

    assert consumers["processes"][0]["label"].startswith("fio (pid ")
    assert heavy.name in consumers["sentence"]
    assert ("flusher" in consumers["sentence"]) == (not is_v2)
    assert scrape.verdict("disk", disk.name) in {"throttled", "saturated"}
