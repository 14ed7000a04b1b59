"""Every figure of a report, in every form: against one computed here, from the recording's text alone."""

import gzip
import io
import json
import math
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

import states
from ioplateau.engine import EngineSettings
from ioplateau.judge.flows import FlowTick
from ioplateau.limits.budgets import BudgetKey, FlowKey, Kind
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.run import replay, report
from ioplateau.run.report import TimeSpan
from ioplateau.run.settings import ServeSettings
from ioplateau.tell.report import document, render
from ioplateau.tell.report.figures import whole_disks
from ioplateau.tell.report.samples import Collector, is_stack

MACHINES = Path(__file__).parents[1] / "machines"
# The recording, the limits it is held against, and the members of the budgets that have them.
DISK = "disk_iops_p10"
STRIPE = "vm_group_d4s"
MEMBERS = ("nvme0n1", "sda", "sdb", "sdc", "sdd")  # of the VM: every disk that stands on no other
RULES = {
    DISK: (ConfiguredLimit(disk="sda", iops=500, bytes_per_second=100e6, source="a"),),
    STRIPE: (
        ConfiguredLimit(disk="sd?", iops=2300, bytes_per_second=150e6, source="b"),
        ConfiguredLimit(vm="uncached", iops=6400, bytes_per_second=96e6, source="c"),
    ),
}
STACKED = {"md0"}
EDGES = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 1 << 20, math.inf]
PERCENTILES = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))


class Second:
    """What a recording's text says of the time between two snapshots."""

    def __init__(self, before, after):
        self.seconds = after["mono"] - before["mono"]
        self.wall = after["wall"]
        self.disks = {}
        then, now = (_disks(each) for each in (before, after))
        passed = _at(after) - _at(before)
        for name in now.keys() & then.keys():
            grown = [b - a for a, b in zip(then[name], now[name], strict=True)]
            self.disks[name] = {
                "reads": grown[0] / passed,
                "writes": grown[4] / passed,
                "read_bytes": grown[2] * 512 / passed,
                "write_bytes": grown[6] * 512 / passed,
                "read_waited": grown[3] / 1000 / passed,
                "write_waited": grown[7] / 1000 / passed,
                "queue": grown[10] / 1000 / passed,
            }

    def of(self, names):
        """The sums of some disks."""
        columns = next(iter(self.disks.values()))
        return {
            column: sum(self.disks[name][column] for name in names if name in self.disks)
            for column in columns
        }


def _at(snapshot):
    return snapshot.get("at", {}).get("/proc/diskstats", snapshot["mono"])


def _disks(snapshot):
    rows = map(str.split, snapshot["f"]["/proc/diskstats"].splitlines())
    return {row[2]: [int(word) for word in row[3:14]] for row in rows}


class Recorded:
    """A recording, read here."""

    def __init__(self, name):
        self.name = name
        with gzip.open(MACHINES / name / "recording.jsonl.gz") as file:
            self.snapshots = [json.loads(line) for line in file][1:]
        self.seconds = [Second(before, after) for before, after in pairwise(self.snapshots)]
        self.total = sum(each.seconds for each in self.seconds)

    @property
    def moved(self):
        """Disks that ever did something; partitions have a number behind their disk's name."""
        return sorted(
            name
            for name in self.seconds[-1].disks
            if any(_operations(each.disks[name]) for each in self.seconds)
            and not re.fullmatch(r"sd[a-z]\d+|nvme\dn\dp\d+", name)
        )

    def busy(self, names, of):
        """(value, seconds) of each second in which any of them did something."""
        rows = [(each.of(names), each.seconds) for each in self.seconds]
        return [(of(row), seconds) for row, seconds in rows if _operations(row) > 0]


def _operations(row):
    return row["reads"] + row["writes"]


def _bytes(row):
    return row["read_bytes"] + row["write_bytes"]


