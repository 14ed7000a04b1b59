"""Socket diagnostics of the running kernel, against ss (iproute2) and pyroute2's own decoding."""

from __future__ import annotations

import re
import resource
import socket
import subprocess
import sys
from contextlib import ExitStack

import pytest

from ioplateau.measure import notice, sockets
from ioplateau.measure.inetdiag import (
    FIND_AGAIN_SECONDS,
    FIND_SECONDS,
    MOST_CONNECTIONS,
    MOST_PROMPT,
    SocketDiagnostics,
)

pytestmark = pytest.mark.live


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Server:
    """Accepts on a port of its own and answers nothing."""

    def __init__(self, stack: ExitStack, host: str = "127.0.0.1", port: int = 0):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._stack = stack
        self._listener = stack.enter_context(socket.create_server((host, port), family=family))
        self.host, self.port = self._listener.getsockname()[:2]

    def keep(self, count: int) -> None:
        """So many connections that say nothing."""
        for _ in range(count):
            self._stack.enter_context(socket.create_connection((self.host, self.port)))
            self._stack.enter_context(self._listener.accept()[0])

    def connect(self) -> socket.socket:
        client = self._stack.enter_context(socket.create_connection((self.host, self.port)))
        accepted = self._stack.enter_context(self._listener.accept()[0])
        client.sendall(b"x" * 100_000)
        accepted.sendall(accepted.recv(100_000, socket.MSG_WAITALL)[:5000])
        client.recv(5000, socket.MSG_WAITALL)
        return client


@pytest.fixture
def stack():
    with ExitStack() as held:
        yield held


@pytest.fixture
def clock():
    return Clock()


def diagnostics(stack: ExitStack, clock: Clock, *ports: int) -> SocketDiagnostics:
    made = SocketDiagnostics(ports, clock)
    stack.callback(made.close)
    return made


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_connection_is_found_by_the_port_of_its_server(stack, clock, host):
    server, other = Server(stack, host), Server(stack, host)
    client = server.connect()
    other.connect()
    found, rejects = sockets.parse(diagnostics(stack, clock, server.port).read())

    assert rejects == ()
    assert [(s.local_address, s.local_port, s.remote_address, s.remote_port) for s in found] == [
        (*client.getsockname()[:2], *client.getpeername()[:2])
    ]


@pytest.mark.parametrize(
    ("addresses", "hosts"),
    [
        (["127.0.0.1"], ["127.0.0.1"]),
        (["127.0.0.3", "127.0.0.2"], ["127.0.0.2", "127.0.0.3"]),
        (["127.0.0.3", "::1", "127.0.0.9", "127.0.0.1"], ["127.0.0.1", "127.0.0.3", "::1"]),
        (["::1%lo"], ["::1"]),
        (["10.0.0.4"], []),
        ([], ["127.0.0.1", "127.0.0.2", "127.0.0.3", "::1"]),
        (["127.0.0.1", ""], ["127.0.0.1", "127.0.0.2", "127.0.0.3", "::1"]),
    ],
)
def test_only_connections_to_the_addresses_of_servers_are_looked_at(stack, clock, addresses, hosts):
    first = Server(stack)
    others = [Server(stack, host, first.port) for host in ("127.0.0.2", "127.0.0.3", "::1")]
    for server in (first, *others):
        server.keep(1)
    asked = diagnostics(stack, clock, first.port)
    asked.find_soon(addresses=addresses)

    assert sorted(entry["remote_address"] for entry in asked.read()) == hosts


def test_of_too_many_connections_some_are_looked_at_and_it_is_said(stack, clock):
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, before)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    server = Server(stack)
    server.keep(MOST_CONNECTIONS + 1)
    told = diagnostics(stack, clock, server.port).read()
    found, rejects = sockets.parse(told)

    assert len(found) == MOST_CONNECTIONS
    assert rejects == ()
    assert [each.kind for each in notice.notices(told)] == ["NFS connections not followed"]


