"""Lines over time as inline SVG."""

from __future__ import annotations

import time
from collections.abc import Callable

from ioplateau.tell import formatting
from ioplateau.tell.report.document import Plot, Points

WIDTH, HEIGHT = 900, 180
LEFT, RIGHT, TOP, BOTTOM = 70, 10, 8, 22
SAY: dict[str, Callable[[float], str]] = {
    "IOPS": formatting.count,
    "B/s": formatting.bytes_per_second,
    "s": formatting.seconds,
    "": formatting.figures,
}


def figure(plot: Plot, safe: Callable[[str], str]) -> str:
    """The plot with its caption; what is unknown breaks a line."""
    points = [point for _, line in plot.lines for point in line]
    values = [value for _, value in points if value is not None]
    if not values:
        return ""
    first, last = points[0][0], max(at for at, _ in points)
    # A limit far above would press the lines flat: then it is said, not drawn.
    limit = plot.limit
    top = max(values)
    is_drawn = limit is not None and limit <= 3 * top
    top = max(top, limit if is_drawn and limit is not None else 0.0) * 1.05 or 1.0
    say = SAY[plot.unit]
    parts = [_axes(first, last, top, say, safe)]
    if is_drawn and limit is not None:
        y = _y(limit, top)
        parts.append(f'<path class=limit d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
    for index, (_, line) in enumerate(plot.lines):
        parts.append(f'<path class=l{index} d="{_path(line, first, last, top)}"/>')
    words = [f"highest {say(max(values))}"]
    if limit is not None:
        words.append(f"limit {say(limit)}{plot.one_way}{' (dashed)' if is_drawn else ''}")
    label = f"{plot.title}: {', '.join(words)}"
    legend = "" if len(plot.lines) < 2 else "; reads blue, writes orange"
    return (
        f"<figure><figcaption>{safe(plot.title)} <small>{safe(', '.join(words) + legend)}</small>"
        f'</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" role=img aria-label="{safe(label)}">'
        f"{''.join(parts)}</svg></figure>\n"
    )


def _axes(
    first: float, last: float, top: float, say: Callable[[float], str], safe: Callable[[str], str]
) -> str:
    floor = HEIGHT - BOTTOM
    parts = [f'<path class=axis d="M{LEFT} {TOP}V{floor}H{WIDTH - RIGHT}"/>']
    for share in (0.0, 0.5, 1.0):
        y = _y(share * top, top)
        words = "0" if share == 0 else say(share * top)
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor=end>{safe(words)}</text>')
    form = "%H:%M:%S" if last - first < 7200 else "%m-%d %H:%M"
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        x = LEFT + share * (WIDTH - LEFT - RIGHT)
        words = time.strftime(form, time.gmtime(first + share * (last - first)))
        parts.append(f'<text x="{x:.0f}" y="{HEIGHT - 6}" text-anchor={anchor}>{words}</text>')
    return "".join(parts)


def _path(line: Points, first: float, last: float, top: float) -> str:
    wide = (WIDTH - LEFT - RIGHT) / ((last - first) or 1.0)
    parts, is_pen_down = [], False
    for at, value in line:
        if value is None:
            is_pen_down = False
            continue
        parts.append(
            f"{'L' if is_pen_down else 'M'}{LEFT + (at - first) * wide:.1f} {_y(value, top):.1f}"
        )
        is_pen_down = True
    return "".join(parts)


def _y(value: float, top: float) -> float:
    return TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM)
