"""The real client against a server on loopback that speaks as the providers document."""

import json
import socket
import threading
import tracemalloc
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from cloud_machines import OS_DISK, azure_answer, data_disk, gce_answer
from ioplateau.limits.clouds.aws import metadata as aws
from ioplateau.limits.clouds.azure import metadata as azure
from ioplateau.limits.clouds.gcp import metadata as gcp
from ioplateau.measure.linklocal import NoAnswer, ServiceAnswer, ServiceRequest, ask
from ioplateau.measure.metadata import LINK_LOCAL, Document, Fetcher, Token

AZURE = azure_answer(data_disk("0", "a"), os_disk=OS_DISK)
EC2 = {
    "/latest/meta-data/instance-type": "m5.large",
    "/latest/meta-data/instance-id": "i-0abc",
    "/latest/meta-data/placement/region": "eu-central-1",
    "/latest/meta-data/block-device-mapping/": "ami\nroot\nebs2",
    "/latest/meta-data/block-device-mapping/ami": "/dev/xvda",
    "/latest/meta-data/block-device-mapping/root": "/dev/xvda",
    "/latest/meta-data/block-device-mapping/ebs2": "/dev/sdf",
}
GCE_DISKS = gce_answer(("boot", "PERSISTENT-BALANCED"))
GCE = {
    "/computeMetadata/v1/instance/machine-type": "projects/123456789012/machineTypes/n2-standard-4",
    "/computeMetadata/v1/instance/zone": "projects/123456789012/zones/europe-west1-b",
    "/computeMetadata/v1/instance/disks/?recursive=true": GCE_DISKS,
}
TTL = "X-aws-ec2-metadata-token-ttl-seconds"


@dataclass
class Service:
    """What the server says, and what it was asked. `status` replaces every sound answer."""

    answers: dict[str, str] = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    token: str = "TOKEN-1"
    base: str = ""


def azure_imds(service, method, path, headers):
    """Status and body as in the service's table of errors."""
    query = parse_qs(urlsplit(path).query, keep_blank_values=True)
    version = query.get("api-version", [])
    if method not in ("GET", "POST"):
        return 405, ""
    if headers.get("metadata") != "true" or "x-forwarded-for" in headers:
        return 400, '{"error": "Bad request. Required metadata header not specified"}'
    if len(version) != 1 or version[0] not in ("2021-05-01", "2021-12-13", "2025-04-07"):
        return 400, '{"error": "Bad request", "newest-versions": ["2025-04-07"]}'
    if urlsplit(path).path != "/metadata/instance":
        return 404, ""
    return 200, service.answers["azure"]


def ec2_imds(service, method, path, headers):
    """Version 2: without a session token nobody is told anything."""
    if path == "/latest/api/token":
        if method != "PUT":
            return 405, ""
        seconds = headers.get(TTL.lower(), "")
        return (200, service.token) if seconds.isdigit() and int(seconds) <= 21_600 else (400, "")
    if headers.get("x-aws-ec2-metadata-token") != service.token:
        return 401, ""
    return (200, service.answers[path]) if path in service.answers else (404, "")


def gcp_imds(service, method, path, headers):
    """Nobody is told anything who does not name the flavor."""
    sound = method == "GET" and headers.get("metadata-flavor") == "Google"
    return (200, service.answers[path]) if sound else (403, "")


@contextmanager
def serving(speak, **told):
    service = Service(**told)

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            headers = {name.lower(): value for name, value in self.headers.items()}
            service.asked.append((self.command, self.path, headers))
            status, body = speak(service, self.command, self.path, headers)
            if status == 200 and service.status != 200:
                status, body = service.status, ""
            self.send_response(status)
            self.send_header("Content-Length", str(len(body.encode())))
            for name, value in service.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())

        do_GET = do_PUT = answer  # noqa: N815 - http.server's names

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    service.base = f"http://127.0.0.1:{server.server_port}"
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def fetch(fetcher, now=0.0):
    """Everything that is due; how many questions it took."""
    count = 0
    while (request := fetcher.next(now)) is not None:
        fetcher.take(now, ask(request))
        count += 1
    return count


