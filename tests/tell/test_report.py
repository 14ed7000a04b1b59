"""The report: every figure against one computed from the recording's text, and every odd span."""

import gzip
import json
import math
import re
from array import array
from pathlib import Path

import pytest

import states
from ioplateau.engine import EngineSettings
from ioplateau.history import Episode, History
from ioplateau.limits.budgets import (
    BudgetKey,
    Dimension,
    Direction,
    FlowKey,
    Kind,
    Limit,
    Origin,
    Word,
)
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.run import report
from ioplateau.run.replay import Replayed
from ioplateau.run.report import ReportError, TimeSpan
from ioplateau.run.settings import ServeSettings
from ioplateau.state import SourceState
from ioplateau.tell.report import document, figures, render
from ioplateau.tell.report.samples import COLUMNS, Collector, LimitKey, LimitSamples, Samples

MACHINES = Path(__file__).parents[1] / "machines"
DISK = MACHINES / "disk_iops_p10" / "recording.jsonl.gz"
DATABASE = MACHINES / "database_1" / "recording.jsonl.gz"
LIMIT = ConfiguredLimit(disk="sda", iops=500, direction=Direction.TOTAL, source="limits.toml")
SETTINGS = ServeSettings(EngineSettings(rules=Rules((LIMIT,)), asks_cloud=False))
NO_RULES = ServeSettings(EngineSettings(asks_cloud=False))


@pytest.fixture(scope="module")
def told():
    samples, source = report.of_recording(DISK, SETTINGS, TimeSpan())
    return render.as_json(samples, source)


@pytest.fixture(scope="module")
def seconds():
    """(elapsed, reads, writes, bytes read, bytes written, seconds waited, queue) of sda, from the
    text of the recording alone.
    """
    found, before = [], None
    with gzip.open(DISK) as file:
        next(file)
        for line in file:
            snapshot = json.loads(line)
            at = snapshot.get("at", {}).get("/proc/diskstats", snapshot["mono"])
            text = snapshot["f"]["/proc/diskstats"]
            row = next(words for words in map(str.split, text.splitlines()) if words[2] == "sda")
            now = at, [int(word) for word in row[3:]]
            if before is not None:
                t, (old, new) = now[0] - before[0], (before[1], now[1])
                grown = [b - a for a, b in zip(old, new, strict=True)]
                found.append(
                    (
                        t,
                        grown[0] / t,
                        grown[4] / t,
                        grown[2] * 512 / t,
                        grown[6] * 512 / t,
                        (grown[3] + grown[7]) / 1000 / t,
                        grown[10] / 1000 / t,
                    )
                )
            before = now
    return found


def nearest_rank(pairs, share):
    """Independent of the code: walk the seconds one by one, from the smallest value."""
    pairs = sorted(pairs)
    wanted = share * math.fsum(length for _, length in pairs)
    passed = 0.0
    for value, length in pairs:
        passed += length
        if passed >= wanted - 1e-9:
            return value
    raise AssertionError(pairs)


def busy(seconds, of):
    return [(of(row), row[0]) for row in seconds if row[1] + row[2] > 0]


