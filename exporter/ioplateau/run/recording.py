"""Recordings: JSON lines, gzip-compressed or plain, a header and then a snapshot a line.

Text that is no UTF-8 survives by surrogateescape. Floats are written so that they read back
to the same bits. Unknown keys of a snapshot are its blobs, so newer recordings stay readable.

Each line is a gzip member of its own: a damaged byte costs its line, as its checksum shows, and a
crash the last one. Recordings come from strangers: a line that is not what it should be is left out,
and none may hold more than a machine of thousands of disks says in a second.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ioplateau import __version__, saved
from ioplateau.measure.snapshot import DISKSTATS, MOUNTSTATS, NETDEV, Snapshot, Static
from ioplateau.run import gzlines, provenance
from ioplateau.run.commanderror import CommandError
from ioplateau.run.provenance import NOWHERE, Provenance
from ioplateau.saved import UNSOUND

OWN_KEYS = frozenset(
    {"mono", "mono_end", "boot", "wall", "f", "at", "took", "failed", "static", "header"}
)

# What a line may hold. 256 disks and 1,000 NFS mounts say 8 MB a second, most of it mountstats.
MOST_LINE_BYTES = 32 << 20
MOST_TEXT_BYTES = {DISKSTATS: 1 << 20, NETDEV: 1 << 20, MOUNTSTATS: 16 << 20}
MOST_CONTAINERS = 400_000
MOST_DEVICES = 10_000
MOST_NUMBER = 2.0**64


class RecordingError(CommandError):
    """A file that is no recording, in one sentence."""


class Header(NamedTuple):
    """interval_seconds: between snapshots. static: the machine's shape at the beginning."""

    interval_seconds: float
    static: Static
    provenance: Provenance = NOWHERE


class Writer:
    """Appends snapshots to a new file. Each is flushed, so a crash costs at most the last."""

    def __init__(
        self,
        file: BinaryIO,
        interval_seconds: float,
        provenance: Provenance | None = None,
        *,
        is_plain: bool = False,
    ) -> None:
        self._file = file
        self._interval = interval_seconds
        self._provenance = provenance
        self._is_plain = is_plain
        self._static: Static | None = None

    def write(self, snapshot: Snapshot) -> None:
        if self._static is None:
            header = {
                "header": 1,
                "hz": 1.0 / self._interval,
                "interval_seconds": self._interval,  # 1 / hz may differ in the last bit
                "ioplateau": __version__,
                "static": _static_json(snapshot.static),
            }
            if self._provenance is not None:
                header[provenance.KEY] = provenance.as_json(self._provenance)
            self._line(header)
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
        self._file.flush()

    def _line(self, value: Mapping[str, Any]) -> None:
        text = json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"
        # mtime 0: two recordings of the same snapshots are the same bytes.
        self._file.write(text if self._is_plain else gzip.compress(text, 6, mtime=0))


def read(
    path: Path | str,
    left_out: Callable[[str], None] = lambda _: None,
) -> tuple[Header, Iterator[Snapshot]]:
    """The header, and the snapshots one by one. Raises RecordingError, also while iterating.

    A line that is damaged costs that line, and `left_out` is told why, as it is of a file that was cut
    off, which ends where it ends. A damaged header costs what stood in it: the machine's shape is not known then.
    """
    lines = _lines(Path(path), left_out)
    try:
        first = next(lines)
    except StopIteration:
        raise RecordingError(
            f"{path}: empty, or cut off within its first line, want a recording made by `ioplateau record`"
        ) from None
    header = _header(path, first, left_out)
    return header, _snapshots(lines, header.static, left_out)


def _header(path: Path | str, first: bytes | None, left_out: Callable[[str], None]) -> Header:
    if first is None:
        left_out("the header is damaged")
        return Header(1.0, Static())
    try:
        value = json_of(first)
        header = Header(
            _interval(value), _static(value.get("static") or {}), _made(value, left_out)
        )
    except UNSOUND as error:
        raise RecordingError(f"{path}: the first line is no recording's header: {error}") from error
    if "header" not in value:
        raise RecordingError(f"{path}: the first line has no 'header' key, want a recording")
    return header


def _made(first: Mapping[str, Any], left_out: Callable[[str], None]) -> Provenance:
    if provenance.KEY not in first:
        return NOWHERE
    try:
        return provenance.from_json(first[provenance.KEY])
    except UNSOUND as error:
        left_out(f"line 1: {error}")
        return NOWHERE


def _interval(first: Mapping[str, Any]) -> float:
    seconds = float(first.get("interval_seconds") or 1.0 / float(first.get("hz") or 1.0))
    if not 0.001 <= seconds <= 3600:
        raise ValueError(f"{seconds:g} seconds between snapshots, want 0.001 to 3600")
    return seconds


