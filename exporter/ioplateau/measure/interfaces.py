"""Network interfaces: /proc/net/dev counters, and what psutil knows of links (speed, state).

The only file that imports psutil, and only when asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class InterfaceCounters:
    """One interface, cumulative. 64 bits wide."""

    name: str
    receive_bytes: int
    receive_packets: int
    receive_errors: int
    receive_drops: int
    transmit_bytes: int
    transmit_packets: int
    transmit_errors: int
    transmit_drops: int


@dataclass(frozen=True, slots=True)
class InterfaceTable:
    interfaces: Mapping[str, InterfaceCounters] = field(default_factory=dict)
    rejects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InterfaceRates:
    """One interface over one interval, per second."""

    elapsed_seconds: float
    receive_bytes_per_second: float
    receive_packets_per_second: float
    transmit_bytes_per_second: float
    transmit_packets_per_second: float
