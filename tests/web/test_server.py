"""The web server, asked by real clients over real sockets, kind and unkind."""

import http.client
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
from contextlib import ExitStack, closing, suppress

import pytest

from ioplateau.web.http1 import Request, Response
from ioplateau.web.server import WebServer
from ioplateau.web.settings import WebSettings
from waiting import wait_until

CLIENT_TIMEOUT_SECONDS = 5.0
HASTY = WebSettings(deadline_seconds=1.0, linger_seconds=0.2, connections=16)
PATIENT = WebSettings(deadline_seconds=60.0)
LARGE = b"x" * (16 << 20)  # more than both kernels' socket buffers take


def metrics(request: Request) -> Response:
    said = f"{request.method} {request.path} {request.query} {request.headers.get('accept', '')}"
    return Response(200, "text/plain", said.encode(), {"Content-Encoding": "identity"})


def broken(request: Request) -> Response:
    raise ZeroDivisionError(request.path)


ROUTES = {
    "/metrics": metrics,
    "/large": lambda _: Response(200, "text/plain", LARGE),
    "/some": lambda _: Response(200, "text/plain", LARGE[:200_000]),  # our kernel takes all of it
    "/broken": broken,
    "/wall": lambda _: (time.sleep(20), Response(200, "text/plain", b""))[1],
}


@pytest.fixture
def serve():
    with ExitStack() as servers:

        def start(settings: WebSettings = PATIENT, address: str = "127.0.0.1:0") -> WebServer:
            return servers.enter_context(WebServer([address], ROUTES, settings).start())

        yield start


def place(server: WebServer, number: int = 0) -> tuple[str, int]:
    host, _, port = server.addresses[number].rpartition(":")
    return host.strip("[]"), int(port)


def connect(server: WebServer) -> socket.socket:
    return socket.create_connection(place(server), CLIENT_TIMEOUT_SECONDS)


def get(
    where: tuple[str, int], path: str = "/metrics", method: str = "GET", **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    with closing(http.client.HTTPConnection(*where, timeout=CLIENT_TIMEOUT_SECONDS)) as client:
        client.request(method, path, headers=headers)
        answer = client.getresponse()
        return answer, answer.read()


def say(server: WebServer, words: bytes) -> bytes:
    """Everything the server answers to these bytes until it closes."""
    with connect(server) as client:
        client.sendall(words)
        return rest(client)


def rest(client: socket.socket) -> bytes:
    parts = []
    try:
        while part := client.recv(1 << 16):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


def test_a_route_is_answered_with_what_its_handler_returns(serve):
    answer, body = get(place(serve()), "/metrics?name=a%20b", Accept="text/plain")

    assert (answer.status, body) == (200, b"GET /metrics name=a%20b text/plain")
    assert answer.headers["Content-Encoding"] == "identity"
    assert answer.headers["Content-Length"] == str(len(body))
    assert answer.headers["Connection"] == "close"


def test_head_is_answered_with_the_same_header_and_no_body(serve):
    server = serve()
    answer, body = get(place(server), method="HEAD", Accept="x")

    assert (answer.status, body) == (200, b"")
    assert answer.headers["Content-Length"] == str(len("HEAD /metrics  x"))


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"HEAD /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody", 413),
        (b"\r\nHEAD metrics HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"HEAD metrics\r\n\r\n", 400),
        (b"HEAD /" + b"a" * (17 << 10), 414),
        (b"HEAD / HTTP/1.1\r\nHost: a\r\na: " + b"b" * (16 << 10), 431),
        (b"HEAD /broken HTTP/1.1\r\nHost: a\r\n\r\n", 500),
    ],
)
def test_head_gets_no_body_with_a_refusal_either(serve, request_bytes, status):
    head, _, body = say(serve(), request_bytes).partition(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"Content-Length: " in head
    assert body == b""


def test_slow_routes_that_all_wait_keep_no_other_route_waiting():
    with WebServer(["127.0.0.1:0"], ROUTES, PATIENT, {"/wall"}).start() as server:
        held = [connect(server) for _ in range(4)]
        for client in held:
            client.sendall(b"GET /wall HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(0.2)
        answer, _ = get(place(server))
        for client in held:
            client.close()

    assert answer.status == 200


def test_an_unknown_path_is_404(serve):
    assert get(place(serve()), "/metricsandmore")[0].status == 404


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/api/v1/nothing", 404, b'{"error": "Nothing is served at this path."}'),
        ("/api/v1/state/", 404, b'{"error": "Nothing is served at this path."}'),
        ("/api/broken", 500, b'{"error": "This page failed; the log says why."}'),
        ("/apis", 404, b"Nothing is served at this path.\n"),
    ],
)
def test_an_error_below_a_path_of_programs_is_json(path, status, said):
    routes = {"/api/broken": broken}
    with WebServer(["127.0.0.1:0"], routes, PATIENT, json_below="/api/").start() as server:
        answer, body = get(place(server), path)

    kind = "application/json" if said.startswith(b"{") else "text/plain; charset=utf-8"
    assert (answer.status, answer.headers["Content-Type"], body) == (status, kind, said)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"])