def is_standard(path: Path) -> bool:
    """Whether "-" was said: standard input or output."""
    return str(path) == "-"


def is_plain(path: Path) -> bool:
    """Whether a recording of this name is written without compression, as one to read by eye."""
    return path.suffix == ".jsonl"


def _lines(path: Path, left_out: Callable[[str], None]) -> Iterator[bytes | None]:
    try:
        with sys.stdin.buffer if is_standard(path) else path.open("rb") as file:
            yield from gzlines.lines(file, MOST_LINE_BYTES, left_out)
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror or error}") from error
    except gzlines.NoGzipError as error:
        raise RecordingError(f"{path}: {error}") from error


def _snapshots(
    lines: Iterator[bytes | None], static: Static, left_out: Callable[[str], None]
) -> Iterator[Snapshot]:
    for number, line in enumerate(lines, start=2):
        try:
            if line is None:
                raise ValueError("damaged, or longer than any snapshot")
            value = json_of(line)
            if "static" in value:
                static = _static(value["static"])
            if "header" in value:  # another recording, put behind the one before
                continue
            snapshot = _snapshot(value, static)
        except UNSOUND as error:
            left_out(f"line {number}: {type(error).__name__}: {error}")
            continue
        yield snapshot


def json_of(line: bytes) -> Any:
    """The value of a line, its numbers finite. Raises one of saved.UNSOUND."""
    if line.count(b"[") + line.count(b"{") > MOST_CONTAINERS:
        raise ValueError(f"more than {MOST_CONTAINERS} lists and objects in a line")
    return json.loads(line, parse_constant=_finite, parse_float=_finite, parse_int=_whole)


def _finite(digits: str) -> float:
    return _bounded(float(digits))


def _whole(digits: str) -> int:
    if len(digits) > 20:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _bounded(value: float) -> float:
    # So far from where arithmetic ends that no rate or time becomes infinite.
    if not -MOST_NUMBER <= value <= MOST_NUMBER:  # neither does nan
        raise ValueError(f"the number {value}")
    return value


def _snapshot(value: Mapping[str, Any], static: Static) -> Snapshot:
    mono = _number(value["mono"])
    texts = {path: _bytes(text) for path, text in (value.get("f") or {}).items()}
    for path, most in MOST_TEXT_BYTES.items():
        if len(texts.get(path, b"")) > most:
            raise ValueError(f"{path} of more than {most} bytes")
    if texts.get(DISKSTATS, b"").count(b"\n") > MOST_DEVICES:
        raise ValueError(f"{DISKSTATS} of more than {MOST_DEVICES} block devices")
    return Snapshot(
        mono=mono,
        mono_end=_number(value.get("mono_end", mono)),
        wall=saved.read(saved.Moment, value.get("wall", 0.0), "wall"),
        boot=None if value.get("boot") is None else _number(value["boot"]),
        static=static,
        texts=texts,
        at=_numbers(value.get("at")),
        took=_numbers(value.get("took")),
        failed={name: str(why) for name, why in (value.get("failed") or {}).items()},
        blobs={key: blob for key, blob in value.items() if key not in OWN_KEYS},
    )


def _number(value: Any) -> float:
    if not isinstance(value, int | float):
        raise TypeError(f"found {value!r:.40}, want a number")
    return _bounded(float(value))


def _numbers(values: Mapping[str, Any] | None) -> dict[str, float]:
    return {name: _number(value) for name, value in (values or {}).items()}


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
    if len(value.get("block", {})) > MOST_DEVICES:
        raise ValueError(f"more than {MOST_DEVICES} block devices")
    for name, attributes in value.get("block", {}).items():
        plain = {}
        for key, attribute in attributes.items():
            if key in ("slaves", "holders"):
                (slaves if key == "slaves" else holders).setdefault(name, attribute)
            else:
                plain[key] = str(attribute)
        block[name] = plain
    mounts = value.get("mountinfo")
    facts = _texts(value.get("files", {}))
    for name, text in value.get("rpc_sysctl", {}).items():
        facts.setdefault(f"/proc/sys/sunrpc/{name}", str(text))
    return Static(
        kernel=str(value.get("kernel", "")),
        block=block,
        slaves={name: tuple(map(str, below)) for name, below in slaves.items() if below},
        holders={name: tuple(map(str, above)) for name, above in holders.items() if above},
        partitions=_texts(value.get("partitions", {})),
        mountinfo=None if mounts is None else _bytes(mounts),
        files=facts,
        documents=_texts(value.get("documents", {})),
    )


def _texts(value: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(text) for name, text in value.items()}
