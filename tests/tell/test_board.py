"""The live screen without a terminal: what keys do, what fits, and that rows stay where they are."""

import pytest

import states
from ioplateau.history import Episode
from ioplateau.limits.budgets import Dimension, Kind, Word
from ioplateau.tell import view
from ioplateau.tell.board import Board, no_trail
from ioplateau.tell.summary import Severity

WALL = 1_790_000_000.0


def throttled(name="sda", used=0.998, **changes):
    return states.budget(
        Kind.DISK,
        name,
        states.limit(Dimension.IOPS, value=500.0, utilization=used),
        word=Word.THROTTLED,
        sentence="held at 500 IOPS by its disk limit: 16 requests wait",
        **changes,
    )


def seen(*budgets, **parts):
    return view.of(states.state(budgets=states.by_key(*budgets), **parts))


def board(*budgets, ascii_only=False, trail=no_trail, **parts):
    made = Board("ioplateau 1.0 db-01", trail, ascii_only=ascii_only)
    made.see(seen(*budgets, **parts))
    return made


def trail(*shares):
    def remembered(budget):
        return shares

    return remembered


def texts(shown, height=24, width=80):
    return [line.text for line in shown.lines(height, width)]


def names(shown, height=24, width=80):
    """Of the rows of the table."""
    lines = texts(shown, height, width)
    head = next(n for n, line in enumerate(lines) if line.startswith(("BUDGET", "DISK", "NFS")))
    return [line.split()[0] for line in lines[head + 1 : -3] if line]


def many(count=40):
    return [states.budget(Kind.DISK, f"sd{number:02}") for number in range(count)]


def test_eighty_by_twenty_four_shows_verdict_limit_and_rates_in_one_row():
    disk = states.disk("sda", before={"reads": 0, "read_sectors": 0, "read_milliseconds": 0})
    lines = texts(board(throttled(), disks={"sda": disk}))

    assert lines[1] == "sda (disk) is throttled"
    assert lines[4].split() == [
        *("sda", "throttled", "2m", "100%", "500", "IOPS", "100", "0.41", "5ms", "0")
    ]
    assert len(lines) == 24
    assert "sda: held at 500 IOPS by its disk limit: 16 requests wait" in lines


@pytest.mark.parametrize("width", [20, 40, 79, 80, 120, 200])
@pytest.mark.parametrize("height", [1, 3, 8, 12, 24, 50])
def test_it_is_never_larger_than_the_terminal_and_marks_what_it_cuts(height, width):
    long = throttled("nvme-with-a-very-long-name-that-no-column-of-any-table-would-take-whole")
    shown = board(long, *many())
    lines = texts(shown, height, width)

    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    row = [line for line in lines if line.rstrip().endswith("whole") or "whole " in line]
    if row and "very-long" not in row[0]:
        assert row[0].startswith("…")


def test_a_wide_terminal_shows_kind_source_and_sentence_too():
    row = texts(board(throttled()), 50, 200)[4]

    assert "config.toml limit[0]" in row
    assert "held at 500 IOPS" in row


def test_rows_scroll_with_the_cursor():
    shown = board(*many())

    assert names(shown)[0] == "sd00"
    assert "sd39" not in names(shown)
    shown.press("end")
    assert names(shown)[-1] == "sd39"
    assert "40 of 40" in texts(shown)[-1]
    shown.press("home")
    assert names(shown)[0] == "sd00"
    shown.press("page down")
    shown.press("down")
    shown.press("up")
    page = len(names(shown))
    assert shown.selected.name == f"sd{page:02}"


def test_the_row_under_the_cursor_stays_under_it_when_the_order_changes():
    shown = board(*many(3))
    texts(shown)
    shown.press("down")
    shown.see(seen(throttled("zzz"), *many(3)))

    assert names(shown)[0] == "zzz"
    assert shown.selected.name == "sd01"


def test_rows_do_not_jump_when_figures_change():
    def at(wall, first, second):
        one = throttled("sda", used=first)
        return seen(one, throttled("sdb", used=second), wall=wall)

    shown = board()
    shown.see(at(1000.0, 0.9, 0.8))
    shown.press("s")  # by used
    assert names(shown) == ["sda", "sdb"]
    shown.see(at(1001.0, 0.8, 0.9))
    assert names(shown) == ["sda", "sdb"]
    shown.see(at(1010.0, 0.8, 0.9))
    assert names(shown) == ["sdb", "sda"]


def test_a_row_that_was_shown_stays_when_it_is_idle():
    shown = board(states.budget(Kind.DISK, "sda"))
    names(shown)
    shown.see(seen(states.budget(Kind.DISK, "sda", word=Word.IDLE)))

    assert names(shown) == ["sda"]


