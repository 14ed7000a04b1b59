"""Recordings: what is written reads back to the same, and damage costs only itself."""

import gzip
import json

import pytest

from ioplateau.measure.snapshot import DISKSTATS, Snapshot, Static
from ioplateau.run import recording
from ioplateau.run.recording import MOST_DEVICES, RecordingError, Writer

STATIC = Static(
    kernel="6.1.0",
    block={"sda": {"size": "2048"}},
    slaves={"md0": ("sda",)},
    partitions={"sda1": "sda"},
    mountinfo=b"22 1 0:5 / /odd\xff rw - nfs srv:/a rw\n",
    files={"/proc/sys/kernel/osrelease": "6.1.0"},
    documents={"azure/instance": "{}"},
)


def snapshot(mono, **parts):
    return Snapshot(
        mono=mono, mono_end=mono + 0.1, wall=1e9 + mono, boot=mono, static=STATIC, **parts
    )


@pytest.fixture
def written(tmp_path):
    def write(*snapshots, hz=1.0):
        path = tmp_path / "made.jsonl.gz"
        with path.open("wb") as file:
            writer = Writer(file, 1 / hz)
            for one in snapshots:
                writer.write(one)
        return path

    return write


def test_a_snapshot_reads_back_as_it_was_written(written):
    first = snapshot(
        0.1 + 0.2,
        texts={DISKSTATS: b"not \xff utf-8"},
        at={DISKSTATS: 0.31},
        took={DISKSTATS: 1e-5},
        failed={"/proc/stat": "gone"},
        blobs={"tcp": [{"rtt": 1}]},
    )
    header, snapshots = recording.read(written(first, hz=4.0))

    assert header.interval_seconds == 0.25
    assert list(snapshots) == [first]


def test_a_changed_shape_travels_with_its_snapshot(written):
    changed = STATIC._replace(kernel="6.2.0")
    path = written(
        snapshot(1.0),
        snapshot(2.0)._replace(static=changed),
        snapshot(3.0)._replace(static=changed),
    )
    _, snapshots = recording.read(path)
    kernels = [(one.mono, one.static.kernel) for one in snapshots]

    assert kernels == [(1.0, "6.1.0"), (2.0, "6.2.0"), (3.0, "6.2.0")]


def test_an_unchanged_shape_is_one_object(written):
    _, snapshots = recording.read(written(snapshot(1.0), snapshot(2.0)))
    first, second = snapshots

    assert first.static is second.static


def test_a_shape_that_stays_is_written_once(tmp_path):
    path = tmp_path / "plain.jsonl"
    changed = STATIC._replace(kernel="6.2.0")
    with path.open("wb") as file:
        writer = Writer(file, 1.0, is_plain=True)
        for second in range(6):
            shape = STATIC if second < 3 else changed
            writer.write(snapshot(float(second))._replace(static=shape))

    assert path.read_bytes().count(b'"static"') == 2


def test_each_snapshot_is_in_the_file_before_the_next(tmp_path):
    path = tmp_path / "made.jsonl.gz"
    with path.open("wb") as file:
        writer, counts = Writer(file, 1.0), []
        for second in range(3):
            writer.write(snapshot(float(second)))
            counts.append(len(list(recording.read(path)[1])))

    assert counts == [1, 2, 3]


def test_a_recording_cut_off_by_a_crash_gives_what_was_complete(written, tmp_path):
    path = written(*(snapshot(float(n), texts={DISKSTATS: b"x" * 999}) for n in range(20)))
    cut = tmp_path / "cut.gz"
    cut.write_bytes(path.read_bytes()[:-40])
    _, snapshots = recording.read(cut)

    assert 15 <= len(list(snapshots)) <= 20


def test_a_damaged_line_costs_that_line(tmp_path):
    path = tmp_path / "odd.gz"
    lines = [
        {"header": 1, "hz": 1, "static": {}},
        {"mono": 1.0},
        "garbage",
        {"no": "mono"},
        {"mono": 2.0},
    ]
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode() + b"\n{half"))
    _, snapshots = recording.read(path)

    assert [one.mono for one in snapshots] == [1.0, 2.0]


def test_a_damaged_header_costs_the_machine_s_shape_and_is_told(written):
    path = written(snapshot(1.0), snapshot(2.0))
    packed = bytearray(path.read_bytes())
    packed[20] ^= 0xFF  # within the first member, which is the header's
    path.write_bytes(packed)
    left_out = []
    header, snapshots = recording.read(path, left_out.append)

    assert left_out == ["the header is damaged"]
    assert header == recording.Header(1.0, Static())
    assert [(one.mono, one.static.kernel) for one in snapshots] == [(1.0, ""), (2.0, "")]


