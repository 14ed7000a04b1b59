"""Burst credit: one bucket a limit, which a quiet time fills and a burst above base empties.

The rule is the same for Azure disks and VMs (disk-bursting.md) and for EBS gp2, st1 and sc1:
credit grows by base - use each second, up to the bucket's size, and starts full. Operations
and bytes have a bucket each.

A model only: nobody tells a guest its credit. So it carries what it is sure of (`least` to
`most`), and gives way when observation contradicts it, in words.

https://learn.microsoft.com/azure/virtual-machines/disk-bursting
"""

from __future__ import annotations

from typing import NamedTuple

from ioplateau.limits.budgets import Limit

# An enforced cap sits between 4 % below and 6 % above its documented value.
NEAR_BELOW, NEAR_ABOVE = 0.96, 1.06
# Less credit than this share, in the model, is no contradiction to a plateau at base.
SPENT_RATIO = 0.02
# So long must a contradiction last before the model gives way: no single tick decides.
CONTRADICTION_SECONDS = 5.0
# What a bucket that should be empty and is not is given, as a share of its size: enough that
# it need not be corrected every few seconds, and taken back exactly once it runs dry.
RESERVE_RATIO = 0.25
# Credit for less than this long a burst is none: a rate of 499.9 at a base of 500 earns crumbs.
WORTH_SECONDS = 1.0
# Of a bucket, or a second of a burst: above anything that is sold.
MOST_CREDIT = 1e18


class CreditBucket(NamedTuple):
    """Credit of one limit; base and burst per second, credit in operations or bytes.

    level is our estimate, certainly between least and most. told: the size we were told,
    where capacity is the one we believe.
    """

    base: float
    burst: float
    capacity: float
    level: float
    least: float
    most: float
    told: float
    # How long observation has contradicted us: held at base with credit, above it without.
    held_seconds: float = 0.0
    above_seconds: float = 0.0

    @property
    def ratio(self) -> float:
        """Credit left, 0 to 1."""
        return self.level / self.capacity

    @property
    def is_certain(self) -> bool:
        """Whether the level is known and not only assumed."""
        return self.most - self.least <= SPENT_RATIO * self.capacity

    @property
    def has_credit(self) -> bool:
        return self.level > (self.burst - self.base) * WORTH_SECONDS

    @property
    def limit_in_force(self) -> float:
        """The burst rate while there is credit, else the base rate."""
        return self.burst if self.has_credit else self.base


def filled(limit: Limit) -> CreditBucket | None:
    """A bucket taken to be full, for a limit with credit; None: it has none, or of a size nobody
    tells.
    """
    burst = limit.burst
    if burst is None or not burst.bucket or burst.bucket <= 0 or burst.rate <= limit.value:
        return None
    return CreditBucket(
        base=limit.value,
        burst=burst.rate,
        capacity=burst.bucket,
        level=burst.bucket,
        least=0.0,
        most=burst.bucket,
        told=burst.bucket,
    )


def step(bucket: CreditBucket, rate: float, elapsed_seconds: float) -> CreditBucket:
    """The bucket after `elapsed_seconds` at `rate`."""
    gained = (bucket.base - rate) * elapsed_seconds
    capacity = bucket.capacity
    return CreditBucket(
        bucket.base,
        bucket.burst,
        capacity,
        _within(bucket.level + gained, capacity),
        _within(bucket.least + gained, capacity),
        _within(bucket.most + gained, capacity),
        bucket.told,
        bucket.held_seconds,
        bucket.above_seconds,
    )


def away(bucket: CreditBucket, seconds: float) -> CreditBucket:
    """The bucket after a time in which nobody looked: anything from idle to full burst."""
    return bucket._replace(
        least=_within(bucket.least - (bucket.burst - bucket.base) * seconds, bucket.capacity),
        most=_within(bucket.most + bucket.base * seconds, bucket.capacity),
        held_seconds=0.0,
        above_seconds=0.0,
    )


