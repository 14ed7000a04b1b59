"""Whose connections are whose, where the kernel shows no ports and mountinfo may be silent."""

from itertools import permutations

import pytest

from ioplateau.engine import Engine
from ioplateau.limits.budgets import Kind
from ioplateau.measure.snapshot import MOUNTSTATS, Snapshot, Static
from ioplateau.state import ClientKey
from nfs_texts import entry, mounted

CLIENT = ClientKey("fs", "4.1", "tcp")
MOUNTS = ("/a", "/b", "/c")
TABLE = b"".join(
    entry(at, f"0:{number}", of=f"fs:{at}") for number, at in enumerate(MOUNTS, start=40)
)


class Machine:
    def __init__(self, table=TABLE):
        self.engine = Engine()
        self.static = Static(mountinfo=table)
        self.second = 0.0

    def tick(self, *records):
        self.second += 1
        return self.engine.observe(
            Snapshot(
                mono=self.second,
                mono_end=self.second,
                wall=1e9 + self.second,
                static=self.static,
                texts={MOUNTSTATS: b"".join(records)},
            )
        )


def record(at, sends, **parts):
    return mounted(at, of=f"fs:{at}", sends=sends, ports=(0,), **parts)


def sends(state, key=CLIENT):
    return sorted(connection.sends for connection in state.clients[key].now)


def requests(state):
    """As they are told: over the connections there are, and those there were."""
    client = state.clients[CLIENT]
    return sum(connection.sends for connection in client.now) + client.carried.sends


def test_requests_of_a_client_go_on_as_one_of_two_sets_of_connections_goes_and_another_comes():
    machine, both = Machine(), (1_000_000, 500_000)
    told = [requests(machine.tick(record("/a", both[0]), record("/b", both[1])))]
    told += [
        requests(machine.tick(*now))
        for now in (
            (record("/a", 1_000_100), record("/b", 500_050)),
            (record("/a", 1_000_200),),
            (record("/a", 1_000_300), record("/c", 7)),
            (record("/a", 1_000_300), record("/c", 17)),
        )
    ]

    assert told == [1_500_000, 1_500_150, 1_500_250, 1_500_350, 1_500_360]


def test_requests_are_counted_once_where_a_record_is_damaged_for_a_tick():
    machine, told = Machine(), []
    for sends, is_damaged in ((100, False), (110, True), (120, False), (130, False)):
        both = record("/a", 500_000), record("/b", sends)
        now = both[:1] if is_damaged else both
        told.append(requests(machine.tick(*now)))

    assert told == [500_100, 500_100, 500_100, 500_110]


def test_requests_go_on_over_connections_that_count_from_0_again():
    machine = Machine()
    told = [requests(machine.tick(record("/a", sends))) for sends in (900, 5, 25)]

    assert told == [900, 900, 920]


@pytest.mark.parametrize("counters", [*permutations((1_000, 40_000, 5_000_000))])
def test_clients_without_ports_are_kept_apart_whatever_the_order_of_the_records(counters):
    state = Machine().tick(*map(record, MOUNTS, counters))

    assert sends(state) == [1_000, 40_000, 5_000_000]


@pytest.mark.parametrize("ahead", [0, 3, 900])
def test_a_record_written_a_moment_later_tells_of_the_same_connections(ahead):
    state = Machine().tick(record("/a", 100_000), record("/b", 100_000 + ahead))

    assert sends(state) == [100_000]


def test_clients_that_read_alike_at_first_are_parted_once_they_count_apart():
    machine = Machine()
    first = machine.tick(record("/a", 100), record("/b", 100))
    for second in range(1, 5):
        state = machine.tick(record("/a", 100), record("/b", 100 + 400 * second))
    later = machine.tick(record("/a", 2100), record("/b", 2100), record("/c", 100))

    assert sends(first) == [100]
    assert sends(state) == [100, 1700]
    assert sends(later) == [100, 2100, 2100]


def test_clients_that_have_done_much_are_parted_by_what_they_count_since():
    machine = Machine()
    machine.tick(record("/a", 1_000_000), record("/b", 1_000_000))
    for second in range(1, 5):
        state = machine.tick(record("/a", 1_000_000), record("/b", 1_000_000 + 400 * second))

    assert sends(state) == [1_000_000, 1_001_600]


def test_a_busy_client_is_not_parted_by_what_it_does_between_two_records():
    machine = Machine()
    for second in range(1, 20):
        count = second * 10_000
        state = machine.tick(record("/a", count), record("/b", count + 30 * (second % 3)))

    assert sends(state) == [190_000]


@pytest.mark.parametrize("counts", [(2, 1, 2), (1, 2, 1)])
def test_connections_that_come_and_go_are_of_the_client_they_were_of(counts):
    machine = Machine()
    for second, count in enumerate(counts, start=1):
        records = (
            mounted(at, of=f"fs:{at}", sends=1_000 * second + ahead, ports=(0,) * count)
            for at, ahead in (("/a", 0), ("/b", 1))
        )
        state = machine.tick(*records)

    assert sends(state) == [3_000] * counts[-1]