def test_azure_is_asked_one_question_with_its_header_and_no_other():
    with serving(azure_imds, answers={"azure": AZURE}) as service:
        fetcher = Fetcher(azure.wanted(), base=service.base)
        count = fetch(fetcher)

    ((method, path, headers),) = service.asked
    assert count == 1
    assert (method, path) == ("GET", "/metadata/instance?api-version=2021-05-01")
    assert headers == {
        "host": service.base.removeprefix("http://"),
        "connection": "close",
        "metadata": "true",
    }
    assert azure.identify(fetcher.known(), {}).vm_size == "Standard_D8s_v3"
    assert fetcher.reasons() == {}


def test_secrets_of_the_answer_are_not_kept():
    with serving(azure_imds, answers={"azure": AZURE}) as service:
        fetcher = Fetcher(azure.wanted(), base=service.base)
        fetch(fetcher)

    assert "SECRET" in AZURE
    assert "SECRET" not in json.dumps(dict(fetcher.known()))


def test_ec2_is_asked_for_a_token_once_and_then_for_every_document_and_what_they_list():
    with serving(ec2_imds, answers=EC2) as service:
        fetcher = Fetcher(aws.wanted(), base=service.base)
        fetch(fetcher)

    assert [method for method, _, _ in service.asked] == ["PUT"] + ["GET"] * 7
    assert service.asked[0][2][TTL.lower()] == "21600"
    assert fetcher.known() == {
        "aws/instance-type": "m5.large",
        "aws/instance-id": "i-0abc",
        "aws/placement/region": "eu-central-1",
        "aws/block-device-mapping": "ami\nroot\nebs2",
        "aws/block-device-mapping/ami": "/dev/xvda",
        "aws/block-device-mapping/root": "/dev/xvda",
        "aws/block-device-mapping/ebs2": "/dev/sdf",
    }


def test_google_is_asked_with_its_flavor():
    with serving(gcp_imds, answers=dict(GCE)) as service:
        fetcher = Fetcher(gcp.wanted(), base=service.base)
        fetch(fetcher)

    assert fetcher.known() == {
        "gcp/machine-type": "projects/123456789012/machineTypes/n2-standard-4",
        "gcp/zone": "projects/123456789012/zones/europe-west1-b",
        "gcp/disks": GCE_DISKS,
    }


def test_documents_are_refreshed_every_few_minutes_and_not_before():
    with serving(azure_imds, answers={"azure": AZURE}) as service:
        fetcher = Fetcher(azure.wanted(), base=service.base)
        fetch(fetcher, 0.0)
        early = fetch(fetcher, 299.0)
        service.answers["azure"] = azure_answer(vm_size="Standard_D16s_v3")
        due_at = fetcher.due_at()
        later = fetch(fetcher, 300.0)

    assert (early, due_at, later) == (0, 300.0, 1)
    assert "Standard_D16s_v3" in fetcher.known()["azure/instance"]


def test_a_token_is_renewed_before_it_ends():
    with serving(ec2_imds, answers=EC2) as service:
        fetcher = Fetcher(aws.wanted()[:1], base=service.base)
        for seconds in (0, 3600, 21_240, 21_590):
            fetch(fetcher, seconds)

    assert [method for method, _, _ in service.asked].count("PUT") == 2


def test_a_token_that_ended_early_is_asked_for_anew_at_once():
    with serving(ec2_imds, answers=EC2) as service:
        fetcher = Fetcher(aws.wanted()[:1], base=service.base)
        fetch(fetcher, 0.0)
        service.token = "TOKEN-2"
        fetch(fetcher, 300.0)

    assert [method for method, _, _ in service.asked] == ["PUT", "GET", "GET", "PUT", "GET"]
    assert fetcher.reasons() == {}


