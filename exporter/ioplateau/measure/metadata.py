"""Instance metadata: a cloud's documents about this machine, from its link-local service.

Azure: instance-metadata-service.md, errors and rate limit. EC2: instancedata-data-retrieval.html.
Decides what to ask and when, and is told the time; measure.linklocal does the talking.

https://learn.microsoft.com/azure/virtual-machines/instance-metadata-service
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ioplateau.measure.linklocal import NoAnswer, ServiceAnswer, ServiceRequest

LINK_LOCAL = "http://169.254.169.254"
LINK_LOCAL_IPV6 = "http://[fd00:ec2::254]"  # EC2 only
LISTED_LIMIT = 32
MOST_LETTERS = 8192  # of a document that is a name


class Token(NamedTuple):
    """A session token that must be asked for first (IMDSv2), by PUT."""

    path: str
    ask: tuple[tuple[str, str], ...]  # header fields of the PUT
    field: str  # header field that carries the token
    seconds: float = 21_600.0  # how long it is asked for


class Document(NamedTuple):
    """One document a cloud wants. `name` is its key in Static.documents ("azure/instance").

    keep: from the answer's text to what we keep of it, so that secrets are not kept. Raises
    ValueError, with what was found, for what is no such document; what was told before holds then.
    is_listing: each line names a further document below this path; these are fetched too.
    """

    name: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    token: Token | None = None
    keep: Callable[[str], str] | None = None
    is_listing: bool = False


def only(pattern: re.Pattern[str], wanted: str) -> Callable[[str], str]:
    """A document's `keep`: its text without space around it, where all of that is so written."""

    def keep(text: str) -> str:
        found = text.strip()
        if len(found) > MOST_LETTERS or not pattern.fullmatch(found):
            raise ValueError(f"{found[:60]!r}, want {wanted}")
        return found

    return keep


class FetchSettings(NamedTuple):
    """refresh_seconds: an attached disk or a changed tier is noticed within so long.
    gone_seconds: Azure's maintenance lasts at most 70 s (status 410); a document that was told and is not
    found any more (404) is kept as long.
    """

    refresh_seconds: float = 300.0
    gone_seconds: float = 70.0
    gone_retry_seconds: float = 5.0
    retry_seconds: float = 10.0  # first wait after a failure; doubles up to refresh_seconds


class _Entry:
    """What we know of one document."""

    __slots__ = (
        "children", "document", "due", "failures", "gone_since", "is_refused", "text", "why",
    )  # fmt: skip

    def __init__(self, document: Document) -> None:
        self.document = document
        self.due = float("-inf")
        self.text: str | None = None
        self.why = ""
        self.failures = 0
        self.gone_since: float | None = None
        self.children: tuple[str, ...] = ()
        self.is_refused = False  # asking again would be answered the same


class _Session:
    """An IMDSv2 token: asked for when there is none or it is about to end."""

    __slots__ = ("ends", "text", "token")

    def __init__(self, token: Token) -> None:
        self.token = token
        self.text = ""
        self.ends = float("-inf")


