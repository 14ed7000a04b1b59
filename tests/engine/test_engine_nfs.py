"""NFS in the fold: every superblock and every connection once, whoever repeats them."""

import pytest

from ioplateau.engine import Engine
from ioplateau.engine.settings import EngineSettings
from ioplateau.limits.budgets import BudgetKey, FlowKey, Kind
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.measure.mountstats import client_rates, rates
from ioplateau.measure.snapshot import MOUNTINFO, MOUNTSTATS, Snapshot, Static
from ioplateau.state import ClientKey
from nfs_texts import entry, mounted
from states import socket

CLIENT = ClientKey("fs", "4.1", "tcp")


class Machine:
    """An engine fed with pairs of mountstats and mountinfo, a second apart."""

    def __init__(self, engine=None):
        self.engine = engine or Engine()
        self.second = 0.0
        self.static = Static()

    def tick(self, *records, table=None, **parts):
        if table is not None:
            self.static = Static(mountinfo=table)
        return self._look(texts={MOUNTSTATS: b"".join(records)}, **parts)

    def tick_without_answer(self):
        return self._look(failed={MOUNTSTATS: "no answer"})

    def _look(self, **said):
        self.second += 1
        return self.engine.observe(
            Snapshot(
                mono=self.second,
                mono_end=self.second,
                wall=1e9 + self.second,
                boot=self.second,
                static=self.static,
                **said,
            )
        )


def per_second(state, label):
    span = state.mounts[label].window
    return rates(span.before, span.after, span.elapsed_seconds).operations_per_second


def test_two_mounts_of_one_superblock_are_one_flow():
    table = entry("/a", "0:40") + entry("/b", "0:40")
    machine = Machine()
    machine.tick(mounted("/a"), mounted("/b"), table=table)
    state = machine.tick(mounted("/a", reads=100), mounted("/b", reads=100))

    assert set(state.mounts) == {"/a"}
    assert state.mounts["/a"].mount_points == ("/a", "/b")
    assert per_second(state, "/a") == 100


def test_a_file_without_nfs_is_told_of_each_time_and_a_mount_that_comes_is_followed():
    local = b"device proc mounted on /proc with fstype proc\n"
    machine = Machine()
    told = [machine.tick(local, b"cut off").sources["mountstats"].rejects for _ in range(4)]

    machine.tick(local, mounted("/a"), table=entry("/a", "0:40"))
    state = machine.tick(local, mounted("/a", reads=100))

    assert told == [1, 2, 3, 4]
    assert per_second(state, "/a") == 100


def test_a_bind_mount_of_a_directory_is_the_superblock_it_shows():
    table = entry("/a", "0:40") + entry("/b", "0:40", of="fs:/vol/sub")
    state = Machine().tick(mounted("/a"), mounted("/b", of="fs:/vol/sub"), table=table)

    assert set(state.mounts) == {"/a"}
    assert state.mounts["/a"].mount_points == ("/a", "/b")


def test_two_superblocks_of_one_export_are_two_flows():
    """Mounted with nosharecache."""
    table = entry("/a", "0:40") + entry("/b", "0:41")
    machine = Machine()
    machine.tick(mounted("/a"), mounted("/b"), table=table)
    state = machine.tick(mounted("/a", reads=100), mounted("/b", reads=30))

    assert per_second(state, "/a") == 100
    assert per_second(state, "/b") == 30
    assert set(state.clients) == {CLIENT}


def test_two_superblocks_of_one_export_have_its_limit_once():
    table = entry("/a", "0:40") + entry("/b", "0:41")
    machine = Machine(
        Engine(EngineSettings(rules=Rules((ConfiguredLimit(volume="fs:/vol", iops=200.0),))))
    )
    machine.tick(mounted("/a"), mounted("/b"), table=table)
    state = machine.tick(mounted("/a", reads=100), mounted("/b", reads=30))

    budgets = [state.budgets[BudgetKey(Kind.VOLUME, name)] for name in ("/a", "/b")]
    assert [[each.utilization for each in budget.limits] for budget in budgets] == [[0.65], [0.65]]