def test_a_service_that_takes_no_token_is_not_asked_for_ever():
    def speak(service, method, path, headers):
        return (401, "") if method == "GET" else ec2_imds(service, method, path, headers)

    with serving(speak) as service:
        fetcher = Fetcher(aws.wanted()[:1], base=service.base)
        count = fetch(fetcher)

    assert count == 4
    assert "status 401" in fetcher.reasons()["aws/instance-type"]


@pytest.mark.parametrize("token", ["", "a b", "x\r\nHost: evil", "y" * 5000, "\x00"])
def test_a_token_that_would_forge_a_header_is_not_used(token):
    def speak(service, method, path, _):
        return 200, token

    with serving(speak) as service:
        fetcher = Fetcher(aws.wanted()[:1], base=service.base)
        fetch(fetcher)

    assert [method for method, _, _ in service.asked] == ["PUT"]
    assert fetcher.known() == {}


def test_a_question_the_service_does_not_take_is_not_asked_again():
    bad = Document("azure/instance", "/metadata/instance", (("Metadata", "true"),))
    with serving(azure_imds, answers={"azure": AZURE}) as service:
        fetcher = Fetcher([bad], base=service.base)
        counts = [fetch(fetcher, now) for now in (0.0, 300.0, 1e6)]

    assert counts == [1, 0, 0]
    assert fetcher.due_at() == float("inf")
    assert "status 400" in fetcher.reasons()["azure/instance"]


def test_what_does_not_exist_is_absent_with_its_reason_and_looked_for_again_later():
    with serving(ec2_imds, answers={}) as service:
        fetcher = Fetcher(aws.wanted()[:1], base=service.base)
        fetch(fetcher, 0.0)
        absent, reasons = dict(fetcher.known()), dict(fetcher.reasons())
        service.answers.update(EC2)
        fetch(fetcher, 300.0)

    assert absent == {}
    assert reasons == {
        "aws/instance-type": "status 404 for /latest/meta-data/instance-type: the service has no such document"
    }
    assert fetcher.known() == {"aws/instance-type": "m5.large"}
    assert fetcher.reasons() == {}


def test_a_document_that_is_gone_for_good_is_forgotten_with_all_it_listed():
    with serving(ec2_imds, answers=dict(EC2)) as service:
        fetcher = Fetcher(aws.wanted(), base=service.base)
        fetch(fetcher, 0.0)
        del service.answers["/latest/meta-data/block-device-mapping/"]
        for now in (300.0, 371.0):
            fetch(fetcher, now)

    assert set(fetcher.known()) == {
        "aws/instance-type",
        "aws/instance-id",
        "aws/placement/region",
    }


def test_a_document_that_is_missing_for_a_moment_is_kept_and_asked_for_again_soon():
    with serving(azure_imds, answers={"azure": AZURE}) as service:
        fetcher = Fetcher(azure.wanted(), base=service.base)
        fetch(fetcher, 0.0)
        told = dict(fetcher.known())
        service.status = 404
        fetch(fetcher, 300.0)
        during, reasons, due = dict(fetcher.known()), dict(fetcher.reasons()), fetcher.due_at()
        service.status = 200
        fetch(fetcher, due)

    assert told
    assert during == told
    assert "status 404" in reasons["azure/instance"]
    assert due == 305.0
    assert fetcher.known() == told
    assert fetcher.reasons() == {}


def test_a_detached_device_leaves_the_mapping():
    with serving(ec2_imds, answers=dict(EC2)) as service:
        fetcher = Fetcher(aws.wanted(), base=service.base)
        fetch(fetcher, 0.0)
        service.answers["/latest/meta-data/block-device-mapping/"] = "ami\nroot"
        fetch(fetcher, 300.0)

    assert "aws/block-device-mapping/ebs2" not in fetcher.known()
    assert "aws/block-device-mapping/root" in fetcher.known()


