"""Readings over the rate window: of what rests they are the same, whether it was looked at or not."""

from hypothesis import given
from hypothesis import strategies as st

from ioplateau.measure.ratewindow import Readings, stood, window

SECONDS = 3.0
# What happens to a flow at a tick, and how long it was since the last one.
TICKS = st.lists(
    st.tuples(
        st.sampled_from(("rests", "rests", "rests", "moves", "begins anew", "torn")),
        st.sampled_from((0.5, 1.0, 1.0, 1.001, 2.0)),
    ),
    max_size=30,
)


@given(TICKS)
def test_what_rests_is_told_as_if_each_look_had_been_written_down(ticks):
    clock, lazy, each = Readings[None](SECONDS), Readings[int](SECONDS), Readings[int](SECONDS)
    at = value = 0
    rested = was_torn = False
    clock.restart(at, None)
    lazy.restart(at, value)
    each.restart(at, value)
    for what, elapsed in ticks:
        at += elapsed
        rests = what == "rests" and not was_torn  # after a torn one it is looked at
        if not rests and rested:
            lazy.stand(clock.timed)
        clock.push(at, None)
        value += what == "moves"
        for history in (each,) if rests else (lazy, each):
            if what == "begins anew":
                history.restart(at, value)
            elif what != "torn":
                history.push(at, value)
        rested, was_torn = rests, what == "torn"

        told = stood(lazy.timed, clock.timed, value) if rests else lazy.timed
        assert window(told) == window(each.timed)
