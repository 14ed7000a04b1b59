"""AWS's tables: instance types and EBS volume types.

Units as in the tables' column names (data/limits/README.md) until here, base units after.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ioplateau.limits.ceilings import Ceiling, with_credit
from ioplateau.limits.tables import Catalogue
from ioplateau.limits.units import kibibytes, megabits

# Types that are sold with "up to" so much burst to it for 5 to 60 minutes: a figure that is in none of our
# tables. https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-network-bandwidth.html
NETWORK_BASELINE = "its baseline, which smaller types may pass for minutes"


class Instance(NamedTuple):
    """One EC2 instance type: what all its EBS volumes share."""

    name: str
    vcpus: int | None
    base: Ceiling  # of a type without a known baseline: its maximum
    baseline_known: bool
    network_bytes_per_second: float | None
    source: str
    date: str
    note: str
    hypervisor: str = ""  # nitro, xen; empty: not known


class VolumeType(NamedTuple):
    """One EBS volume type of one generation; formulas are in `sold`."""

    name: str
    generation: str
    columns: Mapping[str, Any]
    operation_bytes: int | None
    source: str
    date: str

    @property
    def is_hard_disk(self) -> bool:
        """Whether sequential requests are merged to `operation_bytes`."""
        return self.columns.get("media") == "hdd"

    def number(self, column: str) -> float | None:
        """A numeric column; None: empty."""
        value = self.columns.get(column)
        return float(value) if isinstance(value, int | float) else None


def instance(catalogue: Catalogue, name: str) -> Instance | None:
    """An EC2 instance type by name."""
    line = catalogue.line("aws_instances", name)
    return None if line is None else _instance(json.loads(line))


def instances(catalogue: Catalogue, prefix: str) -> tuple[Instance, ...]:
    """Every type whose name begins so."""
    return tuple(_instance(json.loads(line)) for line in catalogue.lines("aws_instances", prefix))


def _instance(row: Mapping[str, Any]) -> Instance:
    base, most = row.get("baseline_mbit_s"), row.get("max_mbit_s")
    base_iops, most_iops = row.get("baseline_iops"), row.get("max_iops")
    return Instance(
        name=row["instance_type"],
        vcpus=row.get("vcpus"),
        # "at least 30 minutes": the bucket is the smallest that keeps the promise.
        base=with_credit(
            most_iops if base_iops is None else base_iops,
            megabits(most if base is None else base),
            most_iops,
            megabits(most),
            seconds=1800,
        ),
        baseline_known=base is not None,
        network_bytes_per_second=megabits(row.get("network_baseline_mbit_s")),
        source=row.get("source", ""),
        date=row.get("source_date", ""),
        note=row.get("api_note", ""),
        hypervisor=row.get("hypervisor", ""),
    )


def volume_type(catalogue: Catalogue, name: str) -> VolumeType | None:
    """An EBS volume type ("gp3"): the older, complete row, with ceilings raised by newer ones."""
    rows = [json.loads(line) for line in catalogue.lines("aws_volumes", f"{name}/")]
    if not rows:
        return None
    columns: dict[str, Any] = {}
    for row in rows:  # oldest first: keys end in the generation
        columns |= row
    return VolumeType(
        name=columns["volume_type"],
        generation=columns["generation"],
        columns=columns,
        operation_bytes=kibibytes(columns.get("max_io_kib_counted_as_one_op")),
        source=columns.get("source", ""),
        date=columns.get("source_date", ""),
    )
