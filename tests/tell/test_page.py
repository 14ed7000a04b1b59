"""The landing page: the answer first, and nothing that a hostile name could break."""

from html.parser import HTMLParser

import pytest

import states
from ioplateau.history import Episode, Series
from ioplateau.limits.budgets import Dimension, Direction, Kind, Origin, Word
from ioplateau.tell import page, view
from ioplateau.tell.page import Around

WALL = 1_700_000_000


class Reader(HTMLParser):
    """What a browser would see: texts, tags, links, and tags left open."""

    VOID = frozenset({"meta", "br", "link"})

    def __init__(self):
        super().__init__()
        self.texts, self.tags, self.links, self.open = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name == "href"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def read(state, around=Around(), past=page.no_past, episodes=()):  # noqa: B008
    reader = Reader()
    reader.feed(page.page(view.of(state), around, past, episodes).decode())
    reader.close()
    return reader


def words(state, *told, **options):
    return " ".join(" ".join(read(state, *told, **options).texts).split())


def past(budget, dimension, direction):
    """A minute at the limit, the queue full."""
    at = tuple(range(WALL - 60, WALL))
    return Series(
        budget.kind,
        budget.name,
        dimension,
        direction,
        1,
        at,
        rate=(500.0,) * 60,
        limit=(500.0,) * 60,
        share=(1.0,) * 60,
        queue_length=(16.0,) * 30 + (None,) * 10 + (8.0,) * 20,
        await_seconds=(0.032,) * 60,
    )


def episode(name="sda", **changes):
    values = {"ended": WALL - 100.0, "dimension": Dimension.IOPS, "limit": 500.0}
    values |= {"direction": Direction.TOTAL, "origin": Origin.CONFIGURED, "peak_share": 1.01}
    began = changes.pop("began", WALL - 700.0)
    return Episode(Kind.DISK, name, Word.THROTTLED, began, **(values | changes))


def throttled():
    return states.budget(
        Kind.DISK,
        "sda",
        states.limit(Dimension.IOPS, value=500.0, utilization=0.998, throttled_seconds=130.0),
        word=Word.THROTTLED,
        sentence="sda asks for more than 500 IOPS.",
    )


def test_the_verdict_its_limit_and_since_when_are_on_the_page():
    said = words(states.state(budgets=states.by_key(throttled())))

    assert "sda (disk) is throttled" in said
    assert "throttled for 2 min 10 s" in said
    assert "sda asks for more than 500 IOPS." in said
    assert "100 % of 500 IOPS over the rate window (configured: config.toml limit[0], " in said
    assert "limit[0], throttled 2 min 10 s in all)" in said


def test_several_at_their_limit_are_counted():
    stalled = states.budget(Kind.VOLUME, "/mnt/a", word=Word.STALLED)
    healthy = states.budget(Kind.DISK, "sdb")

    said = words(states.state(budgets=states.by_key(throttled(), stalled, healthy)))

    assert "2 of 3 budgets are throttled or stalled" in said


def test_the_worst_comes_first():
    quiet = [states.budget(Kind.DISK, f"sd{letter}") for letter in "bcd"]
    said = words(states.state(budgets=states.by_key(*quiet, throttled())))

    assert said.index("sda disk") < said.index("sdb disk")


def test_a_healthy_machine_says_so():
    healthy = states.budget(Kind.DISK, "sda", states.limit())

    assert words(states.state(budgets=states.by_key(healthy))).startswith("Nothing throttled ")


def test_an_unknown_limit_is_called_unknown():
    said = words(states.state(budgets=states.by_key(states.budget(Kind.DISK, "sda"))))

    assert "Nothing throttled; no limit is known" in said
    assert "limit unknown" in said


def test_before_the_first_tick_the_page_says_so():
    assert "Starting: nothing measured yet" in words(None)


def test_burst_credit_is_told():
    bursting = states.budget(
        Kind.DISK, "sda", states.limit(burst_credit=0.4, exhaustion_seconds=600.0)
    )

    said = words(states.state(budgets=states.by_key(bursting)))

    assert "burst credit 40 %, used up in 10 min" in said


def test_failing_sources_and_notices_are_told():
    down = states.SourceState(
        "mountstats", up=False, why="/proc/self/mountstats: Permission denied"
    )
    state = states.state(
        sources={"mountstats": down, "diskstats": states.SourceState("diskstats", up=True)},
        notices=("config.toml limit[1]: no disk matches sdz",),
    )

    said = words(state)
    assert "cannot see the NFS mounts: /proc/self/mountstats: permission denied" in said
    assert "config.toml limit[1]: no disk matches sdz" in said
    assert "diskstats:" not in said


def test_links_lead_on():
    links = (("/metrics", "Metrics"), ("/-/healthy", "Healthy"))
    found = read(states.state(), Around(links=links)).links

    assert found == ["page.css", "icon.svg", "metrics", "-/healthy"]


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "&amp;\udcff'"]
)
def test_a_hostile_name_is_text_wherever_it_stands(name):
    hostile = states.budget(
        Kind.VOLUME, name, states.limit(source=name), word=Word.THROTTLED, sentence=name
    )
    state = states.state(
        budgets=states.by_key(hostile),
        sources={name: states.SourceState(name, up=False, why=name)},
        notices=(name,),
        disks={name: states.disk(name, before={"reads": 0})},
    )
    around = Around(host=name, version=name, links=((name, name),))

    reader = read(state, around, past, (episode(name, drew_most=name),))

    assert reader.tags.count("script") == 1  # page.js
    assert "img" not in reader.tags
    assert "".join(reader.texts).count(name.replace("\udcff", "\\xff")) >= 13


