"""The page at `/`: is something at its limit, which, since when. Plain HTML, for a phone too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from ioplateau.state import BudgetState, LimitState, State
from ioplateau.tell import plain, summary

STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--back:#fff;--line:#d8dee4;
--bad:#b42318;--warn:#8a5a00;--good:#1a6b3a}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa4af;--back:#0f1418;--line:#30363d;
--bad:#ff8b80;--warn:#e3b341;--good:#6fd08c}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--back);margin:0 auto;
padding:1rem;max-width:60rem;overflow-wrap:anywhere}
h1{font-size:1.1rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}
.now{font-size:1.6rem;line-height:1.25;font-weight:600;margin:.5rem 0}
ul{list-style:none;padding:0;margin:0}li{border-top:1px solid var(--line);padding:.7rem 0}
.name{font-weight:600}.soft,small{color:var(--soft)}.bad{color:var(--bad)}.warn{color:var(--warn)}
.good{color:var(--good)}p{margin:.2rem 0}meter{width:8rem;max-width:40vw;vertical-align:middle}
nav a{margin-right:1rem}a{color:inherit}
"""


def page(
    state: State | None,
    *,
    version: str = "",
    links: Sequence[tuple[str, str]] = (("/metrics", "Metrics"),),
) -> bytes:
    """The landing page, UTF-8. state: None before the first tick. links: path and text."""
    parts = _document(state, version, links)
    return "".join(parts).encode()


def _document(state: State | None, version: str, links: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
    yield '<meta name=viewport content="width=device-width,initial-scale=1">'
    yield f"<title>{_safe(summary.headline(state))} · ioplateau</title><style>{STYLE}</style></head><body>"
    yield f"<header><h1>ioplateau <small>{_safe(version)}</small></h1></header><main>"
    yield f'<p class="now {summary.mood(state)}">{_safe(summary.headline(state))}</p>\n'
    if state is not None:
        yield from _state(state)
    yield "</main><h2>More</h2><nav>"
    for path, words in links:
        yield f'<a href="{_safe(path)}">{_safe(words)}</a> '
    yield "</nav></body></html>\n"


def _state(state: State) -> Iterator[str]:
    budgets = summary.worst_first(state)
    yield "<h2>Budgets</h2><ul>\n" if budgets else "<p>No disks and no NFS mounts seen.</p>"
    for budget in budgets:
        yield f"<li>{''.join(_budget(state, budget))}</li>\n"
    yield "</ul>" if budgets else ""
    yield from _list("Sources that fail", _failures(state))
    yield from _list("To know", state.notices)


def _budget(state: State, budget: BudgetState) -> Iterator[str]:
    (kind, name), verdict = budget.budget.key, budget.verdict
    mood = summary.mood_of(verdict.word)
    since = plain.duration(state.mono - verdict.since)
    yield f"<p><span class=name>{_safe(name)}</span> <span class=soft>{plain.KINDS[kind]}</span></p>"
    yield f"<p><strong class={mood}>{plain.WORDS[verdict.word]}</strong> <small>for {since}</small></p>"
    if verdict.sentence:
        yield f"<p>{_safe(verdict.sentence)}</p>"
    for limit in budget.limits:
        yield f"<p>{_limit(limit)}</p>"
    if not budget.limits:
        yield "<p class=soft>limit unknown</p>"


def _limit(limit: LimitState) -> str:
    ceiling = plain.limit(limit.dimension, limit.direction, limit.effective)
    used = limit.utilization
    bar = "" if used is None else _meter(used)
    origin = (
        f"{limit.limit.origin}: {limit.limit.source}" if limit.limit.source else limit.limit.origin
    )
    extra = "".join(f", {words}" for words in _extras(limit))
    return f"{bar} {plain.share(used)} of {ceiling} <small>({_safe(origin)}{_safe(extra)})</small>"


def _meter(used: float) -> str:
    return f"<meter min=0 low=0.7 high=0.9 optimum=0 max=1 value={min(max(used, 0.0), 1.0):.3f}></meter>"


def _extras(limit: LimitState) -> Iterator[str]:
    if limit.credit_ratio is not None:
        yield f"burst credit {plain.share(limit.credit_ratio)}"
    if limit.exhaustion_seconds is not None:
        yield f"used up in {plain.duration(limit.exhaustion_seconds)}"
    if limit.throttled_seconds:
        yield f"throttled {plain.duration(limit.throttled_seconds)} in all"


def _failures(state: State) -> list[str]:
    return [f"{s.name}: {s.why}" for _, s in sorted(state.sources.items()) if not s.up]


def _list(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"<h2>{title}</h2><ul>"
        yield from (f"<li>{_safe(words)}</li>" for words in lines)
        yield "</ul>"


def _safe(words: str) -> str:
    return escape(plain.valid(words))
