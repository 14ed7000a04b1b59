from __future__ import annotations

import pytest

from ioplateau.measure import mountstats
from ioplateau.measure.mountstats import Mount, MountRates, NfsConnection, Operation
from nfs_texts import kept, record

pytestmark = pytest.mark.usefixtures("twin")

CONNECTION = NfsConnection("tcp", 0, 0, 1, 0, 0, 1000, 990, 0, 5000, 70, 9, 300, 4000)


def mount(*operations: str, age: int = 100, octets: str = "0 0 0 0 0 0 0 0") -> Mount:
    text = record(age=str(age), octets=octets, operations=operations)
    return mountstats.parse(text).mounts[0]


def between(before: Mount, after: Mount, elapsed_seconds: float = 2.0) -> MountRates:
    rates = mountstats.rates(before, after, elapsed_seconds)
    assert rates is not None
    return rates


def sent(**changes: int) -> NfsConnection:
    """CONNECTION with some counters further on."""
    return CONNECTION._replace(
        **{name: getattr(CONNECTION, name) + by for name, by in changes.items()}
    )


def test_an_operation_has_by_how_much_it_grew_and_rates_in_base_units():
    before = mount("READ: 100 100 0 1000 50000 10 200 220 1")
    after = mount("READ: 110 112 1 3048 70480 50 400 460 2", age=102)
    read = between(before, after).operations["READ"]

    assert read.operations_per_second == 5.0
    assert read.bytes_sent_per_second == 1024.0
    assert read.bytes_received_per_second == 10240.0
    assert read.grown == Operation(10, 12, 1, 2048, 20480, 40, 200, 240, 1)
    assert read.rtt_seconds == pytest.approx(0.02)
    assert read.execute_seconds == pytest.approx(0.024)


def test_calls_outstanding_follow_from_littles_law():
    before = mount("READ: 100 100 0 0 0 1000 2000 4000 0")
    after = mount("READ: 200 200 0 0 0 2000 8000 12000 0")
    read = between(before, after).operations["READ"]

    assert (read.waiting, read.outstanding_wire, read.outstanding) == (0.5, 3.0, 4.0)


def test_payload_is_what_went_over_the_wire_not_what_the_cache_served():
    before = mount(octets="900 900 0 0 4096 8192 0 0")
    after = mount(octets="5000 5000 0 0 8192 8192 0 0")
    rates = between(before, after)

    assert (rates.read_bytes_per_second, rates.write_bytes_per_second) == (2048.0, 0.0)


def test_payload_is_unknown_when_the_line_was_bad():
    assert between(mount(), mount(octets="?")).read_bytes_per_second is None
    assert between(mount(octets="?"), mount()).write_bytes_per_second is None


def test_data_is_reads_of_both_kinds_and_writes_together():
    before = mount()
    after = mount(
        "READ: 10 10 0 0 0 0 10 0 0",
        "WRITE: 20 20 0 0 0 0 20 0 0",
        "READ_PLUS: 30 30 0 0 0 0 90 0 0",
        "GETATTR: 40 40 0 0 0 0 0 0 0",
    )
    rates = between(before, after)

    assert rates.data is not None
    assert rates.data.operations_per_second == 30.0
    assert rates.data.rtt_seconds == 0.002
    assert rates.operations_per_second == 50.0


def test_only_operations_that_completed_calls_have_rates():
    before = mount("READ: 10 10 0 0 0 0 0 0 0", "GETATTR: 5 5 0 0 0 0 0 0 0")
    after = mount("READ: 10 10 0 0 0 0 0 0 0", "GETATTR: 6 6 0 0 0 0 0 0 0")
    rates = between(before, after)

    assert list(rates.operations) == ["GETATTR"]
    assert rates.data is None


def test_an_idle_mount_has_rates_of_zero():
    table = mountstats.parse(record())
    later = mountstats.parse(record(age="1001"), table)
    rates = between(table.mounts[0], later.mounts[0], 1.0)

    assert (rates.operations_per_second, rates.read_bytes_per_second) == (0.0, 0.0)
    assert rates.operations == {}


def test_the_first_use_of_an_operation_counts_from_zero():
    rates = between(mount(), mount("READ: 10 10 0 0 0 0 0 0 0"))

    assert rates.operations["READ"].operations_per_second == 5.0


def test_an_operation_whose_line_was_bad_before_has_no_rate_now():
    before = mount("READ: ?", "WRITE: 1 1 0 0 0 0 0 0 0")
    after = mount("READ: 1000000 1000000 0 0 0 0 0 0 0", "WRITE: 2 2 0 0 0 0 0 0 0")

    assert list(between(before, after).operations) == ["WRITE"]


def test_an_operation_whose_line_is_bad_now_costs_no_other_its_rate():
    before = mount("READ: 7 7 0 0 0 0 0 0 0", "WRITE: 1 1 0 0 0 0 0 0 0")
    after = mount("READ: ?", "WRITE: 2 2 0 0 0 0 0 0 0")

    assert list(between(before, after).operations) == ["WRITE"]


def test_operations_lost_with_the_end_of_a_record_cost_no_other_its_rate():
    before = mount("WRITE: 1 1 0 0 0 0 0 0 0", "READ: 7 7 0 0 0 0 0 0 0")
    text = record(operations=("WRITE: 2 2 0 0 0 0 0 0 0",)).removesuffix(b"\n")
    after = mountstats.parse(text).mounts[0]

    assert list(between(before._replace(age_seconds=1), after).operations) == ["WRITE"]