@pytest.mark.parametrize("state", [None, states.state(), states.full()])
def test_the_page_is_well_formed_and_loads_nothing_from_elsewhere(state):
    reader = read(state, past=past)

    assert reader.open == []
    assert [link for link in reader.links if "//" in link and "/runbooks/" not in link] == []
    assert "style" not in reader.tags  # the policy forbids it


def test_which_machine_when_and_for_how_long():
    sold = states.State._field_defaults["sold"]
    sold = sold._replace(
        identity=sold.identity._replace(cloud="azure", vm_size="Standard_D8s_v3", region="westus")
    )

    said = words(states.state(sold=sold), Around(host="db-01", watched_seconds=7800.0))

    assert "db-01 · azure Standard_D8s_v3, westus" in said
    assert "watched for 2 h 10 min" in said
    assert "2023-11-14" in said


def test_a_throttled_budget_has_its_past_drawn_and_told():
    state = states.state(budgets=states.by_key(throttled()))
    reader = read(state, past=past)
    said = " ".join(reader.texts)

    assert reader.tags.count("svg") == 3
    assert "500 IOPS in the last second, 500 IOPS at most; limit 500 IOPS" in said
    assert "8 in the last second, 16 at most" in said
    assert "32 ms in the last second, 32 ms at most" in said
    assert any(link.endswith("/runbooks/disk-throttled.md") for link in reader.links)


def test_every_runbook_that_is_named_is_there():
    from pathlib import Path

    from ioplateau.tell import page_budgets

    books = Path(__file__).parents[2] / "docs/runbooks"
    named = {*page_budgets.RUNBOOK_OF.values(), "nfs-server-not-answering"}

    assert [name for name in named if not (books / f"{name}.md").exists()] == []
    assert set(page_budgets.RUNBOOK_OF) == set(Kind)


def test_what_was_held_lately_is_told_when_it_is_over():
    idle = states.budget(Kind.DISK, "sda", states.limit(), word=Word.IDLE)
    other = states.budget(Kind.DISK, "sdb", states.limit(), word=Word.IDLE)
    state = states.state(budgets=states.by_key(idle, other))

    reader = read(state, past=past, episodes=(episode(),))
    said = " ".join(" ".join(reader.texts).split())

    assert "Last: sda (disk) throttled for 10 min until" in said
    assert "1 min 40 s ago" in said
    assert reader.tags.count("article") == 1
    assert "1 more idle or not yet known" in said
    assert "500 IOPS (configured)" in said
    assert "101 %" in said


def test_what_was_held_last_is_what_ended_last_though_the_clock_was_set_back_since():
    idle = states.by_key(states.budget(Kind.DISK, "sda", states.limit(), word=Word.IDLE))
    ahead = episode("sdb", began=WALL + 86_000.0, ended=WALL + 86_400.0)
    both, alone = (
        words(states.state(budgets=idle), episodes=told) for told in ((ahead, episode()), (ahead,))
    )

    assert "Last: sda (disk) throttled for 10 min until" in both
    assert "1 min 40 s ago" in both
    assert "Last: sdb (disk) throttled for 6 min 40 s until" in alone
    assert " ago" not in alone


def test_an_episode_that_goes_on_says_so():
    state = states.state(budgets=states.by_key(throttled()))

    said = words(state, episodes=(episode(ended=None, drew_most="postgresql.service"),))

    assert "11 min 40 s, goes on" in said
    assert "postgresql.service" in said
    assert "Last:" not in said


def test_a_cell_of_an_episode_names_its_column_for_where_a_row_becomes_a_list():
    text = page.page(view.of(states.state()), Around(), episodes=(episode(),)).decode()

    assert '<td data-head="limit">500 IOPS (configured)</td>' in text
    assert text.count("data-head=") == 7


def test_tables_have_captions_and_heads_for_those_who_hear_them():
    state = states.state(disks={"sda": states.disk("sda", before={"reads": 0})})
    text = page.page(view.of(state), Around(span="15 s")).decode()

    assert "<caption>Disks, over 15 s</caption>" in text
    assert '<th scope="row">sda</th>' in text
    assert '<th scope="col">r_await</th>' in text


def test_the_fragment_is_the_content_of_the_page():
    seen = view.of(states.full())
    whole, part = page.page(seen, Around()), page.fragment(seen, Around())

    assert part in whole
    assert part.startswith(b"<main ")


def test_the_drawing_has_gaps_where_nothing_is_known():
    state = states.state(budgets=states.by_key(throttled()))
    text = page.page(view.of(state), Around(), past).decode()
    queue = text.split("requests in the queue")[1]
    line = queue.split('class="line"')[0].rsplit(' d="', 1)[1]

    assert line.count("M") == 2


def test_a_machine_of_many_budgets_has_the_worst_drawn_and_the_rest_listed():
    reader = read(states.state(budgets=states.by_key(*many(100))), past=past)
    said = " ".join(reader.texts)

    assert reader.tags.count("svg") == 3 * 12
    assert reader.tags.count("article") == 60
    assert "40 more, less near to a limit" in said
    assert "sd99" in said


def many(count):
    return [
        states.budget(Kind.DISK, f"sd{number:02}", states.limit(), word=Word.SATURATED)
        for number in range(count)
    ]
