"""web-config.yml is read on a thread of its own: what does not answer keeps no connection waiting."""

import os
import resource
import threading

import pytest

from certificates import Authority
from ioplateau.web import accessfile
from ioplateau.web.accessfile import LOOK_SECONDS, SILENT_SECONDS, AccessFile
from ioplateau.web.config import WebConfigError
from silent_file import silent

ONE = "rate_limit:\n  interval: 1s\n  burst: 5\n"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "web-config.yml"
    path.write_text(ONE)
    return path


@pytest.fixture
def patient(monkeypatch):
    """A busy machine is slow, not wrong: a look is waited for until it has ended."""
    monkeypatch.setattr(accessfile, "MOMENT_SECONDS", 60.0)


@pytest.mark.usefixtures("patient")
def test_what_changed_holds_for_the_connection_that_comes_next(path):
    file = AccessFile(str(path))
    assert file.look(100.0).bucket is not None

    path.write_text("{}\n")

    assert file.look(100.0 + LOOK_SECONDS).bucket is None


def test_a_file_that_does_not_answer_leaves_the_old_access_until_it_does(path, caplog):
    file = AccessFile(str(path))
    with silent(path, "{}\n"):
        kept = file.look(100.0)
        later = file.look(100.0 + SILENT_SECONDS)
        [looking] = [each for each in threading.enumerate() if each.name == "web-config"]

    assert kept.bucket is later.bucket is not None
    assert [r.message for r in caplog.records] == [
        "web configuration does not answer, the old one stays until it does"
    ]
    looking.join(10.0)
    assert file.access.bucket is None


def test_a_pipe_is_refused_and_not_waited_for(path):
    path.unlink()
    os.mkfifo(path)

    with pytest.raises(WebConfigError, match="no regular file"):
        AccessFile(str(path))


@pytest.mark.usefixtures("patient")
def test_what_could_not_be_read_once_is_read_later_and_told_once(path, caplog):
    file = AccessFile(str(path))
    path.write_text("{}\n")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        kept = [file.look(100.0 + second * LOOK_SECONDS).bucket for second in range(30)]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    later = file.look(200.0)

    assert None not in kept
    assert later.bucket is None
    assert [record.getMessage() for record in caplog.records] == [
        "web configuration not taken, the old one stays",
    ]


def test_a_file_that_is_too_large_is_refused_and_not_cut(path):
    path.write_text("#" * accessfile.MOST_BYTES + "\nbasic_auth_users: {}\n")

    with pytest.raises(WebConfigError, match="more than 1,048,576 bytes"):
        AccessFile(str(path))


@pytest.mark.parametrize(
    "wanted",
    [
        r'tls_server_config: {cert_file: "a\0b", key_file: b}',
        r'tls_server_config: {cert_file: "\ud800", key_file: b}',
        r'tls_server_config: {cert: "\ud800", key_file: b}',
    ],
)
@pytest.mark.usefixtures("patient")
def test_a_name_that_no_file_has_is_refused_and_what_comes_next_is_taken(path, wanted, caplog):
    file = AccessFile(str(path))
    path.write_text(wanted)
    kept = file.look(100.0)
    with pytest.raises(WebConfigError, match="cert"):
        AccessFile(str(path))
    path.write_text("{}")
    later = file.look(110.0)

    assert kept.bucket is not None
    assert "web configuration not taken, the old one stays" in caplog.text
    assert later.bucket is None


@pytest.mark.usefixtures("patient")
def test_http_to_https_takes_a_restart_and_another_certificate_does_not(path, tmp_path, caplog):
    authority = Authority(tmp_path, "ca")
    for name in ("first", "second"):
        authority.issue(name, "DNS:localhost")
    with_tls = "tls_server_config: {{cert_file: {0}.crt, key_file: {0}.key}}\n".format
    open_file = AccessFile(str(path))
    path.write_text(with_tls("first"))
    closed_file = AccessFile(str(path))
    first = closed_file.access.tls

    stays = open_file.look(100.0)
    path.write_text(with_tls("second"))
    renewed = closed_file.look(100.0).tls

    assert stays.tls is None
    assert stays.bucket is not None
    (refused,) = [r for r in caplog.records if r.levelname == "ERROR"]
    assert "tls_server_config is new: http to https takes a restart" in str(refused.__dict__)
    assert renewed not in (None, first)


IF_GIVEN = "client_ca_file: ca.crt, client_auth_type: VerifyClientCertIfGiven"
REQUIRED = "client_ca_file: ca.crt, client_auth_type: RequireAndVerifyClientCert"
NAMED = f"{REQUIRED}, client_allowed_sans: [scraper.example]"


@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [
        (REQUIRED, "", "client_auth_type asks less of clients"),
        (REQUIRED, IF_GIVEN, "client_auth_type asks less of clients"),
        (IF_GIVEN, "", "client_auth_type asks less of clients"),
        (NAMED, REQUIRED, "client_allowed_sans is gone"),
        (REQUIRED, NAMED, None),
        (IF_GIVEN, REQUIRED, None),
        (NAMED, NAMED.replace("scraper", "other"), None),
    ],
)
@pytest.mark.usefixtures("patient")
def test_that_less_is_asked_of_clients_takes_a_restart(
    path, tmp_path, caplog, first, second, refused
):
    caplog.set_level("INFO")
    authority = Authority(tmp_path, "ca")
    authority.issue("server", "DNS:localhost")
    with_tls = "tls_server_config: {{cert_file: server.crt, key_file: server.key, {0}}}\n".format
    path.write_text(with_tls(first))
    file = AccessFile(str(path))
    before = file.access
    path.write_text(with_tls(second) + "# longer\n")
    after = file.look(100.0)

    (told,) = [str(record.__dict__) for record in caplog.records]
    assert (refused or "client_auth_type RequireAndVerifyClientCert") in told
    assert (after is before) == (refused is not None)