def test_members_kept_within_block_are_understood(tmp_path):
    path = tmp_path / "other.gz"
    static = {
        "block": {"md0": {"size": "8", "slaves": ["sda", "sdb"], "holders": []}},
        "rpc_sysctl": {"tcp_max_slot_table_entries": "2"},
    }
    path.write_bytes(
        gzip.compress(json.dumps({"header": 1, "hz": 1, "static": static}).encode() + b"\n")
    )
    header, _ = recording.read(path)

    assert header.static.slaves == {"md0": ("sda", "sdb")}
    assert header.static.block["md0"] == {"size": "8"}
    assert header.static.files["/proc/sys/sunrpc/tcp_max_slot_table_entries"] == "2"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "empty, or cut off"),
        (gzip.compress(b'{"header": 1}\n', mtime=0)[:10], "cut off within its first line"),
        (b'{"header": 1', "cut off within its first line"),
        (gzip.compress(b"\n", mtime=0), "no recording's header"),
        (b"plain text, not gzip", "ot a gzipped file"),
        (gzip.compress(b"not json\n", mtime=0), "no recording's header"),
        (gzip.compress(b'{"mono": 1}\n', mtime=0), "no 'header' key"),
        (gzip.compress(b"[]\n", mtime=0), "no recording's header"),
    ],
)
def test_what_is_no_recording_is_said_in_a_sentence(tmp_path, content, sentence):
    path = tmp_path / "no.gz"
    path.write_bytes(content)

    with pytest.raises(RecordingError, match=sentence):
        recording.read(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(RecordingError, match=r"gone\.gz: No such file"):
        recording.read(tmp_path / "gone.gz")


@pytest.mark.parametrize("seconds", [0.1, 0.3, 0.7, 1.0, 4.9, 10.0])
def test_the_interval_reads_back_to_the_same_bits(tmp_path, seconds):
    path = tmp_path / "made.jsonl.gz"
    with path.open("wb") as file:
        writer = Writer(file, seconds)
        writer.write(snapshot(1.0))

    assert recording.read(path)[0].interval_seconds == seconds


@pytest.mark.parametrize("hz", ["0.0000001", "-1", "1e9", "NaN", "[4]", '"x"'])
def test_a_pace_that_cannot_be_is_said(tmp_path, hz):
    path = tmp_path / "odd.gz"
    path.write_bytes(gzip.compress(f'{{"header": 1, "hz": {hz}}}\n'.encode()))

    with pytest.raises(RecordingError, match="no recording's header"):
        recording.read(path)


@pytest.mark.parametrize("key", ["at", "took", "failed", "boot"])
def test_what_is_null_is_absent(tmp_path, key):
    path = tmp_path / "odd.gz"
    line = f'{{"mono": 1, "f": {{}}, "{key}": null}}\n'
    path.write_bytes(gzip.compress(b'{"header": 1, "hz": 1}\n' + line.encode()))
    _, snapshots = recording.read(path)

    assert len(list(snapshots)) == 1


@pytest.mark.parametrize("wall", ["1e13", "-1e13", "1e19", '"x"'])
def test_a_line_of_a_time_that_no_date_has_is_left_out(tmp_path, wall):
    path = tmp_path / "odd.jsonl"
    path.write_text(f'{{"header": 1, "hz": 1}}\n{{"mono": 1, "wall": {wall}}}\n{{"mono": 2}}\n')
    left_out = []
    _, snapshots = recording.read(path, left_out.append)

    assert [snapshot.mono for snapshot in snapshots] == [2.0]
    assert [words.partition(": found")[0] for words in left_out] == ["line 2: ShapeError: wall"]


def test_a_line_of_more_block_devices_than_any_machine_has_is_left_out(tmp_path):
    path = tmp_path / "odd.jsonl"
    lines = (
        {"mono": number, "f": {"/proc/diskstats": f"8 0 a {number}\n" * count}}
        for number, count in enumerate((MOST_DEVICES, MOST_DEVICES + 1))
    )
    path.write_text("".join(f"{json.dumps(line)}\n" for line in ({"header": 1, "hz": 1}, *lines)))
    left_out = []
    _, snapshots = recording.read(path, left_out.append)

    assert [snapshot.mono for snapshot in snapshots] == [0.0]
    assert left_out == [
        "line 3: ValueError: /proc/diskstats of more than 10000 block devices",
    ]
