"""uv's CycloneDX list of what is in the packages, made the same for the same commit.

Reads it from standard input, writes it to standard output: without the time and the random number
of this run, without libraries of other systems, and with our own version.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from datetime import UTC, datetime
from typing import Any


def settled(bill: dict[str, Any], version: str, at: datetime) -> dict[str, Any]:
    """The same bill for the same input; `at` is its time."""
    foreign = {part["bom-ref"] for part in bill["components"] if _is_foreign(part)}
    bill["components"] = [part for part in bill["components"] if part["bom-ref"] not in foreign]
    bill["dependencies"] = [
        {**each, "dependsOn": [ref for ref in each.get("dependsOn", []) if ref not in foreign]}
        for each in bill["dependencies"]
        if each["ref"] not in foreign
    ]
    bill["metadata"]["timestamp"] = at.isoformat().replace("+00:00", "Z")
    own = bill["metadata"]["component"]
    own.update(version=version, purl=f"pkg:pypi/ioplateau@{version}")
    bill.pop("serialNumber", None)
    words = json.dumps(bill, sort_keys=True)
    bill["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_URL, words).urn
    return bill


def _is_foreign(part: dict[str, Any]) -> bool:
    return any("win32" in each.get("value", "") for each in part.get("properties", []))


if __name__ == "__main__":
    moment = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
    json.dump(settled(json.load(sys.stdin), sys.argv[1], moment), sys.stdout, indent=2)
    print()
