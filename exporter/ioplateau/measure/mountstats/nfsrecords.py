"""The text of mountstats: from a file to its NFS records.

The text is long (4 kB a mount) and moves little. So a record is cut into pieces (head, age,
front, connections, table), and a piece that reads as it did last time keeps what was
understood of it. Where the cuts fall depends on the text alone: the last reading changes what
a parse costs and never what it returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ioplateau.measure import native
from ioplateau.measure.mountstats import nfsheads, nfslines, nfstables
from ioplateau.measure.mountstats.nfsheads import AGE, CONNECTION, TABLE, Front, Head
from ioplateau.measure.mountstats.nfslines import (
    NO_CONNECTIONS,
    Digits,
    NfsConnection,
    NfsConnections,
)
from ioplateau.measure.mountstats.nfstables import Operation, OperationTable
from ioplateau.measure.native import Scan
from ioplateau.measure.parsing import FormatError

_DEVICE = b"device "
_NO = b"no "
_OPENINGS = (b"", _NO)
_LINE_STARTS = (b"\n", b"\nno ")
_TITLE = TABLE[1:]


class Mount(NamedTuple):
    """One NFS record. Counters of the superblock (age, events, bytes, operations) repeat in
    every mount of it; connections repeat in every mount of the client.
    """

    device: str  # "server:/export", escapes decoded; "" for "no device"
    mount_point: str  # escapes decoded, valid text (undecodable bytes by surrogateescape)
    occurrence: int  # n-th record with this mount point in the file, from 0, other types counted
    fstype: str
    options: Mapping[str, str]  # "vers" -> "4.1"; flags map to ""
    age_seconds: int
    events: Digits  # (): the line was missing or bad
    bytes: tuple[int, ...]  # normal r/w, direct r/w, server r/w, pages r/w; (): as above
    rpc_program: str  # "100003/4"
    connections: NfsConnections  # the same object in every mount that shows the same lines
    operations: Mapping[str, Operation]  # only those ever used, in the kernel's order
    security: str = ""  # the `sec:` line: "flavor=1,pseudoflavor=1"
    # Operations whose line was bad, so that they are not taken for never used. "": lines are
    # missing and we cannot say whose.
    unreadable: tuple[str, ...] = ()


def server_and_export(device: str) -> tuple[str, str]:
    """Both parts of "server:/export"; the export is "" where there is none.

    An export need not begin with "/".
    """
    # The first colon outside of brackets: nfs_parse_source() in fs/nfs/fs_context.c.
    # https://github.com/torvalds/linux/blob/v6.1/fs/nfs/fs_context.c
    address, bracket, rest = device.partition("]") if device.startswith("[") else ("", "", device)
    name, _, export = rest.partition(":")
    return address + bracket + name, export


class MountTable(NamedTuple):
    """Every NFS record of the file, in order, and a reason for each line or record we left out."""

    mounts: tuple[Mount, ...] = ()
    rejects: tuple[str, ...] = ()
    # Opaque to callers: the last parse's pieces, so that the next can skip what did not change.
    memo: object = None


def parse(text: bytes, last: MountTable | None = None) -> MountTable:
    """Every NFS mount of the file; what did not change since `last` is not parsed again."""
    known = last.memo if last is not None and isinstance(last.memo, _Memo) else _Memo()
    rejects = []
    end = text.rfind(b"\n") + 1
    if end < len(text):
        rejects.append(f"mountstats: the last line is cut off: {text[end:][:120]!r}")
        text = text[:end]
    first = _next_record(text, 0)
    if text[:first] not in _OPENINGS:
        rejects.append(f"mountstats: no record begins with {text[:first][:120]!r}")
    reading = _Parse(text, known, rejects)
    reading.read_from(first)
    return reading.table()


def _next_record(text: bytes, at: int) -> int:
    """Where, from `at` on, the first word "device " of a record stands; the end if nowhere.

    at: 0, or in the record before it, whose server may have such words in its own.
    """
    start = at
    while (at := text.find(_DEVICE, at)) >= 0:
        is_first = at == 0 or (at == 3 and text.startswith(_NO))
        if (is_first or text.endswith(_LINE_STARTS, 0, at)) and (
            at >= nfsheads.implementation_end(text, start, at)
        ):
            return at
        at += len(_DEVICE)  # it was in the middle of a line
    return len(text)


class _KnownRecord(NamedTuple):
    """One record of the last reading; without front and table it is not NFS."""

    head: Head
    front: Front | None = None
    table: OperationTable | None = None


class _Memo:
    """What the next reading may use of this one. It is no part of what a table says, so two
    tables may differ in it and are equal.
    """

    def __init__(self) -> None:
        # One entry a record. None: something in it was bad, so that it is read anew and its
        # reason is given anew.
        self.records: list[_KnownRecord | None] = []
        self.connections: dict[bytes, NfsConnections] = {}
        self.by_header: dict[bytes, _KnownRecord] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Memo)

    __hash__ = None  # type: ignore[assignment]

    def find(self, text: bytes, at: int) -> _KnownRecord | None:
        """What was kept of the record at `at`, which stood elsewhere."""
        if self.by_header is None:
            self.by_header = {
                nfsheads.header(k.head.text): k for k in self.records if k is not None
            }
        known = self.by_header.get(nfsheads.header(text, at))
        return known if known is not None and text.startswith(known.head.text, at) else None


class _Parse:
    """One parse: what it has so far."""

    def __init__(self, text: bytes, last: _Memo, rejects: list[str]) -> None:
        self.rejects = rejects
        self._text = text
        self._last = last
        self._memo = _Memo()
        self._mounts: list[Mount] = []
        self._seen: dict[str, int] = {}
        # A superblock mounted in several places repeats its table.
        self._tables: dict[bytes, OperationTable] = {}
        # What the native twin read, by the id of the last reading's, which lives as long as we do.
        self._moved: dict[int, OperationTable] = {}
        # The lines of connections that were read last, which the next mount often repeats.
        self._repeated: tuple[bytes, NfsConnections] = (b"", NO_CONNECTIONS)

    def table(self) -> MountTable:
        return MountTable(tuple(self._mounts), tuple(self.rejects), self._memo)

    def read_from(self, at: int) -> None:
        """Take in every record from `at` on, where the first begins."""
        text, records, last = self._text, self._memo.records, self._last.records
        scan = native.scan
        while at < len(text):
            if scan is not None:
                lines, connections = self._repeated
                at = scan.rest(
                    text, at, last, lines, connections, self._seen, self._mounts, records, Mount
                )
                if at == len(text):
                    break
            at += len(_DEVICE)
            # It usually stands where it stood.
            known = last[len(records)] if len(records) < len(last) else None
            if known is None or not text.startswith(known.head.text, at):
                known = self._last.find(text, at)
            end = -1
            if known is not None:
                end = self._move(at, known, scan) if scan is not None else self._repeat(at, known)
            if end < 0:
                end = _next_record(text, at)
                self._add(text[at:end].removesuffix(_NO), known)
            at = end

    def _repeat(self, at: int, known: _KnownRecord) -> int:
        """Take in the record at `at` if it is `known` but for its age and its connections, which
        are those of the record before it, as on most mounts at most times. Where it ends; -1:
        something else changed.
        """
        text = self._text
        head, front, table = known
        age_start = end = at + len(head.text)
        if front is None or table is None:
            if text.startswith(_DEVICE, end) or end == len(text):
                self._occurrence(head)
                self._memo.records.append(known)
                return end
            return -1
        lines, connections = self._repeated
        age_end = text.find(b"\n", age_start)
        start = age_end + len(front.text)
        table_start = start + len(lines)
        end = table_start + len(table.text)
        age = text[age_start:age_end]
        if (
            text.startswith(front.text, age_end)
            and text.startswith(lines, start)
            and text.startswith(table.text, table_start)
            and (text.startswith(_DEVICE, end) or end == len(text))
            and age.isdigit()
            and len(age) < 19
        ):
            self._take(head, front, table, connections, int(age), self._occurrence(head))
            self._memo.records.append(known)
            return end
        return -1

    def _move(self, at: int, known: _KnownRecord, scan: Scan) -> int:
        """The same for a record in which other plain numbers stand, by the native twin."""
        text = self._text
        head, front, table = known
        if front is None or table is None:
            return -1
        age_start = at + len(head.text)
        age_end = text.find(b"\n", age_start)
        age = text[age_start:age_end]
        if not (age.isdigit() and len(age) < 19):
            return -1
        if not text.startswith(front.text, age_end):
            front = nfsheads.front_moved(scan, text, age_end, front)
            if front is None:
                return -1
        start = age_end + len(front.text)
        lines, connections = self._repeated
        table_start = start + len(lines)
        if not (text.startswith(lines, start) and text.startswith(_TITLE, table_start)):
            table_start = text.find(TABLE, start - 1) + 1
            found = self._same_connections(text[start:table_start])
            if found is None:
                return -1
            connections = found
        if text.startswith(table.text, table_start):
            end = table_start + len(table.text)
        else:
            # Of a superblock that is mounted elsewhere it was read already.
            was, moved = table, self._moved.get(id(table))
            if moved is None or not text.startswith(moved.text, table_start):
                moved = nfstables.moved(scan, text, table_start, was)
                if moved is None:
                    return -1
                self._moved[id(was)] = moved
            table, end = moved, table_start + len(moved.text)
        if not (text.startswith(_DEVICE, end) or end == len(text)):
            return -1
        self._take(head, front, table, connections, int(age), self._occurrence(head))
        self._memo.records.append(_KnownRecord(head, front, table))
        return end

    def _occurrence(self, head: Head) -> int:
        """The how-manieth record with this mount point it is, from 0."""
        occurrence = self._seen.get(head.mount_point, 0)
        self._seen[head.mount_point] = occurrence + 1
        return occurrence

    def _add(self, record: bytes, known: _KnownRecord | None) -> None:
        """Take in one record, or the reason why not."""
        rejected = len(self.rejects)
        try:
            now = self._read(record, known)
        except FormatError as error:
            self.rejects.append(f"mountstats: record left out: {error}: {record[:120]!r}")
            now = None
        self._memo.records.append(now if len(self.rejects) == rejected else None)

    def _read(self, record: bytes, known: _KnownRecord | None) -> _KnownRecord:
        head = known.head if known is not None else self._head(record)
        occurrence = self._occurrence(head)
        if head.options is None:
            return known if known is not None else _KnownRecord(head)
        front, table = self._body(record, head, known or _KnownRecord(head), occurrence)
        return _KnownRecord(head, front, table)

    def _reject(self, what: str, head: Head) -> None:
        self.rejects.append(f"mountstats: {head.mount_point!a}: {what}")

    def _head(self, record: bytes) -> Head:
        head, wrong = nfsheads.read_head(record)
        for each in wrong:
            self._reject(each, head)
        return head

    def _body(
        self, record: bytes, head: Head, known: _KnownRecord, occurrence: int
    ) -> tuple[Front, OperationTable]:
        if not head.text.endswith(AGE):
            raise FormatError("no age")
        age_start = len(head.text)
        age_end = record.find(b"\n", age_start)
        age = nfslines.number(record[age_start:age_end])
        front = known.front
        if front is None or not record.startswith(front.text, age_end):
            front = self._front(record, age_end, front, head)
        start = age_end + len(front.text)
        lines, connections = self._repeated
        end = start + len(lines)
        if not (record.startswith(lines, start) and record.startswith(_TITLE, end)):
            end = self._table_start(record, start, head)
            connections = self._connections(record[start:end], head)
        text, table = record[end:], known.table
        if table is None or text != table.text:
            table = self._table(text, table, head)
        self._take(head, front, table, connections, age, occurrence)
        return front, table

    def _take(
        self,
        head: Head,
        front: Front,
        table: OperationTable,
        connections: NfsConnections,
        age_seconds: int,
        occurrence: int,
    ) -> None:
        self._mounts.append(
            Mount(
                head.device,
                head.mount_point,
                occurrence,
                head.fstype,
                head.options or {},
                age_seconds,
                front.events,
                front.bytes,
                front.rpc_program,
                connections,
                table.used,
                front.security,
                table.unreadable,
            )
        )

    def _front(self, record: bytes, start: int, known: Front | None, head: Head) -> Front:
        front = nfsheads.read_front_moved(record, start, known) if known is not None else None
        if front is None:
            front, wrong = nfsheads.read_front(record, start)
            for each in wrong:
                self._reject(each, head)
        return front

    def _table_start(self, record: bytes, start: int, head: Head) -> int:
        at = record.find(TABLE, start - 1)
        if at >= 0:
            return at + 1
        if not record.endswith(b"\n\n"):
            raise FormatError("cut off before its operations")
        self._reject('no line "per-op statistics"', head)
        last = record.rfind(CONNECTION, start - 1)
        return start if last < 0 else record.find(b"\n", last + 1) + 1

    def _connections(self, text: bytes, head: Head) -> NfsConnections:
        found = self._same_connections(text)
        if found is None:
            rejected = len(self.rejects)
            found = NfsConnections.of(*self._each_connection(text, head))
            if len(self.rejects) == rejected:
                self._memo.connections[text] = found
                self._repeated = text, found
        return found

    def _same_connections(self, text: bytes) -> NfsConnections | None:
        """What is known of these lines, or what is seen of them all at once."""
        found = (
            self._memo.connections.get(text)
            or self._last.connections.get(text)
            or nfslines.tcp_connections(text)
        )
        if found is not None:
            self._memo.connections[text] = found
            self._repeated = text, found
        return found

    def _each_connection(self, text: bytes, head: Head) -> Iterator[NfsConnection]:
        for line in text.split(b"\n"):
            if line.startswith(CONNECTION[1:]):
                try:
                    yield nfslines.connection(line)
                except FormatError as error:
                    self._reject(f"{error}: {line[:120]!r}", head)

    def _table(self, text: bytes, known: OperationTable | None, head: Head) -> OperationTable:
        table = self._tables.get(text)
        if table is None and known is not None:
            table = nfstables.read_moved(text, known)
        if table is None:
            table, wrong = nfstables.read(text)
            if wrong:
                for each in wrong:
                    self._reject(each, head)
                return table
        self._tables[text] = table
        return table