def test_the_other_client_keeps_its_own_history_when_the_first_goes():
    machine = Machine()
    machine.tick(record("/a", 1_000), record("/b", 5_000_000))
    machine.tick(record("/a", 1_001), record("/b", 5_000_010))
    state = machine.tick(record("/b", 5_000_020))
    window = state.clients[CLIENT].window

    assert window.after[0].sends - window.before[0].sends == 20


def named(state):
    return sorted(key.name for key in state.budgets if key.kind is Kind.NFS_SLOTS)


def test_a_client_keeps_its_label_when_the_mount_it_was_first_seen_with_goes():
    machine = Machine()
    machine.tick(record("/a", 100), record("/b", 100))
    without = machine.tick(record("/b", 200))
    with_another = machine.tick(record("/b", 300), record("/c", 300))
    state = machine.tick(record("/c", 400))

    assert [named(each) for each in (without, with_another, state)] == [["/a"]] * 3
    assert state.clients[CLIENT].mounts == ("/c",)
    assert state.clients[CLIENT].window.elapsed_seconds == 3


def test_a_client_that_comes_has_no_label_of_another():
    """Another server is mounted where the first client's first mount was."""
    table = entry("/b", "0:41", of="fs:/b") + entry("/a", "0:43", of="other:/a", address="10.0.0.9")
    machine = Machine()
    machine.tick(record("/a", 100), record("/b", 100))
    machine.tick(record("/b", 200))
    machine.static = Static(mountinfo=table)
    state = machine.tick(mounted("/a", of="other:/a", sends=7, ports=(0,)), record("/b", 300))

    assert named(state) == ["/a", "/a#2"]
    assert set(state.mounts) == {"/a", "/b"}


def test_a_client_whose_mounts_are_all_others_is_another():
    machine = Machine()
    machine.tick(record("/a", 5_000))
    state = machine.tick(record("/b", 10))

    assert named(state) == ["/b"]


def v3(at, address, sends=10):
    text = mounted(at, version="3", ports=(0,), sends=sends)
    return text.replace(b",sec=sys", b",sec=sys,mountaddr=" + address, 1)


def test_without_a_mount_table_the_address_of_mountd_tells_two_servers_of_one_name_apart():
    state = Machine(None).tick(v3("/a", b"10.0.0.4"), v3("/b", b"10.0.0.5"))

    assert sends(state, ClientKey("fs", "3", "tcp")) == [10, 10]
    assert set(state.mounts) == {"/a", "/b"}


def test_the_address_of_one_mount_is_not_given_to_another_that_names_its_own():
    machine = Machine(entry("/a", "0:40", version="3"))
    state = machine.tick(v3("/a", b"10.0.0.4"), v3("/b", b"10.0.0.5"))

    assert sends(state, ClientKey("fs", "3", "tcp")) == [10, 10]


@pytest.mark.parametrize(
    "other", [b"ro,vers=4.1", b"rw,vers=4.2", b"rw,vers=4.1,rsize=4096", b"rw,vers=4.1,timeo=50"]
)
def test_without_a_mount_table_the_options_tell_superblocks_of_one_name_apart(other):
    one = mounted("/a", reads=10)
    state = Machine(None).tick(one, mounted("/b", reads=10).replace(b"rw,vers=4.1", other, 1))

    assert set(state.mounts) == {"/a", "/b"}


@pytest.mark.parametrize("reads", [*permutations((10, 900_000))])
def test_without_a_mount_table_the_counters_tell_superblocks_of_one_name_apart(reads):
    state = Machine(None).tick(mounted("/a", reads=reads[0]), mounted("/b", reads=reads[1]))

    assert set(state.mounts) == {"/a", "/b"}


def test_a_client_that_falls_behind_the_first_is_parted_like_one_that_runs_ahead():
    machine = Machine()
    machine.tick(record("/a", 100), record("/b", 100))
    for second in range(1, 5):
        state = machine.tick(record("/a", 100 + 400 * second), record("/b", 100))

    assert sends(state) == [100, 1700]


def test_a_record_before_the_one_that_the_mount_table_tells_of_is_the_same_superblock():
    """Calls that were made while the kernel wrote the records are counted in the later one alone."""
    machine = Machine(entry("/b", "0:41"))
    state = machine.tick(mounted("/a", reads=1000), mounted("/b", reads=1003))

    assert len(state.mounts) == 1


def test_superblocks_that_were_taken_for_one_are_two_when_the_mount_table_tells():
    machine = Machine(None)
    machine.tick(mounted("/a", reads=1000), mounted("/b", reads=1000))
    machine.static = Static(mountinfo=entry("/a", "0:40") + entry("/b", "0:41"))
    state = machine.tick(mounted("/a", reads=1010), mounted("/b", reads=1500))

    assert set(state.mounts) == {"/a", "/b"}


def test_another_version_at_the_same_mount_point_is_another_client():
    machine = Machine(entry("/a", "0:40", version="4.1"))
    machine.tick(mounted("/a", sends=100, ports=(0,)))
    machine.tick(mounted("/a", sends=200, ports=(0,)))
    machine.static = Static(mountinfo=entry("/a", "0:41", version="4.2"))
    state = machine.tick(mounted("/a", sends=9_000_000, ports=(0,), version="4.2", age=1))

    assert state.clients[ClientKey("fs", "4.2", "tcp")].window is None
