"""The landing page: the answer first, and nothing that a hostile name could break."""

from html.parser import HTMLParser

import pytest

import states
from ioplateau.judge.budgets import Dimension, Kind, Word
from ioplateau.tell import page


class Reader(HTMLParser):
    """What a browser would see: texts, tags, links, and tags left open."""

    VOID = frozenset({"meta", "br"})

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


def read(state, **options):
    reader = Reader()
    reader.feed(page.page(state, **options).decode())
    reader.close()
    return reader


def words(state, **options):
    return " ".join("".join(read(state, **options).texts).split())


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
    assert (
        "100 % of 500 IOPS (configured: config.toml limit[0], throttled 2 min 10 s in all)" in said
    )


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

    assert "Nothing throttled Budgets" in words(states.state(budgets=states.by_key(healthy)))


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
    assert "mountstats: /proc/self/mountstats: Permission denied" in said
    assert "config.toml limit[1]: no disk matches sdz" in said
    assert "diskstats:" not in said


def test_links_lead_on():
    links = read(states.state(), links=(("/metrics", "Metrics"), ("/-/healthy", "Healthy"))).links

    assert links == ["/metrics", "/-/healthy"]


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
    )

    reader = read(state, version=name, links=((name, name),))

    assert not {"script", "img"} & set(reader.tags)
    assert "".join(reader.texts).count(name.replace("\udcff", "\\xff")) == 10


@pytest.mark.parametrize("state", [None, states.state(), states.full()])
def test_the_page_is_well_formed_and_stands_alone(state):
    reader = read(state)

    assert reader.open == []
    assert "script" not in reader.tags
    assert "link" not in reader.tags
