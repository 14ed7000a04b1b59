"""Instance metadata: a cloud's documents about this machine, from its link-local service.

Azure: instance-metadata-service.md, table of errors. EC2: instancedata-data-retrieval.html.
Talks to a link-local address only, past every proxy, and waits a second at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Token:
    """A session token that must be asked for first (IMDSv2), by PUT."""

    path: str
    ask: tuple[tuple[str, str], ...]  # header fields of the PUT
    field: str  # header field that carries the token


@dataclass(frozen=True, slots=True)
class Document:
    """One document a cloud wants. `name` is its key in Static.documents ("azure/instance").

    keep: from the answer's text to what we keep of it, so that secrets are not kept.
    is_listing: a line for each further document below this path, fetched too.
    """

    name: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    token: Token | None = None
    keep: Callable[[str], str] | None = None
    is_listing: bool = False