def test_idle_rows_are_counted_and_shown_on_request():
    idle = states.budget(Kind.DISK, "loop0", word=Word.IDLE)
    shown = board(throttled(), idle)

    assert names(shown) == ["sda"]
    assert "1 idle (i shows)" in texts(shown)[-1]
    shown.press("i")
    assert names(shown) == ["sda", "loop0"]


def test_an_unknown_budget_with_a_reason_is_no_idle_one():
    blind = states.budget(Kind.DISK, "sda", word=Word.UNKNOWN, sentence="cannot be seen: no file")

    assert names(board(blind)) == ["sda"]


def test_a_filter_looks_at_names_kinds_and_verdicts():
    shown = board(throttled("sda"), *many(3))
    for key in ["/", *"thrx", "backspace", "enter"]:
        shown.press(key)

    assert names(shown) == ["sda"]
    assert "filter thr" in texts(shown)[-1]
    shown.press("escape")
    assert len(names(shown)) == 4


def test_letters_are_text_while_a_filter_is_typed():
    shown = board(throttled())
    shown.press("/")

    assert shown.press("q")
    assert "filter: q_" in texts(shown)[-1]


def test_sorting_goes_round_and_says_by_what():
    shown = board(throttled("sdb"), throttled("sda"))
    said = []
    for _ in range(8):
        said.append(texts(shown)[-1].split("by ")[1].split()[0])
        shown.press("s")

    assert said == ["worst", "used", "IOPS", "bytes", "await", "queue", "name", "worst"]


def test_a_pause_holds_the_screen_and_says_so():
    shown = board(throttled())
    shown.press("p")
    shown.see(seen(states.budget(Kind.DISK, "sda")))

    assert "PAUSED" in texts(shown)[0]
    assert texts(shown)[1] == "sda (disk) is throttled"
    shown.press("p")
    assert texts(shown)[1] == "Nothing throttled; no limit is known"


def test_units_are_decimal_or_binary():
    disk = states.disk("sda", before={"reads": 0, "read_sectors": 0, "read_milliseconds": 0})
    shown = board(throttled(), disks={"sda": disk})

    assert "MB/s" in texts(shown)[3]
    shown.press("u")
    assert "MiB/s" in texts(shown)[3]
    assert "0.39" in texts(shown)[4].split()


def test_disks_and_mounts_have_tables_of_their_own():
    quiet = states.mount(operations={"READ": states.operation(operations=0, rtt_milliseconds=0)})
    shown = board(
        throttled(),
        disks={"sda": states.disk("sda", before={"reads": 0})},
        mounts={"/mnt/a": states.nfs_mount("/mnt/a", before=quiet)},
    )
    shown.press("tab")
    assert names(shown) == ["sda"]
    assert "r_await" in texts(shown)[3]
    shown.press("tab")
    assert names(shown) == ["/mnt/a"]
    assert "on wire" in texts(shown)[3]
    shown.press("tab")
    assert "VERDICT" in texts(shown)[3]


def test_evidence_is_told_in_words_with_units():
    evidence = {
        "excess_latency_ratio": 14.5,
        "floor_seconds": 0.002,
        "bytes_per_second": 2e6,
        "phase": "burst",
    }
    shown = board(throttled(evidence=evidence))
    texts(shown)
    shown.press("enter")

    assert "excess latency 1450 %, floor 2 ms, bytes 2 MB/s, phase burst" in texts(shown, 40)


@pytest.mark.parametrize(
    ("parts", "keys", "told"),
    [
        ({}, ["tab", "tab"], "there are no NFS mounts"),
        ({}, ["/", "x", "y", "enter"], "none matches; Esc clears the filter"),
        ({"is_idle": True}, [], "all are idle; i shows them"),
    ],
)
def test_where_no_row_is_shown_it_says_why_and_what_shows_one(parts, keys, told):
    shown = board(states.budget(Kind.DISK, "sda", word=Word.IDLE) if parts else throttled())
    for key in keys:
        shown.press(key)

    assert told in texts(shown)


def test_how_to_quit_stands_at_the_foot_of_a_small_terminal_whatever_else_does():
    idle = [states.budget(Kind.DISK, f"sd{n}", word=Word.IDLE) for n in range(20)]
    shown = board(throttled())
    episode = Episode(Kind.DISK, "sda", Word.THROTTLED, WALL)
    shown.see(seen(throttled(), *idle)._replace(notes=("a",) * 12, episodes=(episode,) * 400))

    assert texts(shown)[-1].endswith("  q quit  h help")


