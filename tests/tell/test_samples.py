"""The native twin of the samples writes what Python writes, of every number."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ioplateau.tell import prometheus
from ioplateau.tell.prometheus import Measures
from ioplateau.tell.rows import Histogram

BUILT = prometheus.twin
# Counters, sums of milliseconds, shares and rates, and what none of them should ever be.
NUMBERS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(0, 10**18)
    | st.integers(0, 10**18).map(lambda whole: whole / 1000)
    | st.integers(0, 10**18).map(float)
    | st.floats()
    | st.sampled_from((-0.0, 999_999.999, 1e6, 1e15, 1e16, 1e-5, 1e-4, 2**63, 2**64, 10**15 - 1))
)
VIEWS = st.integers(1, 5).flatmap(
    lambda rows: st.lists(
        st.tuples(st.text(), st.lists(NUMBERS, min_size=rows, max_size=rows)), max_size=4
    ).map(lambda things: (rows, things))
)


def written(rows, things, twin):
    """The samples of a view: of each thing its label set and its values."""
    prometheus.twin = twin
    measures = Measures(
        tuple(f"name{row}" for row in range(rows)),
        [lambda thing, row=row: thing[row] for row in range(rows)],
    )
    labels = [prometheus._escaped(label) for label, _ in things]
    try:
        return [*prometheus._columns(measures, labels, [values for _, values in things])]
    finally:
        prometheus.twin = BUILT


@given(VIEWS)
@example((1, [("", [0.0])]))
@example((1, [("", [123_456.0])]))
@settings(max_examples=5 * settings.default.max_examples)
def test_both_write_the_same_of_every_number(view):
    assert written(*view, BUILT) == written(*view, None)


def test_a_view_with_a_histogram_is_python_s():
    things = [("", [1, Histogram((0.1,), (1,), 2, 0.5)])]

    assert BUILT.columns(("a", "b"), [""], [things[0][1]], prometheus._number) is None
    assert written(2, things, BUILT) == written(2, things, None)


def test_a_number_that_the_twin_does_not_know_is_spelled_by_python():
    asked = []

    def spell(number):
        asked.append(number)
        return "?"

    assert BUILT.columns(("a",), ["{}"], [[1e30]], spell) == (b"a{} ?\n",)
    assert BUILT.columns(("a",), ["{}"], [[12.5]], spell) == (b"a{} 12.5\n",)
    assert asked == [1e30]


@pytest.mark.parametrize(
    "call",
    [
        lambda: BUILT.columns(()),
        lambda: BUILT.columns([], [], [], repr),
        lambda: BUILT.columns((), (), [], repr),
        lambda: BUILT.columns(("a",), ["{}"], [], repr),
        lambda: BUILT.columns(("a",), ["{}"], [(1,)], repr),
        lambda: BUILT.columns(("a",), ["{}"], [[]], repr),
        lambda: BUILT.columns((b"a",), ["{}"], [[1]], repr),
        lambda: BUILT.columns(("a",), [None], [[1]], repr),
        lambda: BUILT.columns(("\udcff",), ["{}"], [[1]], repr),
        lambda: BUILT.columns(("a",), ["{}"], [[-1]], None),
        lambda: BUILT.columns(("a",), ["{}"], [[-1]], lambda number: number),
    ],
)
def test_what_no_caller_gives_is_raised(call):
    with pytest.raises((TypeError, SystemError, IndexError, UnicodeError)):
        call()


def test_it_is_built():
    assert BUILT is not None, "run make, which builds it; a C compiler is all that it needs"
