"""Calls of an NFS client that count as on the wire for ever, since nobody will answer them."""

from __future__ import annotations

from collections import deque
from math import sqrt

from ioplateau.judge import parameters as number


class Unanswered:
    """How many of the calls that were sent and not answered will never be: the kernel counts each sending
    of a call, and one answer only (xprt_request_transmit, xprt_complete_rqst), so a call that was sent
    again, or given up, is missing in all later differences.

    They are what Little's law leaves of the calls on the wire, in the last blocks in which some were answered:
    the more surely, the fewer calls were under way, whose number at one moment is off by about its root.
    """

    __slots__ = ("_blocks",)

    def __init__(self) -> None:
        # (calls left, how sure: one over the variance) of each.
        self._blocks: deque[tuple[float, float]] = deque(maxlen=number.SUM_BLOCKS)

    def add(self, on_wire: int, under_way: float) -> None:
        """One block with answers. on_wire: calls sent and not answered as it ends. under_way: calls that
        were, by the time they took, in the mean of it.
        """
        self._blocks.append((on_wire - under_way, 1 / (under_way + number.LITTLE)))

    def forget(self) -> None:
        """Begin anew: what was on its way in a silence may have been sent again."""
        self._blocks.clear()

    def awaits(self, on_wire: int) -> bool:
        """Whether, of so many calls on the wire, one can still be answered."""
        if not self._blocks:
            return on_wire >= 1
        sureness = sum([sure for _, sure in self._blocks])
        left = sum([calls * sure for calls, sure in self._blocks]) / sureness
        error = 1 / sqrt(sureness)
        # Half a call decides between none and one. Beyond it an error is chance; where it is larger, two are.
        return on_wire - max(left, 0.0) >= max(1 / 2 + error, 2 * error)
