"""The keys of web-config.yml, and what each wants. Knows values, not what they mean together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
Accept: TypeAlias = Callable[[Any], Any]

NO_CLIENT, IF_GIVEN, REQUIRED = (
    "NoClientCert",
    "VerifyClientCertIfGiven",
    "RequireAndVerifyClientCert",
)
VERSIONS = ("TLS12", "TLS13")
# The names of Go's crypto/tls and of OpenSSL for the same suites, TLS 1.2.
CIPHER_SUITES: Mapping[str, str] = {
    f"TLS_ECDHE_{signature}_WITH_{go}": f"ECDHE-{signature}-{openssl}"
    for signature in ("ECDSA", "RSA")
    for go, openssl in (
        ("AES_128_GCM_SHA256", "AES128-GCM-SHA256"),
        ("AES_256_GCM_SHA384", "AES256-GCM-SHA384"),
        ("CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305"),
        ("AES_128_CBC_SHA", "AES128-SHA"),
        ("AES_256_CBC_SHA", "AES256-SHA"),
    )
}
CURVES: Mapping[str, str] = {
    "CurveP256": "prime256v1",
    "CurveP384": "secp384r1",
    "CurveP521": "secp521r1",
    "X25519": "X25519",
}
# A check of cost 15 takes some 2 s, one of 18 longer than a connection may last.
HIGHEST_COST = 15
_BCRYPT = re.compile(r"\$2[aby]\$(0[4-9]|1[0-9]|2[0-9]|3[01])\$[./A-Za-z0-9]{53}")
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+|0")
_UNIT_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class ProblemsError(Exception):
    """Everything that is wrong, a sentence each, without the name of the file."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


def missing(package: str) -> str:
    """The sentence for a library that is not installed."""
    return f'--web.config.file needs {package}: want pip install "ioplateau[web]", or the package'


def section(found: Any, keys: Mapping[str, Accept], problems: list[str]) -> dict[str, Any]:
    """The values that `keys` accept; a sentence for each other, beginning with its ".key"."""
    if not isinstance(found, Mapping):
        problems.append(f": found {_kind(found)}, want keys and values")
        return {}
    values: dict[str, Any] = {}
    for key, value in found.items():
        accept = keys.get(key) if isinstance(key, str) else None
        if accept is None:
            problems.append(f".{shown(key)}: unknown key; {_nearest(str(key), keys)}")
        elif value is not None:  # else: "headers:" with nothing after it
            try:
                values[key] = accept(value)
            except ProblemsError as error:
                problems += (f".{key}{problem}" for problem in error.problems)
            except ValueError as error:
                problems.append(f".{key}: {error}")
    return values


def _nearest(key: str, here: Iterable[str]) -> str:
    from difflib import get_close_matches  # only who has made a mistake needs it

    elsewhere = {
        leaf: f"{name}.{leaf}" for name, leaves in _SECTIONS.items() for leaf in leaves
    } | {name: name for name in TOP}
    for known, cutoff in ({name: name for name in here}, 0.6), (elsewhere, 0.8):
        near = get_close_matches(key[:60], known, n=1, cutoff=cutoff)
        if near:
            return f'did you mean "{known[near[0]]}"?'
    return f"known here: {', '.join(sorted(here))}"


def _nested(keys: Mapping[str, Accept]) -> Accept:
    def accept(found: Any) -> dict[str, Any]:
        problems: list[str] = []
        values = section(found, keys, problems)
        if problems:
            raise ProblemsError(problems)
        return values

    return accept


# The checks: a value of YAML to ours, or ValueError saying what is wrong.


def _is(kind: type[T], value: Any, want: str) -> T:
    if isinstance(value, kind):
        return value
    raise ValueError(f"found {_kind(value)}, want {want}")


def _text(value: Any) -> str:
    return _is(str, value, "a text (in quotes if it looks like a number)")


def _boolean(value: Any) -> bool:
    return _is(bool, value, "true or false")


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(entry, str) and entry for entry in value):
        raise ValueError(f"found {_kind(value)}, want a list of texts")
    return tuple(value)


def _one_of(*words: str, why_not: Mapping[str, str]) -> Accept:
    def accept(value: Any) -> str:
        if isinstance(value, str) and value in words:
            return value
        if isinstance(value, str) and value in why_not:
            raise ValueError(f"{value} is not possible here: {why_not[value]}")
        raise ValueError(f"found {shown(value)}, want one of {', '.join(words)}")

    return accept


def _suites(value: Any) -> tuple[str, ...]:
    names = _texts(value)
    for name in names:
        if re.fullmatch(r"TLS_(AES|CHACHA20)_[A-Z0-9_]+", name):
            raise ValueError(
                f"{shown(name)} belongs to TLS 1.3, whose suites are always all on: leave it out"
            )
        if name not in CIPHER_SUITES:
            raise ValueError(f"{shown(name)} is not offered here; {_nearest(name, CIPHER_SUITES)}")
    return tuple(CIPHER_SUITES[name] for name in names)


def _curve(value: Any) -> str | None:
    names = _texts(value)
    for name in names:
        if name not in CURVES:
            raise ValueError(f"found {shown(name)}, want one of {', '.join(CURVES)}")
    # ssl.SSLContext.set_ecdh_curve() takes one; an order cannot be said before Python 3.15.
    if len(names) > 1:
        raise ValueError(f"found {len(names)} curves, want one only, or none for OpenSSL's choice")
    return CURVES[names[0]] if names else None


