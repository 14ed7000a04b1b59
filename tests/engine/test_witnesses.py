"""What the judge is told besides the flows: of NFS clients and their connections."""

import states
from ioplateau.engine.providers import Providers
from ioplateau.engine.witnesses import ClientReading, Witnesses
from ioplateau.measure.delta import ReadingPair
from ioplateau.measure.mountstats import NfsConnections


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