def test_another_method_is_405_and_says_which_are_allowed(serve, method):
    answer, _ = get(place(serve()), method=method)

    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")


def test_a_request_with_a_body_is_refused_and_the_refusal_arrives(serve):
    body = b"y" * 100_000
    said = say(
        serve(), b"GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + body
    )

    assert said.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET /metrics HTTP/1.0\n\n", 200),
        (b"\r\nGET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", 200),
        (b"GET http://elsewhere:80/metrics?a HTTP/1.1\r\nHost: elsewhere\r\n\r\n", 200),
        (b"GET /%6detrics HTTP/1.1\r\nHost: a\r\n\r\n", 200),
        (b"GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 200),
        (b"GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 413),
        (b"GET /metrics\r\n\r\n", 400),
        (b"GET  /metrics HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET metrics HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nHost: a\r\n folded: line\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nHost: a\r\n" + b"a: b\r\n" * 101 + b"\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\n", 505),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n", 400),
        (b"\x00\xff\xfe\n\r\n", 400),
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        (b"GET /" + b"a" * (17 << 10), 414),
        (b"GET / HTTP/1.1\r\nHost: a\r\na: " + b"b" * (16 << 10), 431),
        (b"GET / HTTP/1.1\r\nHost: a\r\na: " + b" " * (16 << 10) + b"b\r\n\r\n", 431),
    ],
)
def test_odd_requests_get_the_status_they_deserve(serve, request_bytes, status):
    assert say(serve(), request_bytes).startswith(b"HTTP/1.1 %d " % status)


@pytest.mark.parametrize(
    ("version", "hosts", "status"),
    [
        (b"1.1", [], 400),
        (b"1.0", [], 200),
        (b"1.1", [b""], 200),
        (b"1.1", [b"db-01:10049"], 200),
        (b"1.1", [b"[fe80::1%eth0]:10049"], 200),
        (b"1.1", [b"10.0.0.4:"], 200),
        (b"1.1", [b"a", b"a"], 400),
        (b"1.1", [b"", b""], 400),
        (b"1.0", [b"a", b"b"], 400),
        (b"1.1", [b'a b/c"<>'], 400),
        (b"1.0", [b"a/b"], 400),
        (b"1.1", [b"a:b"], 400),
        (b"1.1", [b"me@a"], 400),
        (b"1.1", [b"\xe4"], 400),
    ],
)
def test_a_request_names_one_host(serve, version, hosts, status):
    fields = b"".join(b"Host: %s\r\n" % host for host in hosts)
    said = say(serve(), b"GET /metrics HTTP/%s\r\n%s\r\n" % (version, fields))

    assert said.startswith(b"HTTP/1.1 %d " % status)


