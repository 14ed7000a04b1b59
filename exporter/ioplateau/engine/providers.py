"""What a provider's devices count themselves: time over an EBS limit, packets over an allowance."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ioplateau.engine.follower import NOTHING, Follower, Moment, Outcome
from ioplateau.judge.witness import EbsWitness
from ioplateau.measure import allowances, ebs
from ioplateau.measure.ebs import EbsCounters
from ioplateau.measure.notice import Notice

Counted = Mapping[str, Mapping[str, int]]


class Providers:
    """Remembers the last readings. What was not due this tick still holds."""

    def __init__(self) -> None:
        self.volumes: Mapping[str, EbsCounters] = {}
        self.refused: Mapping[str, str] = {}  # why a volume cannot be asked
        self.exceeded: Mapping[str, EbsWitness] = {}
        self.interfaces: Counted = {}
        self.allowances: Mapping[str, float] = {}
        self._volumes_at = self._interfaces_at = 0.0

    @property
    def notices(self) -> tuple[str, ...]:
        """What an operator should know: volumes that would tell, if we were allowed to ask."""
        if not self.refused:
            return ()
        names = ", ".join(self.refused)
        why = next(iter(self.refused.values()))
        words = (
            f"EC2 volumes {names} count the time over their limits, but cannot be asked "
            f"({why}): verdicts rest on inference; CAP_SYS_ADMIN and /dev/nvme* let us ask"
        )
        return (Notice(words, "EC2 volumes that cannot be asked"),)

    def take_volumes(self, at: float, blob: object, *, gap: bool) -> tuple[str, ...]:
        """A reading of the volumes' log pages; why some of it is left out."""
        now, self.refused, rejects = ebs.parse_all(blob)
        before = {} if gap else self.volumes
        self.exceeded = {
            device: witness
            for device, counters in now.items()
            if device in before
            and (witness := _witness(before[device], counters, at - self._volumes_at)) is not None
        }
        self.volumes, self._volumes_at = now, at
        return rejects

    def take_interfaces(self, at: float, blob: object, *, gap: bool) -> tuple[str, ...]:
        """A reading of the interfaces' counters; why some of it is left out."""
        now, rejects = allowances.parse(blob)
        elapsed = at - self._interfaces_at
        self.allowances = {} if gap or elapsed <= 0 else _rates(self.interfaces, now, elapsed)
        self.interfaces, self._interfaces_at = now, at
        return rejects


class ProviderCounts(Follower):
    """What devices of one kind count. take: what Providers does with a reading of them."""

    def __init__(self, take: Callable[..., tuple[str, ...]]) -> None:
        self._take = take

    def follow(self, found: object, moment: Moment) -> Outcome:
        if found is None:  # what they counted before holds no longer
            self._take(moment.mono, {}, gap=True)
            return NOTHING
        return Outcome(rejects=self._take(moment.at, found, gap=moment.gap))


def _witness(before: EbsCounters, after: EbsCounters, elapsed: float) -> EbsWitness | None:
    rates = ebs.rates(before, after, elapsed)
    if rates is None:
        return None
    return EbsWitness(
        volume_iops=rates.volume_iops_exceeded_ratio,
        volume_throughput=rates.volume_throughput_exceeded_ratio,
        instance_iops=rates.instance_iops_exceeded_ratio,
        instance_throughput=rates.instance_throughput_exceeded_ratio,
    )


def _rates(before: Counted, after: Counted, elapsed: float) -> dict[str, float]:
    """Packets per second over each allowance, all interfaces together: it is the instance's."""
    found: dict[str, float] = {}
    for interface, counters in after.items():
        for name, count in counters.items():
            grown = count - before.get(interface, {}).get(name, count)
            found[name] = found.get(name, 0.0) + max(grown, 0) / elapsed
    return found