FIGURES = {
    "operations": lambda r: r[1] + r[2],
    "read_ratio": lambda r: r[1] / (r[1] + r[2]),
    "write_ratio": lambda r: r[2] / (r[1] + r[2]),
    "request_bytes": lambda r: (r[3] + r[4]) / (r[1] + r[2]),
    "throughput": lambda r: r[3] + r[4],
    "latency": lambda r: r[5] / (r[1] + r[2]),
    "queue": lambda r: r[6],
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_the_one_that_the_recordings_text_gives(told, seconds, name):
    (sda,) = [each for each in told["requirements"]["flows"] if each["name"] == "sda"]
    pairs = busy(seconds, FIGURES[name])
    values = [value for value, _ in pairs]

    assert sda[name]["least"] == pytest.approx(min(values), rel=1e-6)
    assert sda[name]["most"] == pytest.approx(max(values), rel=1e-6)
    # The length of a second is that between two snapshots there, between two readings here.
    assert sda[name]["mean"] == pytest.approx(
        sum(v * t for v, t in pairs) / sum(t for _, t in pairs), rel=0.01
    )
    for word, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        assert sda[name][word] == pytest.approx(nearest_rank(pairs, share), rel=0.02)


def test_the_time_in_each_tenth_of_a_limit_is_that_of_the_recordings_text(told, seconds):
    (iops,) = [each for each in told["limits"] if each["dimension"] == "iops"]
    shares = [((row[1] + row[2]) / 500, row[0]) for row in seconds]
    wanted = [0.0] * 10
    for share, length in shares:
        if share <= 1:
            wanted[max(math.ceil(share * 10) - 1, 0)] += length

    assert iops["limit"] == 500
    assert iops["seconds_by_tenth"] == pytest.approx(wanted, abs=1.0)
    assert iops["seconds_above"] == pytest.approx(sum(t for s, t in shares if s > 1), abs=1.0)
    assert iops["highest_share"] == pytest.approx(max(s for s, _ in shares))
    total = sum(iops["seconds_by_tenth"]) + iops["seconds_above"]
    assert total == pytest.approx(told["seconds_with_readings"])


def test_the_episode_at_the_limit_is_told_with_its_words(told):
    (episode,) = [each for each in told["episodes"] if each["word"] == "throttled"]

    assert (episode["kind"], episode["name"], episode["limit"]) == ("disk", "sda", 500)
    assert episode["sentence"].startswith("held at 500 IOPS")


def test_the_machine_is_told_as_proc_stat_counts_it(told):
    before, shares = None, []
    with gzip.open(DISK) as file:
        next(file)
        for line in file:
            text = json.loads(line)["f"].get("/proc/stat")
            if text is not None:
                times = [int(word) for word in text.split("\n", 1)[0].split()[1:9]]
                if before is not None:
                    grown = [b - a for a, b in zip(before, times, strict=True)]
                    shares.append(1 - (grown[3] + grown[4]) / sum(grown))
                before = times
    cpu = told["requirements"]["cpu_ratio"]

    assert cpu["most"] == pytest.approx(max(shares))
    assert cpu["least"] == pytest.approx(min(shares))
    assert 0 < told["requirements"]["memory_ratio"]["mean"] < 1


def test_the_limit_of_an_episode_has_its_direction():
    samples = limited()
    samples.episodes = (
        Episode(
            Kind.DISK,
            "sda",
            Word.THROTTLED,
            0.0,
            2.0,
            dimension=Dimension.IOPS,
            direction=Direction.WRITE,
            limit=300.0,
            origin=Origin.CONFIGURED,
        ),
    )

    told = render.text(document.document(samples, document.ReportSource()))
    assert "300 IOPS of writes (configured)" in told


@pytest.mark.parametrize(
    ("ended", "lasted"), [(20.0, "20 s"), (None, "30 s, goes on"), (5.0, "12 s")]
)
def test_how_long_an_episode_lasted_is_not_for_how_long_it_held(ended, lasted):
    """Where the clock was set back meanwhile it lasted for as long as was counted."""
    samples = limited()
    samples.episodes = (Episode(Kind.DISK, "sda", Word.STALLED, 0.0, ended, held_seconds=12.0),)
    made = document.document(samples, document.ReportSource(began=0.0, ended=30.0))
    (found,) = [each for each in made.sections if each.title == "What was found"]

    assert found.blocks[1].columns[1:3] == ("lasted", "held")
    assert found.blocks[1].rows[0][1:3] == (lasted, "12 s")


def test_every_form_tells_the_same_episode():
    made = document.document(*report.of_recording(DISK, SETTINGS, TimeSpan()))

    for text in (render.text(made), render.markdown(made), render.html(made)):
        assert "held at 500 IOPS" in text
        assert "99th" in text


def test_every_column_of_the_episodes_has_a_name():
    made = document.document(*report.of_recording(DISK, SETTINGS, TimeSpan()))
    (table,) = (
        block
        for section in made.sections
        for block in section.blocks
        if isinstance(block, document.ReportTable) and block.columns[-1] == "in words"
    )

    assert all(table.columns)
    assert table.rows[0][table.columns.index("verdict")] == "throttled"


def test_the_html_asks_nobody_for_anything():
    made = render.html(document.document(*report.of_recording(DISK, SETTINGS, TimeSpan())))

    assert "http:" not in made
    assert "https:" not in made
    assert "<script" not in made
    assert "@media print" in made
    assert made.count("<figure") >= 4
    assert 'class=limit d="M' in made


def test_names_of_strangers_are_text_in_every_form():
    table = document.ReportTable(("<b>", "a|b"), (("<script>", "*x* | [y](z)"),))
    made = document.Report(
        "<i>", (document.ReportSection("s", (table, document.Paragraph("&_x_"))),)
    )

    assert "<script>" not in render.html(made)
    assert "&lt;script&gt;" in render.html(made)
    assert "\\*x\\* \\| \\[y\\](z)" in render.markdown(made)


@pytest.mark.parametrize("form", [render.text, render.markdown, render.html])
def test_what_a_terminal_or_a_browser_would_obey_is_shown_by_its_number(form):
    table = document.ReportTable(("a\x1b[31m",), (("b\u202ec",),))
    made = form(document.Report("d\u2066", (document.ReportSection("e\x00", (table,)),)))

    assert set("\x1b\u202e\u2066\x00").isdisjoint(made)
    assert "u202e" in made


@pytest.mark.parametrize(
    ("since", "began", "ended", "why"),
    [
        ("1 fortnight", None, None, "want one like 30min, 24h or 7d"),
        ("0h", None, None, "no length of time"),
        ("1M", None, None, "'1M' is no length of time"),
        (None, "yesterday", None, "'yesterday' is no time"),
        ("1h", "2026-01-01", None, "say the same"),
        (None, "2026-01-02", "2026-01-01", "is not after the beginning"),
        (None, "2100-01-01", None, "in the future"),
    ],
)
def test_a_span_that_makes_no_sense_is_refused_in_a_sentence(since, began, ended, why):
    with pytest.raises(ReportError, match=why):
        report.span(since, began, ended, now=1.79e9)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90 S", 90), ("2m", 120), ("2Min", 120), ("1.5H", 5400), ("1D", 86_400), ("1W", 604_800)],
)
def test_a_unit_may_be_in_capitals_where_it_means_the_same(text, seconds):
    assert report.length(text) == seconds


