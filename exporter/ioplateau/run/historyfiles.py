"""The history on the disk: lines appended every ten seconds, five files, at most 8 MiB in all.

A line is a checksum (CRC-32, eight hexadecimal digits), a blank and a JSON object, so that what a
power cut tore is known and left out. Nothing is ever rewritten: a file that would pass half of its
size becomes `.old`, in place of the one before it; what is longer goes into several. The first line says format and version; readers
leave out keys that they do not know. The disk is asked by the writer's thread only.
"""

from __future__ import annotations

import json
import logging
import os
import stat
import threading
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from ioplateau import __version__
from ioplateau.history import History
from ioplateau.history.episodes import MOST_KEPT, Episode
from ioplateau.history.events import Event
from ioplateau.history.records import Block, HistoryPart, InForce, block, block_json
from ioplateau.history.rings import CELL_BYTES
from ioplateau.logs import event
from ioplateau.regular import OddFileError
from ioplateau.run import files
from ioplateau.run.writer import FileWriter
from ioplateau.saved import UNSOUND, NewerError, check_format, write
from ioplateau.saved import read as typed

LOG = logging.getLogger(__name__)

FORMAT = 1
NAME = "history"  # of the writer's job
EPISODES = "episodes.log"
EVENTS = "events.log"  # apart: however many there are, they push out no episode
# Of ten seconds each, for a disk that does not answer: after 15 minutes the oldest cells go.
MOST_WAITING = 90
RESTORE_SECONDS = 10.0


class LineFile(NamedTuple):
    """One kind of lines: where, and how large the file and its predecessor may be together."""

    name: str
    most_bytes: int


# By the length of a cell. The seconds suffice for about 60 flows that never rest, the others for 10.
BLOCKS: Mapping[int, LineFile] = {
    1: LineFile("history-1s.log", 2 << 20),
    10: LineFile("history-10s.log", 11 << 18),
    60: LineFile("history-1min.log", 2 << 20),
}
LINE_FILES = (LineFile(EPISODES, 1 << 20), *BLOCKS.values(), LineFile(EVENTS, 1 << 18))


class HistoryFiles:
    """The files. Without a directory it does nothing. Raises nothing."""

    def __init__(self, directory: Path | str | None, writer: FileWriter) -> None:
        self._directory = None if directory is None else Path(directory)
        self._writer = writer
        self._lock = threading.Lock()  # of what waits; never held while the disk is asked
        self._waiting: deque[HistoryPart] = deque()
        self._fails = False  # in the writer's thread

    def restore(self, history: History, seconds: float = RESTORE_SECONDS) -> None:
        """Give the history what was kept. Waits at most so long for the disk."""
        directory = self._directory
        if directory is None:
            return
        found: SimpleQueue[tuple[list[HistoryPart], int]] = SimpleQueue()
        self._writer.submit("history restore", lambda: found.put(read(directory)))
        try:
            parts, damaged = found.get(timeout=seconds)
        except Empty:
            event(LOG, logging.WARNING, "history cannot be read in time, starting without it",
                  directory=directory)  # fmt: skip
            return
        history.restore(parts)
        if damaged:
            event(LOG, logging.WARNING, "history has damaged lines, which are left out",
                  directory=directory, lines=damaged)  # fmt: skip

    def keep(self, history: History, *, is_last: bool = False) -> None:
        """Have written what has come. is_last: all of it, and the ten seconds that go on."""
        if self._directory is None:
            return
        # Where the disk is slow, what waits is bounded here.
        if self._writer.behind_seconds(NAME) or is_last:
            self._collect(history, is_last=is_last)
        self._writer.submit(NAME, lambda: self._write(history))

    def _collect(self, history: History, *, is_last: bool = False) -> None:
        with self._lock:
            if self._waiting:  # it may hold nothing of the ticks it is made of
                self._waiting[-1].put_together()
            self._waiting.append(history.take(is_last=is_last))
            self._shorten()

    def _shorten(self) -> None:
        while len(self._waiting) > MOST_WAITING:
            gone, oldest = self._waiting.popleft(), self._waiting.popleft()
            self._waiting.appendleft(_without_cells(gone, oldest))

    # What follows runs in the writer's thread.

    def _write(self, history: History) -> None:
        self._collect(history)
        self._write_waiting()

    def _write_waiting(self) -> None:
        assert self._directory is not None
        with self._lock:  # what comes meanwhile is written next
            waiting = list(self._waiting)
            self._waiting.clear()
        for part in waiting:
            part.put_together()
        failures: list[OSError] = []
        for line_file in LINE_FILES:
            name, most_bytes = line_file.name, line_file.most_bytes // 2
            try:
                for count, text in _pieces(tuple(waiting), name, most_bytes - len(_first_line())):
                    append(self._directory / name, text, most_bytes)
                    waiting[:count] = [_without_lines(part, name) for part in waiting[:count]]
            except OSError as error:
                failures.append(error)
        with self._lock:
            self._waiting.extendleft(filter(_has_lines, reversed(waiting)))
            self._shorten()
        self._tell(failures)

    def _tell(self, failures: Sequence[OSError]) -> None:
        if failures and not self._fails:  # once: a full disk is full every ten seconds
            event(LOG, logging.WARNING, "history cannot be kept, a restart will forget it",
                  file=failures[0].filename or self._directory,
                  why=failures[0].strerror or repr(failures[0]))  # fmt: skip
        elif self._fails and not failures:
            event(LOG, logging.INFO, "history is kept again", directory=self._directory)
        self._fails = bool(failures)


