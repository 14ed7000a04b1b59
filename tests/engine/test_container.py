"""Whether we look at the whole machine."""

from ioplateau.engine import Engine, container
from ioplateau.measure.snapshot import Snapshot, Static


def notices(link):
    files = {container.PROCESSES: link} if link else {}
    static = Static(files=files)
    return Engine().observe(Snapshot(mono=1.0, mono_end=1.0, wall=1e9, static=static)).notices


def test_in_a_container_the_hosts_mounts_are_missed():
    assert notices("pid:[4026532567]") == (container.NOTICE,)


def test_on_the_machine_itself_and_where_it_cannot_be_told_nothing_is_said():
    assert notices("pid:[4026531836]") == ()
    assert notices("") == ()