def test_a_path_that_was_mounted_over_has_a_label_for_each_superblock():
    table = entry("/a", "0:40") + entry("/a", "0:41", of="fs:/other")
    machine = Machine()
    machine.tick(mounted("/a"), mounted("/a", of="fs:/other"), table=table)
    state = machine.tick(mounted("/a", reads=7), mounted("/a", of="fs:/other", reads=50))

    assert per_second(state, "/a") == 7
    assert per_second(state, "/a#2") == 50


def test_what_is_below_a_path_keeps_its_label_when_the_upper_mount_goes():
    table = entry("/a", "0:40") + entry("/a", "0:41", of="fs:/other")
    machine = Machine()
    machine.tick(mounted("/a"), mounted("/a", of="fs:/other"), table=table)
    state = machine.tick(mounted("/a", reads=7), table=entry("/a", "0:40"))

    assert set(state.mounts) == {"/a"}
    assert per_second(state, "/a") == 7


def test_without_a_mount_table_records_of_one_name_and_age_are_one_superblock():
    state = Machine().tick(mounted("/a"), mounted("/b"), mounted("/c", of="fs:/other"))

    assert set(state.mounts) == {"/a", "/c"}


def test_without_a_mount_table_records_of_one_name_and_two_ages_are_two_superblocks():
    state = Machine().tick(mounted("/a", age=1000), mounted("/b", age=70))

    assert set(state.mounts) == {"/a", "/b"}


def test_a_mount_that_the_table_does_not_show_yet_is_not_counted_twice():
    machine = Machine()
    machine.tick(mounted("/a"), table=entry("/a", "0:40"))
    early = machine.tick(mounted("/a", reads=9), mounted("/b", reads=9))
    state = machine.tick(
        mounted("/a", reads=18),
        mounted("/b", reads=18),
        table=entry("/a", "0:40") + entry("/b", "0:40"),
    )

    assert set(early.mounts) == set(state.mounts) == {"/a"}
    assert per_second(state, "/a") == 9


def test_a_table_that_still_shows_what_was_mounted_before_is_not_believed():
    machine = Machine()
    machine.tick(mounted("/a"), table=entry("/a", "0:40"))
    state = machine.tick(mounted("/a", of="other:/vol", age=0))

    assert state.mounts["/a"].entry is None
    assert set(state.clients) == {ClientKey("other", "4.1", "tcp")}


def test_rates_go_on_when_the_mount_table_becomes_known():
    machine = Machine()
    machine.tick(mounted("/a"))
    machine.tick(mounted("/a", reads=10))
    state = machine.tick(mounted("/a", reads=20), table=entry("/a", "0:40"))

    assert state.mounts["/a"].window.elapsed_seconds == 2
    assert state.mounts["/a"].entry.device == (0, 40)


def test_a_mount_table_that_cannot_be_read_for_once_changes_nothing():
    machine = Machine()
    machine.tick(mounted("/a"), mounted("/b"), table=entry("/a", "0:40") + entry("/b", "0:40"))
    machine.static = Static()
    state = machine.tick(mounted("/a"), mounted("/b"), failed={MOUNTINFO: "no answer"})

    assert set(state.mounts) == {"/a"}
    assert not state.sources["mountinfo"].up


def test_a_bad_line_of_the_mount_table_is_counted_once():
    machine = Machine()
    machine.tick(mounted("/a"), table=entry("/a", "0:40") + b"nonsense\n")
    state = machine.tick(mounted("/a"))

    assert state.sources["mountinfo"].rejects == 1


def test_the_label_of_a_superblock_stays_while_its_mount_is_there():
    machine = Machine()
    machine.tick(mounted("/b"), table=entry("/b", "0:40"))
    state = machine.tick(
        mounted("/a", reads=5),
        mounted("/b", reads=5),
        table=entry("/a", "0:40") + entry("/b", "0:40"),
    )

    assert set(state.mounts) == {"/b"}
    assert per_second(state, "/b") == 5


def test_a_superblock_keeps_its_label_when_the_mount_it_was_first_seen_at_goes():
    machine = Machine()
    machine.tick(mounted("/a"), mounted("/b"), table=entry("/a", "0:40") + entry("/b", "0:40"))
    state = machine.tick(mounted("/b", reads=5), table=entry("/b", "0:40"))

    assert set(state.mounts) == {"/a"}
    assert state.mounts["/a"].mount_points == ("/b",)
    assert per_second(state, "/a") == 5