def test_a_span_is_in_utc_unless_it_says_otherwise():
    assert report.span(None, "2026-11-20T11:39:00", "2026-11-20T13:40+01:00", 1.8e9) == TimeSpan(
        1_795_174_740.0, 1_795_178_400.0
    )
    assert report.span("24h", None, None, 1.8e9) == TimeSpan(1.8e9 - 86_400, None)


def test_only_the_span_is_reported():
    samples, source = report.of_recording(
        DISK, SETTINGS, report.span(None, "2026-11-20T11:39:00", "2026-11-20T11:39:30", 1.8e9)
    )

    assert 28 <= sum(samples.seconds) <= 30
    assert source.ended - source.began <= 30


def test_a_span_without_readings_says_so():
    made = document.document(*report.of_recording(DISK, SETTINGS, TimeSpan(1.0, 2.0)))

    assert "Nothing was measured in this time" in render.text(made)
    assert "Requirements" not in render.text(made)


def test_above_an_episode_it_is_not_said_that_there_is_nothing_to_report():
    episodes = report.of_recording(DISK, SETTINGS, TimeSpan())[0].episodes
    made = document.document(Samples(episodes=episodes), document.ReportSource())

    assert "1 episode" in render.text(made)
    assert "nothing to report" not in render.text(made)


def test_a_line_goes_on_where_readings_become_finer():
    at, seconds = (
        array("d", [0.0, 60.0, 120.0, 121.0, 200.0]),
        array("d", [60.0, 60.0, 1.0, 1.0, 1.0]),
    )
    column = array("d", [1.0] * 5)
    flow = dict.fromkeys(COLUMNS, column)
    samples = Samples(at, seconds, {FlowKey("disk", "sda"): flow}, cpu=column, memory=column)
    made = document.document(samples, document.ReportSource())
    plots = [
        block for part in made.sections for block in part.blocks if isinstance(block, document.Plot)
    ]

    assert [at for at, value in plots[0].lines[0][1] if value is None] == [200.0]


def test_a_gap_is_told_and_no_line_is_drawn_across_it():
    suspended = MACHINES / "vm_suspended" / "recording.jsonl.gz"
    samples, source = report.of_recording(suspended, NO_RULES, TimeSpan())

    assert any("no samples for" in each.sentence for each in samples.events)
    assert sum(samples.seconds) < source.ended - source.began - 2
    assert "no samples for" in render.text(document.document(samples, source))


def test_percentiles_are_by_nearest_rank_over_time():
    values = figures.spread([1.0, 2.0, math.nan, 10.0], [50.0, 40.0, 99.0, 10.0])

    assert (values.p50, values.p90, values.p99) == (1.0, 2.0, 10.0)
    assert values.mean == pytest.approx(2.3)
    assert figures.spread([math.nan], [1.0]) == figures.Spread()


def test_time_in_all_is_of_the_span_and_counts_what_is_held_at_once_once():
    spans = ((0.0, 30.0), (20.0, 50.0), (40.0, 45.0), (60.0, 70.0), (90.0, None))
    held = [
        Episode(Kind.DISK, "sda", Word.THROTTLED, began, ended, held_seconds=99.0)
        for began, ended in spans
    ]

    assert figures.covered_seconds(held, 10.0, 100.0) == 40 + 10 + 10


