"""What a daemon tells over HTTP is seen as its own state is seen."""

import json

import pytest

import states
from ioplateau import saved
from ioplateau.limits.budgets import Burst, Kind, Word
from ioplateau.tell import api, apiview, view

ABOUT = {"version": "1.0", "host": "db-01", "started": None}


def answer(state):
    return json.loads(json.dumps(api.state(state, ABOUT), allow_nan=False))


def full():
    quiet = states.mount(operations={"READ": states.operation(operations=0, rtt_milliseconds=0)})
    sold = states.State._field_defaults["sold"]
    return states.full()._replace(
        disks={"sda": states.disk("sda", before={"reads": 0, "read_milliseconds": 0})},
        mounts={"/mnt/a": states.nfs_mount("/mnt/a", before=quiet)},
        sources={
            "netdev": states.SourceState("netdev", up=False, why="/proc/net/dev: No such file")
        },
        notices=("something",),
        sold=sold._replace(identity=sold.identity._replace(cloud="aws", vm_size="m5.large")),
    )


def blind():
    down = states.SourceState("diskstats", up=False, why="/proc/diskstats: No such file")
    return full()._replace(sources={"diskstats": down}, mounts={})


@pytest.mark.parametrize(("state", "is_storage_unreadable"), [(full(), False), (blind(), True)])
def test_a_state_that_was_told_is_the_same_view(state, is_storage_unreadable):
    assert apiview.view_of(answer(state)) == view.of(state)
    assert view.of(state).is_storage_unreadable is is_storage_unreadable


@pytest.mark.parametrize(
    ("effective", "says"),
    [
        (1000.0, "configured: c.toml limit[1]"),
        (3000.0, "configured: c.toml limit[1]"),
        (400.0, "learned; told 1,000 IOPS: c.toml limit[1]"),
    ],
)
def test_a_level_that_nobody_told_is_not_said_to_be_told(effective, says):
    held = states.limit(
        value=1000.0, effective=effective, source="c.toml limit[1]", burst=Burst(3000.0)
    )
    state = states.state(budgets=states.by_key(states.budget(Kind.DISK, "sda", held)))
    (limit,) = apiview.view_of(answer(state)).budgets[0].limits

    assert view.of(state).budgets[0].limits == (limit,)
    assert limit.says == says
    assert limit.says_briefly == says.removeprefix("configured: ")


def test_shares_of_time_come_from_two_answers():
    first, second = states.waited(1000.0, 1_000_000), states.waited(1004.0, 2_000_000)

    assert apiview.view_of(answer(second), answer(first)) == view.of(second, first)
    assert view.of(second, first).io_waiting_ratio == 0.25


def test_a_name_that_is_no_text_is_shown_as_everywhere():
    odd = states.state(
        budgets=states.by_key(states.budget(Kind.VOLUME, "/mnt/\udcff", word=Word.HEALTHY))
    )

    assert apiview.view_of(answer(odd)).budgets[0].name == "/mnt/\\xff"


@pytest.mark.parametrize("other", [{}, [], None, {"budgets": 3}, "words"])
def test_another_programs_answer_is_not_misread(other):
    with pytest.raises(saved.UNSOUND):
        apiview.view_of(other)
