"""A mapping that is made when somebody looks into it."""

import weakref

from ioplateau.measure.mappings import LazyMapping


class Source(list):
    """What something is made of."""


def test_what_it_was_made_of_may_go_once_it_is_made():
    source = Source([1, 2])
    seen = weakref.ref(source)
    asked = LazyMapping(lambda source=source: dict.fromkeys(source, "made"))
    del source
    assert seen() is not None

    made = dict(asked)

    assert seen() is None
    assert made == dict(asked) == {1: "made", 2: "made"}
