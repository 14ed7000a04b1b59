"""The daemon behind TLS and passwords: its exit codes, and a real Prometheus that scrapes it."""

import base64
import contextlib
import json
import shutil
import socket
import ssl
import subprocess
import time
import urllib.request
from contextlib import ExitStack, contextmanager, suppress

import bcrypt
import pytest

from certificates import Authority
from live_daemon import IOPLATEAU, Exposition, free_port, read_exposition
from waiting import wait_until

pytestmark = pytest.mark.live

LONG = 40.0  # seconds
RIGHT = "right horse"
WEB_CONFIG = """
tls_server_config:
  cert_file: server.crt
  key_file: server.key
  client_ca_file: ca.crt
  client_auth_type: RequireAndVerifyClientCert
basic_auth_users:
  scraper: "{secret}"
"""
AUTHORIZATION = "Basic " + base64.b64encode(f"scraper:{RIGHT}".encode()).decode()


@pytest.fixture
def ca(tmp_path):
    """An authority whose server certificate stands beside tmp_path/web-config.yml."""
    authority = Authority(tmp_path, "ca")
    authority.issue("server", "DNS:localhost,IP:127.0.0.1")
    secret = bcrypt.hashpw(RIGHT.encode(), bcrypt.gensalt(10)).decode()
    (tmp_path / "web-config.yml").write_text(WEB_CONFIG.format(secret=secret))
    return authority


@contextmanager
def running(directory):
    """The address and the log of a daemon that serves with web-config.yml, once it is ready."""
    address, log = f"127.0.0.1:{free_port()}", directory / "log"
    with log.open("wb") as output, ExitStack() as stack:
        process = subprocess.Popen(
            [IOPLATEAU, "serve", "--web.listen-address", address,
             "--web.config.file", directory / "web-config.yml"],
            stdout=output, stderr=output,
        )  # fmt: skip
        stack.callback(process.wait, timeout=10)
        stack.callback(process.terminate)
        assert wait_until(lambda: "listening" in log.read_text(), LONG), log.read_text()
        yield address, log


def scrape(address: str, context: ssl.SSLContext) -> Exposition:
    request = urllib.request.Request(
        f"https://{address}/metrics", headers={"Authorization": AUTHORIZATION}
    )
    with urllib.request.urlopen(request, timeout=5, context=context) as answer:
        return read_exposition(answer.read().decode())


def is_ready(address: str, context: ssl.SSLContext) -> bool:
    with contextlib.suppress(OSError):
        return bool(scrape(address, context).samples)
    return False


def test_a_real_prometheus_scrapes_over_mutual_tls_with_a_password(ca, tmp_path):
    client = ca.issue("client", "DNS:scraper", usage="clientAuth")
    with running(tmp_path) as (address, log), prometheus(tmp_path, address, client) as query:
        assert wait_until(lambda: query("up") == "1", LONG), log.read_text()
        assert wait_until(lambda: query("ioplateau_build_info") == "1", LONG), log.read_text()

        assert query("ioplateau_build_info") == "1"


@contextmanager
def prometheus(directory, target: str, client):
    """A Prometheus that scrapes `target`; a function from a metric's name to its value."""
    own = f"127.0.0.1:{free_port()}"
    (directory / "prometheus.yml").write_text(
        "scrape_configs:\n- job_name: ioplateau\n  scrape_interval: 1s\n  scheme: https\n"
        f"  basic_auth: {{username: scraper, password: {RIGHT}}}\n"
        f"  tls_config: {{ca_file: {directory}/ca.crt, cert_file: {client.certificate}, "
        f"key_file: {client.key}}}\n"
        f"  static_configs: [{{targets: ['{target}']}}]\n"
    )

    def query(name: str) -> str | None:
        try:
            with urllib.request.urlopen(f"http://{own}/api/v1/query?query={name}", timeout=5) as it:
                found = json.load(it)["data"]["result"]
        except OSError:
            return None
        return found[0]["value"][1] if found else None

    with ExitStack() as stack:
        process = subprocess.Popen(
            [
                shutil.which("prometheus") or "prometheus",
                f"--config.file={directory}/prometheus.yml",
                f"--storage.tsdb.path={directory}/data",
                f"--web.listen-address={own}",
            ],
            stderr=subprocess.DEVNULL,
        )
        stack.callback(process.wait)
        stack.callback(process.terminate)
        yield query


def test_500_clients_that_hold_on_over_tls_do_not_keep_the_scraper_out(ca, tmp_path):
    context = ca.client(ca.issue("client", "DNS:scraper", usage="clientAuth"))
    with running(tmp_path) as (address, log):
        assert wait_until(lambda: is_ready(address, context), LONG), log.read_text()
        for _ in range(2):
            attack(address, context)  # what the first ones load stays loaded
        time.sleep(2)  # its memory is looked at once a tick
        before = scrape(address, context).value("process_resident_memory_bytes")
        answered = attack(address, context)
        time.sleep(2)
        after = scrape(address, context)

    assert all(count > 100 for count in answered)
    assert after.value("process_open_fds") < 64
    assert after.value("process_resident_memory_bytes") < 1.1 * before


