"""The tables keep the contract: names, units, labels, and the budget of series."""

import re
from collections import Counter

import pytest

import states
from ioplateau.limits.budgets import Burst, Dimension, Direction, Kind, Origin, Word
from ioplateau.measure import sockets
from ioplateau.measure.sockets import TcpCounts
from ioplateau.state import ConnectionCounts, HeldState
from ioplateau.tell import prometheus
from ioplateau.tell.prometheus import TABLES

ROWS = [(table, row) for table in TABLES for row in table.rows]
NAMES = [table.prefix + row.name for table, row in ROWS]

# The names that dashboards, alerts and other people's rules rely on.
CONTRACT = [
    "budget_limit_operations_per_second",
    "budget_limit_bytes_per_second",
    "budget_limit_slots",
    "budget_utilization_ratio",
    "budget_peak_utilization_ratio",
    "budget_throttled",
    "budget_throttled_seconds_total",
    "budget_throttle_episodes_total",
    "budget_throttled_since_timestamp_seconds",
    "budget_learned_confidence_ratio",
    "budget_burst_credit_ratio",
    "budget_burst_exhaustion_seconds",
    "budget_demand_ratio",
    "budget_held_ratio",
    "budget_burst_limit_operations_per_second",
    "budget_burst_limit_bytes_per_second",
    "budget_limit_info",
    "budget_info",
    "budget_verdict",
    "flow_throttled_seconds_total",
    "disk_operations_total",
    "disk_bytes_total",
    "disk_merged_operations_total",
    "disk_operation_seconds_total",
    "disk_busy_seconds_total",
    "disk_queue_seconds_total",
    "disk_in_flight",
    "disk_operations_per_second",
    "disk_bytes_per_second",
    "disk_await_seconds",
    "disk_request_bytes",
    "disk_queue_length",
    "disk_busy_ratio",
    "disk_info",
    "nfs_mount_info",
    "nfs_mount_point_info",
    "nfs_connections",
    "pressure_io_waiting_seconds_total",
    "pressure_io_stalled_seconds_total",
    "build_info",
    "source_up",
    "source_seconds_total",
    "tick_seconds",
    "ticks_skipped_total",
    "parse_rejects_total",
]


def lines(state, **options):
    body = prometheus.render(state, **options).decode()
    return [line for line in body.splitlines() if not line.startswith("#")]


def value(state, series, **options):
    """The value of the one sample written so, or None."""
    found = [
        line.split(" ")[-1] for line in lines(state, **options) if line.startswith(series + " ")
    ]
    assert len(found) <= 1
    return float(found[0]) if found else None


def with_disk(**options):
    return states.state(disks={"sda": states.disk(**options)})


def with_mount(**options):
    return states.state(mounts={"/mnt/a": states.nfs_mount(**options)})


def with_client(**options):
    return states.state(clients={states.CLIENT: states.nfs_client(**options)})


def with_budget(*arguments, **options):
    return states.state(budgets=states.by_key(states.budget(*arguments, **options)))


@pytest.mark.parametrize("name", CONTRACT)
def test_a_promised_metric_exists(name):
    assert f"ioplateau_{name}" in NAMES


def test_no_family_has_two_rows():
    families = Counter(table.prefix + row.family for table, row in ROWS)

    assert [name for name, rows in families.items() if rows > 1] == []


@pytest.mark.parametrize(("table", "row"), ROWS, ids=NAMES)
def test_a_row_keeps_the_conventions(table, row):
    assert re.fullmatch(r"[a-z][a-z0-9_]*", row.name)
    assert row.name.endswith("_total") == (row.type == "counter")
    assert row.name.endswith("_info") == (row.type == "info")
    assert not re.search(r"_(ms|milliseconds|percent|pct|util|kb|mb)\b", row.name)
    assert row.help.endswith(".")
    assert row.help[0].isupper() or row.help[0].isdigit()
    assert "|" not in row.help  # it is a cell of a Markdown table


@pytest.mark.parametrize("table", TABLES, ids=[table.title for table in TABLES])
def test_labels_are_plain_words_and_distinct(table):
    assert all(re.fullmatch(r"[a-z][a-z_]*", label) for label in table.labels)
    assert len(set(table.labels)) == len(table.labels)
    assert not {"le", "job", "instance", "quantile"} & set(table.labels)


def test_a_disk_costs_about_thirty_series():
    before = {"reads": 1, "writes": 1, "flushes": 1}
    nothing = len(lines(states.state()))

    usual = len(lines(with_disk(before=before))) - nothing
    busiest = len(lines(with_disk(before=before, discards=9))) - nothing

    assert usual <= 30
    assert busiest <= 36


