"""The native twin of the lean scan says what Python says, of every text, or leaves it to Python."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from almost_right import damaged_text
from ioplateau.measure import diskstats, mountstats, native
from ioplateau.measure.diskstats import DiskCounters
from ioplateau.measure.mountstats import DATA, Operation
from nfs_texts import ODD, READINGS, kept, record

FILES = Path(__file__).parent / "files" / "machine"
DISKS = tuple(
    (FILES / f"diskstats-6.1-raid0-{when}.txt").read_bytes() for when in ("before", "after")
)
BUILT = native.scan
MOUNTS = [kept(f"{name}-after") for name in READINGS] + [kept(name) for name in ODD]
MOUNTS += [
    record(),
    b"".join(MOUNTS[:3]),
    record() * 2 + b"device x mounted on / with fstype ext4\n",
]
# Numbers as the kernel prints them, and some that it cannot mean.
NUMBERS = st.sampled_from(
    (b"0", b"7", b"007", b"1" * 17, b"9" * 18, b"9" * 19, b"18446743919241604546", b"-5", b"1_0")
)


@st.composite
def moved_text(draw, text: bytes) -> bytes:
    """A text in which some numbers grew, and perhaps one became odd."""
    dice = random.Random(draw(st.integers(0, 2**32)))
    share = draw(st.sampled_from((0.01, 0.1, 1.0)))
    text = re.sub(
        rb"(?<=[ \t])[1-9][0-9]*(?=[ \n])",
        lambda found: (
            b"%d" % (int(found[0]) + dice.choice((0, 1, 999, 10**9)))
            if dice.random() < share
            else found[0]
        ),
        text,
    )
    if draw(st.integers(0, 3)):
        return text
    places = [found.span() for found in re.finditer(rb"(?<=[ \t])[0-9]+(?=[ \n])", text)]
    start, end = draw(st.sampled_from(places)) if places else (0, 0)
    return text[:start] + draw(NUMBERS) + text[end:]


def everything(table: mountstats.MountTable) -> object:
    """All that a table tells, and what the judge takes from it without asking for more."""
    return (
        table.rejects,
        [
            (
                *mount._replace(operations=dict(mount.operations), connections=()),
                dict(mountstats.data(mount.operations)).keys() & {*DATA},
                mount.connections.ports,
                mount.connections.sends,
                mount.connections.receives,
                mount.connections.backlog_sums,
                tuple(mount.connections),
            )
            for mount in table.mounts
        ],
        [[one.connections is other.connections for other in table.mounts] for one in table.mounts],
    )


def in_both(parse, texts):
    """What each of the texts is, read one after the other, by Python alone and with the twin."""
    built, found = native.scan, []
    try:
        for twin in (None, built):
            native.scan = twin
            last, tables = None, []
            for text in texts:
                last = parse(text, last)
                tables.append(last)
            found.append(tables)
    finally:
        native.scan = built
    return found


def texts_after(text: bytes):
    return st.lists(moved_text(text) | moved_text(text) | damaged_text(text), max_size=5).map(
        lambda others: [text, *others, text]
    )


@given(st.sampled_from(MOUNTS).flatmap(texts_after))
@settings(max_examples=2 * settings.default.max_examples)
def test_both_read_the_same_of_mounts(texts):
    python, twin = in_both(mountstats.parse, texts)

    assert [*map(everything, twin)] == [*map(everything, python)]


@given(st.sampled_from(MOUNTS).flatmap(texts_after), st.sets(st.integers(0, 20)))
def test_both_read_all_of_a_table_alike(texts, known):
    for mount in in_both(mountstats.parse, texts)[0][-2].mounts:
        table = mount.operations
        python = table._parsed()
        some = {name: one for place, (name, one) in enumerate(python.items()) if place in known}
        twin = BUILT.operations(table._text, table.places, some, Operation)

        assert twin is None or [*twin.items()] == [*python.items()]
        assert twin is None or all(twin[name] is one for name, one in some.items())


@pytest.mark.parametrize("name", ["v41-two-mounts", "v3-slots"])
def test_all_of_a_table_is_read_by_the_twin(name):
    for mount in mountstats.parse(kept(f"{name}-after")).mounts:
        table = mount.operations

        assert BUILT.operations(table._text, table.places, {}, Operation) == table._parsed()


@given(texts_after(DISKS[0]))
def test_both_read_the_same_of_disks(texts):
    python, twin = in_both(diskstats.parse, texts)

    assert twin == python
    assert [[*map(type, table.disks.values())] for table in twin] == [
        [DiskCounters] * len(table.disks) for table in python
    ]


def test_it_is_built():
    assert native.scan is not None, "run make, which builds it; a C compiler is all that it needs"


@pytest.mark.parametrize(("value", "is_there"), [("", True), ("0", False)])
def test_the_environment_switches_it_off(value, is_there):
    asked = "from ioplateau.measure import native; print(native.scan is not None)"
    done = subprocess.run(
        [sys.executable, "-c", asked],
        env={**os.environ, "IOPLATEAU_NATIVE": value}, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stdout.strip() == str(is_there)


def free_threaded(script):
    """What is said, on both streams, by a Python that has the flag of a free-threaded one."""
    done = subprocess.run(
        [sys.executable, "-c", f"import runpy, sys; sys.abiflags += 't'; {script}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout + done.stderr


def test_a_python_without_the_stable_abi_goes_without():
    asked = "from ioplateau.measure import native; print(native.scan)"

    assert free_threaded(asked) == "None\n"


def test_for_a_python_without_the_stable_abi_it_is_not_built():
    tool = Path(__file__).parents[2] / "tools/native.py"
    said = free_threaded(f"runpy.run_path({str(tool)!r}, run_name='__main__')")

    assert said == "native.py: Python does it alone: a free-threaded one has no stable ABI\n"


# In the third one an operation was used for the first time: that is Python's.
@pytest.mark.parametrize("name", ["v41-two-mounts", "v3-slots"])
def test_what_a_kernel_moved_is_read_by_the_twin(name, monkeypatch):
    answers = []

    class Told:
        """The twin, and whether it had an answer."""

        def __getattr__(self, name):
            def asked(*arguments):
                found = getattr(BUILT, name)(*arguments)
                answers.append((name, found is not None))
                return found

            return asked

    monkeypatch.setattr(native, "scan", Told())
    before = mountstats.parse(kept(f"{name}-before"))
    answers.clear()
    mountstats.parse(kept(f"{name}-after"), before)

    assert {("rest", True), ("front", True), ("columns", True), ("table", True)} == {*answers}


def test_a_disk_that_moved_is_read_by_the_twin():
    before, after = DISKS
    last = diskstats.parse(before)
    found = BUILT.disks(after, last.lines, last.disks, DiskCounters)

    assert found is not None
    assert (found[0], found[1]) == (diskstats.parse(after).disks, tuple(after.split(b"\n")[:-1]))
    assert [one is last.disks[name] for name, one in found[0].items()] == [
        one == last.disks[name] for name, one in found[0].items()
    ]


def cuts(text: bytes, start: int = 0) -> list[bytes]:
    """Each beginning of it from `start` on."""
    return [text[:length] for length in range(start, len(text))]


def test_a_record_may_end_anywhere():
    """Each function finds nothing in a beginning of what it was asked for."""
    before = record(octets="0 0 0 0 4096 8191 1 2", operations=("READ: 9 9 0 2 3 4 5 6 0",))
    text = record(operations=("READ: 10 10 0 20 30 40 50 60 0",))
    ((_, front, table),) = mountstats.parse(before).memo.records
    start, at = text.index(b"\n\tcaps"), text.index(b"\tper-op")
    lines = text[text.index(b"\txprt:") : at]
    counted = (front.text, front.counts_start, front.counts_end)
    moved = (table.text, table.used.places, table.used.known, DATA, Operation)

    assert BUILT.front(text, start, *counted) is not None
    assert {
        BUILT.front(cut, start, *counted) for cut in cuts(text[: start + len(front.text)], start)
    } == {None}
    assert BUILT.columns(lines, (0, 5)) is not None
    assert {BUILT.columns(cut, (0, 5)) for cut in cuts(lines) if not cut.endswith(b"\n")} == {None}
    assert BUILT.table(text, at, *moved) == (
        len(text),
        {"READ": (10, 10, 0, 20, 30, 40, 50, 60, 0)},
    )
    assert [BUILT.table(cut, at, *moved) for cut in cuts(text, at)] == [None] * (len(text) - at)
    line_end = text.index(b"\n", text.index(b"READ:"))
    assert [
        BUILT.operations(cut[at:], table.used.places, {}, Operation)
        for cut in cuts(text[: line_end + 1], at)
    ] == [None] * (line_end + 1 - at)


def test_a_file_of_disks_may_end_anywhere():
    last = diskstats.parse(DISKS[0])

    assert {BUILT.disks(cut, last.lines, last.disks, DiskCounters) for cut in cuts(DISKS[1])} == {
        None
    }


@pytest.mark.parametrize(
    "call",
    [
        lambda: BUILT.front(b"text", 5, b"", 0, 0),
        lambda: BUILT.front(b"text", -1, b"", 0, 0),
        lambda: BUILT.front(b"text", 0, b"last", 2, 5),
        lambda: BUILT.front("text", 0, b"", 0, 0),
        lambda: BUILT.front(b""),
        lambda: BUILT.columns(b"\n", [0]),
        lambda: BUILT.table(b"", 0, b"a\n", [], {}, DATA, Operation),
        lambda: BUILT.table(b"A: 1\n", 0, b"A: 2\n", {"A": "x"}, {}, DATA, Operation),
        lambda: BUILT.table(NUMBERS_OF_A, 0, b"A: 2\n", {"A": 0}, {}, 7, Operation),
        lambda: BUILT.table(NUMBERS_OF_A, 0, b"A: 2\n", {"A": 0}, {}, ("A",), int),
        lambda: BUILT.table(NUMBERS_OF_A, 0, b"A: 2\n", {"A": 0}, {}, ("A",), "no type"),
        lambda: BUILT.operations(b"", [], {}, Operation),
        lambda: BUILT.operations(b"", {}, [], Operation),
        lambda: BUILT.operations("", {}, {}, Operation),
        lambda: BUILT.operations(NUMBERS_OF_A, {"A": "0"}, {}, Operation),
        lambda: BUILT.operations(NUMBERS_OF_A, {"A": 0}, {}, int),
        lambda: BUILT.disks(b"", (b"",), [], DiskCounters),
        lambda: BUILT.disks(b"", ("no bytes",), {"sda": 0}, DiskCounters),
        lambda: BUILT.rest(b"device ", 0, [()], b"", None, {}, [], [], tuple),
        lambda: BUILT.rest(b"device ", 0, [(0, 1, 2)], b"", None, {}, [], [], tuple),
        lambda: BUILT.rest(b"device ", 0, (), b"", None, {}, [], [], tuple),
        lambda: BUILT.grown((1,), (1,), 0, 2, -1),
        lambda: BUILT.grown((1,), [1], 0, 1, -1),
        lambda: BUILT.grown((1,), (1,), -1, 1, -1),
        lambda: BUILT.rest(b"device ", 8, [], b"", None, {}, [], [], tuple),
    ],
)
def test_what_no_caller_gives_is_raised(call):
    with pytest.raises((TypeError, ValueError, SystemError, IndexError)):
        call()


COLUMN = st.integers(0, 2000) | st.integers(-(2**64), 2**64) | st.integers(2**31 - 3, 2**31 + 3)


@given(st.lists(st.tuples(COLUMN, COLUMN), min_size=17, max_size=17), st.booleans())
def test_both_see_a_disk_grow_alike(columns, is_rising):
    if is_rising:
        columns = [(min(pair), max(pair)) for pair in columns]
    before, after = (DiskCounters("sda", (8, 0), *column) for column in zip(*columns, strict=True))
    seen = BUILT.grown(before, after, *diskstats._COLUMNS)
    native.scan = None
    try:
        expected = diskstats.grown(before, after)
    finally:
        native.scan = BUILT

    assert seen is None or [*seen] == expected


def test_what_grew_is_seen_by_the_twin():
    was, now = (1, 2, 3, 2**62, 9, None), (1, 3, 2**31 + 2, 2**62 + 7, 4, None)

    assert BUILT.grown(was, now, 0, 5, 4) == (0, 1, 2**31 - 1, 7, 0)
    assert BUILT.grown(was, now, 1, 2, -1) == (1,)
    assert BUILT.grown(was, now, 3, 3, -1) == ()
    assert [
        BUILT.grown(was, now, 0, 5, -1),  # the last fell
        BUILT.grown(was, now, 0, 6, 4),  # is not there
        BUILT.grown((0,), (2**31,), 0, 1, -1),
        BUILT.grown((-1,), (1,), 0, 1, -1),
        BUILT.grown((0,), (2**63,), 0, 1, -1),
        BUILT.grown((2**63,), (2**63,), 0, 1, 0),
    ] == [None] * 6


NUMBERS_OF_A = b"A: 1 2 3 4 5 6 7 8\n"


def test_numbers_are_those_that_fit():
    def found(line):
        return BUILT.table(line, 0, b"A: 2\n", {"A": 0}, {}, ("A",), Operation)

    assert found(NUMBERS_OF_A) == (len(NUMBERS_OF_A), {"A": Operation(1, 2, 3, 4, 5, 6, 7, 8)})
    assert found(b"A: 1 2 3 4 5 6 7 8 9 10\n")[1]["A"].errors == 9
    assert found(b"A: " + b" ".join([b"9" * 18] * 9) + b"\n")[1]["A"] == (10**18 - 1,) * 9
    assert found(b"A: 1 2 3 4 5 6 7 " + b"9" * 19 + b"\n") is None
    assert [
        found(line)
        for line in (
            b"A: 0 2 3 4 5 6 7 8\n", b"A: 1 2 3 4 5 6 7\n", b"A: 1 2 3 4 5 6 7 -8\n", b"B: 1\n",
            b"A:  1 2 3 4 5 6 7 8\n", b"A: 1 2 3 4 5 6 7 8 \n", b"A: 1 2 3 4 5 6 7 x\n", b"A:\n",
        )
    ] == [None] * 8  # fmt: skip
