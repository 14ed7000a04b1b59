"""Whether we look at the whole machine."""

import pytest

from ioplateau.engine import Engine, container
from ioplateau.measure import ownview
from ioplateau.measure.snapshot import Snapshot, Static


def notices(**files):
    static = Static(files=files)
    return Engine().observe(Snapshot(mono=1.0, mono_end=1.0, wall=1e9, static=static)).notices


@pytest.mark.parametrize(
    ("fact", "text", "words"),
    [
        (ownview.PROCESSES, "pid:[4026532567]", container.MOUNTS),
        (ownview.OTHER_ROOT, "yes", container.MOUNTS),
        (ownview.GROUPS, "populated 1\nfrozen 0\n", container.CONTROL_GROUPS),
        (ownview.OTHER_NETWORK, "yes", container.NETWORK),
    ],
)
def test_what_a_container_does_not_see_of_its_host_is_said(fact, text, words):
    assert notices(**{fact: text}) == (words,)


def test_on_the_machine_itself_and_where_it_cannot_be_told_nothing_is_said():
    assert notices(**{ownview.PROCESSES: "pid:[4026531836]"}) == ()
    assert notices() == ()