def _without_cells(gone: HistoryPart, next_one: HistoryPart) -> HistoryPart:
    """What of the first must not go, with the second."""
    return next_one._replace(
        ended=(*gone.ended, *next_one.ended)[-MOST_KEPT:],
        events=(*gone.events, *next_one.events)[-MOST_KEPT:],
        limits=(*gone.limits, *next_one.limits)[-MOST_KEPT:],
    )


def _without_lines(part: HistoryPart, name: str) -> HistoryPart:
    """A part without what belongs into the file of this name."""
    if name == EPISODES:
        return part._replace(ended=())
    if name == EVENTS:
        return part._replace(events=())
    blocks = tuple(cells for cells in part.blocks if BLOCKS[cells.step_seconds].name != name)
    return part._replace(blocks=blocks)


def _has_lines(part: HistoryPart) -> bool:
    return bool(part.blocks or part.ended or part.events)


def _pieces(
    parts: Sequence[HistoryPart], name: str, most_bytes: int
) -> Iterator[tuple[int, bytes]]:
    """What belongs into the file of this name, in pieces of whole lines; a longer line is one of its own.
    With each, how many parts are written once it is.
    """
    lines: list[bytes] = []
    size = 0
    for count, part in enumerate(parts):
        for line in map(_sealed, _lines(part, name)):
            if lines and size + len(line) > most_bytes:
                yield count, b"".join(lines)
                lines, size = [], 0
            lines.append(line)
            size += len(line)
    if lines:
        yield len(parts), b"".join(lines)


def _lines(part: HistoryPart, name: str) -> Iterator[dict[str, Any]]:
    """What of a part belongs into the file of this name, a line each."""
    if name == EPISODES:
        yield from ({"episode": write(one)} for one in part.ended)
    if name == EVENTS:
        yield from ({"event": write(happened)} for happened in part.events)
    for cells in part.blocks:
        if BLOCKS[cells.step_seconds].name == name:
            line = block_json(cells) | {"limits": write(part.limits)}
            if cells.step_seconds == 1:
                line["open"] = write(tuple(part.unfinished.values()))
            yield line