CHECKLIST = {
    "operations": _operations,
    "read_ratio": lambda row: row["reads"] / _operations(row),
    "write_ratio": lambda row: row["writes"] / _operations(row),
    "request_bytes": lambda row: _bytes(row) / _operations(row),
    "throughput": _bytes,
    "latency": lambda row: (row["read_waited"] + row["write_waited"]) / _operations(row),
    "queue": lambda row: row["queue"],
}


def spread(pairs):
    """Percentiles by nearest rank, walked second by second from the smallest value."""
    total = math.fsum(seconds for _, seconds in pairs)
    found = {
        "mean": math.fsum(value * seconds for value, seconds in pairs) / total,
        "least": min(value for value, _ in pairs),
        "most": max(value for value, _ in pairs),
    }
    for word, share in PERCENTILES:
        passed = 0.0
        for value, seconds in sorted(pairs):
            passed += seconds
            if passed >= share * total - 1e-9:
                found[word] = value
                break
    return found


@pytest.fixture(scope="module", params=[DISK, STRIPE])
def recorded(request):
    return Recorded(request.param)


@pytest.fixture(scope="module")
def made(recorded):
    """Samples and source of the report."""
    settings = ServeSettings(EngineSettings(rules=Rules(RULES[recorded.name]), asks_cloud=False))
    path = MACHINES / recorded.name / "recording.jsonl.gz"
    return report.of_recording(path, settings, TimeSpan())


@pytest.fixture(scope="module")
def told(made):
    """The JSON, as a reader has it."""
    return json.loads(json.dumps(render.as_json(*made), allow_nan=False))


def near(wanted):
    return pytest.approx(wanted, rel=1e-6, abs=1e-9)


def test_the_span_is_the_recordings(recorded, told):
    assert told["began"] == recorded.snapshots[0]["wall"]
    assert told["ended"] == recorded.seconds[-1].wall
    assert told["seconds_with_readings"] == near(recorded.total)


def test_every_disk_that_moved_has_its_checklist(recorded, told):
    flows = {each["name"]: each for each in told["requirements"]["flows"]}

    assert sorted(flows) == recorded.moved
    for name in recorded.moved:
        for figure, of in CHECKLIST.items():
            assert flows[name][figure] == near(spread(recorded.busy([name], of))), (name, figure)


def test_all_disks_together_count_each_request_once_though_a_stripe_shows_it_twice(recorded, told):
    names = [name for name in recorded.moved if name not in STACKED]

    for figure, of in CHECKLIST.items():
        wanted = spread(recorded.busy(names, of))
        assert told["requirements"]["all_disks"][figure] == near(wanted), figure


def test_the_machines_figures_are_those_of_proc_stat_and_meminfo(recorded, told):
    cpu, memory, before, busy = [], [], None, math.nan
    for index, snapshot in enumerate(recorded.snapshots):
        text = snapshot["f"].get("/proc/stat")
        if text is not None:
            times = [int(word) for word in text.split("\n", 1)[0].split()[1:9]]
            if before is not None and index:
                grown = [b - a for a, b in zip(before, times, strict=True)]
                busy = 1 - (grown[3] + grown[4]) / sum(grown)
            before = times
        kilobytes = dict(re.findall(r"(\w+): +(\d+) kB", snapshot["f"]["/proc/meminfo"]))
        if index:
            seconds = recorded.seconds[index - 1].seconds
            used = 1 - int(kilobytes["MemAvailable"]) / int(kilobytes["MemTotal"])
            memory.append((used, seconds))
            if not math.isnan(busy):
                cpu.append((busy, seconds))

    assert told["requirements"]["cpu_ratio"] == near(spread(cpu))
    assert told["requirements"]["memory_ratio"] == near(spread(memory))
    assert told["requirements"]["random_ratio"] is None


