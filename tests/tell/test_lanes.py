"""What the VM's limit over its disks is called: Azure's word on Azure alone, wherever it is told."""

import re

import pytest

import states
from ioplateau.history import History
from ioplateau.judge.flows import FlowTick
from ioplateau.limits.budgets import ALL_DISKS, Dimension, FlowKey, Kind, Origin, Word
from ioplateau.limits.clouds import registry
from ioplateau.run.api import Api
from ioplateau.run.daemonreport import of_daemon
from ioplateau.tell import api, limits, page, summary, view
from ioplateau.tell.board import Board
from ioplateau.tell.page import Around
from ioplateau.tell.report import document, render
from ioplateau.tell.report.samples import Collector

SDA = FlowKey("disk", "sda")
LANES = {cloud.name: cloud.lane for cloud in registry.every()} | {"none": ALL_DISKS}


def at_its_limit(lane, second, value):
    limit = states.limit(Dimension.IOPS, value=value, utilization=1.0, origin=Origin.LEARNED)
    found = states.budget(Kind.VM_UNCACHED, "vm", limit, word=Word.THROTTLED)
    found = found._replace(budget=found.budget._replace(members=(SDA,), lane=lane))
    return states.state(
        mono=1000.0 + second,
        wall=1_700_000_000.0 + second,
        budgets=states.by_key(found),
        flows={SDA: FlowTick(1.0, value, 0.0, value * 4096, 0.0, 0.03, None, 16.0, 16)},
    )


def every_telling(lane):
    """What a person reads of it, by where."""
    collector, history = Collector(), History()
    for second in range(40):
        state = at_its_limit(lane, second, 500.0 if second < 20 else 600.0)
        collector.observe(state)
        history.observe(state)
    samples = collector.finish()
    answers = Api(history, lambda: state, 0.0, lambda: state.wall)
    remembered, _ = of_daemon(
        lambda path, **asked: getattr(answers, path)({name: str(asked[name]) for name in asked}),
        *(state.wall - 30, state.wall, state.wall, lambda: state.wall),
    )
    printed = document.document(samples, document.ReportSource())
    board = Board("ioplateau", ascii_only=True)
    board.see(view.of(state)._replace(episodes=samples.episodes))
    shown = page.page(view.of(state), Around(), page.no_past, samples.episodes).decode()
    return {
        "headline": summary.headline(state),
        "page": re.sub(r"<style.*?</style>|<[^>]*>", " ", shown),
        "top": "\n".join(line.text for line in board.lines(24, 80)),
        "limits": limits.budgets_text([each.budget for each in state.budgets.values()]),
        "text": render.text(printed),
        "markdown": render.markdown(printed),
        "html": re.sub(r"<style.*?</style>|<[^>]*>", " ", render.html(printed)),
        "json": render.as_json(samples, document.ReportSource())["limits"][0]["budget"],
        "daemon's": render.as_json(remembered, document.ReportSource())["limits"][0]["budget"],
        "api": api.state(state, {})["budgets"][0]["title"],
        "learned": "\n".join(event.sentence for event in samples.events),
    }


@pytest.mark.parametrize("cloud", LANES)
def test_only_azure_has_uncached_disks(cloud):
    tellings = every_telling(LANES[cloud])

    assert all(tellings.values())
    told = {where for where, words in tellings.items() if "uncached" in words.lower()}
    assert told == (set(tellings) if cloud == "azure" else set())


@pytest.mark.parametrize("cloud", LANES)
def test_every_telling_has_the_clouds_own_words(cloud):
    lane = LANES[cloud]

    for where, words in every_telling(lane).items():
        wanted = lane.partition(" ")[0] if where == "top" else lane
        assert wanted in words or (where, cloud) == ("top", "none"), (where, words)
