"""The boards over 500 synthetic VMs and three hours: what they show, and what they cost.

Nothing is timed here: what a query touches and holds is the same on every machine. At 1 s of
evaluation a slow core does some 2 million samples; `python bench/boards.py` prints seconds.
"""

import pytest

import boards_and_rules as ours
import synthetic_fleet as fleet
from board_queries import ask, is_instant, prometheus_of_the_fleet

pytestmark = pytest.mark.live

STEP_SECONDS = 60
# With scrapes each 15 s it is four times as many.
MOST_SAMPLES_AT_ONE_TIME = 500_000
MOST_SAMPLES_HELD = 800_000
# Of so many series a panel is a picture.
MOST_LINES = 40
SHOWN = [
    pytest.param(shown, id=f"{shown.board}: {shown.panel['title']} {number}")
    for number, shown in enumerate(ours.every_expression())
]


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory):
    with prometheus_of_the_fleet(tmp_path_factory.mktemp("fleet"), STEP_SECONDS) as running:
        yield running


@pytest.mark.parametrize("shown", SHOWN)
def test_an_expression_has_an_answer_and_touches_few_samples(prometheus, shown):
    found, cost = ask(prometheus, shown, STEP_SECONDS)

    if not is_instant(shown):
        assert cost.peak_samples <= MOST_SAMPLES_HELD
        assert len(found) <= MOST_LINES or shown.panel["title"] in PAGES_OF_ALL_LIMITS
    else:
        assert cost.samples <= MOST_SAMPLES_AT_ONE_TIME
    # A line of words stands where there is nothing; no limit of a mount holds here.
    if not shown.expr.startswith("vector(0) unless") and (
        (shown.board, shown.panel["title"]) != ("nfs", "Throttled")
    ):
        assert found


# A large VM has as many lines here as limits with burst credit.
PAGES_OF_ALL_LIMITS = {"Burst credit left", "Time until the credit is used up"}


def answers(prometheus, title, number=0):
    """The answer of a panel's query of the fleet's board."""
    (panel,) = (one for one in ours.panels(ours.BOARDS["fleet"]) if one["title"] == title)
    target = panel["targets"][number]
    shown = ours.Shown("fleet", panel, target["expr"], target["legendFormat"])
    return ask(prometheus, shown, STEP_SECONDS)[0]


def last(prometheus, title, number=0):
    """The last value of a panel with one line."""
    (series,) = answers(prometheus, title, number)
    return float(series["values"][-1][1])


def vms_in(found):
    return {series["metric"]["instance"] for series in found}


def test_the_numbers_of_the_fleet_are_right(prometheus):
    held = len(fleet.throttled_now())

    assert held > 5
    assert last(prometheus, "VMs") == fleet.VMS
    assert last(prometheus, "VMs at a limit") == held
    assert last(prometheus, "VMs at a limit", 1) == pytest.approx(held / fleet.VMS)
    assert last(prometheus, "Disks at a limit") == held
    assert last(prometheus, "Volumes at a limit") == fleet.VOLUMES - 1
    assert last(prometheus, "Mounts not answered") == 0
    assert last(prometheus, "Exporters down") == len(fleet.DOWN)


def test_what_is_held_back_now_is_named_with_its_limit_and_since_when(prometheus):
    since, longest, demand, learned = (
        answers(prometheus, "Held back now", number) for number in range(4)
    )

    assert vms_in(since) == vms_in(longest) == fleet.throttled_now()
    assert {series["metric"]["name"] for series in since} == {"disk00"}
    assert vms_in(demand) >= fleet.throttled_now()
    assert vms_in(learned) < fleet.throttled_now()
    assert {float(one["value"][1]) for one in since if one["metric"]["instance"] != "vm-000"} == {
        1000.0 * (fleet.END - 300)
    }


def test_the_time_at_a_limit_is_the_time_it_was_recorded(prometheus):
    seconds = {
        series["metric"]["instance"]: float(series["value"][1])
        for series in answers(prometheus, "Every VM", 2)
    }
    always = next(vm for vm in fleet.ever_throttled() if vm != "vm-000")

    assert len(seconds) == fleet.VMS
    assert {vm for vm, held in seconds.items() if held} == fleet.ever_throttled()
    assert seconds["vm-080"] == pytest.approx(fleet.HOURS * 3600, rel=0.02)
    assert seconds["vm-020"] == pytest.approx(fleet.HOURS * 1200, rel=0.02)
    assert seconds[always] > 0


def test_lines_and_bands_are_those_that_were_throttled_longest(prometheus):
    lines = answers(prometheus, "Share of limit: the 10 most throttled in this range")
    bands = answers(prometheus, "Throttling by VM: the 20 with most throttled time in this range")
    always = {fleet.vm_name(number) for number in range(0, fleet.VMS, 4 * fleet.EACH_THROTTLED)}

    assert len(lines) == 10
    assert len(bands) == 20
    assert vms_in(lines) >= always
    assert vms_in(bands) <= fleet.ever_throttled()
    assert vms_in(bands) >= always


def test_exporters_that_are_down_are_named(prometheus):
    assert vms_in(answers(prometheus, "Down exporters by name")) == set(fleet.DOWN)
