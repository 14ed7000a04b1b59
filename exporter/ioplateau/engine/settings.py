"""What the fold may be told."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ioplateau.limits.clouds.discover import NO_FACTS, Facts
from ioplateau.limits.tables import EMPTY_CATALOGUE, Catalogue
from ioplateau.limits.topology import Rules


class EngineSettings(NamedTuple):
    """interval_seconds: nominal time between snapshots. rate_window_seconds: what derived gauges
    cover; 15 s, so that usual scrape intervals tile time. rules, facts: what the configuration
    says of limits and of the machine. catalogue: the catalogue. asks_cloud: whether what the DMI
    says of the machine's cloud may be believed (`--no-cloud` says no).
    """

    interval_seconds: float = 1.0
    rate_window_seconds: float = 15.0
    rules: Rules = Rules()
    facts: Facts = NO_FACTS
    catalogue: Catalogue = EMPTY_CATALOGUE
    asks_cloud: bool = True
    is_hidden: Callable[[str], bool] = lambda name: False  # noqa: ARG005
