"""web-config.yml: what is understood, and that everything wrong with it is said at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from ioplateau.web.config import Pem, TlsConfig, WebConfig, parse
from ioplateau.web.keys import ProblemsError

HASH = "$2y$10$" + "a" * 53
PAIR = "cert_file: a.crt, key_file: a.key"
# Nine of the one before in each line: 9 ** 8 keys.
MERGES = "a0: &a0 {k: v}\n" + "\n".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 9)
)


def problems(text: str) -> list[str]:
    with pytest.raises(ProblemsError) as caught:
        parse(text.encode())
    return list(caught.value.problems)


def tls(rows: str) -> str:
    return f"tls_server_config: {{{PAIR}, {rows}}}"


def test_an_empty_file_asks_for_nothing():
    assert parse(b"") == parse(b"# nothing\n") == WebConfig()


def test_every_row_of_a_full_file_is_understood():
    found = parse(
        f"""
tls_server_config:
  cert_file: server.crt
  key_file: /etc/keys/server.key
  client_ca_file: ca.crt
  client_auth_type: RequireAndVerifyClientCert
  client_allowed_sans: [scraper.example.net, "::1"]
  min_version: TLS12
  max_version: TLS12
  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256]
  prefer_server_cipher_suites: false
  curve_preferences: [CurveP384]
http_server_config:
  http2: false
  headers:
    X-Frame-Options: deny
    X-XSS-Protection: ""
basic_auth_users:
  alice: {HASH}
