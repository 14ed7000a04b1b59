"""What Google Cloud's CSV files in data/limits look like."""

from __future__ import annotations

from ioplateau.limits.forms import Form, Row


def _machine_type(row: Row) -> str:
    """A name, or the least vCPUs in as many digits for all: a series' rows lie in their order."""
    machine, least = row.get("machine", ""), row.get("vcpus_min", "")
    if not machine and not least.isdecimal():
        raise ValueError("neither machine nor vcpus_min says which it is")
    return machine or least.zfill(4)


FORMS = (
    Form(
        "gcp_disks.csv",
        "gcp_disks",
        ("disk_type",),
        columns=(
            "disk_type is_provisioned base_iops base_mibps read_iops_per_gib "
            "write_iops_per_gib mibps_per_gib max_iops max_mibps max_iops_per_gib "
            "mibps_per_iops max_mibps_per_iops iops_per_mibps disk_gib read_iops write_iops "
            "read_mibps write_mibps reads_and_writes_share source source_date note"
        ),
        texts=frozenset({"is_provisioned", "reads_and_writes_share", "note"}),
        zeros=frozenset({"base_iops", "base_mibps"}),
    ),
    Form(
        "gcp_machine_types.csv",
        "gcp_machine_types",
        ("series", "disk_type"),
        columns=(
            "series machine vcpus_min vcpus_max disk_type read_iops write_iops read_mibps "
            "write_mibps iops mibps source source_date note"
        ),
        texts=frozenset({"machine", "note"}),
        last=_machine_type,
    ),
)
