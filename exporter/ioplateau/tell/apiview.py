"""What a daemon tells at /api/v1/state, as a view: the same that `view.of` makes of its state."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any, TypeVar

from ioplateau.history import Episode, Event, What
from ioplateau.limits.budgets import Dimension, Direction, Kind, Origin, Word
from ioplateau.tell import failedsources, view
from ioplateau.tell.summary import Severity
from ioplateau.tell.view import BudgetView, DiskView, LimitView, MountView, View

LAST_TIME = 253_402_300_800.0  # UNIX seconds: the year 10000, of which no clock tells
# What JSON has where a field is declared so.
_WANTED: Mapping[str, Any] = {
    "float": (int, float),
    "float | None": (int, float, NoneType),
    "int": int,
    "int | None": (int, NoneType),
    "str": str,
    "Mapping[str, str]": Mapping,
    "Mapping[str, float | str | None]": Mapping,
}
T = TypeVar("T", bound=tuple[Any, ...])


def view_of(answer: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> View:
    """before: an earlier answer, for shares of time. Raises one of saved.UNSOUND."""
    disks = {disk.name: disk for told_of in answer["disks"] if (disk := _disk(told_of))}
    mounts = {mount.name: mount for told_of in answer["mounts"] if (mount := _mount(told_of))}
    machine, vm = answer["machine"], answer["vm"]
    return checked(
        View(
            headline=str(answer["headline"]),
            severity=Severity(answer["severity"]),
            wall=_time(answer["wall"]),
            cloud=vm["cloud"] or "",
            size=vm["size"] or "",
            region=vm["region"] or "",
            io_waiting_ratio=_waiting(answer, before),
            dirty_bytes=machine["dirty_bytes"],
            writeback_bytes=machine["writeback_bytes"],
            budgets=tuple(_budget(each, disks, mounts) for each in answer["budgets"]),
            disks=tuple(disks[name] for name in sorted(disks)),
            mounts=tuple(mounts[name] for name in sorted(mounts)),
            disk_count=len(answer["disks"]),
            mount_count=len(answer["mounts"]),
            notes=tuple(
                map(
                    str,
                    (*(each["sentence"] for each in answer["failed_sources"]), *answer["notices"]),
                )
            ),
            is_storage_unreadable=failedsources.is_unreadable(
                [each["source"] for each in answer["failed_sources"]],
                disks=len(answer["disks"]),
                mounts=len(answer["mounts"]),
            ),
        )
    )


def checked(found: T) -> T:
    """The same tuple with names, whose texts and numbers are such. Raises TypeError."""
    for (name, declared), value in zip(type(found).__annotations__.items(), found, strict=True):
        wanted = str(getattr(declared, "__forward_arg__", declared))
        if not isinstance(value, _WANTED.get(wanted, object)):
            raise TypeError(f"{name} is {value!r:.40}, want {wanted}")
    return found


def _time(value: Any) -> float:
    seconds = float(value)
    if not 0 <= seconds < LAST_TIME:
        raise ValueError(f"a time is {value!r:.40}, want seconds since 1970")
    return seconds


def episodes_of(answer: Mapping[str, Any]) -> tuple[Episode, ...]:
    """What /api/v1/episodes tells, the oldest first. Raises one of saved.UNSOUND."""
    return tuple(map(_episode, answer["episodes"]))


def events_of(answer: Mapping[str, Any]) -> tuple[Event, ...]:
    """What /api/v1/episodes tells of events, the oldest first. Raises one of saved.UNSOUND."""
    return tuple(
        checked(Event(_time(each["at"]), What(each["what"]), each["sentence"], each["subject"]))
        for each in answer["events"]
    )


def _episode(answer: Mapping[str, Any]) -> Episode:
    values = {**answer, "word": Word(answer["verdict"]), "kind": Kind(answer["kind"])}
    for name, kind in (("dimension", Dimension), ("direction", Direction), ("origin", Origin)):
        if values.get(name) is not None:
            values[name] = kind(values[name])
    values["victims"] = tuple(map(str, values.get("victims") or ()))
    for name in ("began", "ended"):
        if values.get(name) is not None:
            values[name] = _time(values[name])
    return checked(Episode(**{name: values[name] for name in Episode._fields if name in values}))


def _waiting(answer: Mapping[str, Any], before: Mapping[str, Any] | None) -> float | None:
    now = answer["machine"]["io_waiting_seconds_total"]
    then = before["machine"]["io_waiting_seconds_total"] if before else None
    if now is None or then is None or before is None or answer["mono"] <= before["mono"]:
        return None
    waited: float = (now - then) / (answer["mono"] - before["mono"])
    return min(max(waited, 0.0), 1.0)


def _budget(
    answer: Mapping[str, Any], disks: Mapping[str, DiskView], mounts: Mapping[str, MountView]
) -> BudgetView:
    kind, name = Kind(answer["kind"]), str(answer["name"])
    limits = tuple(_limit(each) for each in answer["limits"])
    consumers = answer["consumers"]
    return checked(
        BudgetView(
            kind,
            name,
            Word(answer["verdict"]),
            float(answer["for_seconds"]),
            answer["sentence"],
            limits,
            answer["evidence"],
            tuple((_claim(each), each["why"]) for each in answer["rejected"]),
            answer["info"],
            tuple(str(each["name"]) for each in answer["sufferers"]),
            view.flow(kind, name, limits, disks, mounts),
            tuple(map(str, answer["lifting"])),
            drawn_by=consumers["sentence"] if consumers else "",
            lane=answer["lane"] or "",
        )
    )


def _limit(answer: Mapping[str, Any]) -> LimitView:
    return checked(
        _claim(answer)._replace(
            value=answer["effective"],
            told=answer["limit"] if answer["effective_origin"] != answer["origin"] else None,
            **{name: answer[name] for name in view.STANDING},
        )
    )


def _claim(answer: Mapping[str, Any]) -> LimitView:
    return checked(
        LimitView(
            Dimension(answer["dimension"]),
            Direction(answer["direction"]),
            answer["limit"],
            answer["origin"],
            answer["source"],
        )
    )


def _disk(answer: Mapping[str, Any]) -> DiskView | None:
    if answer["queue_length"] is None:
        return None
    return checked(DiskView(answer["device"], *(answer[name] for name in view.DISK_RATES)))


def _mount(answer: Mapping[str, Any]) -> MountView | None:
    if answer["operations_per_second"] is None:
        return None
    rates = {name: answer[name] for name in view.MOUNT_RATES}
    return checked(MountView(answer["mount"], **rates, connections=answer["connections"]))