def test_request_sizes_are_shares_of_all_requests(recorded, told):
    sizes = {each["name"]: each for each in told["request_sizes"]}

    assert sorted(sizes) == recorded.moved
    for name in recorded.moved:
        for way in ("read", "write"):
            counts = [0.0] * len(EDGES)
            for each in recorded.seconds:
                row = each.disks[name]
                if row[f"{way}s"]:
                    size = row[f"{way}_bytes"] / row[f"{way}s"]
                    place = next(i for i, edge in enumerate(EDGES) if size <= edge * 1.000001)
                    counts[place] += row[f"{way}s"] * each.seconds
            total = sum(counts) or 1.0
            wanted = [count / total for count in counts]
            assert sizes[name][f"{way}_share"] == near(wanted), (name, way)
    assert sizes[recorded.moved[0]]["up_to_bytes"] == EDGES[:-1]


def test_the_time_in_each_tenth_of_every_limit(recorded, told):
    limits = {(each["name"], each["dimension"]): each for each in told["limits"]}

    for (name, _), limit in limits.items():
        if limit["source"] not in {"a", "b", "c"}:  # learned: it moves, see the next test
            continue
        members = MEMBERS if name == "vm" else (name,)
        assert_tenths(limit, [(each, members, limit["limit"]) for each in recorded.seconds])
    assert sum(each["source"] in {"a", "b", "c"} for each in limits.values()) >= 2


def assert_tenths(limit, held):
    """held: (second, names of disks, value of the limit then)."""
    of = _operations if limit["dimension"] == "iops" else _bytes
    tenths, above, most = [0.0] * 10, 0.0, 0.0
    for each, names, value in held:
        share = of(each.of(names)) / value
        most = max(most, share)
        if share > 1:
            above += each.seconds
        else:
            tenths[max(math.ceil(share * 10) - 1, 0)] += each.seconds
    assert limit["seconds_by_tenth"] == near(tenths), limit
    assert limit["seconds_above"] == near(above)
    assert limit["highest_share"] == near(most)


def test_the_time_in_each_tenth_of_a_limit_that_was_learned():
    recorded, settings = Recorded(DISK), EngineSettings(asks_cloud=False)
    path = MACHINES / DISK / "recording.jsonl.gz"
    samples, source = report.of_recording(path, ServeSettings(settings), TimeSpan())
    told = render.as_json(samples, source)["limits"]
    states = [*replay.Replayed(path, settings)][1:]

    assert [(each["name"], each["dimension"]) for each in told] == [("sda", "iops")]
    values = [
        [limit.effective for limit in budget.limits]
        for budget in (state.budgets["disk", "sda"] for state in states)
    ]
    pairs = zip(recorded.seconds, values, strict=True)
    assert_tenths(told[0], [(each, ["sda"], value) for each, found in pairs for value in found])
    assert told[0]["limit"] == pytest.approx(500, rel=0.02)  # what it was held at


@pytest.fixture(scope="module")
def judged(recorded):
    """What the judge says after each snapshot but the first, by kind and name: `replay --json`."""
    path = MACHINES / recorded.name / "recording.jsonl.gz"
    settings = EngineSettings(rules=Rules(RULES[recorded.name]), asks_cloud=False)
    lines = io.StringIO()
    replay.replay(path, settings, "json", lines)
    return [
        {(each["kind"], each["name"]): each for each in json.loads(line)["budgets"]}
        for line in lines.getvalue().splitlines()[1:]
    ]


def outstanding(row):
    return row["read_waited"] + row["write_waited"]


def waiting(second, verdicts, name):
    """Requests that wait on a disk beyond what they take when none waits."""
    row = second.of([name])
    return outstanding(row) - verdicts["disk", name]["evidence"]["floor_seconds"] * _operations(row)


