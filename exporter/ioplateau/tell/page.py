"""The page at `/`: is something at its limit, which, since when, and what to do. For a phone too.

Made whole on the server, so it works without scripts; page.js fetches `fragment`, which is the
content alone, and puts it in place. Nothing is loaded from elsewhere, and the policy says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ioplateau.history import Episode
from ioplateau.tell import formatting, page_budgets, page_tables, sparkline
from ioplateau.tell.html import Html, el, join
from ioplateau.tell.page_budgets import Past, no_past
from ioplateau.tell.summary import Severity
from ioplateau.tell.view import View, machine

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
RELOAD_SECONDS = 15  # without scripts


class Around(NamedTuple):
    """What the page tells besides the state. links: path and text of the footer. span: over which its rates
    are means, but for what says another.
    """

    host: str = ""
    version: str = ""
    watched_seconds: float | None = None  # since the daemon was started; None: not known
    links: Sequence[tuple[str, str]] = (("/metrics", "Metrics"),)
    span: str = "the rate window"


def page(
    seen: View,
    around: Around,
    past: Past = no_past,
    episodes: Sequence[Episode] = (),
) -> bytes:
    """The whole page, UTF-8."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width,initial-scale=1"),
        el("title", _title(seen, around)),
        el("link", rel="stylesheet", href="page.css"),
        el("link", rel="icon", href="icon.svg"),
        el("script", src="page.js", defer=True),
        el("noscript", el("meta", http_equiv="refresh", content=str(RELOAD_SECONDS))),
    )
    version = f"ioplateau {around.version}".strip()
    # Relative, as all links here: a proxy may show the page below a path of its own.
    links = (join(el("a", words, href=path.removeprefix("/")), " ") for path, words in around.links)
    body = el(
        "body",
        _main(seen, around, past, episodes),
        el("p", id="stale", role="status"),
        el("footer", el("nav", *links, aria_label="More"), el("small", version)),
    )
    return f"<!doctype html>\n{el('html', head, body, lang='en')}\n".encode()


def fragment(
    seen: View,
    around: Around,
    past: Past = no_past,
    episodes: Sequence[Episode] = (),
) -> bytes:
    """The content alone, UTF-8, for page.js."""
    return _main(seen, around, past, episodes).encode()


def _title(seen: View, around: Around) -> str:
    return " · ".join(filter(None, (seen.headline, around.host, "ioplateau")))


def _main(seen: View, around: Around, past: Past, episodes: Sequence[Episode]) -> Html:
    now = int(seen.wall)
    is_known = seen.wall > 0
    lately = {
        (each.kind, each.name)
        for each in episodes
        if each.ended is None or each.ended > now - sparkline.SECONDS
    }
    return el(
        "main",
        el("h1", seen.headline, id="headline", klass=str(seen.severity), aria_live="polite"),
        _last(seen, episodes),
        _about(seen, around) if is_known else None,
        page_budgets.section(seen.budgets, past, now, around.span, lately) if is_known else None,
        page_tables.episodes(episodes, seen.wall) if is_known else None,
        page_tables.disks(seen.disks, seen.disk_count, around.span),
        page_tables.mounts(seen.mounts, seen.mount_count, around.span),
        _notes(seen),
        data_title=_title(seen, around),
    )


def _last(seen: View, episodes: Sequence[Episode]) -> Html | None:
    """What was held back last, where nothing is now. Since the clock was set back some may lie ahead."""
    over = [each for each in episodes if each.ended is not None]
    if seen.severity is Severity.BAD or not over:
        return None
    past = [each for each in over if each.ended is not None and each.ended <= seen.wall]
    last = max(past or over, key=lambda episode: episode.ended or 0.0)
    ended = last.ended or 0.0
    words = f"Last: {last.name} ({formatting.kind(last.kind, last.lane)}) {formatting.WORDS[last.word]} for "
    ago = f", {formatting.duration(seen.wall - ended)} ago" if ended <= seen.wall else None
    lasted = formatting.duration(ended - last.began)
    return el("p", words, lasted, " until ", page_tables.moment(ended), ago, id="last")


def _about(seen: View, around: Around) -> Html:
    where = " · ".join(filter(None, (around.host, machine(seen))))
    watched = around.watched_seconds
    now = page_tables.moment(seen.wall)
    parts = [el("b", where) if where else None, join(" " if where else "", now)]
    if watched is not None:
        parts.append(join(f", watched for {formatting.duration(watched)}"))
    pressure = seen.io_waiting_ratio
    if pressure is not None:
        parts.append(join(f" · tasks wait for I/O {formatting.share(pressure)} of the time"))
    return el("p", *parts, id="about", klass="soft")


def _notes(seen: View) -> Html | None:
    if not seen.notes:
        return None
    return el(
        "section",
        el("h2", "To know", id="notes-title"),
        el("ul", *(el("li", note) for note in seen.notes)),
        id="notes",
        aria_labelledby="notes-title",
    )
