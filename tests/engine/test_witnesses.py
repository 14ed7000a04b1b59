"""What the judge is told besides the flows: of NFS clients and their connections."""

import states
from ioplateau.engine.providers import Providers
from ioplateau.engine.witnesses import ClientReading, Witnesses
from ioplateau.measure.mountstats import NfsConnections
from ioplateau.measure.ratewindow import ReadingPair


def witness(*shortest_microseconds):
    connections = NfsConnections.of(*states.nfs_client().now)
    sockets = tuple(
        states.socket(local_port=700 + number, min_rtt_microseconds=shortest)
        for number, shortest in enumerate(shortest_microseconds)
    )
    reading = ClientReading(connections, ReadingPair(connections, connections, 1.0), None, sockets)
    return Witnesses().witness({"/mnt/a": reading}, {}, Providers()).clients["/mnt/a"]


def test_the_shortest_round_trip_is_that_of_any_connection():
    assert witness(41_000, 40_200, None).shortest_trip_seconds == 0.0402


def test_without_a_socket_that_tells_it_no_round_trip_is_known():
    assert witness().shortest_trip_seconds is None
    assert witness(None).shortest_trip_seconds is None


def tick_of(before, after, *sockets):
    pair = ReadingPair(NfsConnections.of(before), NfsConnections.of(after), 1.0)
    return ClientReading(pair.after, pair, None, sockets)


def of_client(reading, heard=None):
    return (heard or Witnesses()).witness({"/mnt/a": reading}, {}, Providers()).clients["/mnt/a"]


def test_calls_that_wait_for_a_slot_are_told_by_those_sent_also_while_nothing_is_answered():
    before = states.connection(sends=1000, receives=1000, backlog_sum=0)
    after = states.connection(sends=1010, receives=1000, backlog_sum=50)

    assert of_client(tick_of(before, after)).backlog == 5.0


def test_answers_are_counted_by_the_second():
    before, after = states.connection(receives=1000), states.connection(receives=1500)
    pair = ReadingPair(NfsConnections.of(before), NfsConnections.of(after), 2.0)

    assert of_client(ClientReading(pair.after, pair, None, ())).receives_per_second == 250.0


def test_answers_that_nobody_awaited_disturb_as_connections_made_anew_do():
    before = states.connection(connects=1, bad_xids=0)
    after = states.connection(connects=1, bad_xids=3)

    assert of_client(tick_of(before, after)).disturbances == 4


def test_an_answer_that_nobody_awaited_is_no_call_on_the_wire():
    """A killed job's calls, and the second answer to a call that was sent twice."""
    one = states.connection(sends=1000, receives=990, bad_xids=3)

    assert one.on_wire == 7
    assert of_client(tick_of(one, one)).on_wire == 7


def test_no_less_than_nothing_is_on_the_wire():
    """A server's own calls (callbacks of v4.0) and torn readings: more was received than sent."""
    one = states.connection(sends=1000, receives=1003)

    assert of_client(tick_of(one, one)).on_wire == 0


def held_back_of_two_looks(at, before, after):
    """The share of time told: looks at 1 s and at this one, the microseconds that either counts."""
    heard = Witnesses()
    heard.take_sockets(1.0, [states.socket(sender_limited_microseconds=before)])
    now = states.socket(sender_limited_microseconds=after)
    heard.take_sockets(at, [now])
    one = states.connection()
    return of_client(tick_of(one, one, now), heard).sender_limited_ratio


def test_a_connection_made_anew_was_not_held_back_for_less_than_no_time():
    assert held_back_of_two_looks(2.0, 9_000_000, 0) == 0.0


def test_a_connection_was_held_back_for_a_share_of_the_time_between_two_looks():
    assert held_back_of_two_looks(3.0, 0, 900_000) == 0.45


def test_two_readings_of_one_moment_say_nothing_of_a_share():
    heard = Witnesses()
    heard.take_sockets(1.0, [states.socket()])
    heard.take_sockets(1.0, [states.socket()])
    one = states.connection()

    assert of_client(tick_of(one, one, states.socket()), heard).sender_limited_ratio is None


def test_a_connection_that_was_away_for_a_reading_is_not_held_back_as_it_was_before():
    heard, limited = Witnesses(), 0
    for second in range(3):
        limited = second * 900_000
        heard.take_sockets(float(second), [states.socket(sender_limited_microseconds=limited)])
    heard.take_sockets(3.0, [])
    back = states.socket(sender_limited_microseconds=limited)
    heard.take_sockets(4.0, [back])
    one = states.connection()

    assert of_client(tick_of(one, one, back), heard).sender_limited_ratio is None
