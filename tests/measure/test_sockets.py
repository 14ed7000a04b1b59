from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioplateau.measure import sockets
from ioplateau.measure.sockets import TcpSocket

ENTRY = {
    "local_address": "10.0.0.9",
    "local_port": 871,
    "remote_address": "10.0.0.4",
    "remote_port": 2049,
    "state": "ESTABLISHED",
    "rtt_microseconds": 900,
    "min_rtt_microseconds": None,
    "congestion_window": 10,
    "segment_bytes": 1448,
    "retransmits": 3,
    "delivery_rate_bytes_per_second": 125_000_000,
    "bytes_sent": 2**40,
    "bytes_received": 2**41,
    "busy_microseconds": 5_000_000,
    "receiver_limited_microseconds": 0,
    "sender_limited_microseconds": 0,
    "receive_queue_bytes": 0,
    "send_queue_bytes": 4096,
}
OPTIONAL = sorted(set(ENTRY) - {"receive_queue_bytes", "send_queue_bytes"} - set(list(ENTRY)[:5]))


def test_an_entry_becomes_a_socket():
    found, rejects = sockets.parse([ENTRY])

    assert found == (TcpSocket(**ENTRY),)
    assert rejects == ()


def test_that_some_connections_were_left_out_is_told_beside_the_others():
    found, rejects = sockets.parse([ENTRY, {"notice": "more than 1024"}])

    assert found == (TcpSocket(**ENTRY),)
    assert rejects == ()


def test_an_entry_survives_a_recording():
    assert sockets.parse(json.loads(json.dumps([ENTRY]))) == sockets.parse([ENTRY])


def test_what_newer_versions_add_is_ignored():
    found, _ = sockets.parse([ENTRY | {"pacing_rate": 1.5}])

    assert found == (TcpSocket(**ENTRY),)


@pytest.mark.parametrize("name", OPTIONAL)
def test_what_an_older_kernel_lacks_is_unknown(name):
    without = {key: value for key, value in ENTRY.items() if key != name}
    (found,), rejects = sockets.parse([without])

    assert getattr(found, name) is None
    assert rejects == ()


@pytest.mark.parametrize(
    "bad",
    [
        None,
        [],
        {},
        ENTRY | {"local_port": "871"},
        ENTRY | {"local_port": None},
        ENTRY | {"state": None},
        ENTRY | {"remote_address": 4},
        ENTRY | {"rtt_microseconds": 1.5},
        ENTRY | {"rtt_microseconds": -1},
        ENTRY | {"rtt_microseconds": True},
        ENTRY | {"bytes_sent": 2**64},
    ],
)
def test_a_bad_entry_costs_itself_and_leaves_a_reason(bad):
    found, rejects = sockets.parse([bad, ENTRY])

    assert found == (TcpSocket(**ENTRY),)
    assert len(rejects) == 1


@pytest.mark.parametrize("blob", [None, {}, "x", 7])
def test_what_is_no_list_is_one_reject(blob):
    found, rejects = sockets.parse(blob)

    assert (found, len(rejects)) == ((), 1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(list(ENTRY)), inner)
    ),
)


@given(
    st.lists(st.dictionaries(st.sampled_from(list(ENTRY)), JSON).map(lambda d: ENTRY | d)) | JSON
)
def test_whatever_comes_in_is_answered(blob):
    found, rejects = sockets.parse(blob)

    assert len(found) + len(rejects) == (len(blob) if isinstance(blob, list) else 1)
