"""A sheet of paper: text, boxes and axes, in pixels from the top left corner."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter
from PIL import Image

mpl.rcParams["text.parse_math"] = False
mpl.rcParams["font.family"] = "DejaVu Sans"

WIDTH, COLUMNS, UNIT, GAP, HEAD = 1600, 24, 34, 8, 64
GROUND, EDGE, INK, FAINT, LINK = "#f4f5f5", "#d8d9da", "#24292e", "#6e7680", "#1f62e0"
DPI = 100


@dataclass
class Sheet:
    """A sheet of so many grid units in height, for a range of time (unix seconds).

    cut: titles that did not fit.
    """

    units: float
    begin: float
    end: float
    cut: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.height = HEAD + self.units * UNIT + GAP
        self.figure = Figure(figsize=(WIDTH / DPI, self.height / DPI), dpi=DPI, facecolor=GROUND)
        self.canvas = FigureCanvasAgg(self.figure)

    def save(self, file: Path) -> None:
        """As PNG with a palette, the colours that occur most: a third of the bytes."""
        self.canvas.draw()
        size = self.canvas.get_width_height()
        image = Image.frombuffer("RGBA", size, self.canvas.buffer_rgba()).convert("RGB")
        common = sorted(image.getcolors(image.width * image.height), reverse=True)[:256]
        palette = Image.new("P", (1, 1))
        palette.putpalette([part for _, colour in common for part in colour])
        image.quantize(palette=palette, dither=Image.Dither.NONE).save(file, optimize=True)

    def axes(self, box: Sequence[float]) -> Axes:
        """Axes of time in a box (left, top, width, height)."""
        left, top, width, height = box
        axes = self.figure.add_axes(
            (
                left / WIDTH,
                1 - (top + height) / self.height,
                width / WIDTH,
                height / self.height,
            )
        )
        axes.set_xlim(self.begin, self.end)
        every = next(
            step
            for step in (5, 10, 20, 30, 60, 120, 300)
            if (self.end - self.begin) / step * 75 < width
        )
        first = math.ceil(self.begin / every) * every
        # A label that would leave the panel is left out.
        last = self.end - 24 / width * (self.end - self.begin)
        count = int((last - first) / every) + 1
        axes.xaxis.set_major_locator(FixedLocator([first + every * n for n in range(count)]))
        axes.xaxis.set_major_formatter(
            FuncFormatter(lambda at, _: f"{datetime.fromtimestamp(at, UTC):%H:%M:%S}")
        )
        axes.tick_params(labelsize=7.5, length=0, labelcolor=FAINT)
        axes.grid(color="#e9eaec", linewidth=0.7)
        axes.set_axisbelow(True)
        for spine in axes.spines.values():
            spine.set_visible(False)
        return axes

    def box(self, box: Sequence[float], colour: str, edge: str) -> None:
        left, top, width, height = box
        self.figure.add_artist(
            Rectangle(
                (left / WIDTH, 1 - (top + height) / self.height),
                width / WIDTH,
                height / self.height,
                facecolor=colour,
                edgecolor=edge,
                linewidth=0.8,
                zorder=-1 if edge == EDGE else 0,
            )
        )

    def text(
        self,
        x: float,
        middle: float,
        text: str,
        size: float,
        colour: str = INK,
        weight: str = "normal",
        align: str = "left",
    ) -> None:
        self.figure.text(
            x / WIDTH,
            1 - middle / self.height,
            text,
            size=size,
            color=colour,
            weight=weight,
            ha=align,
            va="center",
        )

    def width(self, text: str, size: float, weight: str = "normal") -> float:
        renderer = self.canvas.get_renderer()
        font = FontProperties(size=size, weight=weight)
        return float(renderer.get_text_width_height_descent(text, font, ismath=False)[0])

    def fitted(self, text: str, room: float, size: float, weight: str = "normal") -> str:
        if self.width(text, size, weight) <= room:
            return text
        while text and self.width(text + "…", size, weight) > room:
            text = text[:-1]
        return text + "…"
