"""`--web.config.file`: YAML to what was asked for, or everything that is wrong with it at once.

The convention is that of Prometheus' exporters, so that one file does for all of them:
https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md
What cannot be honoured here is refused with a sentence, never ignored. Opens no file.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ioplateau.web import keys as webkeys
from ioplateau.web.keys import NO_CLIENT, REQUIRED, ProblemsError


class WebConfigError(OSError):
    """What is wrong with the file, a sentence each; also one OSError of all of them."""

    def __init__(self, path: str, problems: Iterable[str]) -> None:
        self.problems = tuple(f"{path}: {problem}" for problem in problems)
        super().__init__(errno.EINVAL, "\nioplateau: ".join(self.problems))


class Pem(NamedTuple):
    """PEM: in the file itself (`text`), or the name of another (`file`)."""

    text: str | None = None
    file: str | None = None


class TlsConfig(NamedTuple):
    """`tls_server_config`. Suites and curve by OpenSSL's names, versions by Go's."""

    certificate: Pem
    key: Pem
    client_ca: Pem | None = None
    client_auth: str = NO_CLIENT
    allowed_names: frozenset[str] = frozenset()
    least_version: str = "TLS12"
    most_version: str = "TLS13"
    cipher_suites: tuple[str, ...] = ()
    is_own_order: bool = True
    curve: str | None = None


class WebConfig(NamedTuple):
    """The file, checked. users: names to bcrypt hashes. A rate of None: no limit."""

    tls: TlsConfig | None = None
    users: Mapping[str, bytes] = MappingProxyType({})
    open_paths: frozenset[str] = frozenset()
    headers: Mapping[str, str] = MappingProxyType({})
    rate_seconds: float | None = None  # between two requests, once the burst is used up
    rate_burst: int = 0

    @property
    def files(self) -> tuple[str, ...]:
        """The other files that it names, as it names them."""
        pems = (self.tls.certificate, self.tls.key, self.tls.client_ca) if self.tls else ()
        return tuple(pem.file for pem in pems if pem and pem.file)


def parse(text: bytes) -> WebConfig:
    """What the file asks for. Raises ProblemsError."""
    tree = _load(text)
    problems: list[str] = []
    found = webkeys.section(tree, webkeys.TOP, problems)
    problems = [problem.removeprefix(".").removeprefix(": ") for problem in problems]
    tls = _tls(found.get("tls_server_config"), problems)
    rate = found.get("rate_limit") or {}
    if rate.get("interval") and not rate.get("burst"):
        problems.append(
            "rate_limit: an interval without a burst lets nobody in, want burst as well"
        )
    if rate.get("burst") and "interval" not in rate:
        problems.append("rate_limit: a burst without an interval limits nothing, want interval too")
    # As the file has them: of users that are wrong it is said already.
    if found.get("auth_excluded_paths") and not tree.get("basic_auth_users"):
        problems.append("auth_excluded_paths: there are no basic_auth_users to be excepted from")
    if problems:
        raise ProblemsError(problems)
    return WebConfig(
        tls=tls,
        users=found.get("basic_auth_users", {}),
        open_paths=found.get("auth_excluded_paths", frozenset()),
        headers=found.get("http_server_config", {}).get("headers", {}),
        rate_seconds=rate.get("interval") or None,
        rate_burst=rate.get("burst", 0),
    )


def _load(text: bytes) -> Any:
    try:
        import yaml
    except ImportError as error:
        raise ProblemsError([webkeys.missing("PyYAML")]) from error

    class Loader(yaml.SafeLoader):
        """Refuses a key that is there twice: which of two passwords was meant? And merges, of which a
        few lines make more keys than any memory holds.
        """

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value):
                raise yaml.constructor.ConstructorError(
                    None, None, '"<<" is not taken here, want the keys themselves', node.start_mark
                )
            keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            twice = next((key for key in keys if keys.count(key) > 1), None)
            if twice is not None:
                raise yaml.constructor.ConstructorError(
                    None, None, f'"{twice[:60]}" is there twice', node.start_mark
                )
            return super().construct_mapping(node, deep)

        def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
            try:
                return super().construct_object(node, deep)
            except (LookupError, AttributeError, ValueError) as error:
                # What yaml raises where a value is not what its tag says, as in `!!int ""`.
                kind = node.tag.rpartition(":")[2]
                raise yaml.constructor.ConstructorError(
                    None, None, f"a value is no {kind}", node.start_mark
                ) from error

    try:
        tree = yaml.load(text, Loader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        # Not str(error): it shows the line, which may hold a key.
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        said = getattr(error, "problem", None) or "not readable"
        raise ProblemsError([f"{where}no YAML: {said}"]) from error
    return {} if tree is None else tree


def _tls(found: Mapping[str, Any] | None, problems: list[str]) -> TlsConfig | None:
    if found is None:
        return None
    begun = len(problems)
    pems = {name: _pem(name, found, problems) for name in ("cert", "key", "client_ca")}
    auth = found.get("client_auth_type", NO_CLIENT)
    least, most = found.get("min_version", "TLS12"), found.get("max_version", "TLS13")
    for is_wrong, sentence in (
        (not pems["cert"], "no certificate, want cert_file"),
        (not pems["key"], "no key, want key_file"),
        (auth != NO_CLIENT and not pems["client_ca"],
         f"{auth} has nothing to verify against, want client_ca_file"),
        (auth == NO_CLIENT and pems["client_ca"],
         f"a client CA verifies nobody without client_auth_type, want {REQUIRED}"),
        (auth != REQUIRED and found.get("client_allowed_sans"),
         f"client_allowed_sans binds nobody unless client_auth_type is {REQUIRED}"),
        (least > most, f"min_version {least} is above max_version {most}"),
        (least == "TLS13" and found.get("cipher_suites"),
         "cipher_suites are those of TLS 1.2, which min_version TLS13 rules out: leave them out"),
    ):  # fmt: skip
        if is_wrong:
            problems.append(f"tls_server_config: {sentence}")
    if len(problems) > begun or not pems["cert"] or not pems["key"]:
        return None
    return TlsConfig(
        pems["cert"], pems["key"], pems["client_ca"], auth,
        found.get("client_allowed_sans", frozenset()), least, most,
        found.get("cipher_suites", ()), found.get("prefer_server_cipher_suites", True),
        found.get("curve_preferences"),
    )  # fmt: skip


def _pem(name: str, found: Mapping[str, Any], problems: list[str]) -> Pem | None:
    text, file = found.get(name), found.get(f"{name}_file")
    if text and file:
        problems.append(f"tls_server_config: both {name} and {name}_file, want one of them")
    return Pem(text, file) if text or file else None