def test_sums_of_times_that_fell_are_held_at_zero():
    before = mount("READ: 10 10 0 0 0 18446744073709551000 500 500 0")
    after = mount("READ: 20 15 0 0 0 18446744073709550000 400 600 0")
    read = between(before, after).operations["READ"]

    assert (read.grown.queue_milliseconds, read.rtt_seconds) == (0, 0.0)
    assert read.execute_seconds == 0.01


def test_errors_are_unknown_where_the_kernel_does_not_count_them():
    before, after = mount("READ: 1 1 0 0 0 0 0 0"), mount("READ: 2 2 0 0 0 0 0 0")
    rates = between(before, after)

    assert rates.operations["READ"].grown.errors is None
    assert rates.data is not None
    assert rates.data.grown.errors is None


def test_a_remount_gives_no_rates():
    assert mountstats.rates(mount(age=500), mount(age=3), 1.0) is None


def test_another_export_at_the_same_place_gives_no_rates():
    after = mount(age=500)._replace(device="fs:/other")

    assert not mountstats.is_continuous(mount(), after)


def test_payload_that_went_back_gives_no_rates():
    before = mount(octets="0 0 0 0 5 0 0 0")

    assert mountstats.rates(before, mount(octets="0 0 0 0 4 0 0 0"), 1.0) is None


@pytest.mark.parametrize("now", ["READ: 9 9 0 9 9 0 0 0 0", "READ: 0 0 0 0 0 0 0 0 0"])
def test_reads_that_went_back_end_the_story(now):
    assert not mountstats.is_continuous(mount("READ: 10 10 0 9 9 0 0 0 0"), mount(now))


def test_any_operation_that_went_back_gives_no_rates():
    before, after = mount("GETATTR: 10 10 0 9 9 0 0 0 0"), mount("GETATTR: 9 9 0 9 9 0 0 0 0")

    assert mountstats.rates(before, after, 1.0) is None


@pytest.mark.parametrize("elapsed_seconds", [0.0, -1.0])
def test_no_time_gives_no_rates(elapsed_seconds):
    assert mountstats.rates(mount(), mount(), elapsed_seconds) is None
    assert mountstats.client_rates((CONNECTION,), (CONNECTION,), elapsed_seconds) is None


def test_a_client_is_the_sum_of_its_connections():
    before = (CONNECTION, CONNECTION)
    after = (
        sent(sends=30, receives=20, requests_sum=90, backlog_sum=40),
        sent(sends=10, receives=10, requests_sum=10),
    )
    client = mountstats.client_rates(before, after, 2.0)

    assert client is not None
    assert client.calls_per_second == 20.0
    assert (client.mean_requests, client.mean_backlog) == (2.5, 1.0)
    assert (client.busiest_ratio, client.spread) == (0.75, 1.5)
    assert client.on_wire == 20 + 10


def test_a_connection_divides_its_sums_by_its_sends():
    after = sent(sends=10, receives=8, requests_sum=30, backlog_sum=5)
    client = mountstats.client_rates((CONNECTION,), (after,), 2.0)

    assert client is not None
    (one,) = client.connections
    assert (one.sends_per_second, one.on_wire) == (5.0, 12)
    assert (one.mean_requests, one.mean_backlog) == (3.0, 0.5)


def test_means_per_send_are_unknown_without_a_send():
    client = mountstats.client_rates((CONNECTION,), (CONNECTION,), 1.0)

    assert client is not None
    assert (client.calls_per_second, client.mean_requests, client.spread) == (0.0, None, None)
    assert client.connections[0].mean_backlog is None


def test_more_answers_than_calls_leave_nothing_on_the_wire():
    before = CONNECTION._replace(receives=CONNECTION.sends)
    after = before._replace(sends=before.sends + 10, receives=before.receives + 20)
    client = mountstats.client_rates((before,), (after,), 1.0)

    assert client is not None
    assert client.on_wire == client.connections[0].on_wire == 0


@pytest.mark.parametrize(
    "after",
    [
        (CONNECTION, CONNECTION),
        (),
        (sent(sends=-1),),
        (sent(receives=-1),),
        (CONNECTION._replace(kind="rdma"),),
    ],
)
def test_other_connections_or_counters_that_went_back_give_no_rates(after):
    assert mountstats.client_rates((CONNECTION,), after, 1.0) is None


def test_a_stalled_server_shows_calls_on_the_wire_and_no_calls_completed():
    waiting = mountstats.parse(record()).mounts[0]
    rates = between(waiting, waiting)
    client = mountstats.client_rates(waiting.connections, waiting.connections, 1.0)

    assert rates.operations_per_second == 0.0
    assert client is not None
    assert client.on_wire == 10


def test_a_real_volume_at_its_limit_moves_what_it_is_allowed():
    (before,) = mountstats.parse(kept("v41-nconnect4-before")).mounts
    (after,) = mountstats.parse(kept("v41-nconnect4-after")).mounts
    elapsed = after.age_seconds - before.age_seconds
    rates = between(before, after, elapsed)
    client = mountstats.client_rates(before.connections, after.connections, elapsed)

    assert rates.data is not None
    assert 1e6 < (rates.read_bytes_per_second or 0) + (rates.write_bytes_per_second or 0) < 10e6
    assert rates.data.outstanding >= rates.data.outstanding_wire
    assert client is not None
    assert client.spread == pytest.approx(1.0, abs=0.1)
