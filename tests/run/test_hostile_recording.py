"""Recordings from strangers: whatever stands in them, replay says what it can and harms nobody."""

import gzip
import io
import json
import subprocess
import sys
from random import Random

import pytest

from damage import BLOBS, MACHINES, damaged_bytes, damaged_json
from ioplateau.engine import EngineSettings
from ioplateau.run import recording
from ioplateau.run.recording import RecordingError
from ioplateau.run.replay import replay

HEADER = {"header": 1, "hz": 1, "static": {}}
FORMS = ("text", "json", "metrics")
ESCAPE = "\x1b[2J\x1b]0;owned\x07"


def packed(*lines):
    return b"".join(gzip.compress(line + b"\n", mtime=0) for line in lines)


def raw(machine):
    with gzip.open(MACHINES / machine / "recording.jsonl.gz") as file:
        return [json.loads(line) for line in file]


def told(path, form="text"):
    out = io.StringIO()
    result = replay(path, EngineSettings(), form, out)
    return result, out.getvalue()


@pytest.fixture
def place(tmp_path):
    return tmp_path / "a.jsonl.gz"


@pytest.mark.parametrize("form", FORMS)
def test_escape_sequences_do_not_reach_the_terminal(place, form):
    lines = raw("nfs_server_stall")
    texts = [
        json.dumps(line).replace("/mnt/a", "/mnt/a" + json.dumps(ESCAPE)[1:-1]).encode()
        for line in lines
    ]
    place.write_bytes(packed(*texts))
    _, said = told(place, form)

    assert "owned" in said
    assert not {letter for letter in said if not letter.isprintable()} - {"\n"}


def test_a_newline_in_a_mount_point_makes_no_row_of_its_own(place):
    texts = [
        json.dumps(line).replace("/mnt/a", "/mnt/a\\\\012FALSE").encode()
        for line in raw("nfs_server_stall")
    ]
    place.write_bytes(packed(*texts))
    _, said = told(place)

    assert "FALSE" in said
    assert not any(line.startswith("FALSE") for line in said.splitlines())


@pytest.mark.parametrize(
    "line",
    [
        *(f'{{"mono": {odd}}}' for odd in ("NaN", "Infinity", "1e999", "1" + "0" * 400, '"nan"', "[]")),
        *(f'{{"mono": 5, "wall": {odd}}}' for odd in ("NaN", "-1e999", "1" + "0" * 5000)),
        *(f'{{"mono": 5, "at": {{"/proc/diskstats": {odd}}}}}' for odd in ("NaN", "1e400", "{}")),
        *(f'{{"mono": 5, "took": {odd}}}' for odd in ("[1]", "5", '{"a": "b"}')),
        *(f'{{"mono": 5, "f": {odd}}}' for odd in ("[1]", '{"a": 5}', '{"a": "\\ud800"}')),
        *(f'{{"mono": 5, "static": {odd}}}' for odd in ("5", '{"block": 5}', '{"block": {"a": 1}}')),
        '{"mono": 5, "cgroups": [{"path": 1e999}]}',
        '{"mono": 5, "interfaces": {"eth0": {"speed_mbit": 1' + "0" * 400 + "}}}",
        '{"mono": 5, "static": {"slaves": {"md0": 7}}}',
        "[" * 100_000,
        "{}",
        "[]",
        "5",
        '"',
        "\xff",
    ],
    ids=range(30),
)  # fmt: skip
def test_a_line_that_is_no_snapshot_costs_that_line_and_is_counted(place, line):
    good = [json.dumps({"mono": float(number)}).encode() for number in (1, 2, 9)]
    place.write_bytes(
        packed(json.dumps(HEADER).encode(), *good[:2], line.encode("latin-1"), *good[2:])
    )
    for form in FORMS:
        found, _ = told(place, form)

        assert (found.snapshots, found.left_out) == (3, 1)


