"""Mounts that spend their time on calls which neither read nor write are told of, with how long those take."""

import pytest

import states
from ioplateau.tell import api, othercalls, view


def mount(point, **milliseconds):
    """One whose operations took so many milliseconds in all, 1 each."""
    before = {name: states.operation() for name in milliseconds}
    grown = {
        name: was._replace(
            operations=was.operations + each, execute_milliseconds=was.execute_milliseconds + each
        )
        for (name, was), each in zip(before.items(), milliseconds.values(), strict=True)
    }
    return states.nfs_mount(point, before=states.mount(point, operations=before), operations=grown)


def told(*mounts):
    return othercalls.notices(states.state(mounts={each.mount: each for each in mounts}))


def of_window(share):
    return round(share * states.WINDOW_SECONDS * 1000)


def test_the_call_that_takes_most_of_the_time_is_named_with_its_rate_and_time():
    found = mount("/mnt/a", GETATTR=of_window(6), LOOKUP=of_window(2), READ=of_window(1))

    [notice] = told(found)

    assert notice == (
        "/mnt/a: 8.0 calls at a time neither read nor write, most of them GETATTR (6,000 a second, 1.0 ms each)"
    )


@pytest.mark.parametrize(
    "shares",
    [
        {"GETATTR": 0.9},  # nobody waits all the time
        {"GETATTR": 2, "WRITE": 3},
        {"READ": 5},
        {"COMMIT": 5},  # of what was written
        {},
    ],
)
def test_nothing_is_said_where_reads_and_writes_take_more_or_next_to_nothing_does(shares):
    assert told(mount("/mnt/a", **{name: of_window(each) for name, each in shares.items()})) == []


def test_of_many_such_mounts_the_busiest_are_named():
    found = told(*(mount(f"/mnt/{each}", LOOKUP=of_window(each)) for each in range(1, 6)))

    assert [line.split(":")[0] for line in found] == [
        "/mnt/5",
        "/mnt/4",
        "/mnt/3",
        "so it is with 2 more mounts",
    ]


def test_a_mount_without_rates_is_left_out():
    assert told(states.nfs_mount("/mnt/a")) == []


def test_the_page_and_the_api_say_it_alike():
    state = states.state(mounts={"/mnt/a": mount("/mnt/a", ACCESS=of_window(4))})
    [notice] = othercalls.notices(state)

    assert notice in view.of(state).notes
    assert notice in api.state(state, {})["notices"]
