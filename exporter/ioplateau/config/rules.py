"""What must hold between keys, each of which may be good by itself. None: said, but refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from ioplateau.config.checker import Values
from ioplateau.config.settings import Settings
from ioplateau.limits.budgets import Direction
from ioplateau.limits.clouds import registry
from ioplateau.web.listen import split_address
from ioplateau.web.settings import WebSettings

LIMIT_SELECTORS = ("disk", "lun", "serial", "vm", "mount", "volume")
DISK_SELECTORS = ("disk", "lun", "serial")
VOLUME_SELECTORS = ("mount", "volume")

Entry: TypeAlias = Mapping[str, Any]


def broken(values: Values) -> list[str]:
    """A sentence for each rule that the file's entries break."""
    found: list[str] = []
    checks: tuple[tuple[str, Callable[[Entry], Iterator[str]]], ...] = (
        ("limit", _limit),
        ("disk", _disk),
        ("volume", _volume),
    )
    for section, rule in checks:
        for number, entry in enumerate(values[section]):
            found += (f"{section}[{number}]: {problem}" for problem in rule(entry))
        found += _contradictions(section, values[section])
    if values["vm"] and "size" not in values["vm"]:
        found.append(
            'vm: a controller alone says nothing, want size as well ("Standard_E96bds_v5")'
        )
    return found


def broken_together(settings: Settings) -> Iterator[str]:
    """A sentence for each rule that file, environment and flags break together."""
    sampling = settings.sampling
    if sampling.rate_window_seconds < 2 * sampling.interval_seconds:
        yield (
            f"sampling.rate_window_seconds: found {sampling.rate_window_seconds:g}, want at least "
            f"twice the interval of {sampling.interval_seconds:g}: a rate needs two readings"
        )
    yield from _sockets(settings)


def _sockets(settings: Settings) -> Iterator[str]:
    web = settings.web
    places = [split_address(address.lower()) for address in web.listen_addresses]
    for number, (address, place) in enumerate(zip(web.listen_addresses, places, strict=True)):
        if place[1] and place in places[:number]:  # of port 0 each has another one
            yield f"web.listen_addresses: found {address} twice, want each address once"
    if web.systemd_socket and web.listen_addresses != WebSettings().listen_addresses:
        yield (
            f"web.listen_addresses: found {', '.join(web.listen_addresses)}, but systemd opens the "
            "sockets (--web.systemd-socket): want ListenStream= of ioplateau.socket instead"
        )


def _limit(entry: Entry) -> Iterator[str]:
    yield from _one_selector(entry, LIMIT_SELECTORS)
    if "iops" not in entry and "bytes_per_second" not in entry:
        yield "no limit, want iops or bytes_per_second or both"
    for base, burst in (
        ("iops", "burst_iops"),
        ("bytes_per_second", "burst_bytes_per_second"),
    ):
        if burst in entry and base not in entry:
            yield f"{burst} without {base}, want the limit that holds after the burst as well"
        elif entry.get(burst) and entry[base] and entry[burst] <= entry[base]:
            said = f"{entry[burst]:.15g}"
            yield f"{burst} is {said}, want more than {base}, which is {entry[base]:.15g}"
    if "burst_seconds" in entry and not {"burst_iops", "burst_bytes_per_second"} & entry.keys():
        yield "burst_seconds without a burst, want burst_iops or burst_bytes_per_second as well"


def _disk(entry: Entry) -> Iterator[str]:
    yield from _one_selector(entry, DISK_SELECTORS)
    if not entry.keys() - set(DISK_SELECTORS):
        yield "nothing is said of the disk, want sku, tier, caching, iops, bytes_per_second, ..."


def _volume(entry: Entry) -> Iterator[str]:
    yield from _one_selector(entry, VOLUME_SELECTORS)
    levels = registry.services().get(entry.get("service", registry.DEFAULT_SERVICE), ())
    # Of a service without levels in the table, its own kind of level may be enough: EFS' mode.
    enough = {"quota_gib", "iops", "bytes_per_second"} | (
        {"service_level"} if not levels else set()
    )
    if not entry.keys() & enough:
        yield "nothing to compute a limit from, want quota_gib or bytes_per_second or iops"
    if not levels:
        return
    level = entry.get("service_level")
    if level is not None and level not in levels:
        yield f'service_level is "{level}", want one of {", ".join(levels)}'
    if "quota_gib" in entry and level is None and "bytes_per_second" not in entry:
        yield "quota_gib without service_level, want the level: the limit is quota times its rate"


def _one_selector(entry: Entry, selectors: tuple[str, ...]) -> Iterator[str]:
    said = [name for name in selectors if name in entry]
    if not said:
        yield f"no selector, want one of {', '.join(selectors)}"
    elif len(said) > 1:
        yield f"{len(said)} selectors ({', '.join(said)}), want only one"


def _contradictions(section: str, entries: list[Entry]) -> Iterator[str]:
    """Two entries with the same selector that disagree about one thing."""
    selectors = set(LIMIT_SELECTORS)
    first: dict[object, tuple[object, str]] = {}
    for number, entry in enumerate(entries):
        place = f"{section}[{number}]"
        chosen = [(key, entry[key]) for key in entry.keys() & selectors]
        if len(chosen) != 1 or chosen[0][1] is None:
            continue
        scope = (chosen[0], entry.get("direction", Direction.TOTAL))
        for key in sorted(entry.keys() - selectors - {"direction"}):
            said, where = first.setdefault((scope, key), (entry[key], place))
            if said != entry[key] and None not in {said, entry[key]}:
                name, value = chosen[0]
                yield (
                    f"{place}.{key}: found {_plain(entry[key])} for {name} {value}, "
                    f"but {where} says {_plain(said)}; want one of them"
                )


def _plain(value: object) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)