def test_a_superblock_costs_about_sixty_series():
    # What a v4.1 mount in use was seen to call.
    calls = [
        "NULL",
        "READ",
        "WRITE",
        "OPEN",
        "OPEN_NOATTR",
        "CLOSE",
        "FSINFO",
        "ACCESS",
        "GETATTR",
        "LOOKUP",
        "PATHCONF",
        "SERVER_CAPS",
        "EXCHANGE_ID",
        "CREATE_SESSION",
        "RECLAIM_COMPLETE",
    ]
    before = states.mount(operations={name: states.operation(operations=1) for name in calls})
    used = with_mount(before=before, operations={name: states.operation() for name in calls})

    assert len(lines(used)) - len(lines(states.state())) <= 65


def test_a_client_costs_less_than_forty_series():
    before = (states.connection(sends=1),) * 2

    assert len(lines(with_client(before=before, slot_limit=64))) <= 40


def test_a_budget_costs_about_fifteen_series_a_dimension():
    limits = [
        states.limit(dimension, burst_credit=0.5, exhaustion_seconds=60.0, demand=1.2)
        for dimension in (Dimension.IOPS, Dimension.THROUGHPUT)
    ]

    told = len(lines(with_budget(Kind.DISK, "sda", *limits))) - len(lines(states.state()))

    assert told <= 2 * 15


def test_discards_of_a_disk_that_never_had_any_cost_nothing():
    assert not any('operation="discard"' in line for line in lines(with_disk()))


def test_a_kernel_without_flush_columns_has_no_flush_series():
    old = with_disk(flushes=None, flush_milliseconds=None)

    assert not any('operation="flush"' in line for line in lines(old))


def test_queue_length_comes_from_the_weighted_time():
    state = with_disk(before={"weighted_milliseconds": 7500 - 160_000 + 2**32})

    assert value(state, 'ioplateau_disk_queue_length{device="sda"}') == 16.0


def test_a_disk_is_described_by_what_identifies_it():
    (line,) = (line for line in lines(with_disk()) if line.startswith("ioplateau_disk_info"))

    assert 'serial="6002248"' in line
    assert 'lun="3"' in line
    assert 'diskseq="9"' in line
    assert f'size_bytes="{64 << 30}"' in line


def test_reads_over_nfs_are_told_with_rtt_queue_and_execute_time():
    state, read = with_mount(), '{mount="/mnt/a",operation="READ"}'

    assert value(state, f"ioplateau_nfs_operations_total{read}") == 100
    assert value(state, f"ioplateau_nfs_operation_rtt_seconds_total{read}") == 1.0
    assert value(state, f"ioplateau_nfs_operation_queue_seconds_total{read}") == 0.05
    assert value(state, f"ioplateau_nfs_operation_execute_seconds_total{read}") == 1.1
    assert value(state, f"ioplateau_nfs_bytes_total{read}") == 420_000


def test_reads_over_nfs_have_rates_over_the_window():
    before = states.mount(
        operations={
            "READ": states.operation(
                operations=0, transmissions=0, rtt_milliseconds=0, execute_milliseconds=0
            )
        }
    )
    state, read = with_mount(before=before), '{mount="/mnt/a",operation="READ"}'

    assert value(state, f"ioplateau_nfs_operations_per_second{read}") == 10.0
    assert value(state, f"ioplateau_nfs_rtt_seconds{read}") == pytest.approx(0.010)
    assert value(state, f"ioplateau_nfs_await_seconds{read}") == pytest.approx(0.011)
    assert value(state, f"ioplateau_nfs_queue_length{read}") == pytest.approx(0.11)


def test_a_quiet_mount_has_a_rate_of_zero_and_no_latency():
    state, read = with_mount(before=states.mount()), '{mount="/mnt/a",operation="READ"}'

    assert value(state, f"ioplateau_nfs_operations_per_second{read}") == 0.0
    assert value(state, f"ioplateau_nfs_rtt_seconds{read}") is None


def test_reads_that_could_not_be_read_before_have_no_rate():
    state, read = (
        with_mount(before=states.mount(operations={})),
        '{mount="/mnt/a",operation="READ"}',
    )
    unreadable = states.mount(operations={}, unreadable=("READ",))

    assert value(state, f"ioplateau_nfs_operations_per_second{read}") == 10.0
    assert (
        value(with_mount(before=unreadable), f"ioplateau_nfs_operations_per_second{read}") is None
    )


