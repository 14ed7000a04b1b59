"""Our disk rates against those of sysstat's iostat, over the same two readings: every value."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ioplateau.measure import diskstats
from ioplateau.measure.diskstats import DiskCounters
from iostat_peer import differences, report

pytestmark = pytest.mark.live

FILES = Path(__file__).parent.parent / "measure" / "files" / "machine"
REAL = [
    ("diskstats-6.1-raid0-before.txt", "diskstats-6.1-raid0-after.txt"),
    ("diskstats-6.1-throttled-before.txt", "diskstats-6.1-throttled-after.txt"),
    ("diskstats-6.18-virtio.txt", "diskstats-6.18-virtio-later.txt"),
]
# Flags and seconds between the reports: an interval of one second would hide a forgotten division.
REPORTS = {"extended": ("-dxk", 1), "short": ("-dxks", 2), "plain": ("-dk", 3)}
COLUMNS = {"extended": 22, "short": 7, "plain": 7}
NUMBERS = DiskCounters._fields[2:]
TIMES = [name for name in NUMBERS if name.endswith("milliseconds")]
U32, U64 = 2**32, 2**64


@dataclass
class Pairs:
    """Pairs of lines from anywhere, each made a device of its own in two long tables."""

    before: list[bytes] = field(default_factory=list)
    after: list[bytes] = field(default_factory=list)

    def add(self, before, after):
        minor = len(self.before)
        for lines, numbers in ((self.before, before), (self.after, after)):
            words = ["259", str(minor), f"d{minor}", *map(str, numbers)]
            lines.append(" ".join(words).encode() + b"\n")
        return f"d{minor}"

    def tables(self):
        return diskstats.parse(b"".join(self.before)), diskstats.parse(b"".join(self.after))

    def reports(self):
        texts = b"".join(self.before), b"".join(self.after)
        with ThreadPoolExecutor() as pool:
            runs = {name: pool.submit(report, *texts, *asked) for name, asked in REPORTS.items()}
            return {name: run.result() for name, run in runs.items()}


def numbers_of(text):
    return [line.split()[3:] for line in text.decode().splitlines()]


def generated(chance):
    """A disk of a random kernel, idle in some kinds of operation, its times perhaps wrapping."""
    active = chance.sample(["read", "write", "discard", "flush"], chance.randint(0, 4))
    before, after = {}, {}
    for name in NUMBERS:
        ceiling = U32 if name in TIMES else chance.choice((10**3, 10**9, 10**15, U64 // 2))
        start = chance.randrange(ceiling)
        if name in TIMES and chance.random() < 0.3:
            start = U32 - 1 - chance.randrange(100)
        moves = name.startswith((*active, "busy", "weighted"))
        step = chance.choice((0, 1, 7, 900, 123_456, 99_999_999)) if moves else 0
        before[name] = start
        after[name] = (start + step) % (U32 if name in TIMES else U64)
    before["in_flight"], after["in_flight"] = chance.choice(((0, 3), (7, 0), (0, 0)))
    columns = chance.choice((11, 15, 17, 19))
    return tuple([*reading.values(), 4, 2][:columns] for reading in (before, after))


@pytest.fixture(scope="module")
def compared():
    pairs = Pairs()
    for before, after in REAL:
        texts = (FILES / before).read_bytes(), (FILES / after).read_bytes()
        for one, other in zip(*map(numbers_of, texts), strict=True):
            pairs.add(one, other)
    chance = random.Random(1)
    for _ in range(800):
        pairs.add(*generated(chance))
    return pairs.tables(), pairs.reports()


@pytest.fixture(scope="module")
def fallen():
    """Devices of which one column fell, by that column's name, and one of which all did."""
    pairs = Pairs()
    start = dict.fromkeys(NUMBERS, 1000)
    more = dict.fromkeys(NUMBERS, 1100)
    names = {
        column: pairs.add(start.values(), {**more, column: 900}.values()) for column in NUMBERS
    }
    names["all"] = pairs.add(more.values(), start.values())
    return names, pairs.tables(), pairs.reports()


@pytest.mark.parametrize("name", REPORTS)
def test_every_value_that_iostat_prints_is_ours_to_the_last_digit(compared, name):
    (before, after), reports = compared
    printed = reports[name]
    wrong = [
        f"{device}: {difference}"
        for device, columns in printed.columns.items()
        for difference in differences(
            columns,
            diskstats.rates(before.disks[device], after.disks[device], printed.elapsed_seconds),
        )
    ]

    assert wrong == []
    assert len(printed.columns) == len(after.disks) > 800
    assert {len(columns) for columns in printed.columns.values()} == {COLUMNS[name]}


def test_the_generated_disks_are_of_every_kernel_and_some_of_their_clocks_wrap(compared):
    (before, after), _ = compared
    pairs = [(before.disks[name], disk) for name, disk in after.disks.items()]

    assert {disk[13:].count(None) for _, disk in pairs} == {0, 2, 6}
    for column in ("read_milliseconds", "weighted_milliseconds", "busy_milliseconds"):
        assert any(getattr(late, column) < getattr(early, column) for early, late in pairs)


@pytest.mark.parametrize("column", [*(name for name in NUMBERS if name != "in_flight"), "all"])
def test_where_a_column_fell_we_know_nothing(fallen, column):
    names, (before, after), _ = fallen

    assert diskstats.rates(before.disks[names[column]], after.disks[names[column]], 1.0) is None


def test_fewer_requests_in_flight_are_no_fall(fallen):
    names, (before, after), _ = fallen
    name = names["in_flight"]

    assert diskstats.rates(before.disks[name], after.disks[name], 1.0).read.operations == 100


@pytest.mark.parametrize("column", ["reads", "writes", "discards", "flushes"])
def test_where_a_count_fell_iostat_prints_a_rate_near_2_to_the_64(fallen, column):
    names, _, reports = fallen

    assert reports["extended"].columns[names[column]][f"{column[0]}/s"] > 1e18


@pytest.mark.parametrize("column", ["read", "write", "discard", "flush"])
def test_where_a_time_fell_iostat_prints_an_await_of_weeks(fallen, column):
    names, _, reports = fallen
    columns = reports["extended"].columns[names[f"{column}_milliseconds"]]

    assert columns[f"{column[0]}_await"] > 1e7


def test_where_all_fell_iostat_counts_from_zero(fallen):
    names, _, reports = fallen

    assert reports["extended"].columns[names["all"]]["r/s"] == pytest.approx(1000, rel=0.1)