auth_excluded_paths: [/-/healthy]
rate_limit: {{interval: 1m0.5s, burst: 20}}
""".encode()
    )

    assert found == WebConfig(
        tls=TlsConfig(
            certificate=Pem(file="server.crt"),
            key=Pem(file="/etc/keys/server.key"),
            client_ca=Pem(file="ca.crt"),
            client_auth="RequireAndVerifyClientCert",
            allowed_names=frozenset({"scraper.example.net", "::1"}),
            least_version="TLS12",
            most_version="TLS12",
            cipher_suites=("ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305"),
            is_own_order=False,
            curve="secp384r1",
        ),
        users={"alice": HASH.encode()},
        open_paths=frozenset({"/-/healthy"}),
        headers={"X-Frame-Options": "deny"},
        rate_seconds=60.5,
        rate_burst=20,
    )
    assert found.files == ("server.crt", "/etc/keys/server.key", "ca.crt")


def test_everything_that_is_wrong_is_said_at_once_with_the_nearest_known_key():
    said = problems(
        f"tls_server_confg: {{}}\n"
        f"tls_server_config: {{cert_fil: a, min_version: TLS9, {PAIR}}}\n"
        f'basic_auth_users: {{"": {HASH}, bob: nonsense}}\n'
        "http_server_config: {headers: {Server: x}}\n"
    )

    assert len(said) == 6
    assert said[0] == 'tls_server_confg: unknown key; did you mean "tls_server_config"?'
    assert said[1] == 'tls_server_config.cert_fil: unknown key; did you mean "cert_file"?'
    assert said[2] == "tls_server_config.min_version: found TLS9, want one of TLS12, TLS13"
    assert "an empty user name" in said[3]
    assert said[4].startswith("basic_auth_users.bob: found a text of 8 characters, want a bcrypt")
    assert said[5].startswith("http_server_config.headers.Server: unknown key; known here: ")


def test_a_key_written_in_the_wrong_place_is_shown_the_right_one():
    assert problems("cert_file: a.crt") == [
        'cert_file: unknown key; did you mean "tls_server_config.cert_file"?'
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("tls_server_config: {key_file: a}", "no certificate, want cert_file"),
        ("tls_server_config: {cert_file: a}", "no key, want key_file"),
        (tls("cert: x"), "both cert and cert_file"),
        (tls("min_version: TLS10"), "TLS10 is not possible here"),
        (tls("max_version: TLS11"), "TLS11 is not possible here"),
        (tls("min_version: TLS13, max_version: TLS12"), "above max_version"),
        (tls("client_auth_type: RequestClientCert"), "nobody verifies"),
        (tls("client_auth_type: RequireAnyClientCert"), "nobody verifies"),
        (tls("client_auth_type: require"), "want one of NoClientCert"),
        (tls("client_auth_type: RequireAndVerifyClientCert"), "want client_ca_file"),
        (tls("client_ca_file: a"), "without client_auth_type"),
        (tls("client_allowed_sans: [a]"), "client_allowed_sans binds nobody"),
        (tls("cipher_suites: [TLS_AES_128_GCM_SHA256]"), "belongs to TLS 1.3"),
        (tls("cipher_suites: [TLS_RSA_WITH_AES_128_CBC_SHA]"), "is not offered here"),
        (tls("min_version: TLS13, cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]"), "1.2"),
        (tls("curve_preferences: [X25519, CurveP256]"), "found 2 curves"),
        (tls("curve_preferences: [X448]"), "want one of CurveP256"),
        (tls("prefer_server_cipher_suites: 1"), "want true or false"),
        ("http_server_config: {http2: true}", "only HTTP/1.1 is spoken"),
        ("http_server_config: {headers: {X-Frame-Options: allow}}", "want deny or sameorigin"),
        ('http_server_config: {headers: {X-XSS-Protection: "a\\r\\nb"}}', "one line"),
        ("basic_auth_users: {alice: 123}", "found a number, want a bcrypt hash"),
        ("basic_auth_users: {alice: $2y$10$" + "!" * 53 + "}", "60 characters, but not those of a"),
        (f"basic_auth_users: {{123: {HASH}}}", "a number is no name"),
        (f'basic_auth_users: {{"a:b": {HASH}}}', "neither colons"),
        ("basic_auth_users: {alice: $2y$18$" + "a" * 53 + "}", "takes too long"),
        ("basic_auth_users: [alice]", "want names and bcrypt hashes"),
        ("auth_excluded_paths: [/x]", "no basic_auth_users"),
        (f'auth_excluded_paths: [/x]\nbasic_auth_users: {{"a:b": {HASH}}}', "neither colons"),
        ("auth_excluded_paths: [/x]\nbasic_auth_users: {}", "no basic_auth_users"),
        ("rate_limit: {interval: 1s}", "lets nobody in"),
        ("rate_limit: {burst: 5}", "limits nothing"),
        ("rate_limit: {interval: soon, burst: 5}", "want a duration"),
        ("rate_limit: {interval: 1s, burst: -5}", "want a whole number"),
        ("[]", "found a list, want keys and values"),
        ("tls_server_config: yes", "want keys and values"),
        (f"basic_auth_users:\n  bob: {HASH}\n  bob: {HASH}\n", '"bob" is there twice'),
        ("a: &a {<<: {b: c}}", 'line 1: no YAML: "<<" is not taken here'),
        (MERGES, '"<<" is not taken here'),
        ("a: [", "no YAML"),
        ("a: !!python/object/apply:os.system [true]", "no YAML"),
        ('rate_limit: {burst: !!int ""}', "line 1: no YAML: a value is no int"),
        ("rate_limit: {burst: !!bool x}", "line 1: no YAML: a value is no bool"),
        ("\nrate_limit: {burst: !!timestamp x}", "line 2: no YAML: a value is no timestamp"),
    ],
)
def test_what_cannot_be_honoured_is_refused_with_a_sentence(text, sentence):
    said = problems(text)

    assert len(said) == 1
    assert sentence in said[0]


def test_no_secret_is_repeated_in_a_complaint():
    said = problems(f"basic_auth_users: {{bob: {HASH}TooLong}}\ntls_server_config: {{key: S3CRET}}")

    assert "aaa" not in str(said)
    assert "S3CRET" not in str(said)


@given(some.binary() | some.text(alphabet="ab:-[]{}&*!|>'\"% \n\t", max_size=40).map(str.encode))
def test_whatever_the_file_holds_there_is_an_answer_or_a_sentence(text):
    try:
        answer: object = parse(text)
    except ProblemsError as error:
        answer = error

    assert isinstance(answer, WebConfig) or (answer.problems and all(answer.problems))