def test_a_time_that_the_kernel_prints_below_zero_is_none_yet():
    state = with_mount(operations={"READ": states.operation(queue_milliseconds=-5)})

    series = 'ioplateau_nfs_operation_queue_seconds_total{mount="/mnt/a",operation="READ"}'
    assert value(state, series) == 0.0


def test_a_fault_of_a_metadata_call_is_told_once_it_happened():
    quiet = with_mount(operations={"GETATTR": states.operation()})
    faulty = with_mount(operations={"GETATTR": states.operation(timeouts=2)})
    series = 'ioplateau_nfs_timeouts_total{mount="/mnt/a",operation="GETATTR"}'

    assert value(quiet, series) is None
    assert value(faulty, series) == 2


def test_retransmissions_are_never_negative():
    # Old kernels let transmissions fall behind calls.
    state = with_mount(operations={"READ": states.operation(transmissions=90)})

    assert value(state, 'ioplateau_nfs_retransmissions_total{mount="/mnt/a",operation="READ"}') == 0


def test_an_operation_never_used_costs_nothing():
    state = with_mount(operations={"LINK": states.operation(operations=0, transmissions=0)})

    assert not any('operation="LINK"' in line for line in lines(state))


def test_payload_is_what_crossed_the_wire_without_headers():
    state = with_mount(before=states.mount(bytes=(0,) * 8))

    read = '{direction="read",mount="/mnt/a"}'
    assert value(state, f"ioplateau_nfs_payload_bytes_total{read}") == 500_000
    assert value(state, f"ioplateau_nfs_payload_bytes_per_second{read}") == 50_000


def test_a_server_that_asks_for_patience_is_counted():
    assert value(with_mount(), 'ioplateau_nfs_server_delays_total{mount="/mnt/a"}') == 24


def test_events_that_an_old_kernel_lacks_have_no_sample():
    state = with_mount(events=(1,) * 20, bytes=(1, 2))

    assert value(state, 'ioplateau_nfs_server_delays_total{mount="/mnt/a"}') is None
    assert (
        value(state, 'ioplateau_nfs_payload_bytes_total{direction="read",mount="/mnt/a"}') is None
    )


def test_the_mount_says_how_many_connections_are_in_force():
    (line,) = (line for line in lines(with_mount()) if line.startswith("ioplateau_nfs_mount_info"))

    assert 'nconnect="2"' in line  # asked for: 4
    assert 'server="10.0.0.4"' in line
    assert 'export="/vol1"' in line
    assert 'recovery="hard"' in line
    assert 'version="4.1"' in line


def test_a_superblock_tells_where_it_is_mounted_now():
    points = ("/mnt/b", "/mnt/c", "/mnt/c")
    told = lines(states.state(mounts={"/mnt/a": states.nfs_mount()._replace(mount_points=points)}))

    assert [line for line in told if line.startswith("ioplateau_nfs_mount_point_info")] == [
        'ioplateau_nfs_mount_point_info{mount="/mnt/a",mount_point="/mnt/b"} 1.0',
        'ioplateau_nfs_mount_point_info{mount="/mnt/a",mount_point="/mnt/c"} 1.0',
    ]


def test_connections_are_summed_over_the_client():
    client = '{protocol="tcp",server="10.0.0.4",version="4.1"}'
    state = with_client(now=(states.connection(connects=3), states.connection(sends=500)))

    assert value(state, f"ioplateau_nfs_connections{client}") == 2
    assert value(state, f"ioplateau_nfs_client_requests_total{client}") == 1500
    assert value(state, f"ioplateau_nfs_client_connects_total{client}") == 4
    assert value(state, f"ioplateau_nfs_client_slots_used_peak{client}") == 16


def test_the_busiest_connection_shows_imbalance():
    before = (states.connection(sends=0), states.connection(sends=0))
    now = (states.connection(sends=900), states.connection(sends=100))

    share = value(
        with_client(before=before, now=now),
        "ioplateau_nfs_client_busiest_connection_ratio"
        '{protocol="tcp",server="10.0.0.4",version="4.1"}',
    )

    assert share == pytest.approx(0.9)


def test_counters_of_a_client_are_told_with_what_connections_counted_that_are_no_more():
    state = with_client(carried=ConnectionCounts(sends=7, connects=3))
    client = '{protocol="tcp",server="10.0.0.4",version="4.1"}'

    assert value(state, f"ioplateau_nfs_client_requests_total{client}") == 2007
    assert value(state, f"ioplateau_nfs_client_connects_total{client}") == 5


