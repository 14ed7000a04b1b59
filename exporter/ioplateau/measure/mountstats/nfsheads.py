"""What begins an NFS record of mountstats: its first lines, and the counts of the superblock.

Grammar: fs/nfs/super.c nfs_show_stats(). The head is what stands before the age and does not
move; the front is what stands between the age and the connections, and of it two lines move.

https://github.com/torvalds/linux/blob/v6.1/fs/nfs/super.c
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ioplateau.measure import parsing
from ioplateau.measure.escapes import decode
from ioplateau.measure.mountstats import nfslines, nfstables
from ioplateau.measure.mountstats.nfslines import Digits
from ioplateau.measure.native import Scan
from ioplateau.measure.parsing import FormatError

# https://github.com/torvalds/linux/blob/v6.1/include/linux/nfs_iostat.h
EVENTS = 27  # names: include/linux/nfs_iostat.h; kernels without pNFS print 25
BYTES = 8
AGE = b"\n\tage:\t"
CONNECTION = b"\n\txprt:"
TABLE = b"\n" + nfstables.TITLE + b"\n"

# Of v4.1 and newer: what the server calls itself, in its own words and without escapes, so blanks,
# newlines and lines that look like others of this file may stand in it. The date closes it.
_IMPLEMENTATION = b"\n\timpl_id:\t"
_IMPLEMENTATION_END = re.compile(rb"',date='[0-9]+,-?[0-9]+'(?=\n)")
# Its name and its domain are 1,024 bytes each at most: NFS4_OPAQUE_LIMIT.
MOST_IMPLEMENTATION_BYTES = 2 * 1024 + 100

_HEADER = re.compile(rb"(?:([^ ]*) )?mounted on ([^ ]+) with fstype ([^ ]+)(?: .*)?", re.DOTALL)
_NFS = re.compile(r"nfs4?(?:\..*)?", re.DOTALL)
_OPTIONS = b"\n\topts:\t"
_RPC = b"\n\tRPC iostats version:"
_EVENTS = b"\n\tevents:\t"
_BYTES = b"\n\tbytes:\t"


class Head(NamedTuple):
    """From the first line to the age, or of a record that is not NFS the first line."""

    text: bytes
    device: str
    mount_point: str
    fstype: str
    options: Mapping[str, str] | None  # None: not NFS


class Front(NamedTuple):
    """What stands between the age and the connections."""

    text: bytes
    events: Digits = ()
    bytes: tuple[int, ...] = ()
    security: str = ""
    rpc_program: str = ""
    # Where in the text the numbers of events begin, and those of bytes, on the line after it,
    # end; 0: it is not like that.
    counts_start: int = 0
    counts_end: int = 0


def header(text: bytes, at: int = 0) -> bytes:
    """The first line of the record at `at`."""
    return text[at : text.find(b"\n", at)]


def implementation_end(text: bytes, start: int, end: int) -> int:
    """Where the server's own words end that begin in text[start:end], if they may reach to `end`;
    `start`: there are none.

    A server that also forges the date and a second impl_id writes two records that are as good as
    any, and only mountinfo knows better.
    """
    at = text.find(_IMPLEMENTATION, start, end)
    last = at + MOST_IMPLEMENTATION_BYTES
    if at < 0 or last < end:
        return start
    following = text.find(_IMPLEMENTATION, at + 1, last)
    closing = _IMPLEMENTATION_END.finditer(text, at, last if following < 0 else following)
    return max((match.end() for match in closing), default=start)


def read_head(record: bytes) -> tuple[Head, list[str]]:
    """The head of a record, and what was wrong with it; FormatError if it has no first line."""
    line = header(record)
    match = _HEADER.fullmatch(line)
    if match is None:
        raise FormatError("no header")
    device, mount_point, fstype = (decode(part or b"") for part in match.groups())
    if not _NFS.fullmatch(fstype):
        return Head(record[: len(line) + 1], device, mount_point, fstype, None), []
    text = record[: max(record.find(AGE) + len(AGE), len(line) + 1)]
    start = text.find(_OPTIONS)
    if start < 0:
        return Head(text, device, mount_point, fstype, {}), ["no options"]
    start += len(_OPTIONS)
    options = parsing.options(text[start : text.find(b"\n", start)])
    return Head(text, device, mount_point, fstype, options), []


def read_front(record: bytes, start: int) -> tuple[Front, list[str]]:
    """The front that begins at `start`, and what was wrong with it."""
    wrong = []
    begin = implementation_end(record, start, start + len(_IMPLEMENTATION))
    at = record.find(_RPC, begin)
    if at >= 0:
        end = record.find(b"\n", at + 1) + 1
    else:
        wrong.append('no line "RPC iostats version:"')
        ends = [record.find(mark, begin) + 1 for mark in (CONNECTION, TABLE)]
        end = min(filter(None, ends), default=len(record))
    text = record[start:end]
    events: Digits = ()
    octets: tuple[int, ...] = ()
    security = rpc_program = ""
    for line in record[begin:end].split(b"\n"):
        # Other lines tell what does not move.
        try:
            if line.startswith(_EVENTS[1:]):
                events = ()
                events = nfslines.digits(line.split()[1:])[:EVENTS]
            elif line.startswith(_BYTES[1:]):
                octets = ()
                octets = tuple(nfslines.numbers(line.split()[1:])[:BYTES])
            elif line.startswith(b"\tsec:\t"):
                security = decode(line[len(b"\tsec:\t") :])
            elif line.startswith(_RPC[1:]):
                rpc_program = _rpc_program(line)
        except FormatError as error:
            wrong.append(f"{error}: {line[:120]!r}")
    if not events or not octets:
        wrong.append("no events or no bytes")
    counts = (0, 0) if wrong else _find_counts(text)
    return Front(text, events, octets, security, rpc_program, *counts), wrong


def _find_counts(text: bytes) -> tuple[int, int]:
    """Where the counts of a front begin and end; 0, 0: it is not like that."""
    if text.count(_EVENTS) == 1 and text.count(_BYTES) == 1:
        start = text.find(_EVENTS) + len(_EVENTS)
        end = text.find(b"\n", start)
        if text.startswith(_BYTES, end):
            return start, text.find(b"\n", end + 1)
    return 0, 0


def read_front_moved(record: bytes, start: int, last: Front) -> Front | None:
    """The front `last`, in which nothing was wrong, with other counts; None if more than that
    happened.
    """
    before, behind = last.text[: last.counts_start], last.text[last.counts_end :]
    if not before or not record.startswith(before, start):
        return None
    events_start = start + len(before)
    events_end = record.find(b"\n", events_start)
    bytes_end = record.find(b"\n", events_end + 1)
    if not record.startswith(_BYTES, events_end) or not record.startswith(behind, bytes_end):
        return None
    try:
        events = nfslines.digits(record[events_start:events_end].split())
        octets = nfslines.numbers(record[events_end + len(_BYTES) : bytes_end].split())
    except FormatError:
        return None
    if not events or not octets:
        return None
    return Front(
        record[start : bytes_end + len(behind)],
        events[:EVENTS],
        tuple(octets[:BYTES]),
        last.security,
        last.rpc_program,
        last.counts_start,
        bytes_end - start,
    )


def front_moved(scan: Scan, text: bytes, start: int, last: Front) -> Front | None:
    """The same, by the native twin: `text` goes on behind the record."""
    found = scan.front(text, start, last.text, last.counts_start, last.counts_end)
    if found is None:
        return None
    events, octets, bytes_end = found
    return Front(
        text[start : bytes_end + len(last.text) - last.counts_end],
        events[:EVENTS],
        octets[:BYTES],
        last.security,
        last.rpc_program,
        last.counts_start,
        bytes_end - start,
    )


def _rpc_program(line: bytes) -> str:
    words = line.split()
    at = words.index(b"p/v:") + 1 if b"p/v:" in words else len(words)
    return decode(words[at]) if at < len(words) else ""