def test_an_episodes_figures_are_those_of_its_seconds(recorded, told, judged):
    held = [each for each in told["episodes"] if each["word"] == "throttled" and each["source"]]

    assert held
    for episode in held:
        key = episode["kind"], episode["name"]
        shares, waits, holds, gone = [], [], False, 0
        for each, verdicts in zip(recorded.seconds, judged, strict=True):
            if not episode["began"] - 0.01 <= each.wall <= episode["ended"]:
                continue
            before, holds = holds, verdicts[key]["verdict"] == "throttled"
            gone += before and not holds
            if not holds:
                continue
            said = verdicts[key]
            of = _operations if said["dimension"] == "iops" else _bytes
            drew = of(each.of(MEMBERS if key[1] == "vm" else key[1:]))
            shares.append((drew / said["limit"], each.seconds))
            # Those of a disk that its own limit holds wait for that one, not for the VM's.
            there = [
                name
                for name in (MEMBERS if key[1] == "vm" else key[1:])
                if _operations(each.of([name])) >= 1
                and (key[1] != "vm" or verdicts["disk", name]["verdict"] != "throttled")
            ]
            waits.append((sum(waiting(each, verdicts, name) for name in there), each.seconds))
        total = math.fsum(seconds for _, seconds in shares)
        waited = math.fsum(value * seconds for value, seconds in waits)
        assert episode["held_seconds"] == near(total)
        assert episode["mean_share"] == near(math.fsum(v * s for v, s in shares) / total)
        assert episode["peak_share"] == near(max(shares)[0])
        assert episode["waited_seconds"] == near(waited)
        assert episode["requests_waiting"] == near(waited / total)
        assert episode["most_requests_waiting"] == near(max(waits)[0])
        assert episode["interruptions"] == gone - 1


# What is printed, in every form.


