"""Who gives way where the slots are used up."""

import socket
from contextlib import ExitStack

import pytest

from ioplateau.web.connection import Connection, Phase, oldest_of_largest_group

SCRAPER, FLOOD = "10.0.0.1", "10.0.0.66"


@pytest.fixture
def come():
    with ExitStack() as sockets:

        def connection(source, phase=Phase.READING):
            found = Connection(sockets.enter_context(socket.socket()), 0.0, source)
            found.phase = phase
            return found

        yield connection


@pytest.mark.parametrize(
    "phase",
    [phase for phase in Phase if phase not in (Phase.LINGERING, Phase.CLOSED)],
)
def test_the_oldest_of_whoever_has_most_in_a_group_goes_and_not_whoever_came_before(come, phase):
    scraper = come(SCRAPER, phase)
    flood = [come(FLOOD, phase) for _ in range(10)]

    assert oldest_of_largest_group([scraper, *flood]) is flood[0]


@pytest.mark.parametrize("phase", [Phase.SHAKING, Phase.READING, Phase.CHECKING, Phase.WRITING])
def test_what_waits_for_the_other_side_or_for_a_check_is_a_group_that_gives_way(come, phase):
    alone = Phase.WRITING if phase is Phase.READING else Phase.READING
    scraper = come(SCRAPER, alone)
    flood = [come(FLOOD, phase) for _ in range(10)]

    assert oldest_of_largest_group([scraper, *flood]) is flood[0]