KUBELET = "/var/lib/kubelet/pods/{}/volumes/kubernetes.io~csi/pvc-7/mount"


def test_a_persistent_volume_keeps_its_label_when_one_pod_takes_the_place_of_another():
    machine, labels = Machine(), set()
    for number in range(5):
        at = KUBELET.format(f"uid-{number}")
        labels |= {*machine.tick(mounted(at, age=1), table=entry(at, f"0:{number}")).mounts}
        machine.tick(table=b"1 1 0:1 / / rw - ext4 /dev/sda rw\n")

    assert labels == {"pvc-7"}


def test_a_volume_of_the_name_of_another_is_called_by_its_mount_point():
    one, other = KUBELET.format("uid-1"), KUBELET.format("uid-2")
    table = entry(one, "0:40") + entry(other, "0:41", of="fs:/x")
    state = Machine().tick(mounted(one), mounted(other, of="fs:/x"), table=table)

    assert {*state.mounts} == {"pvc-7", other}


STAGED = "/var/lib/kubelet/plugins/kubernetes.io/csi/file.csi.azure.com/0a1b/globalmount"


def test_a_volume_that_is_staged_before_a_pod_has_it_is_called_by_its_name_from_then_on():
    at, machine = KUBELET.format("uid-1"), Machine()
    before = machine.tick(mounted(STAGED, age=1), table=entry(STAGED, "0:40"))
    both = entry(STAGED, "0:40") + entry(at, "0:40")
    since = machine.tick(mounted(STAGED, age=2), mounted(at, age=2), table=both)
    after = machine.tick(mounted(STAGED, age=3), table=entry(STAGED, "0:40"))

    assert [[*state.mounts] for state in (before, since, after)] == [[STAGED], ["pvc-7"], ["pvc-7"]]


def test_volumes_of_pods_own_are_told_apart_by_their_mount_points():
    own = "/var/lib/kubelet/pods/{}/volumes/kubernetes.io~nfs/data"
    one, other = own.format("uid-1"), own.format("uid-2")
    table = entry(one, "0:40") + entry(other, "0:41", of="fs:/x")
    state = Machine().tick(mounted(one), mounted(other, of="fs:/x"), table=table)

    assert {*state.mounts} == {one, other}


def test_a_superblock_goes_on_at_the_mounts_of_other_directories_of_it():
    """As homes that are mounted when somebody logs in."""
    homes = {at: entry(at, "0:40", of=f"fs:/vol{at}") for at in ("/a", "/b", "/c")}
    machine = Machine()
    machine.tick(
        mounted("/a", of="fs:/vol/a"),
        mounted("/b", of="fs:/vol/b"),
        table=homes["/a"] + homes["/b"],
    )
    machine.tick(mounted("/b", of="fs:/vol/b", reads=5), table=homes["/b"])
    state = machine.tick(mounted("/c", of="fs:/vol/c", reads=10), table=homes["/c"])

    assert state.mounts["/a"].mount_points == ("/c",)
    assert state.mounts["/a"].now.device == "fs:/vol/a"
    assert per_second(state, "/a") == 5


def test_what_is_mounted_where_a_superblock_was_first_seen_has_another_label():
    machine = Machine()
    machine.tick(mounted("/a"), mounted("/b"), table=entry("/a", "0:40") + entry("/b", "0:40"))
    records = mounted("/b", reads=5), mounted("/a", of="fs:/x"), mounted("/a", of="fs:/y")
    more = mounted("/c", of="fs:/y")
    state = machine.tick(
        *records,
        more,
        table=entry("/b", "0:40")
        + entry("/a", "0:41", of="fs:/x")
        + entry("/a", "0:42", of="fs:/y")
        + entry("/c", "0:42", of="fs:/y"),
    )

    assert {label: mount.now.device for label, mount in state.mounts.items()} == {
        "/a": "fs:/vol",
        "/a#2": "fs:/x",
        "/c": "fs:/y",
    }


def test_a_superblock_that_got_the_number_of_one_that_is_gone_has_a_label_of_its_own():
    machine = Machine()
    for age in (0, 1, 2):
        machine.tick(mounted("/a", of="fs:/a", age=age), table=entry("/a", "0:40", of="fs:/a"))
    state = machine.tick(mounted("/b", of="fs:/b", age=1), table=entry("/b", "0:40", of="fs:/b"))

    assert set(state.mounts) == {"/b"}
    assert state.mounts["/b"].window is None


