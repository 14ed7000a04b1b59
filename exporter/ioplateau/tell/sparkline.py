"""A budget's last minutes as inline SVG: rate against its limit, queue and await beneath.

No text inside the drawing: it is stretched to the width of the page. What it shows stands beside it,
and in its title and description for those who do not see it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ioplateau.history import Series
from ioplateau.limits.budgets import Dimension
from ioplateau.tell import formatting
from ioplateau.tell.html import Html, el, join

SECONDS = 900
STEPS = 180  # of the drawing; what lies within a step is shown by its highest value
NOW_SECONDS = 15  # an older figure is none of now
RATE_HEIGHT, BELOW_HEIGHT = 64, 24

Values = Sequence[float | None]


def charts(series: Series, now: int, name: str) -> Html:
    """Rate, queue and await one below the other. now: UNIX seconds at the right edge."""
    unit = series.dimension
    limit = next((value for value in reversed(series.limit) if value is not None), None)
    title = f"{_of_what(unit)}, the last 15 minutes"
    parts = [
        _chart(
            title,
            series.at,
            series.rate,
            now,
            RATE_HEIGHT,
            lambda value: formatting.amount(unit, value),
            name=f"{name}-rate",
            limits=series.limit,
            limit=limit,
        ),
        _chart(
            "requests in the queue",
            series.at,
            series.queue_length,
            now,
            BELOW_HEIGHT,
            formatting.figures,
            name=f"{name}-queue",
        ),
        _chart(
            "await",
            series.at,
            series.await_seconds,
            now,
            BELOW_HEIGHT,
            formatting.seconds,
            name=f"{name}-await",
        ),
    ]
    return el("div", *parts, klass="charts")


def _of_what(dimension: Dimension) -> str:
    return {Dimension.IOPS: "operations", Dimension.THROUGHPUT: "bytes"}.get(dimension, "slots")


def _chart(
    what: str,
    at: Sequence[int],
    values: Values,
    now: int,
    height: int,
    say: Callable[[float], str],
    *,
    name: str,
    limits: Values = (),
    limit: float | None = None,
) -> Html | None:
    known = [value for value in values if value is not None]
    if not known or (not limits and not any(known)):
        return None
    top = max(*known, *(value for value in limits if value is not None), 0.0) * 1.08 or 1.0
    steps = _steps(at, values, now)
    latest = values[-1]
    is_now = latest is not None and now - at[-1] <= NOW_SECONDS
    said = f"{say(latest)} {_lately(at, values)}, " if latest is not None and is_now else ""
    said += f"{say(max(known))} at most"
    if limit is not None:
        said += f"; limit {say(limit)}"
    drawn = [
        el("title", what, id=f"{name}-t"),
        el("desc", said, id=f"{name}-d"),
        el("path", d=_path(steps, top, height, closed=True), klass="area"),
        el("path", d=_path(steps, top, height), klass="line", vector_effect="non-scaling-stroke"),
    ]
    if limit is not None:
        ceiling = _path(_steps(at, limits, now), top, height)
        drawn.append(el("path", d=ceiling, klass="limit", vector_effect="non-scaling-stroke"))
    picture = el(
        "svg",
        *drawn,
        viewBox=f"0 0 {STEPS} {height}",
        height=height,
        preserveAspectRatio="none",
        role="img",
        aria_labelledby=f"{name}-t {name}-d",
    )
    return el("figure", picture, el("figcaption", el("b", what), join(" ", said)))


def _lately(at: Sequence[int], values: Values) -> str:
    """Of how long the last value is: since the one before it, or, after a hole, not more than a second."""
    seconds = at[-1] - at[-2] if len(at) > 1 and values[-2] is not None else 1
    return "in the last second" if seconds == 1 else f"in the last {seconds} s"


def _steps(at: Sequence[int], values: Values, now: int) -> list[float | None]:
    """The highest value of each step of the drawing; None: not known."""
    found: list[float | None] = [None] * STEPS
    width = SECONDS / STEPS
    for second, value in zip(at, values, strict=False):
        step = int((second - (now - SECONDS)) / width)
        if value is not None and 0 <= step < STEPS:
            held = found[step]
            found[step] = value if held is None else max(held, value)
    return found


def _path(steps: Sequence[float | None], top: float, height: int, *, closed: bool = False) -> str:
    """Each unbroken run as one line; closed: down to the ground, to be filled."""
    parts: list[str] = []
    for begin, run in _runs(steps):
        points = [f"{begin + n} {height - value / top * height:.1f}" for n, value in enumerate(run)]
        points.append(f"{begin + len(run)} {points[-1].split()[1]}")
        line = "L".join(points)
        ground = f"L{begin + len(run)} {height}L{begin} {height}Z" if closed else ""
        parts.append(f"M{line}{ground}")
    return "".join(parts)


def _runs(steps: Sequence[float | None]) -> Iterator[tuple[int, list[float]]]:
    run: list[float] = []
    for number, value in enumerate([*steps, None]):
        if value is not None:
            run.append(value)
        elif run:
            yield number - len(run), run
            run = []
