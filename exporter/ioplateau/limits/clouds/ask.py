"""From what a person types to a question: "Standard_D8s_v3", "P30:ReadOnly", "8k".

A disk: [<count>x]<what>[:<option>...], what = a tier (P30), an Azure SKU (PremiumV2_LRS) or an
EBS volume type (gp3); options = ReadOnly, ReadWrite, None, size=<GiB>, tier=<performance tier,
P50>, iops=<n>, mbps=<10^6 bytes/s>, mibps=<2^20 bytes/s>, burst (on-demand), plus (performance plus).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ioplateau.limits.budgets import Kind, Limit
from ioplateau.limits.clouds import discover
from ioplateau.limits.clouds.identity import DATA, DiskIdentity, Identity, Sold, SoldDisk
from ioplateau.limits.clouds.protocol import Supposed
from ioplateau.limits.tables import Catalogue
from ioplateau.limits.units import MB, MIB
from ioplateau.limits.whatif import Question, WhatIfDisk

CACHING = {"readonly": "ReadOnly", "readwrite": "ReadWrite", "none": "None"}
NOBODY = Supposed("", Sold(Identity("")))
_COUNTED = re.compile(r"(\d+)[x*](?=\D)", re.IGNORECASE)
MOST_DIGITS = 3  # of a count: no VM takes so many disks
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)(i?b)?", re.IGNORECASE)
LARGEST_REQUEST = 1 << 30


class QuestionError(ValueError):
    """What is wrong with the question: one line for each thing."""


def ask(
    catalogue: Catalogue, size: str, disks: Sequence[str], controller: str | None = None
) -> Question:
    """The question those words ask; without disks, what the size alone allows. Raises QuestionError
    with everything that is wrong.
    """
    wrong: list[str] = []
    if not size:
        wrong.append("no VM size: name one, as in --vm-size Standard_D8s_v3")
    if controller is not None and controller.lower() not in ("scsi", "nvme"):
        wrong.append(f"controller {controller!r}: want SCSI or NVMe")
    asked = [disk for text in disks for disk in _disks(text, wrong)]
    named = {f"disk{number}": disk for number, disk in enumerate(asked)}
    identity = Identity("", size, controller=controller or "", disks=named)
    cloud = discover.seller(identity, catalogue)
    supposed = NOBODY if cloud is None else cloud.what_if(identity, catalogue)
    if size and not supposed.vm_size:
        wrong.insert(0, discover.in_no_table(size, cloud, catalogue))
    wrong.extend(supposed.wrong)
    if wrong:
        raise QuestionError("\n".join(wrong))
    return _question(supposed)


def request_bytes(text: str) -> int:
    """A request size: "8k" and "8KiB" are 8,192 bytes, "8kB" 8,000. Raises QuestionError."""
    found = _SIZE.fullmatch(text.strip())
    if found is not None:
        base = 1000 if (found[3] or "").lower() == "b" and found[2] else 1024
        size = float(found[1]) * base ** " kmg".index(found[2].lower() or " ")
        if 1 <= size <= LARGEST_REQUEST and size == int(size):
            return int(size)
    raise QuestionError(f"request size {text!r}: want bytes from 1 to 1G, as in 8k, 256k or 1M")


def _disks(text: str, wrong: list[str]) -> list[DiskIdentity]:
    counted = _COUNTED.match(text)
    digits = counted[1] if counted else "1"
    count = int(digits) if len(digits) <= MOST_DIGITS else 0
    what, *options = text[counted.end() if counted else 0 :].split(":")
    disk = DiskIdentity(role=DATA, sku=what)
    for option in options:
        changed = _option(disk, option)
        if changed is None:
            wrong.append(
                f"disk {text!r}: option {option!r} is not known, want ReadOnly, ReadWrite, None, "
                "size=<GiB>, tier=<P50>, iops=<n>, mbps=<n>, mibps=<n>, burst or plus"
            )
        else:
            disk = changed
    if count < 1:
        wrong.append(f"disk {text!r}: want 1 to {10**MOST_DIGITS - 1} of them")
    return [disk] * count


def _option(disk: DiskIdentity, option: str) -> DiskIdentity | None:
    word, equals, value = option.partition("=")
    word = word.strip().lower()
    if word == "tier":
        return disk._replace(tier=value.strip().upper()) if value.strip() else None
    if not equals:
        if word in CACHING:
            return disk._replace(caching=CACHING[word])
        if word == "burst":
            return disk._replace(on_demand_burst=True)
        return disk._replace(performance_plus=True) if word == "plus" else None
    number = above_zero(value)
    if number is None:
        return None
    match word:
        case "size":
            return disk._replace(size_gib=number)
        case "iops":
            return disk._replace(iops=number, configured=option)
        case "mbps":
            return disk._replace(bytes_per_second=number * MB, configured=option)
        case "mibps":
            return disk._replace(bytes_per_second=number * MIB, configured=option)
    return None


def above_zero(value: str) -> float | None:
    """The number that a text is, if a size or a rate can be it."""
    try:
        number = float(value)
    except ValueError:
        return None
    return number if 0 < number < math.inf else None


def _question(supposed: Supposed) -> Question:
    name, sold, notices = supposed.vm_size, supposed.sold, supposed.notices
    if Kind.VM_UNCACHED not in sold.lanes:
        words = f"{name}: no limit of its own is known"
        if sold.disks:
            words = f"{words}; the figures are of its disks alone, it may allow less"
        notices = (*notices, *(supposed.allows or (words,)))
    lanes: dict[Kind, tuple[Limit, ...]] = {
        kind: limits for kind, limits in sold.lanes.items() if kind is not Kind.VM_NETWORK
    }
    disks = tuple(map(disk_of, sold.disks, sold.disks.values()))
    return Question(name, lanes, disks, notices, discover.lane_of(sold.identity), sold.by_sku)


def disk_of(name: str, disk: SoldDisk) -> WhatIfDisk:
    """A sold disk as one of a question."""
    tier, sku = disk.info.get("tier", ""), disk.identity.sku
    # Disks whose performance is set freely have a tier without a number in the tables.
    what = tier if any(map(str.isdigit, tier)) else sku
    caching = disk.identity.caching if disk.draws.read_hit else ""
    return WhatIfDisk(
        name=name,
        title=f"{what} {caching}".strip(),
        limits=disk.limits,
        miss=disk.draws.read,
        hit=disk.draws.read_hit,
        operation_bytes=disk.operation_bytes,
        sku=sku,
    )