def test_a_superblock_that_was_seen_once_is_not_taken_for_one_as_young_elsewhere():
    machine = Machine()
    machine.tick(mounted("/a", of="fs:/a", age=0), table=entry("/a", "0:40", of="fs:/a"))
    state = machine.tick(mounted("/b", of="fs:/b", age=0), table=entry("/b", "0:40", of="fs:/b"))

    assert set(state.mounts) == {"/b"}


def test_others_go_on_when_a_mount_comes_before_them():
    machine = Machine()
    machine.tick(mounted("/b", of="fs:/b"), table=entry("/b", "0:41", of="fs:/b"))
    state = machine.tick(
        mounted("/a", reads=1000),
        mounted("/b", of="fs:/b", reads=5),
        table=entry("/a", "0:40") + entry("/b", "0:41", of="fs:/b"),
    )

    assert per_second(state, "/b") == 5
    assert state.mounts["/a"].window is None


def test_a_remount_is_a_new_story():
    machine = Machine()
    machine.tick(mounted("/a", reads=5), table=entry("/a", "0:40"))
    state = machine.tick(mounted("/a", reads=9, age=0), table=entry("/a", "0:44"))

    assert state.mounts["/a"].window is None


def test_the_mounts_of_a_server_share_its_connections():
    table = entry("/a", "0:40") + entry("/b", "0:41", of="fs:/b")
    machine = Machine()
    machine.tick(mounted("/a"), mounted("/b", of="fs:/b"), table=table)
    state = machine.tick(mounted("/a", sends=50), mounted("/b", of="fs:/b", sends=50))
    client = state.clients[CLIENT]
    span = client.window

    assert client.mounts == ("/a", "/b")
    assert len(client.now) == 2
    assert client_rates(span.before, span.after, 1.0).calls_per_second == 100


def test_two_names_of_one_server_share_its_connections():
    table = entry("/a", "0:40") + entry("/b", "0:41", of="10.0.0.4:/b")
    state = Machine().tick(mounted("/a"), mounted("/b", of="10.0.0.4:/b"), table=table)

    assert len(state.clients) == 1
    assert len(next(iter(state.clients.values())).now) == 2


def test_a_mount_that_the_table_does_not_show_yet_has_no_connections_of_its_own():
    machine = Machine()
    machine.tick(mounted("/a"), table=entry("/a", "0:40"))
    state = machine.tick(mounted("/a"), mounted("/b", of="fs:/b"))

    assert len(state.clients[CLIENT].now) == 2
    assert state.clients[CLIENT].mounts == ("/a", "/b")


def test_the_sets_of_ports_of_a_server_are_told_together_and_counted_once():
    table = b"".join(
        entry(at, f"0:{number}", of=f"fs:{at}", version="3")
        for number, at in enumerate(("/a", "/b", "/c"), 40)
    )

    def records(sends):
        return (
            mounted("/a", of="fs:/a", version="3", ports=(700, 701), sends=sends),
            mounted("/b", of="fs:/b", version="3", ports=(800,), sends=sends),
            mounted("/c", of="fs:/c", version="3", ports=(700, 701), sends=sends),
        )

    machine = Machine()
    machine.tick(*records(0), table=table)
    state = machine.tick(*records(10))
    client = state.clients[ClientKey("fs", "3", "tcp")]

    assert [connection.port for connection in client.now] == [700, 701, 800]
    assert sum(c.sends for c in client.window.after) == 30
    assert client.mounts == ("/a", "/c", "/b")


def test_connections_without_ports_that_count_apart_are_not_one():
    """nosharetransport, or a mount made in another network namespace."""
    table = entry("/a", "0:40") + entry("/b", "0:41", of="fs:/b")
    state = Machine().tick(
        mounted("/a", sends=5000), mounted("/b", of="fs:/b", sends=20), table=table
    )

    assert sorted(connection.sends for connection in state.clients[CLIENT].now) == [
        20,
        20,
        5000,
        5000,
    ]