def test_a_listing_names_no_paths_of_its_own():
    answers = EC2 | {
        "/latest/meta-data/block-device-mapping/": "../user-data\n/x\nroot\na?b\n.\u00e9"
    }
    with serving(ec2_imds, answers=answers) as service:
        fetcher = Fetcher([aws.wanted()[-1]._replace(keep=None)], base=service.base)
        fetch(fetcher)

    assert [path for _, path, _ in service.asked[2:]] == [
        "/latest/meta-data/block-device-mapping/root"
    ]


RUBBISH = ["", "<html>\xff\x00 not here</html>", "{}"]


@pytest.mark.parametrize("rubbish", RUBBISH)
@pytest.mark.parametrize(
    ("cloud", "speak", "answers"),
    [(azure, azure_imds, {"azure": AZURE}), (aws, ec2_imds, EC2), (gcp, gcp_imds, GCE)],
    ids=["azure", "aws", "gcp"],
)
def test_rubbish_with_status_200_takes_nothing_back(cloud, speak, answers, rubbish):
    with serving(speak, answers=dict(answers)) as service:
        fetcher = Fetcher(cloud.wanted(), base=service.base)
        fetch(fetcher, 0.0)
        before = dict(fetcher.known())
        service.answers.update(dict.fromkeys(answers, rubbish))
        fetch(fetcher, 300.0)
        during, reasons = dict(fetcher.known()), dict(fetcher.reasons())
        due_at = fetcher.due_at()
        service.answers.update(answers)
        fetch(fetcher, 310.0)

    assert before
    assert during == before
    assert reasons.keys() == before.keys()
    assert due_at == 310
    assert fetcher.reasons() == {}


@pytest.mark.parametrize(
    ("cloud", "speak", "answers", "name", "long"),
    [
        (azure, azure_imds, {"azure": AZURE}, "azure", json.dumps({"compute": {"vmSize": "D" * 90_000, "storageProfile": {}}})),
        (aws, ec2_imds, EC2, "/latest/meta-data/instance-type", f"m5.{'l' * 90_000}"),
        (gcp, gcp_imds, GCE, "/computeMetadata/v1/instance/machine-type", f"projects/1/machineTypes/{'n' * 90_000}"),
    ],
    ids=["azure", "aws", "gcp"],
)  # fmt: skip
def test_a_name_that_is_longer_than_any_is_none(cloud, speak, answers, name, long):
    with serving(speak, answers=dict(answers)) as service:
        fetcher = Fetcher(cloud.wanted(), base=service.base)
        fetch(fetcher, 0.0)
        before = dict(fetcher.known())
        assert name in service.answers
        service.answers[name] = long
        fetch(fetcher, 300.0)

    assert dict(fetcher.known()) == before
    assert len(fetcher.reasons()) == 1


def test_an_azure_vm_without_its_disks_keeps_those_that_were_told():
    with serving(azure_imds, answers={"azure": AZURE}) as service:
        fetcher = Fetcher(azure.wanted(), base=service.base)
        fetch(fetcher, 0.0)
        before = dict(fetcher.known())
        service.answers["azure"] = AZURE.replace("storageProfile", "other")
        fetch(fetcher, 300.0)

    assert fetcher.known() == before
    assert fetcher.reasons() == {
        "azure/instance": "/metadata/instance?api-version=2021-05-01: no JSON object with "
        "compute.vmSize and compute.storageProfile"
    }


def test_during_maintenance_it_is_asked_again_soon_and_the_last_word_holds():
    with serving(azure_imds, answers={"azure": AZURE}) as service:
        fetcher = Fetcher(azure.wanted(), base=service.base)
        fetch(fetcher, 0.0)
        service.status = 410
        counts = [fetch(fetcher, 300.0 + second) for second in range(70)]
        reasons = dict(fetcher.reasons())
        service.status = 200
        fetch(fetcher, 371.0)

    assert sum(counts) == 14
    assert "maintenance on the host" in reasons["azure/instance"]
    assert fetcher.known()
    assert fetcher.reasons() == {}