def test_a_request_in_small_pieces_is_understood(serve):
    with connect(serve()) as client:
        for letter in b"GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: z\r\n\r\n":
            client.sendall(bytes((letter,)))
        said = rest(client)

    assert said.endswith(b"GET /metrics  z")


def test_of_pipelined_requests_the_first_is_answered_and_the_connection_closed(serve):
    said = say(
        serve(),
        b"GET /metrics?one HTTP/1.1\r\nHost: a\r\n\r\nGET /metrics?two HTTP/1.1\r\nHost: a\r\n\r\n",
    )

    assert said.count(b"HTTP/1.1 200 ") == 1
    assert said.endswith(b"GET /metrics one ")


def test_a_client_that_closes_its_sending_half_is_answered(serve):
    with connect(serve()) as client:
        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        client.shutdown(socket.SHUT_WR)
        said = rest(client)

    assert said.startswith(b"HTTP/1.1 200 ")


def test_a_body_larger_than_any_buffer_arrives_whole(serve):
    assert get(place(serve()), "/large")[1] == LARGE


def test_a_handler_that_fails_costs_its_page_and_is_logged_once(serve, caplog):
    server = serve()
    statuses = [get(place(server), "/broken")[0].status for _ in range(3)]

    assert statuses == [500, 500, 500]
    assert get(place(server))[0].status == 200
    assert [record.getMessage() for record in caplog.records] == ["a page fails"]


def test_clients_that_go_away_at_any_moment_leave_no_trace_in_the_log(serve, caplog):
    server = serve()
    for words in (
        b"",
        b"GET /met",
        b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n",
    ):
        for reset in (False, True):
            client = connect(server)
            client.sendall(words)
            if reset:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.close()

    assert wait_until(lambda: server.open_connections == 0)
    assert get(place(server))[0].status == 200
    assert not caplog.records


def test_a_trickling_request_does_not_outlive_the_deadline(serve):
    server = serve(HASTY)
    with connect(server) as client:
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\nX: ")
        with pytest.raises(OSError):  # noqa: PT012 - which of the letters fails is a race
            for _ in range(400):
                client.sendall(b"y")
                time.sleep(0.05)

    assert wait_until(lambda: server.open_connections == 0)


def test_a_client_that_never_reads_its_answer_does_not_outlive_the_deadline(serve):
    server = serve(HASTY)
    with connect(server) as client:
        client.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")

        assert wait_until(lambda: server.open_connections == 1)
        assert wait_until(lambda: server.open_connections == 0)


def test_an_answer_that_is_never_acknowledged_does_not_outlive_the_deadline(serve):
    server = serve(HASTY)
    with closing(socket.socket()) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.connect(place(server))
        client.sendall(b"GET /some HTTP/1.1\r\nHost: a\r\n\r\n")

        assert wait_until(lambda: server.open_connections == 1)
        assert wait_until(lambda: server.open_connections == 0)


def test_a_client_that_reads_slowly_does_not_outlive_the_deadline(serve):
    server = serve(HASTY)
    with connect(server) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        received = 0
        with pytest.raises(ConnectionError):  # noqa: PT012
            while part := client.recv(2048):
                received += len(part)
                time.sleep(0.005)
            raise ConnectionResetError

    assert received < len(LARGE)
    assert wait_until(lambda: server.open_connections == 0)


def test_a_client_that_keeps_the_answered_connection_open_does_not_keep_it(serve):
    server = serve(HASTY)
    with connect(server) as client:
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n")
        rest(client)

        assert wait_until(lambda: server.open_connections == 0)


def test_at_the_cap_the_oldest_connection_gives_way(serve):
    settings = WebSettings(deadline_seconds=60, connections=4)
    server = serve(settings)
    with ExitStack() as stack:
        clients = []
        for number in range(4):
            clients.append(stack.enter_context(connect(server)))
            assert wait_until(lambda number=number: server.open_connections == number + 1)
        status = get(place(server))[0].status
        clients[0].settimeout(CLIENT_TIMEOUT_SECONDS)
        oldest = rest(clients[0])
        clients[3].sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        youngest = rest(clients[3])

    assert status == 200
    assert oldest == b""
    assert youngest.startswith(b"HTTP/1.1 200 ")


