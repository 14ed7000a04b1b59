"""Lines of gzip files: whole, damaged, cut off, and made to fill our memory."""

import gzip
import io
import tracemalloc
import zlib
from random import Random

import pytest

from ioplateau.run.gzlines import NoGzipError, lines

TEXTS = [f"line {number} ".encode() * (number % 7 + 1) for number in range(40)]
MANY = b"".join(gzip.compress(text + b"\n", mtime=0) for text in TEXTS)
ONE = gzip.compress(b"".join(text + b"\n" for text in TEXTS), mtime=0)


def read(packed, most=1000):
    return list(lines(io.BytesIO(packed), most))


@pytest.mark.parametrize("packed", [MANY, ONE, ONE + b"\0" * 512, MANY[:0]])
def test_whole_files_are_read_as_gzip_reads_them(packed):
    assert read(packed) == gzip.decompress(packed).splitlines()


def test_a_member_with_a_file_name_is_one_too():
    file = io.BytesIO()
    with gzip.GzipFile("name", "wb", fileobj=file) as packer:
        packer.write(b"a\nb\n")

    assert read(file.getvalue()) == [b"a", b"b"]


def test_a_flipped_byte_costs_its_line_wherever_it_is():
    for place in range(len(MANY)):
        damaged = bytearray(MANY)
        damaged[place] ^= 1 << place % 8
        if place < 3:
            with pytest.raises(NoGzipError):
                read(bytes(damaged))
            continue
        found = read(bytes(damaged))

        # A byte of a head that nothing depends on (time, system) costs nothing.
        assert len(set(TEXTS) - set(found)) <= 1
        assert len(set(found) - set(TEXTS)) <= 2  # beside it, what it was turned into


def test_where_all_lines_are_one_member_those_before_the_damage_are_read():
    damaged = bytearray(zlib_synced(TEXTS))
    damaged[-200] ^= 0xFF
    found = read(bytes(damaged))

    assert found[:20] == TEXTS[:20]
    assert found[-1] is None


def zlib_synced(texts):
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    parts = [packer.compress(text + b"\n") + packer.flush(zlib.Z_SYNC_FLUSH) for text in texts]
    return b"".join([*parts, packer.flush()])


@pytest.mark.parametrize("packed", [MANY, zlib_synced(TEXTS)])
def test_a_file_that_is_cut_off_ends_where_it_ends(packed):
    for end in range(len(packed)):
        if 0 < end < 3:
            continue
        found = read(packed[:end])

        assert found == TEXTS[: len(found)]
    assert len(found) >= len(TEXTS) - 1


@pytest.mark.parametrize("packed", [MANY, zlib_synced(TEXTS), b'{"a": 1}\n{"b": 2}\n'])
def test_that_a_file_was_cut_off_is_told(packed):
    whole, cut = [], []
    for told, end in ((whole, len(packed)), (cut, len(packed) - 5)):
        list(lines(io.BytesIO(packed[:end]), 1000, told.append))

    assert not whole
    assert cut == ["the end: cut off, within a line or before its checksum"]


def test_a_line_beyond_the_cap_costs_itself():
    packed = gzip.compress(b"a\n" + b"x" * 5000 + b"\nb\n" + b"y" * 1000 + b"\n")

    assert read(packed) == [b"a", None, b"b", b"y" * 1000]


def test_noise_ends():
    random = Random(7)
    for _ in range(300):
        found = read(b"\x1f\x8b\x08" + random.randbytes(random.randint(0, 300)))

        assert all(line is None or isinstance(line, bytes) for line in found)


def test_what_inflates_to_a_thousand_times_itself_takes_little_memory():
    bomb = gzip.compress(b"\0" * (100 << 20) + b"\nend\n")
    tracemalloc.start()
    found = list(lines(io.BytesIO(bomb), 1 << 20))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert found == [None, b"end"]
    assert peak < 8 << 20