def test_tcp_shows_the_slowest_and_sums_the_rest():
    pair = (states.socket(), states.socket(rtt_microseconds=9000, min_rtt_microseconds=300))
    counts = TcpCounts(retransmits=4, congestion_limited_microseconds=14_000_000)
    state = with_client(sockets=pair, tcp=counts)
    client = '{protocol="tcp",server="10.0.0.4",version="4.1"}'

    assert value(state, f"ioplateau_nfs_tcp_rtt_seconds{client}") == 0.009
    assert value(state, f"ioplateau_nfs_tcp_min_rtt_seconds{client}") == 0.0002
    assert value(state, f"ioplateau_nfs_tcp_retransmits_total{client}") == 4
    assert value(state, f"ioplateau_nfs_tcp_congestion_limited_seconds_total{client}") == 14.0


def test_without_socket_diagnostics_there_are_no_tcp_series():
    assert not any("nfs_tcp" in line for line in lines(with_client(sockets=None)))


def test_counters_of_connections_stay_when_none_is_open():
    told = " ".join(lines(with_client(sockets=(), tcp=TcpCounts(retransmits=4))))

    assert 'nfs_tcp_retransmits_total{protocol="tcp",server="10.0.0.4",version="4.1"} 4' in told


def test_a_short_tcp_info_leaves_out_what_it_lacks():
    old = states.socket(delivery_rate_bytes_per_second=None, busy_microseconds=None)

    told = " ".join(lines(with_client(sockets=(old,), tcp=sockets.counts(old))))

    assert "nfs_tcp_rtt_seconds" in told
    assert "delivery_rate" not in told
    assert "busy" not in told.replace("busiest", "")


def test_the_machine_is_told_in_seconds_and_bytes():
    state = states.state(machine=states.machine(), interfaces={"eth0": states.interface()})

    assert value(state, "ioplateau_pressure_io_waiting_seconds_total") == 1.5
    assert value(state, "ioplateau_cpu_iowait_seconds_total") == 2.5
    assert value(state, "ioplateau_memory_dirty_bytes") == 4096
    assert value(state, 'ioplateau_interface_speed_bytes_per_second{interface="eth0"}') == 125e6


def test_a_limit_is_told_in_the_metric_of_its_dimension_only():
    state = with_budget(
        Kind.DISK, "sda", states.limit(Dimension.THROUGHPUT, value=2e8, direction=Direction.READ)
    )

    series = 'bytes_per_second{dimension="throughput",direction="read",kind="disk",name="sda"}'
    assert value(state, f"ioplateau_budget_limit_{series}") == 2e8
    assert not any("limit_operations" in line for line in lines(state))


def test_the_limit_told_is_the_one_in_force():
    burst = states.limit(Dimension.IOPS, value=500.0, effective=3500.0)

    series = 'operations_per_second{dimension="iops",direction="total",kind="disk",name="sda"}'
    assert value(with_budget(Kind.DISK, "sda", burst), f"ioplateau_budget_limit_{series}") == 3500.0


def test_a_burst_is_told_beside_the_limit_that_is_in_force():
    slow = states.limit(Dimension.IOPS, value=500.0, burst=Burst(3500.0))
    plain = states.limit(Dimension.THROUGHPUT, value=2e8)
    state = with_budget(Kind.DISK, "sda", slow, plain)

    series = 'operations_per_second{dimension="iops",direction="total",kind="disk",name="sda"}'
    assert value(state, f"ioplateau_budget_limit_{series}") == 500.0
    assert value(state, f"ioplateau_budget_burst_limit_{series}") == 3500.0
    assert sum("budget_burst_limit" in line for line in lines(state)) == 1


def test_each_limit_says_where_it_comes_from_and_whether_each_client_has_it_alone():
    told = states.limit(Dimension.THROUGHPUT, each_client=True)
    learned = states.limit(Dimension.IOPS, origin=Origin.LEARNED)
    found = [
        line
        for line in lines(with_budget(Kind.VOLUME, "/mnt/a", told, learned))
        if "limit_info{" in line
    ]

    of = 'kind="volume",name="/mnt/a"'
    assert found == [
        f'ioplateau_budget_limit_info{{dimension="throughput",direction="total",each_client="true",{of},origin="configured"}} 1.0',
        f'ioplateau_budget_limit_info{{dimension="iops",direction="total",each_client="",{of},origin="learned"}} 1.0',
    ]


def test_a_budget_held_below_what_was_sold_says_how_far():
    low = states.limit(Dimension.IOPS, value=500.0, effective=300.0, held_ratio=0.6)
    free = states.limit(Dimension.IOPS, value=500.0)

    series = (
        'ioplateau_budget_held_ratio{dimension="iops",direction="total",kind="disk",name="sda"}'
    )
    assert value(with_budget(Kind.DISK, "sda", low), series) == 0.6
    assert not any("held_ratio{" in line for line in lines(with_budget(Kind.DISK, "sda", free)))