def test_maintenance_that_takes_longer_than_documented_is_an_error_and_asked_seldom():
    with serving(azure_imds, answers={"azure": AZURE}, status=410) as service:
        fetcher = Fetcher(azure.wanted(), base=service.base)
        soon = sum(fetch(fetcher, float(second)) for second in range(71))
        later = sum(fetch(fetcher, float(second)) for second in range(71, 671))

    assert soon == 15
    assert later < 10
    assert "takes too long" in fetcher.reasons()["azure/instance"]


def test_a_service_asked_too_often_is_left_alone_longer_each_time():
    with serving(ec2_imds, answers=EC2, status=429) as service:
        fetcher = Fetcher(aws.wanted(), base=service.base)
        asked_at = [now for now in range(400) if fetch(fetcher, float(now))]

    assert asked_at == [0, 10, 30, 70, 150, 310]


def test_a_service_that_names_a_pause_gets_it():
    with serving(azure_imds, answers={"azure": AZURE}, status=429) as service:
        service.headers["Retry-After"] = "120"
        fetcher = Fetcher(azure.wanted(), base=service.base)
        fetch(fetcher)

    assert fetcher.due_at() == 120


@pytest.mark.parametrize("seconds", ["99999", "1000000000"])
def test_a_service_that_names_a_pause_of_days_is_asked_again_within_the_hour(seconds):
    with serving(azure_imds, answers={"azure": AZURE}, status=429) as service:
        service.headers["Retry-After"] = seconds
        fetcher = Fetcher(azure.wanted(), base=service.base)
        fetch(fetcher)

    assert fetcher.due_at() <= 3600


def test_pauses_are_short_again_after_an_answer():
    with serving(azure_imds, answers={"azure": AZURE}, status=429) as service:
        fetcher = Fetcher(azure.wanted(), base=service.base)
        now = 0.0
        for service.status in (429, 429, 429, 200, 429):
            now = max(fetcher.due_at(), now)
            fetch(fetcher, now)

    assert fetcher.due_at() == now + 10


@pytest.mark.parametrize("status", [500, 503, 302, 403])
def test_after_an_error_it_is_asked_again_less_and_less_often(status):
    with serving(azure_imds, answers={"azure": AZURE}, status=status) as service:
        fetcher = Fetcher(azure.wanted(), base=service.base)
        asked_at = [now for now in range(160) if fetch(fetcher, float(now))]
        service.status = 200
        fetch(fetcher, 400.0)

    assert asked_at == [0, 10, 30, 70, 150]
    assert fetcher.known()


def test_nobody_there_is_asked_seldom_and_takes_nothing_back():
    with serving(azure_imds, answers={"azure": AZURE}) as service:
        fetcher = Fetcher(azure.wanted(), base=service.base)
        fetch(fetcher, 0.0)
    asked_at = [now for now in range(300, 460) if fetch(fetcher, float(now))]

    assert asked_at == [300, 310, 330, 370, 450]
    assert fetcher.known()
    assert "refused" in fetcher.reasons()["azure/instance"]


