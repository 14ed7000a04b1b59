import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almost_right import damaged_line, damaged_text
from ioplateau.measure import interfaces
from ioplateau.measure.interfaces import InterfaceCounters, InterfaceRates

FILES = Path(__file__).parent / "files" / "machine"
BEFORE = (FILES / "netdev-6.1-before.txt").read_bytes()
AFTER = (FILES / "netdev-6.1-after.txt").read_bytes()
HEAD = b"".join(AFTER.splitlines(keepends=True)[:2])
LINE = b"  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"


def counters(**columns):
    zeros = dict.fromkeys(InterfaceCounters._fields[1:], 0)
    return InterfaceCounters(**{"name": "eth0", **zeros, **columns})


def test_every_interface_of_a_real_file_is_there():
    table = interfaces.parse(AFTER)

    assert list(table.interfaces) == ["lo", "eth0", "eth1"]
    assert table.rejects == ()


def test_every_column_lands_under_its_name():
    assert interfaces.parse(HEAD + LINE).interfaces["eth0"] == InterfaceCounters(
        name="eth0",
        receive_bytes=1,
        receive_packets=2,
        receive_errors=3,
        receive_drops=4,
        transmit_bytes=9,
        transmit_packets=10,
        transmit_errors=11,
        transmit_drops=12,
    )


def test_a_number_may_follow_the_colon_without_a_blank():
    table = interfaces.parse(LINE.replace(b": 1 ", b":1 "))

    assert table.interfaces == interfaces.parse(LINE).interfaces


def test_a_name_may_hold_bars_and_bytes_that_are_not_utf_8():
    table = interfaces.parse(LINE.replace(b"eth0", b"v|n\xff"))

    assert list(table.interfaces) == ["v|n\ufffd"]


def test_columns_of_kernels_to_come_are_passed_over():
    table = interfaces.parse(LINE.replace(b" 16\n", b" 16 17 x\n"))

    assert table.interfaces == interfaces.parse(LINE).interfaces


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (b"  eth0: 1 2 3\n", "want a name and 16"),
        (b"  eth0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", "want a name and 16"),
        (LINE.replace(b" 10 ", b" -1 "), "b'-1', want a number"),
        (b"  eth1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", "cut off"),
    ],
)
def test_a_bad_line_costs_itself_and_says_what_was_wanted(line, wanted):
    table = interfaces.parse(AFTER + line)

    assert table.interfaces == interfaces.parse(AFTER).interfaces
    assert wanted in table.rejects[0]


def test_an_unchanged_line_is_not_parsed_again():
    first = interfaces.parse(BEFORE)
    second = interfaces.parse(AFTER, first)

    assert second.interfaces["eth0"] is first.interfaces["eth0"]
    assert second.interfaces["eth1"].receive_bytes == 343522930


@given(damaged_text(BEFORE), damaged_text(BEFORE))
def test_parsing_with_the_last_table_changes_nothing(before, after):
    last = interfaces.parse(before)

    assert interfaces.parse(after, last) == interfaces.parse(after)


@given(st.data(), st.integers(2, 4))
def test_a_damaged_line_leaves_all_others_as_they_were(data, place):
    lines = AFTER.splitlines()
    lines[place] = data.draw(damaged_line(lines[place]))
    alone = interfaces.parse(lines[place] + b"\n").interfaces
    whole = interfaces.parse(AFTER).interfaces
    table = interfaces.parse(b"\n".join(lines) + b"\n")

    others = [name for at, name in enumerate(whole, 2) if at != place and name not in alone]
    assert [table.interfaces[name] for name in others] == [whole[name] for name in others]


def test_rates_of_two_real_readings():
    before, after = interfaces.parse(BEFORE).interfaces, interfaces.parse(AFTER).interfaces

    assert interfaces.rates(before["eth1"], after["eth1"], elapsed_seconds=0.5) == InterfaceRates(
        receive_bytes_per_second=(343522930 - 333267240) / 0.5,
        transmit_bytes_per_second=(900596 - 877094) / 0.5,
    )


@pytest.mark.parametrize(
    "column", ["receive_bytes", "receive_packets", "transmit_bytes", "transmit_packets"]
)
def test_a_counter_that_fell_gives_no_rates(column):
    assert interfaces.rates(counters(**{column: 5}), counters(**{column: 4}), 1.0) is None


def test_there_are_no_rates_over_no_time():
    assert interfaces.rates(counters(), counters(), 0.0) is None


def test_links_of_this_machine_are_json_values():
    links = interfaces.links()

    assert json.loads(json.dumps(links)) == links
    assert links["lo"]["mtu"] > 0
    assert links["lo"]["speed_mbit"] is None


def test_our_own_cost_is_of_this_process():
    own = interfaces.own_process()
    status = Path("/proc/self/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))

    assert 0 < own.cpu_seconds <= time.process_time() + 0.02
    assert abs(own.resident_bytes - int(resident.split()[1]) * 1024) < 8 << 20
    assert own.virtual_bytes > own.resident_bytes
    assert own.open_descriptors in range(1, len(os.listdir("/proc/self/fd")) + 1)
    assert own.start_time_seconds < time.time()


def test_our_own_cost_is_of_the_number_that_proc_has_for_us(tmp_path):
    with subprocess.Popen(["sleep", "60"]) as other:
        (tmp_path / "self").symlink_to(str(other.pid))
        found = interfaces.own_process(f"{tmp_path}/self")
        other.kill()

    assert found.start_time_seconds > interfaces.own_process().start_time_seconds
    assert found.cpu_seconds < 1 < found.resident_bytes


@pytest.mark.parametrize("number", [None, "4194999"])  # above the most that a kernel gives
def test_our_own_cost_is_not_known_where_proc_does_not_have_us(tmp_path, number):
    if number is not None:
        (tmp_path / "self").symlink_to(number)

    assert interfaces.own_process(f"{tmp_path}/self") == interfaces.OwnProcess()


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("print(*interfaces.own_process())", "None None None None None\n"),
        (
            "try: interfaces.links()\nexcept OSError as error: print(error)",
            "no psutil for this machine\n",
        ),
    ],
)
def test_a_machine_that_psutil_was_not_compiled_for_is_told_without_it(asked, told):
    without = "import sys; sys.modules['psutil._psutil_linux'] = None"
    done = subprocess.run(
        [sys.executable, "-c", f"{without}\nfrom ioplateau.measure import interfaces\n{asked}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stdout == told