def rewritten(path, change):
    """The recording with each snapshot as `change` (given its place) leaves it."""
    with gzip.open(DISK) as file, gzip.open(path, "wt") as out:
        for index, line in enumerate(file):
            snapshot = json.loads(line)
            out.write(json.dumps(change(index, snapshot)) + "\n")
    return path


def limited(*limits, **columns):
    """Samples of two seconds in which sda was held against limits: (direction, values, shares)."""
    unknown = array("d", [math.nan] * 2)
    samples = Samples(array("d", [0.0, 1.0]), array("d", [1.0, 1.0]), cpu=unknown, memory=unknown)
    flow = {name: array("d", columns.get(name, [100.0, 100.0])) for name in COLUMNS}
    samples.flows[FlowKey("disk", "sda")] = flow
    for direction, values, shares in limits:
        key = LimitKey(BudgetKey(Kind.DISK, "sda"), Dimension.IOPS, direction)
        limit = Limit(Dimension.IOPS, direction, values[0], Origin.CONFIGURED)
        samples.limits[key] = LimitSamples(limit, array("d", values), array("d", shares))
    return samples


@pytest.mark.parametrize(
    ("values", "shares", "words"),
    [
        ([400, 200], [0.5, 1.0], "200 IOPS to 400 IOPS in force"),
        ([400, 396], [0.5, 1.0], "396 IOPS"),
        ([400, 200], [math.nan, 1.0], "200 IOPS"),
    ],
)
def test_shares_of_other_values_are_not_said_to_be_of_the_last(values, shares, words):
    samples = limited((Direction.TOTAL, values, shares))
    (section,) = [
        each
        for each in document.document(samples, document.ReportSource()).sections
        if each.title == "How near the limits"
    ]

    (row,) = section.blocks[1].rows
    assert row[1] == words


@pytest.mark.parametrize(
    ("at", "seconds", "holes"),
    [
        ([0, 60, 120], [60, 60, 5], 0),  # the last minute is not over yet
        ([0, 60, 360], [60, 60, 60], 1),
        ([0, 60, 360], [60, 60, 5], 1),
    ],
)
def test_a_line_is_broken_where_nobody_looked_and_nowhere_else(at, seconds, holes):
    samples = limited()
    samples.at, samples.seconds = array("d", at), array("d", seconds)
    samples.cpu = samples.memory = array("d", [math.nan] * len(at))
    for column in samples.flows[FlowKey("disk", "sda")].values():
        column.append(100.0)
    plots = document.document(samples, document.ReportSource()).sections[-1].blocks

    for plot in plots:
        ((_, points), *_) = plot.lines
        assert [value for _, value in points].count(None) == holes


TOTAL, READS, WRITES = (
    (direction, [value] * 2, [0.5] * 2)
    for direction, value in (
        (Direction.TOTAL, 4000),
        (Direction.READ, 3000),
        (Direction.WRITE, 2000),
    )
)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ((READS, TOTAL, WRITES), "limit 4,000"),
        ((WRITES,), "limit 2,000 of writes"),
        ((READS, WRITES), "limit 3,000 of reads"),
        ((), ""),
    ],
)
def test_a_plot_has_the_limit_of_reads_and_writes_together_else_one_with_its_direction(
    limits, words
):
    samples = limited(*limits)
    told = render.html(document.document(samples, document.ReportSource()))
    (caption,) = re.findall("operations per second <small>(.*?)</small>", told)

    assert caption.partition("highest 100, ")[2].partition(";")[0] == words


@pytest.mark.parametrize("seconds", [-3600, 3600])
def test_a_clock_that_is_set_is_told_and_costs_no_figure(tmp_path, told, seconds):
    def change(index, snapshot):
        return snapshot | {"wall": snapshot["wall"] + (seconds if index > 80 else 0)}

    samples, source = report.of_recording(
        rewritten(tmp_path / "set.jsonl.gz", change), SETTINGS, TimeSpan()
    )

    for text in (
        render.text(document.document(samples, source)),
        render.html(document.document(samples, source)),
    ):
        assert "clock" in text
        assert "Requirements" in text
    found = render.as_json(samples, source)
    assert found["requirements"]["all_disks"] == told["requirements"]["all_disks"]