def test_a_connection_made_anew_from_another_port_goes_on():
    machine = Machine()
    table = entry("/a", "0:40", version="3")
    machine.tick(mounted("/a", version="3", ports=(700, 701), sends=10), table=table)
    state = machine.tick(mounted("/a", version="3", ports=(700, 932), sends=30))
    span = state.clients[ClientKey("fs", "3", "tcp")].window

    assert client_rates(span.before, span.after, 1.0).calls_per_second == 40


@pytest.mark.parametrize("address", ["fe80::1", "fe80::1%2"])
def test_the_sockets_of_a_server_are_found_by_its_address_on_whatever_link(address):
    sockets = [socket(remote_address=there)._asdict() for there in ("fe80::1", "fe80::7")]
    table = entry("/a", "0:40", address=address)
    state = Machine().tick(mounted("/a"), table=table, blobs={"tcp": sockets})

    assert [each.remote_address for each in state.clients[CLIENT].sockets] == ["fe80::1"]


def test_two_proxies_of_this_machine_have_the_sockets_of_their_own_ports():
    """As efs-utils mounts: each file system through a port of 127.0.0.1."""
    at = {"/a": 20049, "/b": 20050, "/c": None}
    table = b"".join(
        entry(point, f"0:{40 + number}", of=f"proxy{number}:/", address="127.0.0.1").replace(
            b"\n", b",port=%d\n" % port if port else b"\n"
        )
        for number, (point, port) in enumerate(at.items())
    )
    sockets = [
        socket(remote_address="127.0.0.1", remote_port=port, local_port=port)._asdict()
        for port in (20049, 20050, 2049)
    ]
    machine = Machine()
    state = machine.tick(
        *(
            mounted(point, of=f"proxy{number}:/", sends=1000 * number)
            for number, point in enumerate(at)
        ),
        table=table,
        blobs={"tcp": sockets},
    )
    ports = {
        client.mounts: [each.remote_port for each in client.sockets]
        for client in state.clients.values()
    }

    assert ports == {("/a",): [20049], ("/b",): [20050], ("/c",): [2049]}


def test_what_tcp_counts_goes_on_as_one_of_the_connections_is_made_anew():
    machine, found = Machine(), []
    machine.static = Static(mountinfo=entry("/a", "0:40", version="3"))
    for ports, counts in (((700, 701), (100, 50)), ((700, 932), (120, 3))):
        sockets = [
            socket(local_port=port, retransmits=count)._asdict()
            for port, count in zip(ports, counts, strict=True)
        ]
        for blobs in ({"tcp": sockets}, {}):  # sockets are not read at each tick
            state = machine.tick(mounted("/a", version="3", ports=ports), blobs=blobs)
            found.append(state.clients[ClientKey("fs", "3", "tcp")].tcp.retransmits)

    assert found == [150, 150, 173, 173]


def test_a_record_that_is_damaged_for_once_costs_its_own_tick():
    machine = Machine()
    table = entry("/a", "0:40") + entry("/b", "0:41", of="fs:/b")
    machine.tick(mounted("/a"), mounted("/b", of="fs:/b"), table=table)
    damaged = mounted("/a", reads=10).replace(b"\tage:", b"\tegg:")
    state = machine.tick(damaged, mounted("/b", of="fs:/b", reads=10))

    assert set(state.mounts) == {"/b"}
    assert per_second(state, "/b") == 10
    assert state.sources["mountstats"].rejects >= 1


def test_a_slow_source_divides_by_its_own_time():
    machine = Machine()
    machine.tick(mounted("/a"), table=entry("/a", "0:40"), at={MOUNTSTATS: 1.0})
    state = machine.tick(mounted("/a", reads=100), at={MOUNTSTATS: 2.25})

    assert state.mounts["/a"].window.elapsed_seconds == 1.25


def test_a_source_that_was_away_begins_anew():
    machine = Machine()
    machine.tick(mounted("/a"), table=entry("/a", "0:40"))
    for _ in range(30):
        machine.tick_without_answer()
    state = machine.tick(mounted("/a", reads=100))

    assert state.mounts["/a"].window is None


def test_flows_of_a_source_that_failed_are_unknown():
    machine = Machine()
    machine.tick(mounted("/a"), table=entry("/a", "0:40"))
    flows = machine.tick_without_answer().flows

    assert flows == {FlowKey("nfs", "/a"): None}