class Fetcher:
    """What to ask next, and what has been answered. One thread drives it:

    while (request := fetcher.next(now)) is not None: fetcher.take(now, ask(request))
    """

    def __init__(
        self,
        documents: Sequence[Document],
        base: str | None = None,
        settings: FetchSettings | None = None,
    ) -> None:
        """base: another than the link-local address: tests only."""
        self.documents = documents
        self.base = base
        self.settings = settings or FetchSettings()
        self._entries = {document.name: _Entry(document) for document in documents}
        self._session: _Session | None = None
        self._asked: _Entry | None = None
        self._asks_token = False
        self._paused_until = float("-inf")
        self._pauses = 0
        self._place = 0

    def due_at(self) -> float:
        """When the next question is due; infinite: never."""
        soonest = min((e.due for e in self._entries.values() if not e.is_refused), default=_NEVER)
        return max(soonest, self._paused_until)

    def next(self, now: float) -> ServiceRequest | None:
        """The next question, to be followed by `take` with its answer; None: nothing is due."""
        entry = self._next_entry(now) if now >= self._paused_until else None
        if entry is None:
            return None
        self._asked = entry
        document, fields = entry.document, entry.document.headers
        if document.token is not None:
            session = self._session
            if session is None or session.token != document.token or now >= session.ends:
                self._session, self._asks_token = _Session(document.token), True
                return ServiceRequest(self._base(), "PUT", document.token.path, document.token.ask)
            fields = (*fields, (document.token.field, session.text))
        self._asks_token = False
        return ServiceRequest(self._base(), "GET", document.path, fields)

    def take(self, now: float, answer: ServiceAnswer | NoAnswer) -> None:
        """Book the answer to the last question."""
        entry, self._asked = self._asked, None
        if entry is None:
            return
        if isinstance(answer, NoAnswer):
            self._silent(entry, now, answer)
        elif answer.status == 200 and self._asks_token:
            self._token(entry, now, answer.text.strip())
        elif answer.status == 200:
            self._answered(entry, now, answer.text)
        else:
            self._refused(entry, now, answer)
        if isinstance(answer, ServiceAnswer) and answer.status != 429:
            self._pauses = 0

    def known(self) -> Mapping[str, str]:
        """Every document as last told, by name. A service that fell silent takes nothing back."""
        return {name: e.text for name, e in self._entries.items() if e.text is not None}

    def reasons(self) -> Mapping[str, str]:
        """Why a document is not known or not fresh, by name."""
        return {name: entry.why for name, entry in self._entries.items() if entry.why}

    def _next_entry(self, now: float) -> _Entry | None:
        return next((e for e in self._entries.values() if not e.is_refused and e.due <= now), None)

    def _base(self) -> str:
        if self.base is not None:
            return self.base
        # EC2 may have IPv6 only; elsewhere nobody answers there.
        places = [LINK_LOCAL]
        if any(document.token is not None for document in self.documents):
            places.append(LINK_LOCAL_IPV6)
        return places[self._place % len(places)]

    def _answered(self, entry: _Entry, now: float, text: str) -> None:
        document = entry.document
        try:
            entry.text = text if document.keep is None else document.keep(text)
        except ValueError as error:
            self._fail(entry, now, f"{document.path}: {error}")
            return
        entry.why, entry.failures, entry.gone_since = "", 0, None
        entry.due = now + self.settings.refresh_seconds
        if document.is_listing:
            self._list(entry, text)

    def _list(self, entry: _Entry, text: str) -> None:
        names = tuple(line for line in text.split() if _LISTED.fullmatch(line))[:LISTED_LIMIT]
        parent = entry.document
        for gone in set(entry.children) - set(names):
            self._entries.pop(f"{parent.name}/{gone}", None)
        entry.children = names
        for name in names:
            path = f"{parent.path.rstrip('/')}/{name}"
            child = parent._replace(name=f"{parent.name}/{name}", path=path, is_listing=False)
            self._entries.setdefault(child.name, _Entry(child))

    def _token(self, entry: _Entry, now: float, text: str) -> None:
        if self._session is not None and _TOKEN.fullmatch(text):
            # A minute early: it must not end between two questions.
            self._session.text = text
            self._session.ends = now + self._session.token.seconds - 60
        else:
            self._session = None
            self._fail(entry, now, "the session token is no token")

    def _refused(self, entry: _Entry, now: float, answer: ServiceAnswer) -> None:
        path = self._session.token.path if self._asks_token and self._session else ""
        what = f"status {answer.status} for {path or entry.document.path}"
        match answer.status:
            case 401 if not self._asks_token and entry.document.token is not None:
                # The token ended early (the clock was set, the VM moved): ask for another.
                self._session = None
                self._fail(entry, now, what, at_once=entry.failures == 0)
            case 404 if not self._asks_token:
                self._missing(entry, now, f"{what}: the service has no such document")
            case 400 | 405:
                entry.is_refused = True
                entry.why = f"{what}: the service does not take this question, not asked again"
            case 410:
                self._gone(entry, now, what)
            case 429:
                entry.why = f"{what}: asked too often"
                self._pause(now, answer.retry_after)
            case _:
                self._fail(entry, now, what)

    def _forget(self, entry: _Entry) -> None:
        entry.text = None
        for child in entry.children:
            self._entries.pop(f"{entry.document.name}/{child}", None)
        entry.children = ()

    def _missing(self, entry: _Entry, now: float, why: str) -> None:
        """Forget a document, but not one that was told at the first refusal: a service that starts again has none."""
        entry.why = why
        if entry.text is not None and self._may_return(entry, now):
            return
        self._forget(entry)
        entry.due = now + self.settings.refresh_seconds
        entry.failures, entry.gone_since = 0, None

    def _gone(self, entry: _Entry, now: float, what: str) -> None:
        if self._may_return(entry, now):
            entry.why = f"{what}: maintenance on the host"
        else:
            self._fail(entry, now, f"{what}: maintenance takes too long")

    def _may_return(self, entry: _Entry, now: float) -> bool:
        """Whether it is gone for so short a time that it is asked for again soon."""
        if entry.gone_since is None:
            entry.gone_since = now
        if now - entry.gone_since > self.settings.gone_seconds:
            return False
        entry.due = now + self.settings.gone_retry_seconds
        return True

    def _silent(self, entry: _Entry, now: float, silence: NoAnswer) -> None:
        if self._asks_token:
            self._session = None
        if silence.is_away:
            self._place += 1
            entry.why = silence.why
            self._pause(now, None)
        else:
            self._fail(entry, now, silence.why)

    def _pause(self, now: float, asked: float | None) -> None:
        """Ask nothing for a while: of the whole service, longer each time."""
        wait = self._doubled(self._pauses)
        if asked is not None:
            wait = min(max(asked, wait), 12 * self.settings.refresh_seconds)
        self._pauses += 1
        self._paused_until = now + wait

    def _fail(self, entry: _Entry, now: float, why: str, *, at_once: bool = False) -> None:
        entry.why = why
        entry.due = now if at_once else now + self._doubled(entry.failures)
        entry.failures += 1

    def _doubled(self, times: int) -> float:
        return min(
            self.settings.retry_seconds * 2.0 ** min(times, 16), self.settings.refresh_seconds
        )


_NEVER = float("inf")
_LISTED = re.compile(r"[A-Za-z0-9._-]{1,64}")
# It goes back in a header field: printable, and no longer than such a field may be.
_TOKEN = re.compile(r"[!-~]{1,2048}")
