"""What AWS has on offer to lift a limit: more provisioned for gp3, larger instances of a family.

gp3: general-purpose.html of the EBS user guide; its ceilings are the table's.

https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ioplateau.limits.budgets import Kind
from ioplateau.limits.ceilings import gives_more
from ioplateau.limits.clouds.aws.sold import provisionable
from ioplateau.limits.clouds.aws.tables import Instance, instance, instances, volume_type
from ioplateau.limits.clouds.identity import Identity
from ioplateau.limits.lifting.step import Choice
from ioplateau.limits.tables import Catalogue
from ioplateau.limits.units import MIB

MOST_SIZES = 2


def choices(
    identity: Identity, disks: Sequence[str], kind: Kind, catalogue: Catalogue
) -> Iterable[Choice]:
    """Changes for a volume, where its own limit binds, and for the instance, where that does."""
    if kind is Kind.DISK:
        for name in disks:
            yield from _of_volume(identity, name, catalogue)
    else:
        yield from _larger(identity, catalogue)


def _of_volume(identity: Identity, name: str, catalogue: Catalogue) -> Iterable[Choice]:
    disk = identity.disks[name]
    kind = volume_type(catalogue, disk.sku) if disk.sku == "gp3" else None
    if kind is None:
        return
    iops, data, *_ = provisionable(kind, disk.size_gib)
    if iops is None or data is None:
        return
    words = f"gp3 {name} provisioned with {iops:,.0f} IOPS and {data / MIB:,.0f} MiB/s"
    most = disk._replace(iops=iops, bytes_per_second=data, configured="")
    yield Choice(words, identity._replace(disks={**identity.disks, name: most}))


def _larger(identity: Identity, catalogue: Catalogue) -> Iterable[Choice]:
    """The next types of the family that have more: "m5.xlarge" after "m5.large"."""
    now = instance(catalogue, identity.vm_size)
    if now is None:
        return
    family, dot, _ = now.name.partition(".")
    larger = [
        other
        for other in instances(catalogue, family + dot)
        if _rank(other) > _rank(now) and gives_more(other.base, now.base)
    ]
    for other in sorted(larger, key=_rank)[:MOST_SIZES]:
        yield Choice(f"{other.name} in place of {now.name}", identity._replace(vm_size=other.name))


def _rank(instance: Instance) -> tuple[float, float]:
    return instance.vcpus or 0, instance.base.bytes_per_second or 0
