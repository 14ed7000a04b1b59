"""What stands under a file's name is looked at once it is open, and read up to a cap."""

import os
import threading

import pytest

from ioplateau.regular import OddFileError, open_regular, read_regular
from silent_file import silent


class Replaced:
    """A path whose file somebody replaces between two looks at it."""

    def __init__(self, *paths):
        self._paths = list(paths)

    def __fspath__(self):
        return os.fspath(self._paths.pop(0))


def test_a_pipe_put_in_place_after_a_look_is_not_opened(tmp_path):
    file, pipe = tmp_path / "file", tmp_path / "pipe"
    file.write_bytes(b"ours")
    os.mkfifo(pipe)
    held_open = os.open(pipe, os.O_RDWR)  # so that opening it for reading does not hang this test

    with open_regular(Replaced(file, pipe, pipe)) as opened:
        found = os.stat(opened.fileno()).st_ino
    os.close(held_open)

    assert found == file.stat().st_ino


@pytest.mark.parametrize(
    ("plant", "why"),
    [(os.mkfifo, "no regular file"), (os.mkdir, "Is a directory")],
)
def test_what_is_no_regular_file_is_refused(tmp_path, plant, why):
    plant(tmp_path / "it")

    with pytest.raises(OddFileError, match=why):
        read_regular(tmp_path / "it", 10)


def test_more_than_the_cap_is_refused_and_not_cut(tmp_path):
    (tmp_path / "it").write_bytes(b"x" * 1001)

    assert read_regular(tmp_path / "it", 1001) == b"x" * 1001
    with pytest.raises(OddFileError, match=r"more than 1,000 bytes, want fewer: '.*/it'"):
        read_regular(tmp_path / "it", 1000)


def test_a_file_under_a_lease_is_waited_for_and_read(tmp_path):
    found = []
    reading = threading.Thread(target=lambda: found.append(read_regular(tmp_path / "it", 10)))
    with silent(tmp_path / "it", "said"):
        reading.start()
        reading.join(0.2)
        before = list(found)
    reading.join(10.0)

    assert (before, found) == ([], [b"said"])