def test_the_detail_of_a_row_has_limits_origin_evidence_and_the_last_minutes():
    budget = throttled(evidence={"queue": 16.0})
    shown = board(budget, trail=trail(0.1, None, 1.0))
    texts(shown)
    shown.press("enter")
    said = "\n".join(texts(shown))

    assert "throttled for 2 min 10 s" in said
    assert "100 % of 500 IOPS (configured: config.toml limit[0])" in said
    assert "queue 16" in said
    assert "▁ █" in said
    shown.press("q")
    assert names(shown) == ["sda"]


@pytest.mark.parametrize(("count", "words"), [(1, "1 episode"), (2000, "2,000 episodes")])
def test_the_detail_counts_episodes_in_words(count, words):
    held = states.limit(throttled_seconds=130.0, episodes=count)
    shown = board(states.budget(Kind.DISK, "sda", held))
    texts(shown)
    shown.press("enter")

    assert any(line.endswith(f"throttled 2 min 10 s in {words}") for line in texts(shown, 24, 200))


def test_a_detail_longer_than_the_terminal_scrolls():
    shown = board(throttled(evidence={f"figure_{n}": float(n) for n in range(60)}))
    texts(shown)
    shown.press("enter")

    assert "more lines below" in texts(shown, 12, 60)[-1]
    shown.press("end")
    assert "more lines below" not in texts(shown, 12, 60)[-1]


def test_help_and_notes_lie_over_the_table():
    down = states.SourceState("mountstats", up=False, why="Permission denied")
    shown = board(throttled(), sources={"mountstats": down})

    assert "1 notes (n)" in texts(shown)[-1]
    shown.press("n")
    assert "cannot see the NFS mounts: permission denied" in texts(shown)
    shown.press("escape")
    shown.press("h")
    assert "Keys" in texts(shown)
    assert not any(line.endswith("…") for line in texts(shown, 30, 79))
    shown.press("h")
    assert not shown.press("q")


def test_without_utf8_every_line_is_ascii_and_microseconds_stay_microseconds():
    disk = states.disk("sda", before={"reads": 0, "read_sectors": 0, "read_milliseconds": 4999})
    shown = board(
        throttled("sda"),
        states.budget(Kind.VOLUME, "/mnt/é", word=Word.HEALTHY),
        disks={"sda": disk},
        ascii_only=True,
        trail=trail(0.1, 1.0),
    )
    lines = texts(shown)

    assert all(line.isascii() for line in lines)
    assert "1us" in lines[4].split()
    assert "/mnt/\\xe9" in "\n".join(lines)
    shown.press("enter")
    assert "_#" in "\n".join(texts(shown))


def test_a_name_cannot_speak_to_the_terminal():
    shown = board(throttled("sd\x1b[2J\n\udcff"))

    assert all(line.isprintable() for line in texts(shown))


def test_the_worst_row_is_red_and_the_first_row_is_looked_at():
    row = board(throttled()).lines(24, 80)[4]

    assert (row.severity, row.is_selected) == (Severity.BAD, True)


def test_before_the_first_view_it_says_that_it_waits():
    assert texts(Board("ioplateau"))[1] == "Waiting for the first figures"


def test_episodes_are_a_key_away_the_newest_first():
    began = Episode(
        Kind.DISK,
        "sda",
        Word.THROTTLED,
        WALL - 60,
        WALL - 30,
        peak_share=1.01,
        drew_most="mysqld",
        sentence="held at 500 IOPS by its disk limit",
    )
    goes_on = began._replace(
        kind=Kind.VM_UNCACHED, name="vm", lane="EBS volumes", ended=None, began=WALL - 20
    )
    shown = board(throttled())
    shown.see(seen(throttled())._replace(wall=WALL, episodes=(goes_on, began)))
    below = texts(shown)[-1]
    shown.press("e")
    lines = texts(shown, width=120)

    assert "2 episodes (e)" in below
    assert lines[0] == "Episodes"
    assert lines[1].endswith(
        "vm (VM, EBS volumes)  throttled  for 20 s, goes on  up to 101 %  most by mysqld"
    )
    assert lines[2] == "    held at 500 IOPS by its disk limit"
    assert lines[3].endswith("sda (disk)  throttled  for 30 s  up to 101 %  most by mysqld")
    shown.press("e")
    assert texts(shown)[0].startswith("ioplateau")


def test_without_episodes_that_is_said():
    shown = board()
    shown.press("e")

    assert texts(shown)[:2] == ["Episodes", "There are none."]
