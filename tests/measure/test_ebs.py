"""NVMe log page 0xD0 by its documented offsets, and the ioctl against what is no volume of EC2."""

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioplateau.measure import ebs
from ioplateau.measure.parsing import FormatError

MAGICS = (0x3C23B510, 0xEC2C0D7E)


def page(magic=MAGICS[0], **counters):
    """A page made from the table of offsets, not from the parser's layout."""
    offsets = {
        "read_operations": 8,
        "write_operations": 16,
        "read_bytes": 24,
        "write_bytes": 32,
        "read_microseconds": 40,
        "write_microseconds": 48,
        "volume_iops_exceeded_microseconds": 56,
        "volume_throughput_exceeded_microseconds": 64,
        "instance_iops_exceeded_microseconds": 72,
        "instance_throughput_exceeded_microseconds": 80,
        "queue_length": 88,
    }
    made = bytearray(4096)
    struct.pack_into("<I", made, 0, magic)
    for name, value in counters.items():
        struct.pack_into("<Q", made, offsets[name], value)
    return bytes(made)


def test_every_counter_is_read_from_its_documented_offset():
    names = list(ebs.EbsCounters._fields)
    values = {name: 10**12 + position for position, name in enumerate(names)}
    found = ebs.parse(page(**values))

    assert {name: getattr(found, name) for name in names} == values


@pytest.mark.parametrize("text", [b"", b"\x10\xb5\x23\x3c", bytes(4096), b"\xff" * 4096])
def test_a_page_of_another_device_is_refused(text):
    with pytest.raises(FormatError, match="log page 0xD0"):
        ebs.parse(text)


@given(st.binary(max_size=200))
def test_whatever_comes_in_is_counters_or_a_format_error(text):
    try:
        found = ebs.parse(text)
    except FormatError:
        found = None

    assert found is None or struct.unpack_from("<I", text)[0] in MAGICS


def test_of_an_instance_store_volume_its_own_limit_stands_where_ebs_has_the_instances():
    # plugins/amzn/amzn-nvme.c of nvme-cli prints them as "EC2 Instance Local Storage Performance Exceeded".
    found = ebs.parse(
        page(
            MAGICS[1],
            read_operations=7,
            instance_iops_exceeded_microseconds=500_000,
            instance_throughput_exceeded_microseconds=250_000,
        )
    )
    kept = ebs.from_blob(json.loads(json.dumps(ebs.to_blob(found))))

    assert found.is_instance_store
    assert kept == found
    assert ebs.rates(ebs.parse(page(MAGICS[1])), found, 1.0) == ebs.EbsRates(0.5, 0.25, None, None)


def test_an_ebs_volume_in_the_place_of_another_is_another_volume():
    store, volume = ebs.parse(page(MAGICS[1])), ebs.parse(page())

    assert ebs.rates(store, volume, 1.0) is None


def test_the_share_of_an_interval_above_each_limit_is_told_apart():
    before = ebs.parse(page())
    after = ebs.parse(
        page(
            volume_iops_exceeded_microseconds=500_000,
            instance_throughput_exceeded_microseconds=2_100_000,
        )
    )
    found = ebs.rates(before, after, 2.0)

    assert found == ebs.EbsRates(0.25, 0.0, 0.0, 1.0)


def test_counters_that_went_back_are_another_volume():
    before, after = ebs.parse(page(read_operations=5)), ebs.parse(page(read_operations=4))

    assert ebs.rates(before, after, 1.0) is None
    assert ebs.rates(after, before, 0.0) is None


def test_a_shorter_queue_is_no_reset():
    before, after = ebs.parse(page(queue_length=9)), ebs.parse(page(queue_length=1))

    assert ebs.rates(before, after, 1.0) == ebs.EbsRates(0.0, 0.0, 0.0, 0.0)


