"""The keys of the configuration file and what each wants.

docs/ioplateau.example.toml holds the same keys; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ioplateau.config.checker import (
    Check,
    Section,
    above_zero,
    boolean,
    choice,
    number,
    several,
    text,
    whole,
)
from ioplateau.limits.budgets import Direction
from ioplateau.limits.clouds import registry
from ioplateau.logs import FORMATS, LEVELS
from ioplateau.web.listen import split_address

# The daemon's other pages; tests/run/test_pages.py holds them against what it serves.
OWN_PATHS = ("/-/", "/api/", "/fragment", "/page.css", "/page.js", "/icon.svg")


def _address_check() -> Check:
    def accept(value: Any) -> str:
        split_address(value if isinstance(value, str) else "")
        return str(value)

    return Check('an address like ":10049", "127.0.0.1:10049" or "[::1]:10049"', accept, str)


def _page_check() -> Check:
    # A link to //x leads to a host of that name; of /a/../b clients ask for /b.
    page = text("", r"/(?!/)(?!(.*/)?[.]{1,2}(/|$))[A-Za-z0-9._~/-]+")

    def accept(value: Any) -> str:
        if isinstance(value, str) and value.startswith(OWN_PATHS):
            raise ValueError
        return str(page.accept(value))

    return Check('a path like "/metrics"', accept, str)


def _place_check() -> Check:
    """An absolute path; of a flag or variable also one from the working directory, as shells have it."""
    place = text("an absolute path", r"/[^\x00-\x1f\x7f]*")

    def spelled(said: str) -> str:
        return said and str(Path(said).absolute())

    return place._replace(
        read=spelled, want_text="an absolute path, or one from a working directory that is there"
    )


_PLACE = _place_check()
_PATTERN = text("a name or shell pattern")


def _device_check(examples: str, *, is_mapped: bool) -> Check:
    """Names as the kernel has them; what people type has /dev before it. is_mapped: or /dev/mapper."""

    def accept(value: Any) -> str:
        name = str(_PATTERN.accept(value))
        name = (name.removeprefix("/dev/mapper/") if is_mapped else name).removeprefix("/dev/")
        # /dev/disk/by-id/... is another name, which changes with udev's rules.
        if not name or "/" in name:
            raise ValueError
        return name

    return Check(f"a name or shell pattern of a device, like {examples}", accept, str)


_KERNEL_DEVICE = _device_check('"sdc", "/dev/sdc" or "loop*"', is_mapped=False)
_SELECTORS: Mapping[str, Check] = {
    "disk": _device_check('"sdc", "/dev/sdc" or "vg-data"', is_mapped=True),
    "lun": whole(0, 65535),
    "serial": _PATTERN,
    "vm": choice("uncached", "cached", "ultra", "network"),
    "mount": _PATTERN,
    "volume": _PATTERN,
}
_IOPS = above_zero("operations a second")
_BYTES = above_zero("bytes a second")


def _selectors(*names: str) -> dict[str, Check]:
    return {name: _SELECTORS[name] for name in names}


# What people call it elsewhere.
_CALLED: Mapping[str, str] = {
    **dict.fromkeys(
        ("mbps", "mb_per_second", "mibps", "throughput", "bandwidth", "bps"), "bytes_per_second"
    ),
    "operations_per_second": "iops",
    "name": "disk",
    "device": "disk",
}

TABLE: Mapping[str, Section] = {
    "web": Section({
        "listen_addresses": several(_address_check(), empty=False),
        "systemd_socket": boolean(),
        "telemetry_path": _page_check(),
        "config_file": _PLACE,
        "deadline_seconds": number(1, 120, "seconds"),
        "connections": whole(16, 1024),
        "header_bytes": whole(1 << 10, 1 << 20, "bytes"),
    }),
    "log": Section({"level": choice(*LEVELS), "format": choice(*FORMATS)}),
    "sampling": Section({
        "interval_seconds": number(0.1, 10, "seconds"),
        "rate_window_seconds": number(1, 300, "seconds"),
    }),
    "path": Section({"rootfs": _PLACE, "procfs": _PLACE, "sysfs": _PLACE}),
    "cloud": Section({
        "enabled": boolean(),
        "refresh_seconds": number(1, 86_400, "seconds"),
        "volumes_file": _PLACE,
        "describe_volumes": boolean(),
        "ec2_endpoint": text(),
    }),
    "state": Section({"directory": _PLACE}),
    "limits": Section({"catalogue": _PLACE}),
    "device": Section({
        "include": several(_KERNEL_DEVICE, empty=True),
        "exclude": several(_KERNEL_DEVICE, empty=True),
    }),
    "nfs": Section({
        "ports": several(whole(1, 65535), empty=False),
        "per_connection": boolean(),
    }),
    "vm": Section({"size": text(), "controller": choice("SCSI", "NVMe")}),
    "limit": Section({
        **_SELECTORS,
        "iops": _IOPS,
        "bytes_per_second": _BYTES,
        "burst_iops": _IOPS,
        "burst_bytes_per_second": _BYTES,
        "burst_seconds": above_zero("seconds"),
        "direction": choice(*Direction),
    }, is_repeated=True, called=_CALLED),
    "disk": Section({
        **_selectors("disk", "lun", "serial"),
        "sku": text(),
        "tier": text(),
        "size_gib": above_zero("GiB"),
        "caching": choice("None", "ReadOnly", "ReadWrite"),
        "iops": _IOPS,
        "bytes_per_second": _BYTES,
        "on_demand_burst": boolean(),
        "performance_plus": boolean(),
    }, is_repeated=True, called={**_CALLED, "type": "sku", "size": "size_gib"}),
    "volume": Section({
        **_selectors("mount", "volume"),
        "service": choice(*registry.services()),
        "service_level": text(),
        "quota_gib": above_zero("GiB"),
        "iops": _IOPS,
        "bytes_per_second": _BYTES,
        "large": boolean(),
    }, is_repeated=True, called={**_CALLED, "level": "service_level", "size": "quota_gib"}),
}  # fmt: skip
