"""What is believed of one hypothesis, in seconds of evidence: the one integrator of the judge."""

from __future__ import annotations

from ioplateau.judge import parameters as number


class Belief:
    """Seconds that speak for a hypothesis, and whether they are enough.

    It is held from ON_SECONDS on, until nothing is left: one odd second changes nothing.
    """

    __slots__ = ("held", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        self.held = False

    def weigh(self, gain: float, dt: float) -> None:
        """One block of `dt` seconds, each of which counts for `gain` seconds (below zero: against).
        A long one counts for no more than half of what is remembered, so that two blocks must agree: for
        `gain` times as much where a second counts for several, and for half as much where it says little.
        """
        if gain <= 0 and not self.seconds:
            return  # nothing is believed, and nothing speaks for it
        most = 0.5 * number.FULL_SECONDS * max(0.5, abs(gain))
        step = max(-most, min(most, gain * dt))
        self.seconds = min(number.FULL_SECONDS, max(0.0, self.seconds + step))
        self.held = self.seconds >= number.ON_SECONDS or (self.held and self.seconds > 0)

    def drop(self) -> None:
        """Nothing speaks for it any more."""
        self.seconds, self.held = 0.0, False

    def restore(self, seconds: float, *, held: bool) -> None:
        """Take up what was believed before a restart."""
        self.seconds = min(number.FULL_SECONDS, max(0.0, seconds))
        self.held = held and self.seconds > 0
