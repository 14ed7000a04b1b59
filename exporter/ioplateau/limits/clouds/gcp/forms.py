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
    Form("gcp_disks.csv", "gcp_disks", ("disk_type",), texts=frozenset({"is_provisioned", "note"})),
    Form(
        "gcp_machine_types.csv",
        "gcp_machine_types",
        ("series", "disk_type"),
        texts=frozenset({"machine", "note"}),
        last=_machine_type,
    ),
)
