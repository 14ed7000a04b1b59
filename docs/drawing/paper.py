"""Panels on paper: each at its place in the grid of the dashboard."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator

from drawing.parts import (
    COLOURS,
    Empty,
    Graph,
    Json,
    Line,
    Listing,
    Number,
    States,
    Table,
    scale_of,
    written,
)
from drawing.sheet import COLUMNS, EDGE, FAINT, GAP, HEAD, INK, LINK, UNIT, WIDTH, Sheet

ROW_OF_LEGEND, TITLE = 15, 28
Regions = Sequence[tuple[str, Sequence[tuple[float, float]]]]  # colour, (begin, end)


class Paper(Sheet):
    """A sheet with panels."""

    def head(self, title: str, below: str, marks: Sequence[tuple[str, str]]) -> None:
        """Title, choices, and what the bands on the graphs mean: (name, colour)."""
        self.text(16, 22, title, 14, weight="bold")
        self.text(16, 47, below, 9, FAINT)
        x = WIDTH - 16.0
        for name, colour in reversed(marks):
            self.text(x, 47, name, 9, align="right")
            x -= self.width(name, 9) + 18
            self.box((x, 43, 12, 8), colour, "none")
            x -= 20

    def row(self, title: str, y: float, closed: int) -> None:
        """closed: how many panels stay folded up in it."""
        sign, folded = ("▸", f"  ({closed} panels, empty here)") if closed else ("▾", "")
        self.text(16, HEAD + (y + 0.5) * UNIT, f"{sign} {title}", 11, weight="bold")
        x = 16 + self.width(f"{sign} {title}", 11, "bold")
        self.text(x, HEAD + (y + 0.5) * UNIT, folded, 9, FAINT)

    def panel(self, title: str, place: Json, y: float, shown: Any, regions: Regions) -> None:
        """A panel at gridPos `place`, with y moved to `y`."""
        column = (WIDTH - GAP) / COLUMNS
        left, top = GAP + place["x"] * column, HEAD + y * UNIT
        box = (left, top, place["w"] * column - GAP, place["h"] * UNIT - GAP)
        if isinstance(shown, list):
            self._numbers(title, box, shown)
            return
        self.box(box, "white", EDGE)
        self._title(title, box, INK)
        inner = (left + 10, top + TITLE, box[2] - 20, box[3] - TITLE - 8)
        if isinstance(shown, Graph):
            self._graph(inner, shown, regions)
        else:
            DRAWN[type(shown)](self, inner, shown)

    def _title(self, title: str, box: Sequence[float], colour: str) -> None:
        fitting = self.fitted(title, box[2] - 20, 9, "bold")
        if fitting != title:
            self.cut.append(title)
        self.text(box[0] + 10, box[1] + 15, fitting, 9, colour, "bold")

    def _numbers(self, title: str, box: Sequence[float], shown: Sequence[Number]) -> None:
        first = shown[0]
        dark = first.colour == COLOURS["yellow"]
        ink = (INK if dark else "white") if first.filled else INK
        self.box(box, first.colour if first.filled else "white", EDGE)
        self._title(title, box, ink)
        width = box[2] / len(shown)
        for place, one in enumerate(shown):
            size = next(
                (
                    size
                    for size in (26, 22, 18, 14, 11)
                    if self.width(one.text, size, "bold") < width - 20
                ),
                9,
            )
            self.text(
                box[0] + (place + 0.5) * width,
                box[1] + TITLE / 2 + box[3] / 2,
                one.text,
                size,
                ink if one.filled else one.colour,
                "bold",
                "center",
            )

    def _empty(self, box: Sequence[float], shown: Empty) -> None:
        middle = (box[0] + box[2] / 2, box[1] + box[3] / 2)
        self.text(*middle, shown.text, 11, FAINT, align="center")

    def _graph(self, box: Sequence[float], shown: Graph, regions: Regions) -> None:
        left, top, width, height = box
        ranked = sorted(shown.lines, key=lambda line: -_highest(line))
        fits = max(1, int(0.36 * height / ROW_OF_LEGEND) - 1)
        listed = ranked[: fits if len(ranked) <= fits else fits - 1]
        legend_height = ROW_OF_LEGEND * (min(len(ranked), fits) + 1) + 4
        axes = self.axes((left + 62, top + 4, width - 66, height - legend_height - 26))
        for colour, spans in regions:
            for begin, end in spans:
                axes.axvspan(begin, end, color=colour, alpha=0.10, linewidth=0)
                axes.axvspan(begin, end, 0, 0.025, color=colour, alpha=0.9, linewidth=0)
        for at, colour in shown.thresholds:
            axes.axhline(at, color=colour, linewidth=0.9, linestyle=(0, (6, 4)), alpha=0.7)
        for line in sorted(shown.lines, key=lambda line: line.dashed):
            sign = -1 if line.down else 1
            values = [sign * value for value in line.values]
            style = (0, (5, 3)) if line.dashed else "solid"
            axes.plot(
                line.at, values, color=line.colour, linewidth=line.width * 1.1, linestyle=style
            )
            if line.fill and len(shown.lines) < 12:
                axes.fill_between(line.at, values, color=line.colour, alpha=line.fill, linewidth=0)
        _vertical(axes, shown)
        axes.yaxis.set_major_formatter(
            FuncFormatter(lambda value, _: written(abs(value), shown.unit))
        )
        self._legend((left, top + height - legend_height + 4, width), listed, shown.unit)
        if len(listed) < len(ranked):
            more = f"and {len(ranked) - len(listed)} more"
            self.text(left + 22, top + height - 6, more, 7.5, FAINT)

    def _legend(self, box: Sequence[float], lines: Sequence[Line], unit: str) -> None:
        left, y, width = box
        places = [left + width - back for back in (160, 80, 0)]
        for place, word in zip(places, ("Mean", "Max", "Last"), strict=True):
            self.text(place, y + 6, word, 7.5, LINK, align="right")
        for number, line in enumerate(lines, 1):
            middle = y + 6 + number * ROW_OF_LEGEND
            for part in (0, 8) if line.dashed else (0,):
                self.box(
                    (left + part, middle - 2, 6 if line.dashed else 14, 3), line.colour, "none"
                )
            self.text(left + 22, middle, self.fitted(line.name, width - 250, 8), 8)
            for place, text in zip(places, line.legend(unit), strict=True):
                self.text(place, middle, text, 8, align="right")

    def _states(self, box: Sequence[float], shown: States) -> None:
        left, top, width, height = box
        names = max(self.width(name, 8) for name, _ in shown.rows) + 12
        names = min(names, width * 0.4)
        axes = self.axes((left + names, top, width - names - 4, height - 36))
        axes.set_ylim(len(shown.rows), 0)
        axes.set_yticks([])
        axes.grid(visible=False, axis="y")
        room = (height - 36) / len(shown.rows)
        for place, (name, spans) in enumerate(shown.rows):
            for begin, end, colour in spans:
                if len(colour) == 7:
                    axes.axhspan(place, place + 1, color="#f0f1f2", linewidth=0, zorder=0)
                    axes.add_patch(
                        Rectangle((begin, place + 0.08), end - begin, 0.84, color=colour, lw=0)
                    )
            axes.axhspan(place + 0.08, place + 0.92, color="#eef0f2", linewidth=0, zorder=0)
            middle = top + (place + 0.5) * room
            fitting = self.fitted(name, names - 8, min(8, room * 0.62))
            self.text(left, middle, fitting, min(8, room * 0.62))
        x = left
        for word, colour in shown.words:
            self.box((x, top + height - 9, 12, 6), colour[:7], EDGE)
            self.text(x + 18, top + height - 5, word, 8)
            x += 34 + self.width(word, 8)

    def _table(self, box: Sequence[float], shown: Table) -> None:
        left, top, width, height = box
        texts = [
            [header, *(row[place].text for row in shown.rows)]
            for place, header in enumerate(shown.headers)
        ]
        wanted = [max(self.width(text, 9, "bold") for text in column) + 24 for column in texts]
        scale = width / sum(wanted)
        fits = int(height / 22) - 1
        rows = shown.rows[: fits if len(shown.rows) <= fits else fits - 1]
        x = left
        for place, header in enumerate(shown.headers):
            room = wanted[place] * scale
            self.text(x + 6, top + 11, self.fitted(header, room - 10, 9, "bold"), 9, LINK, "bold")
            for number, row in enumerate(rows, 1):
                cell = row[place]
                if cell.colour:
                    self.box((x, top + number * 22 + 1, room - 4, 20), cell.colour, "none")
                light = cell.colour and cell.colour != COLOURS["yellow"]
                ink = "white" if light else LINK if cell.linked else INK
                text = self.fitted(cell.text, room - 10, 9)
                self.text(x + 6, top + number * 22 + 11, text, 9, ink)
            x += room
        if len(rows) < len(shown.rows):
            more = f"and {len(shown.rows) - len(rows)} more"
            self.text(left + 6, top + (len(rows) + 1) * 22 + 11, more, 8, FAINT)

    def _listing(self, box: Sequence[float], shown: Listing) -> None:
        left, top, width, height = box
        fits = int(height / 34)
        for number, (state, name, where) in enumerate(shown.lines[:fits]):
            y = top + 10 + number * 34
            colour = COLOURS["red"] if state == "firing" else COLOURS["orange"]
            self.box((left, y - 8, 4, 28), colour, "none")
            self.text(left + 12, y, self.fitted(name, width - 90, 9), 9)
            self.text(left + width, y, state, 8, colour, align="right")
            self.text(left + 12, y + 14, self.fitted(where, width - 20, 8), 8, FAINT)
        if len(shown.lines) > fits:
            more = f"and {len(shown.lines) - fits} more"
            self.text(left + 12, top + height - 6, more, 8, FAINT)


DRAWN: Mapping[type, Callable[[Paper, Sequence[float], Any], None]] = {
    States: Paper._states,  # noqa: SLF001 - the table of this class
    Table: Paper._table,  # noqa: SLF001
    Listing: Paper._listing,  # noqa: SLF001
    Empty: Paper._empty,  # noqa: SLF001
}


def _highest(line: Line) -> float:
    return max((value for value in line.values if not math.isnan(value)), default=-math.inf)


def _vertical(axes: Axes, shown: Graph) -> None:
    """From 0 up, unless the panel says otherwise; reads up and writes down on a centred axis."""
    known = [_highest(line) for line in shown.lines]
    top = max([*known, 0.0]) * 1.08 or 1.0
    low = -top if any(line.down for line in shown.lines) else 0.0
    axes.set_ylim(
        low if shown.low is None else shown.low,
        top if shown.high is None else shown.high,
    )
    step = scale_of(axes.get_ylim()[1], shown.unit)[0]
    ticks = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(
        *(end / step for end in axes.get_ylim())
    )
    low, high = axes.get_ylim()
    axes.set_yticks([tick * step for tick in ticks if low <= tick * step <= high])


def colour(text: str) -> str:
    """Grafana's colours: a name or rgba()."""
    numbers = re.findall(r"[\d.]+", text) if text.startswith("rgba") else []
    return "#{:02x}{:02x}{:02x}".format(*map(int, numbers[:3])) if numbers else COLOURS[text]
