"""The text of mountstats: from a file to its NFS records. The nouns' door is mountstats.py.

The text is long (4 kB a mount) and moves little. So a record is cut into pieces (head, age,
front, connections, table), and a piece that reads as it did last time keeps what was
understood of it. Where the cuts fall depends on the text alone: the last reading changes what
a parse costs and never what it returns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ioplateau.measure import nfslines, nfstables
from ioplateau.measure.escapes import decode
from ioplateau.measure.frozen import maker
from ioplateau.measure.nfslines import Connection
from ioplateau.measure.nfstables import Operation, Table
from ioplateau.measure.reading import FormatError

EVENTS = 27  # names: include/linux/nfs_iostat.h; kernels without pNFS print 25
BYTES = 8

_OPENINGS = (b"", b"no ")
_LINE_STARTS = (b"\n", b"\nno ")
_NO = b"no "
_HEADER = re.compile(rb"(?:([^ ]*) )?mounted on ([^ ]+) with fstype ([^ ]+)(?: .*)?", re.DOTALL)
_NFS = re.compile(r"nfs4?(?:\..*)?", re.DOTALL)
_OPTIONS = b"\n\topts:\t"
_AGE = b"\n\tage:\t"
_RPC = b"\n\tRPC iostats version:"
_CONNECTION = b"\n\txprt:"
_TABLE = b"\n" + nfstables.TITLE + b"\n"


@dataclass(frozen=True, slots=True)
class Mount:
    """One NFS record. Counters of the superblock (age, events, bytes, operations) repeat in
    every mount of it; connections repeat in every mount of the client.
    """

    device: str  # "server:/export", escapes decoded; "" for "no device"
    mount_point: str  # escapes decoded, valid text (undecodable bytes by surrogateescape)
    occurrence: int  # n-th record with this mount point in the file, from 0, other types counted
    fstype: str
    options: Mapping[str, str]  # "vers" -> "4.1"; flags map to ""
    age_seconds: int
    events: tuple[int, ...]  # (): the line was missing or bad
    bytes: tuple[int, ...]  # normal r/w, direct r/w, server r/w, pages r/w; (): as above
    rpc_program: str  # "100003/4"
    connections: tuple[Connection, ...]  # the same object in every mount that shows the same lines
    operations: Mapping[str, Operation]  # only those ever used, in the kernel's order
    security: str = ""  # the `sec:` line: "flavor=1,pseudoflavor=1"
    # Operations whose line was bad, so that they are not taken for never used. "": lines are
    # missing and we cannot say whose.
    unreadable: tuple[str, ...] = ()


_make_mount = maker(Mount)


@dataclass(frozen=True, slots=True)
class MountTable:
    """Every NFS record of the file, in order, and a reason for each line or record we left out."""

    mounts: tuple[Mount, ...] = ()
    rejects: tuple[str, ...] = ()
    # Opaque to callers: the last parse's pieces, so that the next can skip what did not change.
    memo: object = field(default=None, compare=False, repr=False)


def parse(text: bytes, last: MountTable | None = None) -> MountTable:
    """Every NFS mount of the file; what did not change since `last` is not parsed again."""
    kept = last.memo if last is not None and isinstance(last.memo, _Memo) else _Memo()
    reading = _Reading(kept)
    for position, record in enumerate(_records(text, reading.rejects)):
        reading.add(record, kept.at(position, record))
    return reading.table()


def _records(text: bytes, rejects: list[str]) -> Iterator[bytes]:
    """Each record, without its first word "device ", to the blank line that closes it."""
    end = text.rfind(b"\n") + 1
    if end < len(text):
        rejects.append(f"mountstats: the last line is cut off: {text[end:][:120]!r}")
        text = text[:end]
    # One pass over the text. To look for "\n" before and for "no device " takes two more.
    before, *pieces = text.split(b"device ")
    if before not in _OPENINGS:
        rejects.append(f"mountstats: no record begins with {before[:120]!r}")
    parts: list[bytes] = []
    before = b"\n" + before
    for piece in pieces:
        if not before.endswith(_LINE_STARTS):
            parts.append(b"device ")  # it was in the middle of a line
        elif parts:
            parts[-1] = parts[-1].removesuffix(_NO)
            yield parts[0] if len(parts) == 1 else b"".join(parts)
            parts.clear()
        parts.append(piece)
        before = piece
    if parts:
        yield b"".join(parts)


@dataclass(slots=True)
class _Head:
    """From the first line to the age, or of a record that is not NFS the first line."""

    text: bytes
    device: str
    mount_point: str
    fstype: str
    options: Mapping[str, str] | None  # None: not NFS


@dataclass(slots=True)
class _Front:
    """What stands between the age and the connections."""

    text: bytes
    events: tuple[int, ...] = ()
    bytes: tuple[int, ...] = ()
    security: str = ""
    rpc_program: str = ""


@dataclass(slots=True)
class _Body:
    front: _Front
    table: Table
    mount: Mount


@dataclass(slots=True)
class _Kept:
    """One record of the last reading; without a body it is not NFS."""

    head: _Head
    body: _Body | None = None


@dataclass(slots=True)
class _Memo:
    """What the next reading may use of this one."""

    # One entry a record. None: something in it was bad, so that it is read anew and its
    # reason is given anew.
    records: list[_Kept | None] = field(default_factory=list)
    connections: dict[bytes, tuple[Connection, ...]] = field(default_factory=dict)
    by_header: dict[bytes, _Kept] | None = None

    def at(self, position: int, record: bytes) -> _Kept | None:
        """What was kept of the record, which usually stands where it stood."""
        kept = self.records[position] if position < len(self.records) else None
        if kept is not None and record.startswith(kept.head.text):
            return kept
        if self.by_header is None:
            self.by_header = {_header(k.head.text): k for k in self.records if k is not None}
        kept = self.by_header.get(_header(record))
        return kept if kept is not None and record.startswith(kept.head.text) else None


def _header(record: bytes) -> bytes:
    return record[: record.find(b"\n")]


class _Reading:
    """One parse: what it has so far."""

    def __init__(self, last: _Memo) -> None:
        self.rejects: list[str] = []
        self._last = last
        self._memo = _Memo()
        self._mounts: list[Mount] = []
        self._seen: dict[str, int] = {}
        # A superblock mounted in several places repeats its table.
        self._tables: dict[bytes, Table] = {}

    def table(self) -> MountTable:
        return MountTable(tuple(self._mounts), tuple(self.rejects), self._memo)

    def add(self, record: bytes, kept: _Kept | None) -> None:
        """Take in one record, or the reason why not."""
        rejected = len(self.rejects)
        try:
            now = self._read(record, kept)
        except FormatError as error:
            self.rejects.append(f"mountstats: record left out: {error}: {record[:120]!r}")
            now = None
        self._memo.records.append(now if len(self.rejects) == rejected else None)

    def _read(self, record: bytes, kept: _Kept | None) -> _Kept:
        head = kept.head if kept is not None else self._head(record)
        occurrence = self._seen.get(head.mount_point, 0)
        self._seen[head.mount_point] = occurrence + 1
        if head.options is None:
            return kept if kept is not None else _Kept(head)
        body = self._body(record, head, kept.body if kept is not None else None, occurrence)
        self._mounts.append(body.mount)
        return _Kept(head, body)

    def _reject(self, what: str, head: _Head) -> None:
        self.rejects.append(f"mountstats: {head.mount_point!a}: {what}")

    def _head(self, record: bytes) -> _Head:
        header = _header(record)
        match = _HEADER.fullmatch(header)
        if match is None:
            raise FormatError("no header")
        device, mount_point, fstype = (decode(part or b"") for part in match.groups())
        head = _Head(record[: len(header) + 1], device, mount_point, fstype, None)
        if _NFS.fullmatch(fstype):
            head.text = record[: max(record.find(_AGE) + len(_AGE), len(header) + 1)]
            head.options = self._options(head)
        return head

    def _options(self, head: _Head) -> Mapping[str, str]:
        start = head.text.find(_OPTIONS)
        if start < 0:
            self._reject("no options", head)
            return {}
        start += len(_OPTIONS)
        return nfslines.options(head.text[start : head.text.find(b"\n", start)])

    def _body(self, record: bytes, head: _Head, kept: _Body | None, occurrence: int) -> _Body:
        if not head.text.endswith(_AGE):
            raise FormatError("no age")
        age_end = record.find(b"\n", len(head.text))
        (age,) = nfslines.numbers((record[len(head.text) : age_end],))
        if kept is not None and record.startswith(kept.front.text, age_end):
            front = kept.front
        else:
            front = self._front(record, age_end, head)
        start = age_end + len(front.text)
        end = self._table_start(record, start, head)
        connections = self._connections(record[start:end], head)
        table = self._table(record[end:], kept.table if kept is not None else None, head)
        mount = _make_mount(
            head.device,
            head.mount_point,
            occurrence,
            head.fstype,
            head.options or {},
            age,
            front.events,
            front.bytes,
            front.rpc_program,
            connections,
            table.used,
            front.security,
            table.unreadable,
        )
        return _Body(front, table, mount)

    def _front(self, record: bytes, start: int, head: _Head) -> _Front:
        at = record.find(_RPC, start)
        if at >= 0:
            end = record.find(b"\n", at + 1) + 1
        else:
            self._reject('no line "RPC iostats version:"', head)
            ends = [record.find(mark, start) + 1 for mark in (_CONNECTION, _TABLE)]
            end = min(filter(None, ends), default=len(record))
        front = _Front(record[start:end])
        for line in front.text.split(b"\n"):
            # Other lines tell what does not move; impl_id is the server's own text, blanks,
            # newlines and all (FreeBSD puts its build there).
            if line.startswith(b"\tevents:\t"):
                front.events = self._counts(line, EVENTS, head)
            elif line.startswith(b"\tbytes:\t"):
                front.bytes = self._counts(line, BYTES, head)
            elif line.startswith(b"\tsec:\t"):
                front.security = decode(line[len(b"\tsec:\t") :])
            elif line.startswith(_RPC[1:]):
                front.rpc_program = _rpc_program(line)
        if not front.events or not front.bytes:
            self._reject("no events or no bytes", head)
        return front

    def _counts(self, line: bytes, most: int, head: _Head) -> tuple[int, ...]:
        try:
            return tuple(nfslines.numbers(line.split()[1:])[:most])
        except FormatError as error:
            self._reject(f"{error}: {line[:120]!r}", head)
            return ()

    def _table_start(self, record: bytes, start: int, head: _Head) -> int:
        at = record.find(_TABLE, start - 1)
        if at >= 0:
            return at + 1
        if not record.endswith(b"\n\n"):
            raise FormatError("cut off before its operations")
        self._reject('no line "per-op statistics"', head)
        last = record.rfind(_CONNECTION, start - 1)
        return start if last < 0 else record.find(b"\n", last + 1) + 1

    def _connections(self, text: bytes, head: _Head) -> tuple[Connection, ...]:
        found = self._memo.connections.get(text) or self._last.connections.get(text)
        if found is None:
            rejected = len(self.rejects)
            found = tuple(self._each_connection(text, head))
            if len(self.rejects) > rejected:
                return found
        self._memo.connections[text] = found
        return found

    def _each_connection(self, text: bytes, head: _Head) -> Iterator[Connection]:
        for line in text.split(b"\n"):
            if line.startswith(_CONNECTION[1:]):
                try:
                    yield nfslines.connection(line)
                except FormatError as error:
                    self._reject(f"{error}: {line[:120]!r}", head)

    def _table(self, text: bytes, kept: Table | None, head: _Head) -> Table:
        if kept is not None and text == kept.text:
            return kept
        table = self._tables.get(text)
        if table is None and kept is not None:
            table = nfstables.read_moved(text, kept)
        if table is None:
            table, wrong = nfstables.read(text)
            if wrong:
                for each in wrong:
                    self._reject(each, head)
                return table
        self._tables[text] = table
        return table


def _rpc_program(line: bytes) -> str:
    words = line.split()
    at = words.index(b"p/v:") + 1 if b"p/v:" in words else len(words)
    return decode(words[at]) if at < len(words) else ""
