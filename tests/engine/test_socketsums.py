"""What the connections of an NFS client count goes on, whichever of them are open."""

from ioplateau.engine.socketsums import MOST_ABSENT, SocketSums
from ioplateau.measure.sockets import TcpCounts
from ioplateau.state import ClientKey
from states import socket

V3, V41 = ClientKey("fs", "3", "tcp"), ClientKey("fs", "4.1", "tcp")


def sent_again(port, count):
    return socket(local_port=port, retransmits=count, busy_microseconds=count * 10**7)


def told(*readings, key=V3):
    """Segments sent again after each reading."""
    sums, found = SocketSums(), []
    for reading in readings:
        sums.take(reading, [(key, reading)])
        found.append(sums.sums[key].retransmits)
    return found


def test_a_connection_made_anew_takes_nothing_away():
    assert told(
        (sent_again(700, 100), sent_again(701, 50)),
        (sent_again(700, 110), sent_again(701, 50)),
        (sent_again(700, 120), sent_again(932, 3)),
        (sent_again(700, 120), sent_again(932, 4)),
    ) == [150, 160, 173, 174]


def test_a_connection_made_anew_from_the_same_port_counts_from_its_beginning():
    assert told((sent_again(700, 100),), (sent_again(700, 3),)) == [100, 103]


def test_a_socket_that_one_reading_misses_is_counted_once():
    assert told((sent_again(700, 100),), (), (sent_again(700, 101),)) == [100, 100, 101]


def test_two_sets_of_connections_that_show_no_ports_have_their_sockets_once():
    sums, both = SocketSums(), (sent_again(700, 5), sent_again(701, 6))
    sums.take(both, [(V41, both), (V41, both)])

    assert sums.sums[V41].retransmits == 11


def test_what_this_kernel_does_not_count_stays_unknown():
    sums = SocketSums()
    for count in (1, 2):
        now = (socket(retransmits=count, busy_microseconds=None),)
        sums.take(now, [(V3, now)])

    assert sums.sums[V3] == TcpCounts(2, None, 1_000_000, 2_000_000, None)


def test_sockets_and_clients_that_come_and_go_are_not_kept_for_ever():
    sums = SocketSums()
    for number in range(3 * MOST_ABSENT):
        now = (sent_again(number, 1),)
        sums.take(now, [(V3._replace(server=f"fs{number}"), now)])

    assert len(sums.sums) == len(sums._known) == MOST_ABSENT + 1
