"""HTTP/1: bytes to a request, a response to bytes. RFC 9112, as much as an exporter needs.

Pure: no socket, no clock of its own. A client may send anything; whatever it sends, `parse`
answers with a request or with the response that refuses it.

https://www.rfc-editor.org/rfc/rfc9112
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from time import gmtime
from types import MappingProxyType
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

METHODS = ("GET", "HEAD")
PLAIN = "text/plain; charset=utf-8"
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
# An ordinary scrape sends eight fields; a browser behind proxies about thirty.
MOST_FIELDS = 100

_LINE_END = re.compile(rb"\r?\n")
# RFC 9112 2.2: a recipient may take a bare LF for CRLF; people do type requests into nc.
# https://www.rfc-editor.org/rfc/rfc9112#section-2.2
_HEAD_END = re.compile(rb"\n\r?\n")
_REQUEST_LINE = re.compile(
    rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~\x80-\xff]+) HTTP/([0-9])\.([0-9])"
)
_FIELD_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_ABSOLUTE = re.compile(r"\Ahttps?://[^/?#]*/?", re.IGNORECASE)
# RFC 3986 3.2.2 and 3.2.3, and %eth0 after an address as some clients send it. What `_headers` puts
# between two of them is in no host.
_HOST = re.compile(
    r"(?:\[[0-9A-Za-z:.%_~-]+\]|(?:[0-9A-Za-z._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?"
)


class Request(NamedTuple):
    """What was asked. `path` is percent-decoded, `query` is not; header names are lower case."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = NO_HEADERS


class Response(NamedTuple):
    """What is answered. Content-Length, Date and Connection are added by `head`."""

    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = NO_HEADERS


Handler: TypeAlias = Callable[[Request], Response]


def text(status: int, sentence: str, headers: Mapping[str, str] = NO_HEADERS) -> Response:
    """A plain sentence for people."""
    body = f"{sentence}\n".encode("utf-8", "replace")
    return Response(status, PLAIN, body, headers)


def as_json(response: Response) -> Response:
    """A plain sentence for programs: {"error": sentence}."""
    body = json.dumps({"error": response.body.decode().rstrip("\n")}).encode()
    return response._replace(content_type="application/json", body=body)


def head_end(received: bytes | bytearray, begin: int) -> int | None:
    """Where the request head ends in `received`, looking from `begin` on; None: not yet."""
    # The end may straddle the last two parts received: "\n\r" and then "\n".
    end = _HEAD_END.search(received, max(0, begin - 2))
    return end.end() if end else None


def is_head(received: bytes) -> bool:
    """Whether it asks with HEAD, also where nothing else of it is understood."""
    return received.lstrip(b"\r\n").startswith(b"HEAD ")


def parse(received: bytes, longest_line: int) -> Request | Response:
    """The request in a complete head, or the response that refuses it."""
    # RFC 9112 2.2: ignore an empty line before the request line.
    # https://www.rfc-editor.org/rfc/rfc9112#section-2.2
    line, *fields = _LINE_END.split(received.lstrip(b"\r\n").rstrip(b"\r\n"))
    if len(line) > longest_line:
        return text(
            414, f"The request line has {len(line)} bytes, at most {longest_line} are read."
        )
    words = _REQUEST_LINE.fullmatch(line)
    if not words:
        return text(400, "The first line is no HTTP/1 request line.")
    if words[3] != b"1":
        return text(505, "Only HTTP/1.0 and HTTP/1.1 are spoken here.")
    headers = _headers(fields)
    if headers is None:
        return text(400, "A header field is malformed, or there are too many.")
    if not _has_host(headers, words[4]):
        return text(400, "Host is missing, there twice, or no host: want one, like db-01:10049.")
    return _request(words[1].decode(), words[2].decode("latin-1"), headers)


def _request(method: str, target: str, headers: Mapping[str, str]) -> Request | Response:
    if method not in METHODS:
        allow = ", ".join(METHODS)
        return text(405, f"{method[:40]} is not served, only {allow}.", {"Allow": allow})
    refusal = _refuse_body(headers)
    if refusal:
        return refusal
    # A proxy may send the absolute form, also without a path: RFC 9112 3.2.2.
    # https://www.rfc-editor.org/rfc/rfc9112#section-3.2.2
    path, _, query = _ABSOLUTE.sub("/", target).partition("?")
    if not path.startswith("/"):
        return text(400, "The request target is no path.")
    return Request(method, unquote(path), query, headers)


def _has_host(headers: Mapping[str, str], minor: bytes) -> bool:
    # RFC 9112 3.2: HTTP/1.0 may do without, but nobody may send two or what is no host.
    # https://www.rfc-editor.org/rfc/rfc9112#section-3.2
    host = headers.get("host")
    return minor == b"0" if host is None else _HOST.fullmatch(host) is not None


def _refuse_body(headers: Mapping[str, str]) -> Response | None:
    if "transfer-encoding" in headers:
        return text(413, "No request body is accepted here.")
    length = headers.get("content-length", "0")
    # isdecimal() alone would let other scripts' digits pass.
    if not (length.isascii() and length.isdecimal()):
        return text(400, "Content-Length is no number.")
    return None if not length.strip("0") else text(413, "No request body is accepted here.")


def _headers(lines: list[bytes]) -> dict[str, str] | None:
    if len(lines) > MOST_FIELDS:
        return None
    headers: dict[str, str] = {}
    for line in lines:
        # No regular expression for the whole: blanks around a value make one quadratic.
        raw_name, colon, raw_value = line.partition(b":")
        if not colon or not _FIELD_NAME.fullmatch(raw_name) or b"\r" in line or b"\0" in line:
            return None
        name, value = raw_name.decode().lower(), raw_value.decode("latin-1").strip(" \t")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def date(wall: float) -> str:
    """As RFC 9110 5.6.7 wants it, whatever the locale; email.utils would bring half of email."""
    then = gmtime(wall)
    day, month = _DAYS[then.tm_wday], _MONTHS[then.tm_mon - 1]
    clock = f"{then.tm_hour:02}:{then.tm_min:02}:{then.tm_sec:02}"
    return f"{day}, {then.tm_mday:02} {month} {then.tm_year:04} {clock} GMT"


_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def head(response: Response, wall: float, also: Mapping[str, str]) -> bytes:
    """Status line and header fields. wall: seconds since 1970, for Date; also: fields besides."""
    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = ""
    fields = {
        "Content-Type": response.content_type,
        "Content-Length": str(len(response.body)),
        "Date": date(wall),
        "X-Content-Type-Options": "nosniff",
        **response.headers,
        **also,
        # One request a connection: server.py says why.
        "Connection": "close",
    }
    lines = [f"HTTP/1.1 {response.status} {phrase}", *(f"{k}: {v}" for k, v in fields.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")