HELD_DISK = '{dimension="iops",direction="total",kind="disk",name="sda"}'


def throttled_disk(origin=Origin.CONFIGURED, **verdict):
    held = states.limit(Dimension.IOPS, throttled=True, origin=origin)
    free = states.limit(Dimension.THROUGHPUT)
    return with_budget(
        Kind.DISK, "sda", held, free, word=Word.THROTTLED, since=870.4, origin=origin, **verdict
    )


def test_a_limit_that_holds_says_since_when_on_the_wall_clock():
    state = throttled_disk()

    series = f"ioplateau_budget_throttled_since_timestamp_seconds{HELD_DISK}"
    assert value(state, series) == round(state.wall - state.mono + 870.4)
    assert sum("since_timestamp_seconds{" in line for line in lines(state)) == 1


def test_a_limit_that_took_over_from_another_says_since_when_it_does():
    state = throttled_disk(limit_since=900.4)

    series = f"ioplateau_budget_throttled_since_timestamp_seconds{HELD_DISK}"
    assert value(state, series) == round(state.wall - state.mono + 900.4)


def test_a_limit_whose_value_nobody_tells_says_for_how_long_and_since_when_it_holds():
    way = Dimension.SLOTS, Direction.TOTAL
    held = states.budget(
        Kind.NFS_SLOTS,
        "/a",
        word=Word.THROTTLED,
        since=870.4,
        dimension=way[0],
        origin=Origin.LEARNED,
    )
    state = states.state(
        budgets=states.by_key(held._replace(untold=(HeldState(*way, True, 12.0, 3),)))
    )
    said = {line.partition("{")[0]: line for line in lines(state) if 'dimension="slots"' in line}

    assert [name.removeprefix("ioplateau_budget_thrott") for name in said] == [
        "led", "led_seconds_total", "le_episodes_total", "led_since_timestamp_seconds",
    ]  # fmt: skip
    assert all(
        '{dimension="slots",direction="total",kind="nfs_slots",name="/a"}' in line
        for line in said.values()
    )
    assert said["ioplateau_budget_throttled_seconds_total"].endswith(" 12.0")


def test_a_limit_that_does_not_hold_has_no_beginning():
    state = with_budget(Kind.DISK, "sda", states.limit(Dimension.IOPS))

    assert not any("since_timestamp_seconds{" in line for line in lines(state))


@pytest.mark.parametrize(
    ("origin", "evidence", "told"),
    [
        (Origin.LEARNED, {"confidence": 0.75}, 0.75),
        (Origin.LEARNED, {}, 0.0),
        (Origin.CONFIGURED, {"confidence": 0.75}, None),
        (Origin.REPORTED, {}, None),
    ],
)
def test_a_learned_limit_that_holds_says_how_sure_it_is(origin, evidence, told):
    state = throttled_disk(origin, evidence=evidence)

    assert value(state, f"ioplateau_budget_learned_confidence_ratio{HELD_DISK}") == told


def test_exactly_one_verdict_holds():
    state = with_budget(Kind.DISK, "sda", word=Word.THROTTLED)

    told = {line for line in lines(state) if line.startswith("ioplateau_budget_verdict")}
    assert len(told) == len(Word)
    assert [line for line in told if line.endswith(" 1.0")] == [
        'ioplateau_budget_verdict{kind="disk",name="sda",verdict="throttled"} 1.0'
    ]


def test_a_budget_says_where_its_limits_come_from_and_what_it_was_sold_as():
    limits = (
        states.limit(Dimension.IOPS, origin=Origin.LEARNED),
        states.limit(Dimension.THROUGHPUT, origin=Origin.CONFIGURED),
    )
    state = with_budget(Kind.DISK, "sda", *limits, info={"sku": "Premium_LRS", "odd": "kept out"})

    (line,) = (line for line in lines(state) if line.startswith("ioplateau_budget_info"))
    assert 'origin="configured,learned"' in line
    assert 'sku="Premium_LRS"' in line
    assert "odd" not in line


def test_a_source_that_fails_is_down_and_keeps_its_counters():
    down = states.SourceState("mountstats", up=False, why="gone", seconds=1.5, rejects=2)
    state = states.state(sources={"mountstats": down})

    assert value(state, 'ioplateau_source_up{source="mountstats"}') == 0
    assert value(state, 'ioplateau_parse_rejects_total{source="mountstats"}') == 2