def attack(address: str, context: ssl.SSLContext) -> list[int]:
    """Samples of each of three scrapes while 500 are silent, half shaken, or trickling."""
    host, port = address.split(":")
    with ExitStack() as stack:
        trickling = []
        for number in range(500):
            client = stack.enter_context(socket.create_connection((host, int(port)), timeout=5))
            with suppress(OSError):
                if number % 3 == 1:
                    client.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"r" * 40)
                elif number % 3 == 2:
                    wrapped = context.wrap_socket(client, server_hostname="localhost")
                    trickling.append(stack.enter_context(wrapped))
                    wrapped.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\nX-Slow: ")
        answered = [len(scrape(address, context).samples) for _ in range(2)]
        for client in trickling:
            with suppress(OSError):
                client.sendall(b"a")
        answered.append(len(scrape(address, context).samples))
    return answered


def test_a_bad_web_configuration_is_exit_code_2_with_every_error(ca, tmp_path):
    (tmp_path / "server.key").chmod(0o644)
    (tmp_path / "ca.crt").unlink()
    done = subprocess.run(
        [IOPLATEAU, "serve", "--web.listen-address", f"127.0.0.1:{free_port()}",
         "--web.config.file", tmp_path / "web-config.yml"],
        capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    lines = done.stderr.splitlines()

    assert done.returncode == 2
    assert len(lines) == 2
    assert all(line.startswith(f"ioplateau: {tmp_path}/web-config.yml: tls") for line in lines)
    assert "mode 0644" in lines[0]
    assert "No such file" in lines[1]


def renamed(directory, issued):
    issued.certificate.replace(directory / "server.crt")
    issued.key.replace(directory / "server.key")


def expired(ca, at):
    renamed(at, ca.issue("old", "DNS:localhost", days=-1))
    return "tls_server_config.cert: the certificate has expired, want a new one"


def of_another_certificate(ca, at):
    ca.issue("other", "DNS:localhost").key.replace(at / "server.key")
    return "tls_server_config: the key does not belong to the certificate"


def without_client_ca(ca, at):
    ca.certificate.unlink()
    return f"tls_server_config.client_ca_file: {at}/ca.crt: No such file or directory"


def readable_by_all(ca, at):
    (at / "server.key").chmod(0o644)
    key = f"{at}/server.key"
    return (
        f"tls_server_config.key_file: {key} has mode 0644, open to everybody;"
        f" want 0640 or less (chmod o= {key})"
    )


def broken_hash(ca, at):
    (at / "web-config.yml").write_text("basic_auth_users: {bob: $2y$10$short}")
    return (
        "basic_auth_users.bob: found a text of 12 characters, want a bcrypt hash of 60,"
        " $2y$10$... (htpasswd -nBC 10 NAME)"
    )


def no_file(ca, at):
    (at / "web-config.yml").unlink()
    return "No such file or directory"


@pytest.mark.parametrize(
    "spoil",
    [expired, of_another_certificate, without_client_ca, readable_by_all, broken_hash, no_file],
)
def test_each_thing_that_is_wrong_is_one_sentence_and_exit_code_2(ca, tmp_path, spoil):
    sentence = spoil(ca, tmp_path)
    done = subprocess.run(
        [IOPLATEAU, "serve", "--web.listen-address", f"127.0.0.1:{free_port()}",
         "--web.config.file", tmp_path / "web-config.yml"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert done.returncode == 2
    assert done.stderr == f"ioplateau: {tmp_path}/web-config.yml: {sentence}\n"


def test_when_the_certificate_ends_is_a_metric(ca, tmp_path):
    context = ca.client(ca.issue("client", "DNS:scraper", usage="clientAuth"))
    with running(tmp_path) as (address, log):
        assert wait_until(lambda: is_ready(address, context), LONG), log.read_text()
        ends = scrape(address, context).value("ioplateau_web_certificate_expiry_timestamp_seconds")
    shown = subprocess.run(
        ["openssl", "x509", "-noout", "-enddate", "-in", tmp_path / "server.crt"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert ends == ssl.cert_time_to_seconds(shown.stdout.strip().removeprefix("notAfter="))


def test_a_certificate_that_ends_while_it_is_served_is_said_once_before_and_once_after(
    ca, tmp_path
):
    now = time.time()
    renamed(tmp_path, ca.issue("brief", "IP:127.0.0.1", between=(now - 3600, now + 45)))
    context = ca.client(ca.issue("client", "DNS:scraper", usage="clientAuth"))
    with running(tmp_path) as (address, log):
        assert wait_until(lambda: is_ready(address, context), LONG), log.read_text()
        assert wait_until(lambda: not is_ready(address, context), 120), log.read_text()
        for _ in range(3):
            time.sleep(1.1)  # a look at most once a second
            is_ready(address, context)
        told = log.read_text()

    assert told.count("the certificate expires soon") == 1
    assert told.count("the certificate has expired, clients refuse it") == 1


def test_a_certificate_replaced_under_the_running_daemon_is_served(ca, tmp_path):
    context = ca.client(ca.issue("client", "DNS:scraper", usage="clientAuth"))
    with running(tmp_path) as (address, log):
        assert wait_until(lambda: is_ready(address, context), LONG), log.read_text()
        fresh = ca.issue("fresh", "DNS:localhost,IP:127.0.0.1")
        fresh.key.replace(tmp_path / "server.key")
        fresh.certificate.replace(tmp_path / "server.crt")
        assert wait_until(
            lambda: is_ready(address, context) and "web configuration reloaded" in log.read_text(),
            LONG,
        ), log.read_text()
        told = log.read_text()

    assert "TLS, certificate valid until 20" in told
    assert RIGHT not in told
    assert "BEGIN" not in told