def test_counters_survive_a_recording():
    counters = ebs.parse(page(read_operations=2**60, queue_length=3))

    assert ebs.from_blob(json.loads(json.dumps(ebs.to_blob(counters)))) == counters


@pytest.mark.parametrize(
    "blob",
    [
        None,
        [],
        {},
        "x",
        ebs.to_blob(ebs.parse(page())) | {"read_bytes": -1},
        ebs.to_blob(ebs.parse(page())) | {"read_bytes": "1"},
        ebs.to_blob(ebs.parse(page())) | {"read_bytes": True},
        ebs.to_blob(ebs.parse(page())) | {"read_bytes": 10**400},
    ],
)
def test_a_recording_of_something_else_is_refused(blob):
    with pytest.raises(FormatError, match="ebs"):
        ebs.from_blob(blob)


def test_the_command_is_the_kernels_structure():
    command = bytes(ebs.command(0x1122334455667788))

    assert len(command) == 0x48
    assert len(command) == (ebs.NVME_IOCTL_ADMIN_CMD >> 16) & 0x3FFF
    assert command[0] == 0x02
    assert struct.unpack_from("<I", command, 4) == (1,)
    assert struct.unpack_from("<Q", command, 24) == (0x1122334455667788,)
    assert struct.unpack_from("<II", command, 36) == (4096, 0x040000D0)


@pytest.mark.parametrize("path", ["/dev/null", "/dev/does-not-exist", "/etc/passwd", "/"])
def test_what_is_no_nvme_device_raises_an_oserror(path):
    with pytest.raises(OSError, match=r"\w"):
        ebs.read(path)


@pytest.mark.parametrize(
    ("device", "path"),
    [
        ("nvme0n1", "/dev/nvme0"),
        ("nvme12n3", "/dev/nvme12"),
        ("nvme0c1n1", "/dev/nvme1"),
        ("nvme3c12n2", "/dev/nvme12"),
        ("nvme0n1p1", ""),
        ("sda", ""),
        ("", ""),
    ],
)
def test_a_disk_is_asked_through_its_controller(device, path):
    assert ebs.controller_path(device) == path


def test_each_volume_is_asked_at_its_controller_and_a_refusal_is_kept_in_words():
    def page_of(path):
        if path == "/host/dev/nvme1":
            raise PermissionError(1, "Operation not permitted")
        return page(read_operations=7) if path == "/host/dev/nvme0" else b"no page"

    told = ebs.read_all(["nvme0n1", "nvme1n1", "nvme2n1"], lambda path: "/host" + path, page_of)
    found = ebs.parse_all(json.loads(json.dumps(told)))

    assert {name: counters.read_operations for name, counters in found.counters.items()} == {
        "nvme0n1": 7
    }
    assert found.refused["nvme1n1"] == "Operation not permitted"
    assert "log page 0xD0" in found.refused["nvme2n1"]
    assert found.rejects == ()


def test_an_instance_store_volume_that_does_not_count_is_left_out():
    def page_of(path):
        if path == "/dev/nvme1":
            raise OSError(5, "NVMe status 0x4002")
        return page(MAGICS[1]) if path == "/dev/nvme0" else bytes(4096)

    stores = ("nvme0n1", "nvme1n1", "nvme2n1")

    assert ebs.read_all(stores, page_of=page_of, store=stores).keys() == {"nvme0n1"}


def test_an_instance_store_volume_that_may_not_be_asked_is_said_so():
    def page_of(path):
        raise PermissionError(13, "Permission denied")

    assert ebs.read_all(["nvme1n1"], page_of=page_of, store=["nvme1n1"]) == {
        "nvme1n1": "Permission denied"
    }


@pytest.mark.parametrize("blob", [None, [], {"nvme0n1": 5}, {"nvme0n1": {"read_operations": -1}}])
def test_a_recording_without_sound_counters_leaves_a_reason(blob):
    found = ebs.parse_all(blob)

    assert found.counters == {}
    assert len(found.rejects) == 1
