"""/api/v1/ holds to its schema, and says what is wrong with a question."""

import json
from pathlib import Path

import jsonschema
import pytest

import states
from ioplateau.history import History, What
from ioplateau.judge.flows import FlowTick
from ioplateau.limits.budgets import Dimension, FlowKey, Kind, Word
from ioplateau.run.api import Api
from ioplateau.state import BudgetConsumers, Consumer
from ioplateau.web.http1 import Request

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/api.schema.json").read_text())
SDA = FlowKey("disk", "sda")
WALL = 1_700_000_040.0


def told(name, value):
    """The value, held to what the schema says of it."""
    schema = {"$defs": SCHEMA["$defs"], "$ref": f"#/$defs/{name}"}
    jsonschema.Draft202012Validator(schema).validate(value)
    return value


def tick(second, word=Word.THROTTLED):
    found = states.full()
    disk = states.budget(Kind.DISK, "sda", states.limit(Dimension.IOPS, value=500.0), word=word)
    disk = disk._replace(budget=disk.budget._replace(members=(SDA,)))
    odd = states.budget(Kind.VOLUME, "/mnt/\udcff", states.limit(Dimension.IOPS))
    budgets = {**found.budgets, disk.budget.key: disk, odd.budget.key: odd}
    flow = FlowTick(1.0, 400.0, 0.0, 4e6, 0.0, 0.005, None, 2.0, 2)
    return found._replace(
        mono=1000.0 + second,
        wall=WALL + second,
        budgets=budgets,
        held=states.held(budgets),
        flows={SDA: flow},
        counted={SDA: flow},
        sources={**found.sources, "netdev": states.SourceState("netdev", False, "/x: Gone")},
        consumers={
            disk.budget.key: BudgetConsumers(5.0, (Consumer("/db", "db.service", 1e6, 9.0, 0.9),))
        },
        notices=("a notice",),
    )


@pytest.fixture
def ask():
    history, last = History(), []
    for second in range(60):
        last[:] = [tick(second, Word.THROTTLED if second < 30 else Word.HEALTHY)]
        history.observe(last[0])
    history.note(What.CONFIGURATION, "configuration reloaded", WALL + 5)
    routes = Api(history, lambda: last[0], WALL, lambda: WALL + 60).routes()

    def ask(path, query="", status=200):
        answer = routes[f"/api/v1/{path}"](Request("GET", f"/api/v1/{path}", query))
        assert answer.status == status, answer.body
        assert answer.content_type == "application/json"
        return json.loads(answer.body)

    ask.last = last
    return ask


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["$defs"]["verdict"]["enum"]) == set(Word)


def test_the_state_holds_to_its_schema(ask):
    found = told("state", ask("state"))

    assert found["failed_sources"][0]["sentence"] == "cannot see the network interfaces: /x: gone"
    assert "db.service" in next(b for b in found["budgets"] if b["name"] == "sda")["consumers"]["sentence"]  # fmt: skip


def test_budgets_of_one_name_and_who_belongs_to_them_are_told_apart_by_their_kind(ask):
    mount, limit = FlowKey("nfs", "/mnt/a"), states.limit(Dimension.IOPS)
    volume = states.budget(Kind.VOLUME, "/mnt/a", limit, sufferers=(mount,))
    slots = states.budget(Kind.NFS_SLOTS, "/mnt/a", word=Word.AFFECTED, parent=volume.budget.key)
    lost = (limit.limit._replace(value=900.0), "above what was seen")
    volume = volume._replace(budget=volume.budget._replace(members=(mount,), rejected=(lost,)))
    ask.last[:] = [states.state(budgets=states.by_key(volume, slots))]

    found = {each["kind"]: each for each in told("state", ask("state"))["budgets"]}

    assert {kind: (each["name"], each["title"]) for kind, each in found.items()} == {
        "volume": ("/mnt/a", "NFS volume"),
        "nfs_slots": ("/mnt/a", "NFS slots"),
    }
    assert found["volume"]["members"] == [{"kind": "nfs", "name": "/mnt/a"}]
    assert found["volume"]["sufferers"] == [{"kind": "nfs", "name": "/mnt/a"}]
    assert found["nfs_slots"]["parent"] == {"kind": "volume", "name": "/mnt/a"}
    (rejected,) = found["volume"]["rejected"]
    assert (rejected["limit"], rejected["why"]) == (900.0, "above what was seen")


