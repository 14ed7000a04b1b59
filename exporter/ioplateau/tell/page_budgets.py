"""The part of the page about budgets: what holds, since when, by how much, why, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from re import sub

from ioplateau.history import Series
from ioplateau.limits.budgets import Dimension, Direction, Kind, Word
from ioplateau.tell import formatting, sparkline, summary
from ioplateau.tell.html import Html, el, join
from ioplateau.tell.view import BudgetView, LimitView

RUNBOOKS = "https://github.com/ioplateau/ioplateau/blob/main/docs/runbooks"
RUNBOOK_OF = {
    Kind.DISK: "disk-throttled",
    Kind.STRIPE: "disk-throttled",
    Kind.VM_UNCACHED: "vm-throttled",
    Kind.VM_CACHED: "vm-throttled",
    Kind.VM_ULTRA: "vm-throttled",
    Kind.VM_NETWORK: "vm-network-throttled",
    Kind.VOLUME: "nfs-volume-throttled",
    Kind.NFS_SLOTS: "nfs-slots-throttled",
    Kind.NFS_CONNECTION: "nfs-connection-throttled",
    Kind.CGROUP: "cgroup-throttled",
}
# A drawing takes some ms of the one core that samples, too; who has more budgets looks at the worst.
MOST_DRAWN = 12
MOST_SHOWN = 60

# A budget's series in one dimension and direction; None: there is none.
Past = Callable[[BudgetView, Dimension, Direction], Series | None]


def no_past(*_: object) -> None:
    """Nothing is remembered, or it is not to be drawn."""


def section(
    budgets: Sequence[BudgetView],
    past: Past,
    now: int,
    span: str,
    lately: Collection[tuple[Kind, str]] = (),
) -> Html:
    """Every budget, the worst first; those that are idle in one list, but for those held `lately`.
    span: over which the share of a limit is told.
    """
    loud = [budget for budget in budgets if not budget.is_quiet or budget.key in lately]
    shown, beyond = loud[:MOST_SHOWN], loud[MOST_SHOWN:]
    parts = [
        _article(budget, past if number < MOST_DRAWN else no_past, now, span)
        for number, budget in enumerate(shown)
    ]
    quiet = [budget for budget in budgets if budget.is_quiet and budget.key not in lately]
    parts += _list("more", beyond, f"{len(beyond)} more, less near to a limit")
    parts += _list("quiet", quiet, f"{len(quiet)} more idle or not yet known")
    if not budgets:
        parts.append(el("p", "No disks and no NFS mounts seen."))
    heading = el("h2", "Budgets", id="budgets-title")
    return el("section", heading, *parts, id="budgets", aria_labelledby="budgets-title")


def anchor(budget: BudgetView) -> str:
    """An id that is one for each budget and stays."""
    words = f"{budget.kind}-{budget.name}"
    return "budget-" + sub(r"[^A-Za-z0-9-]", lambda found: f"_{ord(found[0]):x}", words)


def _article(budget: BudgetView, past: Past, now: int, span: str) -> Html:
    name = anchor(budget)
    severity = summary.severity_of(budget.word)
    heading = el(
        "h3",
        el("span", budget.name, klass="name"),
        join(" ", el("small", budget.title), " "),
        el("strong", formatting.WORDS[budget.word], klass=str(severity)),
        join(" ", el("small", f"for {formatting.duration(budget.held_seconds)}")),
        id=f"{name}-title",
    )
    return el(
        "article",
        heading,
        el("p", budget.sentence, klass="sentence") if budget.sentence else None,
        *_charts(budget, past, now),
        _limits(budget, span),
        el("p", budget.drawn_by) if budget.drawn_by else None,
        _lifts(budget),
        _runbook(budget),
        id=name,  # its own: page.js finds what has the focus by it, wherever the article moves
        klass=f"budget {severity}",
        aria_labelledby=f"{name}-title",
    )


def _charts(budget: BudgetView, past: Past, now: int) -> Iterator[Html]:
    ways = dict.fromkeys(
        (limit.dimension, limit.direction)
        for limit in budget.limits
        if limit.dimension is not Dimension.SLOTS
    )
    for dimension, direction in list(ways)[:2] or [(Dimension.IOPS, Direction.TOTAL)]:
        series = past(budget, dimension, direction)
        if series is not None:
            yield sparkline.charts(series, now, f"{anchor(budget)}-{dimension}-{direction}")


def _limits(budget: BudgetView, span: str) -> Html:
    if not budget.limits:
        return el("p", "limit unknown", klass="soft")
    return el("ul", *(el("li", _limit(limit, span)) for limit in budget.limits), klass="limits")


def _limit(limit: LimitView, span: str) -> Html:
    ceiling = formatting.limit(limit.dimension, limit.direction, limit.value)
    extra = "".join(f", {words}" for words in _extras(limit))
    over = "" if limit.utilization is None else f"over {span} "
    return join(
        f"{formatting.share(limit.utilization)} of {ceiling} {over}",
        el("small", f"({limit.says}{extra})"),
    )


def _extras(limit: LimitView) -> Iterator[str]:
    if limit.credit_ratio is not None:
        yield f"burst credit {formatting.share(limit.credit_ratio)}"
    if limit.exhaustion_seconds is not None:
        yield f"used up in {formatting.duration(limit.exhaustion_seconds)}"
    if limit.throttled_seconds:
        yield f"throttled {formatting.duration(limit.throttled_seconds)} in all"


def _lifts(budget: BudgetView) -> Html | None:
    if not budget.lifts:
        return None
    steps = (el("li", step) for step in budget.lifts)
    return el("div", el("p", "What would lift it:"), el("ul", *steps), klass="lifts")


def _runbook(budget: BudgetView) -> Html | None:
    if budget.word not in summary.BAD | summary.UNEASY:
        return None
    page = RUNBOOK_OF[budget.kind]
    if budget.word is Word.STALLED and budget.kind in {Kind.VOLUME, Kind.NFS_CONNECTION}:
        page = "nfs-server-not-answering"
    words = f"Runbook: what to do about {budget.name}"
    return el("p", el("a", words, href=f"{RUNBOOKS}/{page}.md", rel="noreferrer"))


def _list(name: str, budgets: Sequence[BudgetView], words: str) -> Iterator[Html]:
    if not budgets:
        return
    names = (
        el("li", f"{b.name} ", el("small", f"{b.title}, {formatting.WORDS[b.word]}"))
        for b in budgets
    )
    yield el("details", el("summary", words), el("ul", *names), id=name)