@pytest.mark.parametrize("odd", ["²", "9" * 400, "9" * 5000])
@pytest.mark.parametrize("form", FORMS)
def test_a_number_that_no_counter_has_ends_no_replay(place, form, odd):
    static = {
        "files": {"/proc/sys/sunrpc/tcp_max_slot_table_entries": odd},
        "documents": {"gcp/machine-type": f"projects/1/machineTypes/n2-standard-{odd}"},
    }
    lines = [
        {
            "mono": float(number),
            "f": {"/proc/diskstats": f"8 0 sda {number} 0 8 1 1 0 8 1 0 1 1\n"},
            "cgroups": [
                {
                    "path": "/a",
                    "files": {
                        "io.max": f"8:0 riops=50 wiops={odd}\n",
                        "io.stat": f"8:0 rbytes={number}{odd} rios={number}\n",
                        "io.pressure": f"some avg10=0.00 total={number}{odd}\n",
                    },
                }
            ],
        }
        for number in range(1, 5)
    ]
    place.write_bytes(
        packed(*(json.dumps(line).encode() for line in [HEADER | {"static": static}, *lines]))
    )
    found, _ = told(place, form)

    assert (found.snapshots, found.left_out) == (4, 0)


def test_a_flipped_byte_in_a_recording_of_ours_costs_its_line(tmp_path, place):
    random = Random(3)
    header, snapshots = recording.read(MACHINES / "disk_iops_p10/recording.jsonl.gz")
    whole = list(snapshots)[:30]
    with place.open("wb") as file:
        writer = recording.Writer(file, header.interval_seconds)
        for snapshot in whole:
            writer.write(snapshot)
    packed_whole = place.read_bytes()
    for _ in range(100):
        damaged = bytearray(packed_whole)
        damaged[random.randrange(3, len(damaged))] ^= 1 << random.randrange(8)
        place.write_bytes(damaged)
        _, found = recording.read(place)

        assert len(list(found)) >= len(whole) - 1


def test_a_list_of_everything_small_is_refused_before_it_is_made(place):
    place.write_bytes(packed(json.dumps(HEADER).encode(), b"[" + b"[]," * 1_000_000 + b"1]"))

    assert told(place)[0].left_out == 1


PEAK = """
import re, sys
from ioplateau.cli import main
code = main(["replay", sys.argv[1]])
# Not ru_maxrss: that one is the parent's, if the parent was larger.
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1], file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["one line", "many disks", "many lists"])
def test_a_small_file_takes_little_memory(place, kind):
    disk = "".join(f"8 {n} s{n} 1 0 8 1 1 0 8 1 0 1 1\n" for n in range(100_000))
    line = {
        "one line": b" " * (300 << 20),
        "many disks": json.dumps({"mono": 1, "f": {"/proc/diskstats": disk}}).encode(),
        "many lists": b'{"mono": 1, "tcp": [' + b"[]," * 5_000_000 + b"1]}",
    }[kind]
    place.write_bytes(packed(json.dumps(HEADER).encode(), line, b'{"mono": 2}'))
    done = subprocess.run(
        [sys.executable, "-c", PEAK, place], capture_output=True, text=True, timeout=240
    )

    assert done.stdout.startswith("1 snapshot "), done.stderr
    assert int(done.stderr.split()[-1]) < 250 << 10  # KiB


@pytest.mark.slow
def test_a_hundred_damaged_recordings_end_in_words(place):
    random = Random(20261122)
    machines = [raw(name) for name in ("nfs_slots_v3", "vm_group_d4s", "burst_then_base")]
    counts = []
    for number in range(100):
        lines = machines[number % 3][:25]
        lines = [line | dict(BLOBS) for line in lines]
        texts = [damaged_json(line, random) for line in lines[1:]]
        first = json.dumps(lines[0]).encode()
        content = packed(damaged_json(lines[0], random) if number % 5 == 0 else first, *texts)
        place.write_bytes(damaged_bytes(content, random) if number % 4 == 0 else content)
        for form in FORMS:
            try:
                found, said = told(place, form)
            except RecordingError:
                continue
            counts.append(found.snapshots)

            assert not {letter for letter in said if not letter.isprintable()} - {"\n"}
    assert sum(counts) > 1000
