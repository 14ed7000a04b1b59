"""From what a person types to a question: "Standard_D8s_v3", "P30:ReadOnly", "8k".

A disk: [<count>x]<what>[:<option>...], what = a tier (P30), an Azure SKU (PremiumV2_LRS) or an
EBS volume type (gp3); options = ReadOnly, ReadWrite, None, size=<GiB>, iops=<n>, mbps=<10^6
bytes/s>, mibps=<2^20 bytes/s>, burst (on-demand), plus (performance plus).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from ioplateau.judge.budgets import Kind, Limit
from ioplateau.judge.catalogue import Instance, VmSize, disk_tier, instance, vm_size
from ioplateau.judge.ceilings import limits_of
from ioplateau.judge.clouds import aws_limits, azure, azure_limits
from ioplateau.judge.clouds.identity import DATA, DiskIdentity, SoldDisk
from ioplateau.judge.tables import Shelf
from ioplateau.judge.whatif import Disk, Question

CACHING = {"readonly": "ReadOnly", "readwrite": "ReadWrite", "none": "None"}
SKUS = {"ultra": "UltraSSD_LRS", "premiumv2": "PremiumV2_LRS"}
_COUNTED = re.compile(r"(\d{1,3})[x*](?=\D)", re.IGNORECASE)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)(i?b)?", re.IGNORECASE)
LARGEST_REQUEST = 1 << 30


class QuestionError(ValueError):
    """What is wrong with the question: one line for each thing."""


def ask(shelf: Shelf, size: str, disks: Sequence[str], controller: str | None = None) -> Question:
    """The question those words ask. Raises QuestionError with everything that is wrong."""
    wrong: list[str] = []
    notices: list[str] = []
    machine = vm_size(shelf, size, controller) or instance(shelf, size) if size else None
    if not size:
        wrong.append("no VM size: name one, as in --vm-size Standard_D8s_v3")
    elif machine is None:
        wrong.append(f"VM size {size!r} is in no table{_nearest(shelf, size)}")
    if controller is not None and controller.lower() not in ("scsi", "nvme"):
        wrong.append(f"controller {controller!r}: want SCSI or NVMe")
    asked = [disk for text in disks for disk in _disks(text, wrong)]
    if not disks:
        wrong.append("no disk: name at least one, as in --disk P30:ReadOnly")
    sold = [_sold(shelf, disk, machine, wrong, notices) for disk in asked]
    if wrong or machine is None:
        raise QuestionError("\n".join(wrong))
    notices += _doubts(machine, asked)
    lanes = _lanes(machine, notices)
    named = tuple(_named(number, disk) for number, disk in enumerate(filter(None, sold)))
    return Question(machine.name, lanes, named, tuple(notices))


def request_bytes(text: str) -> int:
    """A request size: "8k" and "8KiB" are 8,192 bytes, "8kB" 8,000. Raises QuestionError."""
    found = _SIZE.fullmatch(text.strip())
    if found is not None:
        base = 1000 if (found[3] or "").lower() == "b" and found[2] else 1024
        size = float(found[1]) * base ** " kmg".index(found[2].lower() or " ")
        if 1 <= size <= LARGEST_REQUEST and size == int(size):
            return int(size)
    raise QuestionError(f"request size {text!r}: want bytes from 1 to 1G, as in 8k, 256k or 1M")


def _nearest(shelf: Shelf, size: str) -> str:
    wanted = size.lower()
    prefix = "" if "." in wanted else "standard_"
    table = "aws_instances" if "." in wanted else "azure_vm_sizes"
    field = b'"instance_type":"' if "." in wanted else b'"name":"'
    names = {
        line.partition(field)[2].partition(b'"')[0].decode(): None
        for line in shelf.lines(table, prefix)
    }
    by_lower = {name.lower(): name for name in names}
    wanted = wanted if "." in wanted or wanted.startswith(prefix) else prefix + wanted
    close = get_close_matches(wanted, by_lower, n=3, cutoff=0.75)
    return f"; near it are {', '.join(by_lower[name] for name in close)}" if close else ""


def _disks(text: str, wrong: list[str]) -> list[DiskIdentity]:
    counted = _COUNTED.match(text)
    count = int(counted[1]) if counted else 1
    what, *options = text[counted.end() if counted else 0 :].split(":")
    disk = DiskIdentity(role=DATA, sku=SKUS.get(what.lower(), what))
    for option in options:
        told = _option(disk, option)
        if told is None:
            wrong.append(
                f"disk {text!r}: option {option!r} is not known, want ReadOnly, ReadWrite, None, "
                "size=<GiB>, iops=<n>, mbps=<n>, mibps=<n>, burst or plus"
            )
        else:
            disk = told
    if count < 1:
        wrong.append(f"disk {text!r}: want at least one")
    return [disk] * count


def _option(disk: DiskIdentity, option: str) -> DiskIdentity | None:
    word, equals, value = option.partition("=")
    word = word.strip().lower()
    if not equals:
        if word in CACHING:
            return disk._replace(caching=CACHING[word])
        if word == "burst":
            return disk._replace(on_demand_burst=True)
        return disk._replace(performance_plus=True) if word == "plus" else None
    number = _number(value)
    if number is None:
        return None
    match word:
        case "size":
            return disk._replace(size_gib=number)
        case "iops":
            return disk._replace(iops=number, configured=option)
        case "mbps":
            return disk._replace(bytes_per_second=number * 1_000_000, configured=option)
        case "mibps":
            return disk._replace(bytes_per_second=number * (1 << 20), configured=option)
    return None


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if 0 < number < math.inf else None


def _sold(
    shelf: Shelf,
    disk: DiskIdentity,
    machine: VmSize | Instance | None,
    wrong: list[str],
    notices: list[str],
) -> SoldDisk | None:
    if isinstance(machine, Instance):
        sold, reasons = aws_limits.sold_disk(disk, shelf)
        if disk.caching:
            reasons = (*reasons, f"{disk.sku}: an EBS volume has no host cache to set")
    else:
        sold, reasons = azure_limits.sold_disk(disk, machine, shelf)
        if not sold.limits:
            sold, reasons = _most(shelf, disk, sold, reasons, notices)
    wrong.extend(reason for reason in reasons if reason not in wrong)
    return sold


def _most(
    shelf: Shelf,
    disk: DiskIdentity,
    sold: SoldDisk,
    reasons: tuple[str, ...],
    notices: list[str],
) -> tuple[SoldDisk, tuple[str, ...]]:
    """An Ultra or Premium SSD v2 disk of which only the size is said: the most it can be set to."""
    if not azure.is_uncacheable(disk.sku):
        return sold, reasons
    tier = None if disk.size_gib is None else disk_tier(shelf, disk.sku, disk.size_gib)
    most = None if tier is None else azure_limits.provisionable(tier, disk.size_gib or 0, disk.iops)
    if not most or tier is None:
        return sold, (f"{disk.sku}: say its size (size=<GiB>) or iops= and mbps=",)
    words = f"{tier.sku} of {disk.size_gib:g} GiB: taken as set to the most it can be"
    if words not in notices:
        notices.append(words)
    limits = limits_of(most, f"{tier.sku}, azure_disks {tier.generation}: the most")
    return sold._replace(limits=limits), ()


def _doubts(machine: VmSize | Instance, disks: Sequence[DiskIdentity]) -> list[str]:
    if isinstance(machine, Instance):
        return []
    doubts = [azure_limits.too_many(machine, disks)]
    premium = any(disk.sku.lower().startswith(("p", "ultra")) for disk in disks)
    if premium and machine.premium_storage is False:
        doubts.append(f"{machine.name} does not take premium disks")
    doubts += [
        f"{disk.sku} has no host cache: {disk.caching} is without effect"
        for disk in disks
        if disk.sku in SKUS.values() and disk.caching.lower() not in ("", "none")
    ]
    return [doubt for doubt in dict.fromkeys(doubts) if doubt]


def _lanes(machine: VmSize | Instance, notices: list[str]) -> dict[Kind, tuple[Limit, ...]]:
    found: Mapping[Kind, tuple[Limit, ...]]
    if isinstance(machine, Instance):
        found = aws_limits.lane_limits(machine)
        if machine.base and not machine.baseline_known:
            notices.append(f"{machine.name}: only its maximum is documented, not its baseline")
    else:
        found = azure_limits.lane_limits(machine)
    if Kind.VM_UNCACHED not in found:
        notices.append(
            f"{machine.name}: its limits are documented nowhere, only its disks bind here"
        )
    return {kind: limits for kind, limits in found.items() if kind is not Kind.VM_NETWORK}


def _named(number: int, disk: SoldDisk) -> Disk:
    identity = disk.identity
    what = disk.info.get("tier") or identity.sku
    if what in ("P", "U"):  # the tables' tiers of Premium SSD v2 and Ultra disks
        what = identity.sku
    caching = identity.caching if disk.draws.read_hit else ""
    return Disk(
        name=f"disk{number}",
        title=f"{what} {caching}".strip(),
        limits=disk.limits,
        miss=disk.draws.read,
        hit=disk.draws.read_hit,
        operation_bytes=disk.operation_bytes,
    )
