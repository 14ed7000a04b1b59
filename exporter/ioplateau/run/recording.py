"""Recordings: gzip-compressed JSON lines, a header and then a snapshot a line.

Text that is no UTF-8 survives by surrogateescape. Floats are written so that they read back
to the same bits. Unknown keys of a snapshot are its blobs, so newer recordings stay readable.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ioplateau import __version__
from ioplateau.measure.snapshot import Snapshot, Static

OWN_KEYS = frozenset(
    {"mono", "mono_end", "boot", "wall", "f", "at", "took", "failed", "static", "header"}
)


class RecordingError(Exception):
    """A file that is no recording, in one sentence."""


@dataclass(frozen=True, slots=True)
class Header:
    """interval_seconds: between snapshots. static: the machine's shape at the beginning."""

    interval_seconds: float
    static: Static

    @property
    def hz(self) -> float:
        """Snapshots per second."""
        return 1.0 / self.interval_seconds


class Writer:
    """Appends snapshots to a new file. Each is flushed, so a crash costs at most the last."""

    def __init__(self, file: BinaryIO, interval_seconds: float) -> None:
        # mtime 0: two recordings of the same snapshots are the same bytes.
        self._gzip = gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6, mtime=0)
        self._interval = interval_seconds
        self._static: Static | None = None

    def write(self, snapshot: Snapshot) -> None:
        if self._static is None:
            self._line(
                {
                    "header": 1,
                    "hz": 1.0 / self._interval,
                    "interval_seconds": self._interval,  # 1 / hz may differ in the last bit
                    "ioplateau": __version__,
                    "static": _static_json(snapshot.static),
                }
            )
            self._static = snapshot.static
        line: dict[str, Any] = {
            "mono": snapshot.mono,
            "mono_end": snapshot.mono_end,
            "boot": snapshot.boot,
            "wall": snapshot.wall,
            "f": {path: _text(text) for path, text in snapshot.texts.items()},
            "at": dict(snapshot.at),
            "took": dict(snapshot.took),
            "failed": dict(snapshot.failed),
            **snapshot.blobs,
        }
        if snapshot.static is not self._static:
            line["static"] = _static_json(snapshot.static)
            self._static = snapshot.static
        self._line(line)
        self._gzip.flush(zlib.Z_SYNC_FLUSH)

    def close(self) -> None:
        self._gzip.close()

    def _line(self, value: Mapping[str, Any]) -> None:
        self._gzip.write(json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n")


def read(path: Path | str) -> tuple[Header, Iterator[Snapshot]]:
    """The header, and the snapshots one by one. Raises RecordingError, also while iterating.

    A line that is damaged costs that line; a file that was cut off ends where it ends.
    """
    lines = _lines(Path(path))
    try:
        first = json.loads(next(lines))
        header = Header(_interval(first), _static(first.get("static") or {}))
    except StopIteration:
        raise RecordingError(
            f"{path}: empty, want a recording made by `ioplateau record`"
        ) from None
    except (ValueError, AttributeError, TypeError, ArithmeticError, RecursionError) as error:
        raise RecordingError(f"{path}: the first line is no recording's header: {error}") from error
    if "header" not in first:
        raise RecordingError(f"{path}: the first line has no 'header' key, want a recording")
    return header, _snapshots(lines, header.static)


def _interval(first: Mapping[str, Any]) -> float:
    seconds = float(first.get("interval_seconds") or 1.0 / float(first.get("hz") or 1.0))
    if not 0.001 <= seconds <= 3600:
        raise ValueError(f"{seconds:g} seconds between snapshots, want 0.001 to 3600")
    return seconds


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with gzip.open(path, "rb") as file:
            yield from file
    except (EOFError, zlib.error):
        return  # cut off in the middle of a line: everything before it was good
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror or error}") from error


def _snapshots(lines: Iterator[bytes], static: Static) -> Iterator[Snapshot]:
    for line in lines:
        try:
            value = json.loads(line)
            if "static" in value:
                static = _static(value["static"])
            snapshot = _snapshot(value, static)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
        yield snapshot


def _snapshot(value: Mapping[str, Any], static: Static) -> Snapshot:
    mono = float(value["mono"])
    return Snapshot(
        mono=mono,
        mono_end=float(value.get("mono_end", mono)),
        wall=float(value.get("wall", 0.0)),
        boot=_number(value.get("boot")),
        static=static,
        texts={path: _bytes(text) for path, text in value.get("f", {}).items()},
        at=_numbers(value.get("at")),
        took=_numbers(value.get("took")),
        failed={name: str(why) for name, why in (value.get("failed") or {}).items()},
        blobs={key: blob for key, blob in value.items() if key not in OWN_KEYS},
    )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _numbers(values: Mapping[str, Any] | None) -> dict[str, float]:
    return {name: float(value) for name, value in (values or {}).items()}


def _text(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _static_json(static: Static) -> dict[str, Any]:
    return {
        "kernel": static.kernel,
        "block": {name: dict(attributes) for name, attributes in static.block.items()},
        "slaves": {name: list(below) for name, below in static.slaves.items()},
        "holders": {name: list(above) for name, above in static.holders.items()},
        "partitions": dict(static.partitions),
        "mountinfo": None if static.mountinfo is None else _text(static.mountinfo),
        "files": dict(static.files),
        "documents": dict(static.documents),
    }


def _static(value: Mapping[str, Any]) -> Static:
    """The static part, ours or of a recorder that keeps slaves and holders within `block`."""
    block, slaves, holders = {}, dict(value.get("slaves", {})), dict(value.get("holders", {}))
    for name, attributes in value.get("block", {}).items():
        plain = {}
        for key, attribute in attributes.items():
            if key in ("slaves", "holders"):
                (slaves if key == "slaves" else holders).setdefault(name, attribute)
            else:
                plain[key] = str(attribute)
        block[name] = plain
    mounts = value.get("mountinfo")
    facts = {str(path): str(text) for path, text in value.get("files", {}).items()}
    for name, text in value.get("rpc_sysctl", {}).items():
        facts.setdefault(f"/proc/sys/sunrpc/{name}", str(text))
    return Static(
        kernel=str(value.get("kernel", "")),
        block=block,
        slaves={name: tuple(below) for name, below in slaves.items() if below},
        holders={name: tuple(above) for name, above in holders.items() if above},
        partitions=dict(value.get("partitions", {})),
        mountinfo=None if mounts is None else _bytes(mounts),
        files=facts,
        documents=dict(value.get("documents", {})),
    )