SHORT_OF_DESCRIPTORS = """
import os, resource
from ioplateau.web.http1 import Response
from ioplateau.web.server import WebServer
from ioplateau.web.settings import WebSettings

def sampled(_request):
    files = [os.open("/dev/null", os.O_RDONLY) for _ in range(15)]
    for each in files:
        os.close(each)
    return Response(200, "text/plain", b"sampled")

resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
settings = WebSettings(deadline_seconds=60.0, connections={connections})
with WebServer(["127.0.0.1:0"], {{"/metrics": sampled}}, settings).start() as server:
    print(*server.addresses, flush=True)
    input()
"""


@pytest.mark.parametrize(("connections", "said"), [(64, 1), (1024, 1), (16, 0)])
def test_clients_leave_descriptors_to_whoever_else_opens_files(connections, said):
    with (
        subprocess.Popen(
            [sys.executable, "-c", SHORT_OF_DESCRIPTORS.format(connections=connections)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
        ExitStack() as clients,
    ):
        host, _, port = process.stdout.readline().strip().rpartition(":")
        answers = []
        for _ in range(4):
            for _ in range(30):
                clients.enter_context(socket.create_connection((host, int(port)), 5.0))
            answers.append(get((host, int(port)))[1])
        _, log = process.communicate("\n")

    assert answers == [b"sampled"] * 4
    assert log.count("few file descriptors") == said


def test_clients_that_never_read_cannot_take_every_slot(serve):
    server = serve(WebSettings(deadline_seconds=60, connections=8))
    with ExitStack() as stack:
        for _ in range(20):
            client = stack.enter_context(connect(server))
            client.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        status = get(place(server))[0].status

    assert status == 200


def test_the_scraper_is_answered_while_five_hundred_clients_hold_on(serve):
    server = serve(WebSettings(deadline_seconds=3.0))
    stop = threading.Event()
    with ExitStack() as stack:
        clients = [stack.enter_context(connect(server)) for _ in range(500)]
        trickling = threading.Thread(target=trickle, args=(clients[::2], stop))
        trickling.start()
        stack.callback(trickling.join)
        stack.callback(stop.set)
        statuses = [get(place(server))[0].status for _ in range(5)]

        assert statuses == [200] * 5
        assert wait_until(lambda: server.open_connections <= 64)
        assert wait_until(lambda: server.open_connections == 0)


def test_the_scraper_is_answered_while_clients_keep_storming_in(serve):
    server = serve(PATIENT)
    stop = threading.Event()
    storm = threading.Thread(target=hold_on, args=(server, stop))
    storm.start()
    assert wait_until(lambda: server.open_connections >= 60)
    statuses = [get(place(server))[0].status for _ in range(20)]
    stop.set()
    storm.join()

    assert statuses == [200] * 20
    assert server.open_connections <= 65


def test_what_an_attack_took_comes_back(serve):
    # Long enough to hold all of it at once on a busy machine.
    server = serve(WebSettings(deadline_seconds=5.0))
    assert get(place(server))[0].status == 200
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        with ExitStack() as stack:
            for _ in range(200):
                client = stack.enter_context(connect(server))
                with suppress(OSError):
                    client.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 12_000)
            during = tracemalloc.get_traced_memory()[0]
        assert wait_until(lambda: server.open_connections == 0)
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()

    assert after - before < (during - before) / 4


def trickle(clients: list[socket.socket], stop: threading.Event) -> None:
    words = b"GET /metrics HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 10_000
    for letter in words:
        for client in clients:
            try:
                client.send(bytes((letter,)))
            except OSError:
                continue
        if stop.wait(0.05):
            return


def hold_on(server: WebServer, stop: threading.Event) -> None:
    held: list[socket.socket] = []
    while not stop.is_set():
        client = connect(server)
        try:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\nX")
        except OSError:
            client.close()
            continue
        held.append(client)
        if len(held) > 200:
            held.pop(0).close()
    for client in held:
        client.close()


def test_shedding_is_told_in_one_line(serve, caplog):
    server = serve(WebSettings(deadline_seconds=60, connections=4))
    with ExitStack() as stack:
        for _ in range(30):
            stack.enter_context(connect(server))
        assert get(place(server))[0].status == 200

    assert len(caplog.records) == 1
    assert "closed connections of whoever holds most" in caplog.records[0].getMessage()


def test_a_slow_handler_does_not_stop_other_pages(serve):
    server = serve()
    with connect(server) as client:
        client.sendall(b"GET /wall HTTP/1.1\r\nHost: a\r\n\r\n")

        assert get(place(server))[0].status == 200


def test_a_port_alone_means_ipv4_and_ipv6(serve):
    server = serve(address=":0")
    port = place(server)[1]

    assert get(("127.0.0.1", port))[0].status == 200
    assert get(("::1", port))[0].status == 200


def test_a_name_listens_on_each_of_its_addresses_with_one_port(serve):
    server = serve(address="localhost:0")

    assert {get(place(server, n))[0].status for n in range(len(server.addresses))} == {200}
    assert len({place(server, n)[1] for n in range(len(server.addresses))}) == 1


def test_several_addresses_are_served_at_once():
    with WebServer(["127.0.0.1:0", "[::1]:0"], ROUTES, PATIENT).start() as server:
        statuses = [get(place(server, number))[0].status for number in range(2)]

    assert statuses == [200, 200]


def test_the_ipv6_wildcard_stands_beside_the_ipv4_one(serve):
    port = place(serve(address="0.0.0.0:0"))[1]
    serve(address=f"[::]:{port}")

    assert get(("::1", port))[0].status == 200


def test_two_servers_serve_side_by_side(serve):
    first, second = serve(), serve()

    assert get(place(first))[0].status == 200
    assert get(place(second))[0].status == 200


def test_a_port_in_use_is_said_with_its_address(serve):
    port = place(serve())[1]
    with pytest.raises(OSError, match=rf"cannot listen on 127\.0\.0\.1:{port}: the port is in use"):
        WebServer(["127.0.0.1:0", f"127.0.0.1:{port}"], ROUTES)


def test_an_address_of_another_machine_is_said_with_the_reason():
    with pytest.raises(OSError, match=r"192\.0\.2\.77:0: this machine has no such address"):
        WebServer(["192.0.2.77:0"], ROUTES)


@pytest.mark.parametrize(
    "address", ["10049", "host:", "::1:10049", "[::1:10049", "[zz]:1", "a:65536", "a:\u0663"]
)
def test_what_is_no_address_is_refused_with_what_is_wanted(address):
    with pytest.raises(ValueError, match=r"want|brackets|IPv6"):
        WebServer([address], ROUTES)


def test_without_its_web_configuration_nothing_is_served():
    with pytest.raises(OSError, match=r"/nowhere/web-config\.yml: No such file"):
        WebServer(["127.0.0.1:0"], ROUTES, WebSettings(config_file="/nowhere/web-config.yml"))


def test_a_closed_server_ends_its_threads_and_frees_its_port(serve):
    server = serve()
    port = place(server)[1]
    waiting = connect(server)
    with closing(waiting):
        assert wait_until(lambda: server.open_connections == 1)
        server.close()
        said = rest(waiting)
    serve(address=f"127.0.0.1:{port}")

    assert said == b""
    assert server.open_connections == 0


def test_a_server_that_never_started_can_be_closed():
    server = WebServer(["127.0.0.1:0"], ROUTES)
    where = place(server)
    server.close()
    server.close()

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(where, CLIENT_TIMEOUT_SECONDS)
