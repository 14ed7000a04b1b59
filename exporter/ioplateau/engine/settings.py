"""What the fold may be told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ioplateau.judge.limits import ConfiguredLimit


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """interval_seconds: nominal time between snapshots. rate_window_seconds: what derived gauges
    cover; 15 s, so that usual scrape intervals tile time.
    """

    interval_seconds: float = 1.0
    rate_window_seconds: float = 15.0
    limits: Sequence[ConfiguredLimit] = ()
    is_hidden: Callable[[str, int | None], bool] = lambda name, size: False  # noqa: ARG005
