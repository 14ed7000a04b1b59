"""The tables of the page: the last episodes, disks and mounts with the figures that `top` shows."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ioplateau.history import Episode
from ioplateau.tell import formatting, ratetables
from ioplateau.tell.html import Html, Part, el, join, table
from ioplateau.tell.ratetables import RateTable
from ioplateau.tell.view import DiskView, MountView

MOST_EPISODES = 20
EPISODES = ["budget", "began", "lasted", "what", "limit", "at most", "at most waiting", "drew most"]


def episodes(found: Sequence[Episode], now: float) -> Html:
    """The latest first."""
    latest = sorted(found, key=lambda episode: -episode.began)[:MOST_EPISODES]
    rows = [_episode(episode, now) for episode in latest]
    content = (
        table("The last episodes", EPISODES, rows, name="episodes-table", has_words=True)
        if rows
        else None
    )
    none = el("p", "None is known: nothing was held back since this was started.", klass="soft")
    heading = el("h2", "Episodes", id="episodes-title")
    parts = (heading, content or none)
    return el("section", *parts, id="episodes", aria_labelledby="episodes-title")


def disks(found: Sequence[DiskView], count: int, span: str) -> Html | None:
    """Those that do something; the others are counted."""
    return _figures("Disks", ratetables.disks(found, count), "disks", span)


def mounts(found: Sequence[MountView], count: int, span: str) -> Html | None:
    """Those that do something; the others are counted."""
    return _figures("NFS mounts", ratetables.mounts(found, count), "mounts", span)


def _figures(title: str, what: RateTable, name: str, span: str) -> Html | None:
    if not what.rows and not what.idle:
        return None
    shown = table(f"{title}, over {span}", what.head, what.rows, name=f"{name}-table")
    return el(
        "section",
        el("h2", title, id=f"{name}-title"),
        shown if what.rows else None,
        el("p", what.idle, klass="soft") if what.idle else None,
        id=name,
        aria_labelledby=f"{name}-title",
    )


def _episode(episode: Episode, now: float) -> list[Part]:
    ended = now if episode.ended is None else episode.ended
    lasted = formatting.duration(ended - episode.began)
    limit = formatting.limit_of(episode)
    waiting = episode.most_requests_waiting
    return [
        join(episode.name, " ", el("small", formatting.kind(episode.kind, episode.lane))),
        moment(episode.began),
        f"{lasted}, goes on" if episode.ended is None else lasted,
        formatting.WORDS[episode.word],
        f"{limit} ({episode.origin})" if limit else "",
        "" if episode.peak_share is None else formatting.share(episode.peak_share),
        "" if waiting is None else formatting.figures(waiting),
        episode.drew_most,
    ]


def moment(wall: float) -> Html:
    """A time as people here read it, and as programs do."""
    exact = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(wall))
    return el("time", time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(wall)), datetime=exact)