def append(path: Path, text: bytes, most_bytes: int) -> None:
    """Add to a file and have it on the disk, all of it or nothing; one that would be larger than `most_bytes`
    becomes `.old` first. A line that a power cut tore goes.

    Raises OSError, also for what is no regular file.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    number = os.open(path, flags, files.PRIVATE)
    try:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode):
            raise OddFileError(path, "no regular file")
        size = found.st_size
        if 0 < size <= most_bytes and os.pread(number, 1, size - 1) != b"\n":
            size = os.pread(number, size, 0).rfind(b"\n") + 1
            os.ftruncate(number, size)
        if size and size + len(text) > most_bytes:
            os.close(number)
            number = -1
            path.replace(path.with_suffix(".old"))
            number = os.open(path, flags, files.PRIVATE)
            size = 0
        if not size:
            text = _first_line() + text
        try:
            view = memoryview(text)
            while view:
                view = view[os.write(number, view) :]
            os.fsync(number)
        except OSError:
            with suppress(OSError):  # of the two the first is told
                os.ftruncate(number, size)  # it is written again
            raise
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    finally:
        if number >= 0:
            os.close(number)


def read(directory: Path) -> tuple[list[HistoryPart], int]:
    """What the files keep, in the order in which it was written, the coarse cells first; how
    many lines are damaged. A file that cannot be read is told in the log. Raises nothing.
    """
    found: list[HistoryPart] = []
    damaged = 0
    for line_file in (LINE_FILES[0], *reversed(LINE_FILES[1:])):
        path = directory / line_file.name
        for part in (path.with_suffix(".old"), path):
            try:
                text = files.read(part, line_file.most_bytes)
                read_parts, bad = parse_lines(text.split(b"\n"))
            except (FileNotFoundError, NotADirectoryError):
                continue  # if there is no directory, writing says so
            except NewerError as error:
                _set_aside(part, str(error))
                continue
            except OSError as error:
                event(LOG, logging.WARNING, "history cannot be read, starting without it",
                      file=part, why=error.strerror)  # fmt: skip
                continue
            found += read_parts
            damaged += bad
    return found, damaged


def parse_lines(lines: Iterable[bytes]) -> tuple[list[HistoryPart], int]:
    """What lines keep, and how many are damaged. Raises NewerError."""
    found: list[HistoryPart] = []
    damaged = 0
    for line in filter(None, lines):
        try:
            value = _unsealed(line)
            if "format" in value:
                check_format(value, FORMAT, "history")
            else:
                found.append(_part(value))
        except NewerError:
            raise
        except UNSOUND:
            damaged += 1
    return found, damaged


def _part(value: Mapping[str, Any]) -> HistoryPart:
    if "episode" in value:
        return HistoryPart(ended=(typed(Episode, value["episode"], "episode"),))
    if "event" in value:
        return HistoryPart(events=(typed(Event, value["event"], "event"),))
    if "rows" not in value:
        return HistoryPart()  # of a later version
    cells: Block = block(value, CELL_BYTES)
    unfinished = typed(tuple[Episode, ...], value.get("open", []), "open")
    limits = typed(tuple[InForce, ...], value.get("limits", []), "limits")
    by_budget = {episode.key: episode for episode in unfinished}
    return HistoryPart((cells,), unfinished=by_budget, limits=limits)


def _first_line() -> bytes:
    return _sealed({"format": FORMAT, "ioplateau": __version__})


def _sealed(value: Mapping[str, Any]) -> bytes:
    text = json.dumps(value, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _unsealed(line: bytes) -> dict[str, Any]:
    seal, _, text = line.partition(b" ")
    if int(seal, 16) != zlib.crc32(text):
        raise ValueError("torn")
    value = json.loads(text)
    if not isinstance(value, dict):
        raise TypeError("no object")
    return value


def _set_aside(path: Path, why: str) -> None:
    aside = path.with_name(f"{path.name}.newer")
    try:
        path.replace(aside)
        event(LOG, logging.WARNING, "history set aside, starting without it", file=aside, why=why)
    except OSError as error:
        event(LOG, logging.WARNING, "history is of no use and cannot be set aside",
              file=path, why=f"{why}; {error.strerror}")  # fmt: skip