@contextmanager
def raw(speak):
    """A server of bytes: `speak` gets the connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        stop = threading.Event()

        def serve():
            line, _ = server.accept()
            with line:
                line.recv(65_536)
                try:
                    speak(line, stop)
                except OSError:
                    return  # the client hung up, as it should

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        stop.set()
        thread.join(10)


def question(base):
    return ServiceRequest(base, "GET", "/x")


def test_a_server_that_says_nothing_costs_no_more_than_its_time():
    with raw(lambda _, stop: stop.wait(10)) as base:
        found = ask(question(base), wait_seconds=0.05)

    assert found == NoAnswer(f"{base}: no byte for 0.05 s")


@pytest.mark.parametrize(
    "head", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"]
)
def test_a_server_that_trickles_is_cut_off_in_the_end(head):
    def trickle(line, stop):
        line.sendall(head)
        while not stop.wait(0.01):
            line.sendall(b"X")

    with raw(trickle) as base:
        found = ask(question(base), wait_seconds=0.2, whole_seconds=0.3)

    assert isinstance(found, NoAnswer)
    assert "no whole answer within 0.3 s" in found.why


def test_an_answer_beyond_the_size_limit_is_refused_and_not_kept():
    big = "x" * 5000
    with serving(lambda *_: (200, big)) as service:
        found = ask(question(service.base), size_limit=4999)
        whole = ask(question(service.base), size_limit=5000)

    assert found == NoAnswer("/x: more than 4,999 bytes", is_away=False)
    assert whole == ServiceAnswer(200, big)


def test_an_endless_answer_is_refused():
    def flood(line, stop):
        line.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while not stop.is_set():
            line.sendall(b"x" * 4096)

    with raw(flood) as base:
        found = ask(question(base), size_limit=100_000)

    assert found == NoAnswer("/x: more than 100,000 bytes", is_away=False)


@pytest.mark.parametrize(
    "head",
    [
        b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFF\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"",
    ],
    ids=["chunk of -1", "large chunk", "large body", "endless head"],
)
def test_whatever_length_an_answer_claims_no_more_than_the_cap_is_read(head):
    def flood(line, stop):
        line.sendall(b"HTTP/1.1 200 OK\r\n" + head)
        while not stop.is_set():
            line.sendall(b"x" * 4095 + b"\n")

    with raw(flood) as base:
        tracemalloc.start()
        found = ask(question(base), size_limit=100_000, whole_seconds=60.0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    assert isinstance(found, NoAnswer)
    assert peak < 3 << 20


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\x00\xff garbage\r\n\r\n",
        b"HTTP/9.9 banana\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
        b"SSH-2.0-OpenSSH_9.2\r\n",
    ],
)
def test_what_is_no_answer_is_silence(said):
    with raw(lambda line, _: line.sendall(said)) as base:
        found = ask(question(base))

    assert isinstance(found, NoAnswer)
    assert found.why


def test_a_chunked_answer_is_read():
    said = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    with raw(lambda line, _: line.sendall(said)) as base:
        found = ask(question(base))

    assert found == ServiceAnswer(200, "abcde")


def test_bytes_that_are_no_text_are_marked():
    said = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na\xff"
    with raw(lambda line, _: line.sendall(said)) as base:
        found = ask(question(base))

    assert found == ServiceAnswer(200, "a\ufffd")


def test_a_redirection_is_not_followed():
    with serving(lambda *_: (302, ""), headers={"Location": "http://127.0.0.1:1/"}) as service:
        found = ask(question(service.base))

    assert found == ServiceAnswer(302)
    assert len(service.asked) == 1


def test_a_proxy_of_the_environment_is_not_asked(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with serving(lambda *_: (200, "direct")) as service:
        found = ask(question(service.base))

    assert found == ServiceAnswer(200, "direct")


def test_nobody_but_the_link_local_address_is_asked():
    assert Fetcher(azure.wanted()).next(0.0).base == LINK_LOCAL == "http://169.254.169.254"


def test_an_ec2_machine_is_also_asked_over_ipv6_where_ipv4_is_silent():
    fetcher = Fetcher(aws.wanted())
    bases = []
    for now in (0.0, 20.0, 60.0):
        bases.append(fetcher.next(now).base)
        fetcher.take(now, NoAnswer("no answer"))

    assert bases == [LINK_LOCAL, "http://[fd00:ec2::254]", LINK_LOCAL]


def test_azure_is_never_asked_over_the_address_of_ec2():
    fetcher = Fetcher(azure.wanted())
    fetcher.take(0.0, NoAnswer("no answer")) if fetcher.next(0.0) else None

    assert fetcher.next(1000.0).base == LINK_LOCAL


def test_nothing_is_wanted_and_nothing_asked():
    fetcher = Fetcher(())

    assert fetcher.next(0.0) is None
    assert fetcher.due_at() == float("inf")


def test_a_document_with_another_token_needs_its_own():
    other = Token("/other", (("T", "1"),), "X-T")
    fetcher = Fetcher([Document("a", "/a", token=other)])

    assert fetcher.next(0.0).path == "/other"
