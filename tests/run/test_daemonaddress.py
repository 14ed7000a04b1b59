"""A daemon behind a private authority and a password, as people write where it is."""

import base64
import json

import bcrypt
import pytest

from certificates import Authority
from ioplateau.run.daemonaddress import (
    NO_PROOFS,
    AddressError,
    DaemonAddress,
    Proofs,
    address,
    wants_password,
    with_password,
)
from ioplateau.run.daemonviews import NoDaemonError, ask
from ioplateau.web.http1 import Response
from ioplateau.web.server import WebServer
from ioplateau.web.settings import WebSettings

RIGHT = "right: horse ä"
WEB_CONFIG = """
tls_server_config:
  cert_file: server.crt
  key_file: server.key
  client_ca_file: {client_ca}
  client_auth_type: {client_auth}
basic_auth_users:
  ops: "{secret}"
"""


@pytest.fixture(scope="module")
def ca(tmp_path_factory):
    directory = tmp_path_factory.mktemp("authority")
    authority = Authority(directory, "ca")
    authority.issue("server", "DNS:localhost,IP:127.0.0.1")
    return directory, authority


@pytest.fixture
def serving(ca):
    """Starts a server of one answer behind TLS and a password; gives its port."""
    directory, _ = ca
    servers = []

    def serve(client_auth="VerifyClientCertIfGiven"):
        config = directory / "web-config.yml"
        secret = bcrypt.hashpw(RIGHT.encode(), bcrypt.gensalt(4)).decode()
        config.write_text(
            WEB_CONFIG.format(client_ca="ca.crt", client_auth=client_auth, secret=secret)
        )
        answer = Response(200, "application/json", json.dumps({"seen": True}).encode())
        settings = WebSettings(config_file=str(config))
        servers.append(WebServer(("127.0.0.1:0",), {"/it": lambda _request: answer}, settings))
        return servers[-1].start().addresses[0].rpartition(":")[2]

    yield serve
    for server in servers:
        server.close()


def asked(url, proofs):
    return ask(address(url, proofs), "/it", 30.0)


@pytest.fixture
def password(tmp_path):
    file = tmp_path / "password"
    file.write_text(RIGHT + "\n")
    return str(file)


def test_a_private_authority_and_a_password_in_files_let_us_in(ca, serving, password):
    proofs = Proofs(str(ca[1].certificate), password)

    assert asked(f"https://ops@localhost:{serving()}", proofs) == {"seen": True}


def test_a_password_in_the_url_does_too(ca, serving):
    url = with_password(f"https://ops@localhost:{serving()}", RIGHT)

    assert asked(url, Proofs(str(ca[1].certificate))) == {"seen": True}


def test_a_server_that_asks_for_a_certificate_is_shown_ours(ca, serving, password):
    port = serving("RequireAndVerifyClientCert")
    ours = ca[1].issue("client", "DNS:ops", usage="clientAuth")
    proofs = Proofs(str(ca[1].certificate), password, str(ours.certificate), str(ours.key))

    assert asked(f"https://ops@localhost:{port}", proofs) == {"seen": True}
    with pytest.raises(NoDaemonError, match=f"https://localhost:{port}"):
        asked(
            f"https://ops@localhost:{port}", proofs._replace(certificate_file=None, key_file=None)
        )


def test_what_is_missing_is_said_with_the_flag_that_gives_it(ca, serving, password, tmp_path):
    port, ours = serving(), str(ca[1].certificate)
    wrong = tmp_path / "wrong"
    wrong.write_text("wrong")

    with pytest.raises(NoDaemonError, match="--ca-file says who signs them"):
        asked(f"https://ops@localhost:{port}", Proofs(None, password))
    with pytest.raises(NoDaemonError, match="wants a name and a password"):
        asked(f"https://localhost:{port}", Proofs(ours))
    with pytest.raises(NoDaemonError, match="does not take this name and password"):
        asked(f"https://ops@localhost:{port}", Proofs(ours, str(wrong)))
    with pytest.raises(NoDaemonError, match="behind TLS"):
        asked(f"http://localhost:{port}", NO_PROOFS)


def test_name_and_password_go_into_the_header_and_not_into_what_is_shown():
    found = address("http://ops:a%3Ab@db-01:10049/")

    assert found.url == "http://db-01:10049"
    assert found.place == "db-01:10049"
    assert base64.b64decode(found.authorization.removeprefix("Basic ")) == b"ops:a:b"
    assert address("http://db-01:10049") == DaemonAddress("http://db-01:10049")


def test_a_password_is_asked_for_where_only_a_name_is_there(password):
    assert wants_password("https://ops@db-01", NO_PROOFS)
    assert not wants_password("https://ops@db-01", Proofs(password_file=password))
    assert not wants_password("https://ops:x@db-01", NO_PROOFS)
    assert not wants_password("https://db-01", NO_PROOFS)


@pytest.mark.parametrize(
    ("url", "proofs", "why"),
    [
        ("https://ops@db-01", Proofs(password_file="/nonexistent"), "/nonexistent: No such file"),
        ("https://a@db-01", Proofs(password_file="/proc/self/smaps"), "smaps: more than 4,096"),
        ("https://db-01", Proofs(ca_file="/nonexistent"), "/nonexistent: No such file"),
        ("https://db-01", Proofs(ca_file=__file__), "is no certificate"),
        ("https://db-01", Proofs(key_file=__file__), "--cert-file"),
        ("http://db-01", Proofs(ca_file=__file__), "certificates are for https"),
        ("https://db-01", Proofs(password_file=__file__), "want a name"),
    ],
)
def test_a_file_that_is_none_is_said(url, proofs, why):
    with pytest.raises(AddressError, match=why):
        address(url, proofs)