def test_before_the_first_tick_there_is_no_state(ask):
    ask.last[:] = [None]

    told("error", ask("state", status=503))


def test_episodes_hold_to_their_schema(ask):
    found = told("episodes", ask("episodes"))

    episode = next(one for one in found["episodes"] if one["name"] == "sda")
    assert episode["verdict"] == "throttled"
    assert episode["ended"] == WALL + 30
    assert episode["drew_most"] == "db.service"
    assert any(event["what"] == "configuration" for event in found["events"])


def test_episodes_of_another_span_are_others(ask):
    found = ask("episodes", f"since={WALL + 40}&until={WALL + 50}")

    assert all(one["name"] != "sda" for one in found["episodes"])
    assert found["events"] == []


def test_what_goes_on_is_told_though_the_clock_was_set_back_since_it_began():
    history = History()
    for second in range(20):
        history.observe(tick(second))
    routes = Api(history, lambda: tick(20), WALL, lambda: WALL - 3600).routes()

    answer = routes["/api/v1/episodes"](Request("GET", "/api/v1/episodes", ""))

    running = {
        one["name"]: one["ended"] for one in told("episodes", json.loads(answer.body))["episodes"]
    }
    assert running["sda"] is None


def test_what_lies_ahead_since_the_clock_was_set_back_is_not_told():
    history = History()
    for second in range(60):
        history.observe(tick(second, Word.THROTTLED if second < 30 else Word.HEALTHY))
    history.note(What.CONFIGURATION, "configuration reloaded", WALL + 5)
    routes = Api(history, lambda: tick(60), WALL, lambda: WALL - 3600).routes()

    answer = routes["/api/v1/episodes"](Request("GET", "/api/v1/episodes", ""))

    found = json.loads(answer.body)
    assert [one["name"] for one in found["episodes"] if one["ended"]] == []
    assert found["events"] == []


def test_a_series_holds_to_its_schema(ask):
    found = told("series", ask("series", "kind=disk&name=sda&dimension=iops&seconds=20"))

    assert len(found["at"]) == 20
    assert set(found["rate"]) == {400.0}
    assert len({len(found[name]) for name in ("at", "rate", "limit", "share", "queue_length", "await_seconds")}) == 1  # fmt: skip


def test_a_name_is_asked_for_as_it_is_shown(ask):
    shown = [budget["name"] for budget in ask("state")["budgets"]]

    assert "/mnt/\\xff" in shown
    assert ask("series", "kind=volume&name=/mnt/%5Cxff&dimension=iops")["name"] == "/mnt/\\xff"


@pytest.mark.parametrize(
    ("path", "query", "status", "said"),
    [
        ("state", "x=1", 400, "there is no 'x'"),
        ("episodes", "since=yesterday", 400, "since is 'yesterday', want a number"),
        ("episodes", "since=nan", 400, "since is 'nan'"),
        ("episodes", "since=20&until=10", 400, "since is 20, want at most until, 10"),
        ("episodes", "since=1&since=2", 400, "'since' is there 2 times"),
        ("series", "", 400, "kind is missing, want one of disk, stripe"),
        ("series", "kind=disc", 400, "kind is 'disc', want one of disk, stripe"),
        ("series", "kind=disk&name=sda", 400, "dimension is missing, want one of iops"),
        ("series", "kind=disk", 400, "name is missing"),
        ("series", "kind=disk&name=sda&dimension=speed", 400, "want one of iops, throughput"),
        ("series", "kind=disk&name=sda&dimension=slots", 400, "only nfs_slots has it"),
        ("series", "kind=disk&name=sda&dimension=iops&direction=up", 400, "direction is 'up'"),
        ("series", "kind=disk&name=sda&dimension=iops&seconds=0", 400, "want 1 to 604800"),
        ("series", "kind=disk&name=sda&dimension=iops&seconds=1e9", 400, "want 1 to 604800"),
        ("series", "kind=disk&name=sdz&dimension=iops", 404, "there is no budget disk 'sdz'"),
        ("series", "&".join(["a=1"] * 99), 400, "the query cannot be read"),
    ],
)
def test_what_is_wrong_with_a_question_is_said(ask, path, query, status, said):
    assert said in told("error", ask(path, query, status))["error"]