def test_only_tcp_has_the_slots_of_tcp():
    slots = {"/proc/sys/sunrpc/tcp_max_slot_table_entries": "16"}
    records = (
        mounted("/a", version="3"),
        mounted("/b", of="other:/b", version="3").replace(b"proto=tcp", b"proto=rdma"),
    )
    machine = Machine()
    machine.static = Static(files=slots)
    state = machine.tick(*records)

    assert state.clients[ClientKey("fs", "3", "tcp")].slot_limit == 16
    assert state.clients[ClientKey("other", "3", "rdma")].slot_limit is None


@pytest.mark.parametrize(
    ("version", "allowed", "each", "together", "source"),
    [
        ("3", "65536", 65_536, 131_072, "sunrpc.tcp_max_slot_table_entries"),
        ("4.0", "65536", 1024, 1024, "NFSv4.0's slot table"),
        ("4.0", "600", 600, 1024, "NFSv4.0's slot table"),
        ("4.0", "2", 2, 4, "sunrpc.tcp_max_slot_table_entries"),
    ],
)
def test_all_connections_of_a_v40_client_share_a_table_of_1024_slots(
    version, allowed, each, together, source
):
    machine = Machine()
    machine.static = Static(files={"/proc/sys/sunrpc/tcp_max_slot_table_entries": allowed})
    state = machine.tick(mounted("/a", version=version, ports=(900, 901)))
    (limit,) = state.budgets[BudgetKey(Kind.NFS_SLOTS, "/a")].budget.limits

    assert state.clients[ClientKey("fs", version, "tcp")].slot_limit == each
    assert (limit.value, limit.source) == (together, source)


@pytest.mark.parametrize("odd", ["²", "٣", "-1", "1_000", "9" * 400, "9" * 5000])
def test_a_slot_limit_that_is_no_number_is_unknown(odd):
    machine = Machine()
    machine.static = Static(files={"/proc/sys/sunrpc/tcp_max_slot_table_entries": odd})
    state = machine.tick(mounted("/a"))

    assert BudgetKey(Kind.NFS_SLOTS, "/a") in state.budgets
    assert state.budgets[BudgetKey(Kind.NFS_SLOTS, "/a")].budget.limits == ()


def test_a_line_that_could_not_be_read_once_is_no_growth_from_zero():
    machine = Machine()
    whole = [mounted("/a", reads=reads) for reads in (5000, 5010, 5020, 5030)]
    torn = whole[1].replace(b"READ: ", b"READ: x")
    key, found = FlowKey("nfs", "/a"), []
    machine.tick(whole[0], table=entry("/a", "0:40"))
    for text in (torn, *whole[2:]):
        flow = machine.tick(text).flows[key]
        found.append(flow and flow.read_operations_per_second)

    assert found == [None, 10.0, 10.0]


def test_a_line_that_can_no_longer_be_read_ends_the_old_counters():
    machine = Machine()
    machine.tick(mounted("/a", reads=5000), table=entry("/a", "0:40"))
    for _ in range(4):
        state = machine.tick(mounted("/a", reads=5000).replace(b"READ: ", b"READ: x"))

    assert not state.mounts["/a"].now.operations


def test_who_draws_on_a_mount_is_found_by_the_number_of_its_file_system():
    def reading(name, number):
        return {
            "pid": 7, "name": name, "group": f"/{name}.service", "read_bytes": 1000, "write_bytes": 0,
            "devices": [number],
        }  # fmt: skip

    busiest = [reading("db", "0:40"), reading("backup", "0:41"), reading("other", "0:42")]
    look = {"seconds": 2.0, "seen": 9, "unreadable": 0, "is_cut": False, "busiest": busiest}
    machine = Machine()
    table = entry("/a", "0:40") + entry("/b", "0:41", of="fs:/other")
    records = (mounted("/a"), mounted("/b", of="fs:/other"))
    machine.tick(*records, table=table)
    state = machine.tick(*records, blobs={"consumers": {"processes": look, "groups": None}})

    drawn = {key: state.consumers.get(key) for key in state.budgets if key.kind is Kind.VOLUME}
    assert {key.name: [each.name for each in found.processes] for key, found in drawn.items()} == {
        "/a": ["db"],
        "/b": ["backup"],
    }