def exhaustion_seconds(bucket: CreditBucket, rate: float) -> float | None:
    """Until the credit is gone at `rate`; 0: it is; None: at this rate it never will be."""
    if rate <= bucket.base:
        return None
    return bucket.level / (rate - bucket.base)


def observe(
    bucket: CreditBucket, rate: float, elapsed_seconds: float, *, is_held: bool
) -> tuple[CreditBucket, str]:
    """Step, and give way to what was seen; the words are empty while nothing contradicts.

    is_held: requests waited although the rate did not grow, so something held it.
    """
    after = step(bucket, rate, elapsed_seconds)
    held = is_held and NEAR_BELOW <= rate / after.base <= NEAR_ABOVE
    if held and after.ratio <= SPENT_RATIO:
        return _dry(after), ""
    above = rate > NEAR_ABOVE * after.base and not after.has_credit
    if not (held or above or after.held_seconds or after.above_seconds):
        return after, ""
    after = after._replace(
        held_seconds=after.held_seconds + elapsed_seconds if held else 0.0,
        above_seconds=after.above_seconds + elapsed_seconds if above else 0.0,
    )
    if after.held_seconds >= CONTRADICTION_SECONDS:
        return _emptied(after)
    if after.above_seconds >= CONTRADICTION_SECONDS:
        return _raised(after, rate)
    return after, ""


def _dry(bucket: CreditBucket) -> CreditBucket:
    return bucket._replace(level=0.0, least=0.0, most=0.0, held_seconds=0.0, above_seconds=0.0)


def _emptied(bucket: CreditBucket) -> tuple[CreditBucket, str]:
    words = (
        f"held at its base of {bucket.base:,.0f}/s while the model had {bucket.ratio:.0%} "
        "credit left: set to empty"
    )
    # If it was full for certain, what was drawn since is all that it holds. One that is as
    # good as unspent was not full after all, and says nothing of its size.
    drawn = bucket.capacity - bucket.level
    if bucket.is_certain and drawn > SPENT_RATIO * bucket.capacity:
        words += f"; it holds {drawn:,.0f}, not {bucket.capacity:,.0f}"
        bucket = bucket._replace(capacity=drawn)
    return _dry(bucket), words


def _raised(bucket: CreditBucket, rate: float) -> tuple[CreditBucket, str]:
    unnoticed = (rate - bucket.base) * bucket.above_seconds
    reserve = max(RESERVE_RATIO * bucket.capacity, unnoticed)
    words = (
        f"at {rate:,.0f}/s, above its base of {bucket.base:,.0f}/s, while the model had no "
        f"credit: raised to {reserve:,.0f}"
    )
    if bucket.most > bucket.level:
        level = min(reserve, bucket.most)
        return bucket._replace(level=level, least=0.0, above_seconds=0.0), words
    # Even a full bucket would be empty by now, so this one is larger than we believed: by what
    # was drawn unnoticed, and by what we give it now and take back when it runs dry.
    capacity = bucket.capacity + unnoticed + reserve
    words += f"; it holds more than {capacity - reserve:,.0f}"
    full = bucket._replace(capacity=capacity, level=reserve, least=reserve, most=reserve)
    return full._replace(above_seconds=0.0), words


def fitted(bucket: CreditBucket, limit: Limit) -> CreditBucket | None:
    """The bucket carried over to a limit that may have changed; None: it has no credit now."""
    burst = limit.burst
    if burst is None or not burst.bucket:
        return None
    same = (limit.value, burst.rate, burst.bucket) == (bucket.base, bucket.burst, bucket.told)
    return bucket if same else filled(limit)


def is_sound(bucket: CreditBucket) -> bool:
    """Whether numbers that come from anywhere can be those of a bucket."""
    return (
        0 < bucket.base < bucket.burst <= MOST_CREDIT
        and 0 < bucket.capacity <= MOST_CREDIT
        and 0 <= bucket.least <= bucket.most <= bucket.capacity
        and 0 <= bucket.level <= bucket.capacity
        and 0 <= bucket.told <= MOST_CREDIT
    )


def _within(level: float, capacity: float) -> float:
    return min(max(level, 0.0), capacity)
