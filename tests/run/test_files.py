"""Files where others may write too: nothing that was planted is followed or waited for."""

import os

import pytest

from ioplateau.regular import OddFileError
from ioplateau.run import files
from ioplateau.run.historyfiles import append

SECRET = b"somebody else's"


@pytest.fixture
def secret(tmp_path):
    """A file that is not ours."""
    path = tmp_path / "secret"
    path.write_bytes(SECRET)
    return path


@pytest.fixture
def place(tmp_path):
    directory = tmp_path / "state"
    directory.mkdir()
    return directory / "state.json"


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_link_planted_for_the_new_file_is_not_written_through(place, secret, link):
    link(secret, place.with_name(f".{place.name}.new"))
    files.replace(place, b"ours")

    assert secret.read_bytes() == SECRET
    assert place.read_bytes() == b"ours"
    assert [path.name for path in place.parent.iterdir()] == ["state.json"]


def test_a_link_under_the_name_itself_is_replaced_not_followed(place, secret):
    place.symlink_to(secret)
    files.replace(place, b"ours")

    assert secret.read_bytes() == SECRET
    assert place.read_bytes() == b"ours"
    assert not place.is_symlink()


def test_a_rehearsal_leaves_nothing_and_follows_nothing(place, secret):
    place.write_bytes(b"kept")
    place.with_name(f".{place.name}.new").symlink_to(secret)
    files.try_write(place, 4096)

    assert secret.read_bytes() == SECRET
    assert place.read_bytes() == b"kept"
    assert [path.name for path in place.parent.iterdir()] == ["state.json"]


@pytest.mark.parametrize(
    "write", [files.replace, lambda place, text: append(place, text, most_bytes=1000)]
)
def test_what_is_written_is_on_the_disk_before_it_counts_as_kept(place, write, monkeypatch):
    """A power cut would leave nothing of it, and of state.json not the old one either."""
    synced = []
    monkeypatch.setattr(os, "fsync", lambda number: synced.append(os.fstat(number).st_size))
    write(place, b"ours\n")

    assert synced == [place.stat().st_size]


def plant_link(path):
    path.symlink_to("/dev/zero")


def plant_device(path):
    os.mknod(path, 0o020666, os.makedev(1, 5))  # /dev/zero


@pytest.mark.parametrize("plant", [plant_link, plant_device, os.mkfifo, os.mkdir])
def test_what_is_no_regular_file_is_neither_read_nor_written(place, plant):
    if plant is plant_device and os.geteuid() != 0:
        pytest.skip("only root makes devices")
    plant(place)

    with pytest.raises(OddFileError):
        files.read(place, 1000)
    with pytest.raises(OddFileError):
        files.create(place)


def test_a_file_beyond_the_cap_is_refused_without_being_read(place):
    with place.open("wb") as file:
        file.truncate(3 << 30)

    with pytest.raises(OddFileError, match="more than 1,000 bytes"):
        files.read(place, 1000)


def test_a_file_that_grows_while_it_is_read_is_held_to_the_cap():
    # Files of /proc have size 0 until they are read.
    with pytest.raises(OddFileError, match="more than 5 bytes"):
        files.read(files.Path("/proc/self/status"), 5)


def test_a_file_of_just_the_cap_is_read(place):
    place.write_bytes(b"x" * 1000)

    assert files.read(place, 1000) == b"x" * 1000


def test_a_regular_file_is_made_anew_and_who_shares_it_keeps_it(place, secret):
    os.link(secret, place)
    with open(files.create(place), "wb") as file:
        file.write(b"ours")

    assert secret.read_bytes() == SECRET
    assert place.read_bytes() == b"ours"


def test_a_file_of_another_name_is_left_as_it_is(place):
    other = place.with_suffix(".new")
    other.write_bytes(b"somebody's")
    files.replace(place, b"ours")

    assert other.read_bytes() == b"somebody's"