def test_a_daemon_that_ends_and_begins_is_a_gap_of_its_recording(tmp_path):
    def change(index, snapshot):
        later = 40.0 if index > 80 else 0.0
        moved = {name: snapshot[name] + later for name in ("mono", "wall") if name in snapshot}
        at = {name: value + later for name, value in snapshot.get("at", {}).items()}
        return snapshot | moved | ({"at": at} if at else {})

    samples, source = report.of_recording(
        rewritten(tmp_path / "gap.jsonl.gz", change), SETTINGS, TimeSpan()
    )

    assert sum(samples.seconds) < source.ended - source.began - 35
    assert "no samples for" in render.text(document.document(samples, source))


def test_a_disk_that_is_hidden_is_in_no_report():
    def flows(settings):
        samples, _ = report.of_recording(DISK, settings, TimeSpan())
        return {key.name for key in samples.flows}

    hidden = SETTINGS.engine._replace(is_hidden=lambda name: name == "sda")

    assert flows(SETTINGS) - flows(SETTINGS._replace(engine=hidden)) == {"sda"}


def test_who_did_it_is_said_to_be_unknown_where_the_recording_does_not_hold_it():
    made = document.document(*report.of_recording(DISK, SETTINGS, TimeSpan()))

    for text in (render.text(made), render.markdown(made), render.html(made)):
        assert "nobody looked for who it was" in text


def test_time_in_which_the_disks_could_not_be_read_is_told_and_no_reading():
    seen = list(Replayed(DISK, NO_RULES.engine))[:60]
    down = SourceState("diskstats", up=False, why="/proc/diskstats: Permission denied")
    collector = Collector()
    for number, state in enumerate(seen):
        lost = {"diskstats": down} if 20 <= number < 40 else {}
        collector.observe(state._replace(sources={**state.sources, **lost}, are_sources_well=False))
    samples = collector.finish()
    text = render.text(document.document(samples, document.ReportSource()))

    assert sum(samples.seconds) == pytest.approx(39, abs=1)
    assert not samples.is_storage_unreadable
    assert "Cannot see the disks: /proc/diskstats: permission denied (for 20 s)." in text
    assert "Nothing was throttled" not in text


def test_without_disks_and_network_the_nfs_mounts_are_told():
    down = SourceState("netdev", up=False, why="/proc/net/dev: No such file")
    collector = Collector()
    for second in range(10):
        collector.observe(
            states.state(
                mono=100.0 + second,
                mounts={"/mnt/a": states.nfs_mount()},
                sources={"diskstats": down._replace(name="diskstats"), "netdev": down},
            )
        )
    samples = collector.finish()
    text = render.text(document.document(samples, document.ReportSource()))

    assert sum(samples.seconds) == pytest.approx(9)
    assert "Cannot see the network interfaces: /proc/net/dev: no such file (for 9 s)." in text
    assert "Nothing that could be seen was throttled, saturated or stalled." in text


def test_the_shares_of_report_and_history_leave_out_the_writes_that_the_verdict_leaves_out():
    collector, history, said = Collector(), History(), []
    for state in Replayed(DATABASE):
        collector.observe(state)
        history.observe(state)
        words = {verdict.word: verdict.utilization for verdict in state.held}
        said.append(words.get(Word.THROTTLED))  # of the only disk
    place = LimitKey(BudgetKey(Kind.DISK, "loop0"), Dimension.IOPS, Direction.TOTAL)
    reported = collector.finish().limits[place].shares
    remembered = history.series("disk", "loop0", "iops").share
    newest = [
        each for each in zip(*map(reversed, (said, reported, remembered)), strict=False) if each[0]
    ]

    assert len(newest) > 20
    assert all(share == used for used, share, _ in newest)
    # The limit in force is remembered once it is another, and a rate as 11 bits.
    assert all(share == pytest.approx(used, rel=0.02) for used, _, share in newest)


def test_latency_and_queue_of_a_group_are_not_known():
    """A control group's requests are counted, and not how long they take."""
    group, nan = FlowKey("cgroup", "/batch"), math.nan
    rows = zip(
        (200.0, 0.0, 8e5, 0.0, nan, nan, nan), (0.0, 0.0, 0.0, 0.0, nan, nan, nan), strict=True
    )
    columns = {name: array("d", values) for name, values in zip(COLUMNS, rows, strict=True)}
    samples = Samples(array("d", [1.0, 2.0]), array("d", [1.0, 1.0]), {group: columns})

    found = figures.checklist(samples, [group])

    assert found.operations.mean == 200.0
    assert (found.latency, found.queue) == (figures.Spread(), figures.Spread())