class Tables(HTMLParser):
    """The cells of every table, and the words of captions."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.captions, self._cell, self._caption = [], [], None, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self._cell = ""
        elif tag == "figcaption":
            self._caption = ""

    def handle_endtag(self, tag):
        if tag in {"td", "th"}:
            self.tables[-1][-1].append(self._cell)
            self._cell = None
        elif tag == "figcaption":
            self.captions.append(self._caption)
            self._caption = None

    def handle_data(self, data):
        if self._cell is not None:
            self._cell += data
        if self._caption is not None:
            self._caption += data


def of_markdown(text):
    tables, rows = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("| "):
            cells = re.split(r"(?<!\\) \| ", line.removeprefix("| ").removesuffix(" |"))
            rows.append([re.sub(r"\\(.)", r"\1", cell).strip() for cell in cells])
        elif rows:
            tables.append([row for row in rows if not all(set(cell) <= set("-:") for cell in row)])
            rows = []
    return tables


UNITS = {
    "": 1,
    "%": 0.01,
    "B": 1,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "B/s": 1,
    "kB/s": 1e3,
    "MB/s": 1e6,
    "GB/s": 1e9,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1,
    "IOPS": 1,
}


def number(cell):
    """(value, how far off it may be) of "2.04 MB/s"."""
    found = re.fullmatch(r"(-?[\d,]+)(\.\d+)? ?(\D*)", cell)
    assert found, cell
    scale = UNITS[found[3]]
    digits = len(found[2] or ".") - 1
    # "96" may be 96.04: zeros at the end are left out below a hundred.
    whole = int(found[1].replace(",", ""))
    least = 0.5 if whole >= 100 or found[3] == "%" else 0.05 if whole >= 10 else 0.005
    return float(f"{whole}{found[2] or ''}") * scale, max(
        least, 0.5 * 10**-digits if digits else 0
    ) * scale


def says(cell, value):
    """Whether a cell says a figure, as exactly as it is written."""
    if value is None:
        return cell == "unknown"
    said, off = number(cell)
    return abs(said - value) <= off * 1.001


@pytest.fixture(scope="module")
def tables(made):
    """Those of the HTML, and whether the other forms have the same."""
    printed = document.document(*made)
    return (
        Tables(render.html(printed)).tables,
        of_markdown(render.markdown(printed)),
        render.text(printed),
    )


def test_text_markdown_and_html_say_the_same(tables):
    html, markdown, text = tables
    lines = {tuple(re.split(r" {2,}", line.strip())) for line in text.splitlines()}

    assert [[cells for cells in table if any(cells)] for table in html] == [
        [cells for cells in table if any(cells)] for table in markdown
    ]
    for table in html:
        for cells in table:
            told = tuple(cell for cell in cells if cell)
            assert not told or told in lines, told


def titled(tables, title):
    (table,) = [each for each in tables[0] if each[0][0] == title]
    return table[1:]


SPREAD = ("p50", "p90", "p99", "mean", "least", "most")


def test_every_printed_figure_of_the_checklists_is_the_jsons(tables, told):
    wanted = [("All disks together", told["requirements"]["all_disks"])]
    wanted += [(f"disk {each['name']}", each) for each in told["requirements"]["flows"]]

    for title, figures in wanted:
        for (_, *cells), name in zip(titled(tables, title), CHECKLIST, strict=True):
            for cell, word in zip(cells, SPREAD, strict=True):
                assert says(cell, figures[name][word]), (title, name, word, cell)
    machine = titled(tables, "The machine")
    for (_, *cells), name in zip(machine, ("cpu_ratio", "memory_ratio"), strict=True):
        for cell, word in zip(cells, SPREAD, strict=True):
            assert says(cell, told["requirements"][name][word]), (name, word, cell)


def part(cell, share):
    if share == 0:
        return cell == "-"
    if cell == "< 0.1 %":
        return 0 < share < 0.001
    return abs(float(cell.removesuffix(" %")) / 100 - share) <= 0.000501


def test_every_printed_tenth_is_the_jsons(tables, told):
    total = told["seconds_with_readings"]

    for (name, limit, *cells, above, most), wanted in zip(
        titled(tables, "budget"), told["limits"], strict=True
    ):
        assert name == wanted["budget"]
        assert says(limit, wanted["limit"])
        for cell, seconds in zip(cells, wanted["seconds_by_tenth"], strict=True):
            assert part(cell, seconds / total)
        assert part(above, wanted["seconds_above"] / total)
        assert says(most, wanted["highest_share"])


def test_every_printed_share_of_requests_is_the_jsons(tables, told):
    wanted = {
        f"disk {each['name']}, {way}s": each[f"{way}_share"]
        for each in told["request_sizes"]
        for way in ("read", "write")
        if any(each[f"{way}_share"])
    }
    (table,) = [each for each in tables[0] if each[0][1:2] == ["to 4 KiB"]]
    rows = {name: cells for name, *cells in table[1:]}

    assert rows.keys() == wanted.keys()
    for name, cells in rows.items():
        assert all(part(*pair) for pair in zip(cells, wanted[name], strict=True)), name


def test_every_printed_episode_is_the_jsons(tables, told):
    for cells, wanted in zip(titled(tables, "from"), told["episodes"], strict=True):
        _, lasted, held, name, word, limit, share, waiting, _, sentence = cells
        assert name.endswith(wanted["name"])
        assert word == wanted["word"]
        assert sentence == wanted["sentence"]
        assert seconds(held) == pytest.approx(wanted["held_seconds"], abs=0.51)
        assert seconds(lasted.removesuffix(", goes on")) >= seconds(held)
        if wanted["ended"] is not None:
            span = wanted["ended"] - wanted["began"]
            assert seconds(lasted) == pytest.approx(max(span, wanted["held_seconds"]), abs=0.51)
        for cell, figure in (
            (share, wanted["mean_share"]),
            (waiting, wanted["requests_waiting"]),
            (limit.partition(" (")[0], wanted["limit"]),
        ):
            assert cell == "-" if figure is None else says(cell, figure)


def seconds(words):
    scale = {"s": 1, "min": 60, "h": 3600}
    return sum(int(n) * scale[unit] for n, unit in re.findall(r"(\d+) (s|min|h)\b", words))


PLOTS = {
    "operations per second": (lambda row: row["reads"], lambda row: row["writes"]),
    "throughput": (lambda row: row["read_bytes"], lambda row: row["write_bytes"]),
    "latency": (
        lambda row: row["read_waited"] / row["reads"] if row["reads"] else None,
        lambda row: row["write_waited"] / row["writes"] if row["writes"] else None,
    ),
    "queue depth": (lambda row: row["queue"],),
}


TOP, FLOOR, LEFT, RIGHT = 8.0, 158.0, 70.0, 890.0  # of a plot, in its own units


def test_every_point_of_a_plot_lies_where_its_second_says(made, recorded):
    figures = re.findall(r"<figure>.*?</figure>", render.html(document.document(*made)))
    began, ended = recorded.seconds[0].wall, recorded.seconds[-1].wall

    for name in recorded.moved:
        # Nothing is known of a disk before it first moved.
        rows = [(each.wall, each.disks[name]) for each in recorded.seconds]
        while not _operations(rows[0][1]):
            rows.pop(0)
        for title, lines in PLOTS.items():
            (figure,) = [each for each in figures if f">disk {name}: {title} " in each]
            wanted = [
                [(wall, value) for wall, row in rows if (value := of(row)) is not None]
                for of in lines
            ]
            highest = max(value for line in wanted for _, value in line)
            said = re.search(r"highest ([\d.,]*\d(?: (?:\w+/s|[mµ]?s))?)", figure)[1]
            assert says(said, highest), (name, title, said)
            scale = highest * 1.05
            drawn = re.search(rf"class=limit d=\"M{LEFT:.0f} ([\d.]+)H{RIGHT:.0f}\"", figure)
            if drawn is not None:
                limit, _ = number(re.search(r"limit ([^;<(]+?) \(dashed\)", figure)[1])
                scale = max(highest, limit) * 1.05
                assert float(drawn[1]) == pytest.approx(height(limit, scale), abs=1)
            for index, line in enumerate(wanted):
                path = re.search(rf'class=l{index} d="([^"]*)"', figure)[1]
                points = [tuple(map(float, p.split())) for p in re.findall(r"[ML]([\d. ]+)", path)]
                assert len(points) == len(line)
                for (x, y), (wall, value) in zip(points, line, strict=True):
                    assert y == pytest.approx(height(value, scale), abs=0.6)
                    place = LEFT + (wall - began) / (ended - began) * (RIGHT - LEFT)
                    assert x == pytest.approx(place, abs=0.06)


def height(value, scale):
    return TOP + (1 - value / scale) * (FLOOR - TOP)


@pytest.mark.parametrize(
    ("name", "kind", "is_above"),
    [
        *(("drbd0", "", True), ("zd0", "", True), ("loop0", "", True)),
        *(
            ("emcpowera", "virtual", True),
            ("pxd/pxd1", "virtual", True),
            ("ublkb0", "virtual", True),
        ),
        *(("sda", "disk", False), ("sda", "", False), ("nbd0", "nbd", False)),
        *(("rbd0", "network", False), ("pmem0", "pmem", False)),
    ],
)
def test_what_lies_on_disks_of_this_machine_is_not_counted_beside_them(name, kind, is_above):
    assert is_stack(BudgetKey(Kind.DISK, name), kind) is is_above


def test_a_report_asks_what_a_disk_is_before_it_is_counted_beside_others():
    above = states.disk("emcpowera")._replace(
        device=states.block_device("emcpowera", kind="virtual")
    )
    collector, flow = Collector(), FlowTick(1.0, 100.0, queue_length=1.0)
    for second in range(2):
        collector.observe(
            states.state(
                mono=100.0 + second,
                disks={"sda": states.disk("sda"), "emcpowera": above},
                budgets=states.by_key(
                    *(states.budget(Kind.DISK, name) for name in ("sda", "emcpowera"))
                ),
                flows={FlowKey("disk", name): flow for name in ("sda", "emcpowera")},
            )
        )

    assert whole_disks(collector.finish()) == [FlowKey("disk", "sda")]
