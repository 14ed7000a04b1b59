"""/proc/self/mountinfo: which superblock lies under a mount point. Grammar: fs/proc_namespace.c
show_mountinfo(), Documentation/filesystems/proc.rst section 3.5.

https://github.com/torvalds/linux/blob/v6.1/fs/proc_namespace.c
https://docs.kernel.org/filesystems/proc.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ioplateau.measure.escapes import decode
from ioplateau.measure.parsing import FormatError, count_of, number, options

NFS_PORT = 2049
NFS_TYPES = ("nfs", "nfs4")


class MountEntry(NamedTuple):
    """One line."""

    device: tuple[int, int]  # major:minor of the superblock
    mount_point: str
    occurrence: int  # n-th line with this mount point, from 0
    fstype: str
    source: str
    super_options: Mapping[str, str]  # "addr" -> "10.0.0.4"; flags map to ""

    @property
    def server_port(self) -> int | None:
        """Of an NFS server, where `port=` tells another than the usual one; 0 there is none."""
        said = self.super_options.get("port", "") if self.fstype in NFS_TYPES else ""
        port = count_of(said)
        return None if port is None or port == NFS_PORT or not 0 < port < 2**16 else port


class MountInfo(NamedTuple):
    """Every line we understood, in order, and a reason for each we did not."""

    entries: tuple[MountEntry, ...] = ()
    rejects: tuple[str, ...] = ()


def parse(text: bytes) -> MountInfo:
    """Every mount of the file. Costs a few microseconds a line: for when the table has changed."""
    entries: list[MountEntry] = []
    rejects: list[str] = []
    seen: dict[str, int] = {}
    for line in text.split(b"\n"):  # not splitlines(): a carriage return may be in a path
        if not line:
            continue
        try:
            entry = _entry(line, seen)
        except FormatError as error:
            rejects.append(f"mountinfo: {error}: {line[:120]!r}")
            continue
        entries.append(entry)
    return MountInfo(tuple(entries), tuple(rejects))


def by_place(info: MountInfo) -> Mapping[tuple[str, int], MountEntry]:
    """Every entry by (mount point, occurrence), as mountstats counts its records too."""
    return {(entry.mount_point, entry.occurrence): entry for entry in info.entries}


def _entry(line: bytes, seen: dict[str, int]) -> MountEntry:
    # Blanks inside a field are escaped, so one blank always ends a field, even an empty one.
    words = line.split(b" ")
    if len(words) < 9:
        raise FormatError(f"{len(words)} words, want 9 or more")
    mount_point = decode(words[4])
    # Known before the rest is read: a line that is bad further on still is a mount, and the
    # records of mountstats after it must keep their partners.
    occurrence = seen.get(mount_point, 0)
    seen[mount_point] = occurrence + 1
    fstype, source, super_options = _after_tags(words)
    return MountEntry(
        _device(words[2]),
        mount_point,
        occurrence,
        fstype,
        source,
        super_options,
    )


def _after_tags(words: list[bytes]) -> tuple[str, str, Mapping[str, str]]:
    # "shared:1", "master:2", "unbindable" and such, none or several, end with a lone "-".
    try:
        dash = words.index(b"-", 6)
    except ValueError:
        raise FormatError('no "-" after the tags') from None
    rest = words[dash + 1 :]
    if len(rest) < 2:
        raise FormatError(f'{len(rest)} words after "-", want 2 or more')
    return decode(rest[0]), decode(rest[1]), options(b" ".join(rest[2:]))


def _device(word: bytes) -> tuple[int, int]:
    major, _, minor = word.partition(b":")
    return number(major, "major"), number(minor, "minor")