def test_the_figures_are_those_of_ss(stack, clock):
    server = Server(stack)
    server.connect()
    (found,), _ = sockets.parse(diagnostics(stack, clock, server.port).read())
    command = ["ss", "-tinH", "state", "established", f"dport = :{server.port}"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    queues = [int(word) for word in text.split()[:2]]
    shown = dict(re.findall(r"(\w+)[: ]([\d.]+)", text))

    assert queues == [found.receive_queue_bytes, found.send_queue_bytes]
    assert found.bytes_sent == int(shown["bytes_sent"]) == 100_000
    assert found.bytes_received == int(shown["bytes_received"]) == 5000
    assert found.segment_bytes == int(shown["mss"])
    assert found.congestion_window == int(shown["cwnd"])
    assert found.rtt_microseconds == pytest.approx(float(shown["rtt"]) * 1000)
    assert found.min_rtt_microseconds == pytest.approx(float(shown["minrtt"]) * 1000)
    assert found.delivery_rate_bytes_per_second == int(shown["delivery_rate"]) // 8
    assert found.retransmits == int(shown.get("retrans", 0))


def test_the_figures_are_those_pyroute2_decodes(stack, clock):
    from pyroute2 import DiagSocket

    server = Server(stack)
    server.connect()
    (found,), _ = sockets.parse(diagnostics(stack, clock, server.port).read())
    with DiagSocket() as witness:
        witness.bind()
        (message,) = witness.get_sock_stats(
            family=socket.AF_INET, states=2, extensions=2, dport=server.port
        )
    info = message.get_attr("INET_DIAG_INFO")

    assert found.rtt_microseconds == info["tcpi_rtt"]
    assert found.min_rtt_microseconds == info["tcpi_min_rtt"]
    assert found.congestion_window == info["tcpi_snd_cwnd"]
    assert found.segment_bytes == info["tcpi_snd_mss"]
    assert found.retransmits == info["tcpi_total_retrans"]
    assert found.delivery_rate_bytes_per_second == info["tcpi_delivery_rate"]
    assert found.bytes_sent == info["tcpi_bytes_sent"]
    assert found.bytes_received == info["tcpi_bytes_received"]
    assert found.busy_microseconds == info["tcpi_busy_time"]
    assert found.receiver_limited_microseconds == info["tcpi_rwnd_limited"]
    assert found.sender_limited_microseconds == info["tcpi_sndbuf_limited"]


def test_a_receiver_that_reads_nothing_shows_in_the_queue_and_the_limited_time(stack, clock):
    server = Server(stack)
    client = server.connect()
    client.setblocking(False)
    try:
        while client.send(b"y" * 65536):
            pass
    except BlockingIOError:
        pass
    ((found,), _) = sockets.parse(diagnostics(stack, clock, server.port).read())

    assert found.send_queue_bytes > 0
    assert found.busy_microseconds is not None


def test_known_connections_are_asked_again_and_new_ones_found_in_time(stack, clock):
    server = Server(stack)
    first = server.connect()
    asked = diagnostics(stack, clock, server.port)
    before = asked.read()
    clock.now += FIND_AGAIN_SECONDS
    asked.read()
    first.sendall(b"z" * 1000)
    server.connect()
    between = asked.read()
    clock.now += FIND_SECONDS
    after = asked.read()

    assert [entry["bytes_sent"] for entry in before] == [100_000]
    assert [entry["bytes_sent"] for entry in between] == [101_000]
    assert len(after) == 2


def test_where_one_is_new_the_next_is_found_soon(stack, clock):
    server = Server(stack)
    server.connect()
    asked = diagnostics(stack, clock, server.port)
    asked.read()
    server.connect()
    clock.now += FIND_AGAIN_SECONDS

    assert len(asked.read()) == 2


def test_where_a_mount_is_new_its_connections_are_found_soon(stack, clock):
    server = Server(stack)
    asked = diagnostics(stack, clock, server.port)
    before = asked.read()
    server.connect()
    clock.now += FIND_AGAIN_SECONDS
    between = asked.read()
    asked.find_soon()

    assert before == between == []
    assert len(asked.read()) == 1


def test_a_closed_connection_is_gone_at_once_and_its_successor_found_soon(stack, clock):
    server = Server(stack)
    first = server.connect()
    asked = diagnostics(stack, clock, server.port)
    asked.read()
    first.close()
    gone = asked.read()
    second = server.connect()
    clock.now += FIND_AGAIN_SECONDS
    after = asked.read()

    assert gone == []
    assert [entry["local_port"] for entry in after] == [second.getsockname()[1]]


def test_more_connections_than_one_message_asks_for_are_all_answered(stack, clock):
    server = Server(stack)
    ports = sorted(server.connect().getsockname()[1] for _ in range(70))
    asked = diagnostics(stack, clock, server.port)
    asked.read()

    assert sorted(entry["local_port"] for entry in asked.read()) == ports


def test_nobody_connected_is_an_answer(stack, clock):
    assert diagnostics(stack, clock, Server(stack).port).read() == []


def test_a_network_namespace_shows_its_own_connections_only(stack):
    server = Server(stack)
    server.connect()
    program = (
        "import sys; from ioplateau.measure.inetdiag import SocketDiagnostics;"
        f"print(SocketDiagnostics([{server.port}]).read())"
    )
    elsewhere = subprocess.run(
        ["unshare", "--net", sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )

    assert elsewhere.stdout == "[]\n"


def test_many_connections_are_not_asked_for_in_the_thread_of_the_ticks(stack, clock):
    server = Server(stack)
    server.keep(MOST_PROMPT + 1)
    asked = diagnostics(stack, clock, server.port)
    asked.read()

    assert not asked.is_prompt


def test_only_a_search_for_connections_may_wait(stack, clock):
    server = Server(stack)
    server.connect()
    asked = diagnostics(stack, clock, server.port)
    assert not asked.is_prompt

    asked.read()
    assert asked.is_prompt
    asked.find_soon()
    clock.now += FIND_AGAIN_SECONDS
    assert not asked.is_prompt