def _http2(value: Any) -> bool:
    if _boolean(value):
        raise ValueError("only HTTP/1.1 is spoken here, want false, or leave it out")
    return False


def _header(*words: str) -> Accept:
    def accept(value: Any) -> str:
        said = _text(value)
        if not said.isprintable() or not said.isascii():
            raise ValueError("a header is one line of ASCII")
        if words and said and said.lower() not in words:
            raise ValueError(f"found {shown(said)}, want {' or '.join(words)}")
        return said

    return accept


def _headers(value: Any) -> dict[str, str]:
    return {name: said for name, said in _nested(_HEADERS)(value).items() if said}


def _users(value: Any) -> dict[str, bytes]:
    _is(dict, value, "names and bcrypt hashes")
    problems = [
        f".{shown(name)}: {problem}"
        for name, secret in value.items()
        if (problem := _user(name, secret))
    ]
    if problems:
        raise ProblemsError(problems)
    return {name: secret.encode() for name, secret in value.items()}


def _user(name: Any, secret: Any) -> str | None:
    # Never the hash itself: these sentences end in logs.
    if not isinstance(name, str):
        return f"{_kind(name)} is no name, want it in quotes"
    if not name:
        return "an empty user name, want one"
    if ":" in name or not name.isprintable():
        # RFC 7617 2: the first colon ends the name.
        # https://www.rfc-editor.org/rfc/rfc7617#section-2
        return "a user name has neither colons nor control characters"
    if not isinstance(secret, str) or not (words := _BCRYPT.fullmatch(secret)):
        size = f"a text of {len(secret)} characters" if isinstance(secret, str) else _kind(secret)
        odd = ", but not those of a hash" if size == "a text of 60 characters" else ""
        return f"found {size}{odd}, want a bcrypt hash of 60, $2y$10$... (htpasswd -nBC 10 NAME)"
    if int(words[1]) > HIGHEST_COST:
        return f"a hash of cost {words[1]} takes too long to check, want at most {HIGHEST_COST}"
    return None


def _paths(value: Any) -> frozenset[str]:
    for path in _texts(value):
        if not path.startswith("/"):
            raise ValueError(f"found {shown(path)}, want paths that begin with /")
    return frozenset(value)


def _seconds(value: Any) -> float:
    said = str(value) if value == 0 and type(value) is int else value
    if not isinstance(said, str) or not _DURATION.fullmatch(said):
        raise ValueError(f"found {shown(value)}, want a duration like 1s or 500ms")
    parts = re.findall(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)", said)
    return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts)


def _burst(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= 1_000_000:
        raise ValueError(f"found {shown(value)}, want a whole number from 0 to 1000000")
    return value


def _kind(value: Any) -> str:
    kinds: Sequence[tuple[type, str]] = (
        (bool, "true or false"), (int, "a number"), (float, "a number"), (str, "a text"),
        (list, "a list"), (Mapping, "keys and values"), (type(None), "nothing"),
    )  # fmt: skip
    return next((word for kind, word in kinds if isinstance(value, kind)), "something else")


def shown(value: Any) -> str:
    """A value in one printable line of bearable length."""
    said = str(value) if isinstance(value, str | int | float) else _kind(value)
    said = "".join(letter if letter.isprintable() else "?" for letter in said)
    said = said if len(said) <= 60 else f"{said[:60]}..."
    return said if re.fullmatch(r"[\w./-]+", said) else f'"{said}"'


_OLD = "TLS before 1.2 is broken (RFC 8996) and OpenSSL no longer speaks it; want TLS12 or TLS13"
_UNVERIFIED = f"a certificate that nobody verifies proves nothing; want {REQUIRED}"
_VERSION = _one_of(*VERSIONS, why_not=dict.fromkeys(("TLS10", "TLS11"), _OLD))
_HEADERS: Mapping[str, Accept] = {
    "Content-Security-Policy": _header(),
    "X-Frame-Options": _header("deny", "sameorigin"),
    "X-Content-Type-Options": _header("nosniff"),
    "X-XSS-Protection": _header(),
    "Strict-Transport-Security": _header(),
}
_SECTIONS: Mapping[str, Mapping[str, Accept]] = {
    "tls_server_config": {
        "cert": _text,
        "key": _text,
        "client_ca": _text,
        "cert_file": _text,
        "key_file": _text,
        "client_ca_file": _text,
        "client_auth_type": _one_of(
            NO_CLIENT,
            IF_GIVEN,
            REQUIRED,
            why_not=dict.fromkeys(("RequestClientCert", "RequireAnyClientCert"), _UNVERIFIED),
        ),
        "client_allowed_sans": lambda value: frozenset(_texts(value)),
        "min_version": _VERSION,
        "max_version": _VERSION,
        "cipher_suites": _suites,
        "prefer_server_cipher_suites": _boolean,
        "curve_preferences": _curve,
    },
    "http_server_config": {"http2": _http2, "headers": _headers},
    "rate_limit": {"interval": _seconds, "burst": _burst},
}
TOP: Mapping[str, Accept] = {
    **{name: _nested(leaves) for name, leaves in _SECTIONS.items()},
    "basic_auth_users": _users,
    "auth_excluded_paths": _paths,
}
