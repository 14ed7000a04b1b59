"""An NFS volume with a larger quota, as far as its service sells one."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ioplateau.limits.claims import VolumeFact


def larger(fact: VolumeFact, most_gib: float | None) -> Iterable[tuple[str, VolumeFact]]:
    """Twice the quota, or the largest there is, in words and as a fact. most_gib None: not documented."""
    if not fact.quota_gib or fact.bytes_per_second is not None:
        return
    gib = min(2 * fact.quota_gib, math.inf if most_gib is None else most_gib)
    if gib > fact.quota_gib:
        yield f"a quota of {gib:,.0f} GiB", fact._replace(quota_gib=gib)
