"""The report from a daemon's memory: what its API answers, as the recording itself tells it."""

import subprocess
import sys
from datetime import UTC, datetime
from math import isnan
from pathlib import Path

import pytest

import states
from at_once import AtOnce
from ioplateau.engine import EngineSettings
from ioplateau.history import History, What
from ioplateau.history.rings import SPANS
from ioplateau.judge.flows import FlowTick
from ioplateau.limits.budgets import BudgetKey, FlowKey, Kind
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.run import report
from ioplateau.run.api import Api
from ioplateau.run.daemonaddress import DaemonAddress
from ioplateau.run.daemonreport import asking, of_daemon
from ioplateau.run.daemonviews import NoDaemonError
from ioplateau.run.historyfiles import HistoryFiles
from ioplateau.run.replay import Replayed
from ioplateau.run.settings import ServeSettings
from ioplateau.state import BudgetConsumers, Consumer
from ioplateau.tell.report import document, render
from ioplateau.web.server import WebServer

IOPLATEAU = Path(sys.executable).with_name("ioplateau")
DISK = Path(__file__).parents[1] / "machines" / "disk_iops_p10" / "recording.jsonl.gz"
NOBODY = DaemonAddress("http://127.0.0.1:9")
SETTINGS = ServeSettings(
    EngineSettings(
        rules=Rules((ConfiguredLimit(disk="sda", iops=500, source="limits.toml"),)),
        asks_cloud=False,
    )
)


@pytest.fixture(scope="module")
def api():
    """Answers as a daemon would that had seen the recording; and when that was."""
    history, state = History(), None
    for state in Replayed(DISK, SETTINGS.engine):
        history.observe(state)
    return Api(history, lambda: state, state.wall - 200, lambda: state.wall), state.wall


def asks(api):
    """A function that asks it for a path, as over HTTP."""

    def ask(path, **query):
        return getattr(api, path)({name: str(value) for name, value in query.items()})

    return ask


@pytest.fixture(scope="module")
def daemon(api):
    """Asks what it would answer; and when it was asked."""
    answers, now = api

    return asks(answers), now


def test_what_is_remembered_by_the_second_has_the_figures_of_the_recording(daemon):
    ask, now = daemon
    samples, source = of_daemon(ask, now - 200, now, now, lambda: now)
    remembered = render.as_json(samples, source)
    recorded = render.as_json(*report.of_recording(DISK, SETTINGS, report.TimeSpan()))

    (ours,) = [each for each in remembered["requirements"]["flows"] if each["name"] == "sda"]
    (theirs,) = [each for each in recorded["requirements"]["flows"] if each["name"] == "sda"]
    for name in ("operations", "read_ratio", "throughput", "request_bytes", "latency", "queue"):
        for word in ("p50", "p90", "mean"):
            assert ours[name][word] == pytest.approx(theirs[name][word], rel=0.05, abs=1e-4)
    (limit,) = [each for each in remembered["limits"] if each["limit"] == 500]
    (held,) = [each for each in recorded["limits"] if each["limit"] == 500]
    # Kept with three figures: what is at the limit may be a hair above it.
    assert by_tenth(limit) == pytest.approx(by_tenth(held), abs=4)
    assert [each["sentence"] for each in remembered["episodes"]] == [
        each["sentence"] for each in recorded["episodes"]
    ]


def by_tenth(limit):
    *below, last = limit["seconds_by_tenth"]
    return [*below, last + limit["seconds_above"]]


@pytest.mark.parametrize(
    ("told", "is_above"), [({"kind": "virtual"}, True), ({"kind": None}, False), ({}, False)]
)
def test_a_disk_that_stands_on_others_is_not_added_to_them(daemon, told, is_above):
    """A daemon of an earlier version tells nothing of it."""
    ask, now = daemon

    def ask_of_virtual(path, **query):
        answer = ask(path, **query)
        if path == "state":
            disks = [{k: v for k, v in each.items() if k != "kind"} for each in answer["disks"]]
            answer = {**answer, "disks": [{**each, **told} for each in disks]}
        return answer

    samples, _ = of_daemon(ask_of_virtual, now - 60, now - 30, now, lambda: now)

    assert (FlowKey("disk", "sda") in samples.stacked) is is_above


def test_a_limit_of_the_vm_keeps_the_lane_that_it_is_of(daemon):
    ask, now = daemon

    def ask_of_a_lane(path, **query):
        answer = ask(path, **query)
        if path == "state":
            answer = {
                **answer,
                "budgets": [{**each, "lane": "cached"} for each in answer["budgets"]],
            }
        return answer

    samples, _ = of_daemon(ask_of_a_lane, now - 60, now - 30, now, lambda: now)

    assert samples.lanes[BudgetKey(Kind.DISK, "sda")] == "cached"


@pytest.mark.parametrize(
    ("vm", "told"),
    [
        (("azure", "Standard_D4s_v3", "westeurope"), "azure Standard_D4s_v3, westeurope"),
        ((None, "Standard_D4s_v3", None), "Standard_D4s_v3"),
        ((None, None, None), ""),
    ],
)
def test_the_machine_is_told_as_far_as_the_daemon_knows_it(daemon, vm, told):
    ask, now = daemon

    def ask_of_a_vm(path, **query):
        known = {"vm": dict(zip(("cloud", "size", "region"), vm, strict=True))}
        return ask(path, **query) | (known if path == "state" else {})

    _, source = of_daemon(ask_of_a_vm, now - 60, now - 30, now, lambda: now)

    assert source.machine == told


def test_a_control_group_has_its_requirements_as_in_the_report_of_a_recording():
    group, now = FlowKey("cgroup", "/batch"), 1_700_000_000.0
    found = states.budget(Kind.CGROUP, group.name, states.limit())
    found = found._replace(budget=found.budget._replace(members=(group,)))
    flow = FlowTick(1.0, 0.0, 200.0, 0.0, 8e5, None, None, None, None)
    history = History()
    for second in range(30):
        state = states.state(
            mono=100.0 + second,
            wall=now - 30 + second,
            budgets=states.by_key(found),
            flows={group: flow},
        )
        history.observe(state)
    ask = asks(Api(history, lambda: state, now - 60, lambda: now))

    samples, source = of_daemon(ask, now - 60, now, now, lambda: now)
    told = render.as_json(samples, source)["requirements"]["flows"]
    text = render.text(document.document(samples, source))

    assert [(each["kind"], each["name"]) for each in told] == [tuple(group)]
    assert told[0]["operations"]["p50"] == pytest.approx(200, rel=0.01)
    assert told[0]["latency"]["p50"] is None
    assert "control group /batch, writes" in text
    assert "cgroup /batch" not in text


SDA = FlowKey("disk", "sda")
WORKING = FlowTick(1.0, 0.0, 200.0, 0.0, 8e5, 0.0, 0.001, 1.0, None)
MINUTE = 1_700_000_040.0  # a full one


def asking_one_that_saw(history, ticks):
    """Asks a daemon that saw one disk. ticks: UNIX seconds, each with what the disk did."""
    disk = states.budget(Kind.DISK, "sda", states.limit())
    found = states.by_key(disk._replace(budget=disk.budget._replace(members=(SDA,))))
    for wall, tick in ticks:
        state = states.state(mono=wall - MINUTE + 1e6, wall=wall, budgets=found, flows={SDA: tick})
        history.observe(state)
    api = Api(history, lambda: state, MINUTE, lambda: state.wall)

    return asks(api)


def as_if_old(ask, now):
    """Asks one that remembers something of long ago besides: then not all is there by the second."""

    def asking(path, **query):
        found = ask(path, **query)
        if query.get("seconds") == SPANS[-1].keep_seconds:  # how far it reaches back
            found = {**found, "at": [now - SPANS[-1].keep_seconds, *found["at"]]}
        return found

    return asking


def every_second(began, ended, tick=WORKING):
    return [(began + number + 0.2, tick) for number in range(int(ended - began))]


@pytest.mark.parametrize("back_seconds", [600, 86_400, 2 * 86_400, 7 * 86_400])
@pytest.mark.parametrize("seconds", [30, 95])  # in its first minute, and in its second
def test_of_a_daemon_that_has_just_started_the_time_that_it_watched_is_told(back_seconds, seconds):
    history, began = History(), MINUTE - 11
    now = began + seconds
    history.note(What.STARTED, "started", began)
    ask = asking_one_that_saw(history, every_second(began, now))
    samples, source = of_daemon(ask, now - back_seconds, now, now, lambda: now)

    assert sum(samples.seconds) == pytest.approx(seconds, abs=2)
    assert (source.began, source.ended) == pytest.approx((began, now), abs=1.5)


@pytest.mark.parametrize("is_cut_off", [False, True])
@pytest.mark.parametrize(("back_seconds", "step_seconds"), [(86_400, 10), (2 * 86_400, 60)])
def test_time_in_which_no_daemon_ran_is_not_told_as_watched(back_seconds, step_seconds, is_cut_off):
    history, stopped, started, now = History(), MINUTE + 304.2, MINUTE + 307.2, MINUTE + 600
    history.note(What.STARTED, "started", MINUTE)
    if not is_cut_off:
        history.note(What.STOPPED, "stopped", stopped)
    history.note(What.STARTED, "started", started)
    ticks = [*every_second(MINUTE, stopped), *every_second(started, now)]
    ask = as_if_old(asking_one_that_saw(history, ticks), now)
    samples, source = of_daemon(ask, now - back_seconds, now, now, lambda: now)
    # Of one that was cut off nobody knows when: the step up to the next start is not counted.
    lost = started - MINUTE - 300 if is_cut_off else started - stopped

    assert source.step_seconds == step_seconds
    assert sum(samples.seconds) == pytest.approx(600 - lost, abs=1.5)


def test_time_in_which_nothing_is_known_of_any_budget_has_no_readings():
    now = MINUTE + 90
    ticks = [
        *every_second(MINUTE, MINUTE + 30),
        *every_second(MINUTE + 30, MINUTE + 60, None),  # its source could not be read
        *every_second(MINUTE + 60, now),
    ]
    samples, _ = of_daemon(asking_one_that_saw(History(), ticks), now - 90, now, now, lambda: now)

    assert sum(samples.seconds) == pytest.approx(60, abs=2)


def test_only_the_span_is_told(daemon):
    ask, now = daemon
    samples, source = of_daemon(ask, now - 60, now - 30, now, lambda: now)

    assert 25 <= sum(samples.seconds) <= 31
    assert source.ended <= now - 30
    assert FlowKey("disk", "sda") in samples.flows


def test_a_span_of_which_nothing_is_remembered_is_said_to_be_empty(daemon):
    ask, now = daemon

    asked = [now - 5000, now - 4000]
    text = render.text(document.document(*of_daemon(ask, *asked, now, lambda: now)))

    assert "Nothing was measured in this time" in text
    for wall in asked:
        assert f"{datetime.fromtimestamp(wall, UTC):%Y-%m-%d %H:%M:%S} UTC" in text


def test_means_of_longer_than_a_second_are_said_to_be_such(daemon):
    ask, now = daemon
    old = as_if_old(ask, now)
    fine, coarse = (of_daemon(old, now - back, now, now, lambda: now) for back in (900, 5000))
    words = render.text(document.document(*coarse))

    assert render.as_json(*fine)["step_seconds"] == 1
    assert "means of" not in render.text(document.document(*fine))
    assert render.as_json(*coarse)["step_seconds"] == 10
    assert words.count("eans of 10 s; shorter peaks are higher") == 3
    assert "mean size within their 10 s" in words


@pytest.mark.parametrize("back_seconds", [5000, 86_400, 7 * 86_400])
def test_of_a_young_daemon_every_second_is_told_whatever_the_span(daemon, back_seconds):
    ask, now = daemon
    samples, source = of_daemon(ask, now - back_seconds, now, now, lambda: now)

    assert source.step_seconds == 1
    assert sum(samples.seconds) == pytest.approx(167, abs=3)


def test_the_first_seconds_are_told_however_slow_the_daemon_answers(daemon):
    ask, now = daemon
    at = [now]

    def slow_ask(path, **query):
        at[0] += 5
        # The daemon counts back from where it is when it is asked.
        if path == "series":
            query["seconds"] -= at[0] - now
        return ask(path, **query)

    samples, _ = of_daemon(slow_ask, now - 60, now, now, lambda: at[0])

    assert samples.at[0] - (now - 60) < 1
    assert all(not isnan(each.shares[0]) for each in samples.limits.values())


@pytest.mark.parametrize(("back_seconds", "step_seconds"), [(900, 1), (86_400, 10)])
def test_a_span_is_told_as_finely_as_it_is_kept_though_asking_takes_time(
    daemon, back_seconds, step_seconds
):
    ask, now = daemon
    at = [now]

    def moving():
        at[0] += 0.01
        return at[0]

    old = as_if_old(ask, now)
    _, source = of_daemon(old, now - back_seconds, now, now, moving)

    assert source.step_seconds == step_seconds


@pytest.mark.parametrize(("back_days", "is_told"), [(0, True), (2, False), (-9, True)])
def test_a_report_to_a_moment_is_of_the_day_before_it_and_to_one_ahead_of_the_day_before_now(
    api, back_days, is_told
):
    answers, now = api
    with WebServer(("127.0.0.1:0",), answers.routes()) as server:
        server.start()
        daemon = DaemonAddress(f"http://{server.addresses[0]}")
        wanted = report.TimeSpan(ended=now - back_days * 86400 + 1)
        samples, _ = report.remembered(daemon, wanted, now)

        with pytest.raises(NoDaemonError, match=r"answers 400 Bad Request: there is no 'hello'"):
            asking(daemon)("series", hello=1)

    assert bool(len(samples)) is is_told


@pytest.mark.parametrize("restarted_at", [100, 160])  # while the episode goes on, and after it
def test_an_episode_of_an_earlier_run_keeps_who_did_it_and_what_would_lift_it(
    tmp_path, restarted_at
):
    sda, drawn = BudgetKey(Kind.DISK, "sda"), Consumer("/db", "db.service", 2e6)
    seen = list(Replayed(DISK, SETTINGS.engine))
    for number, part in enumerate((seen[:restarted_at], seen[restarted_at:])):
        files = HistoryFiles(tmp_path, AtOnce())
        history = History(files.keep)
        files.restore(history)
        for state in part:
            # After the restart nobody looks.
            who = {sda: BudgetConsumers(2.0, (drawn,))} if number == 0 else {}
            history.observe(state._replace(consumers=who))
            if number == 0:
                history.tell_lift(sda, "a P15: 1,100 IOPS")
        files.keep(history, is_last=True)
    now = seen[-1].wall
    ask = asks(Api(history, lambda: seen[-1], now - 10, lambda: now))
    made = document.document(*of_daemon(ask, now - 200, now, now, lambda: now))

    for text in (render.text(made), render.markdown(made), render.html(made)):
        assert "db.service" in text
        assert "disk sda: a P15: 1,100 IOPS" in text


def test_an_answer_of_something_else_is_refused():
    with pytest.raises(NoDaemonError, match="no ioplateau gives"):
        of_daemon(lambda path, **query: {"hello": path, "with": query}, 0, 1, 1, lambda: 1.0)


@pytest.mark.parametrize("at", [-1e99, 1e13, float("nan")])
def test_an_event_of_a_time_that_no_date_has_is_refused(daemon, at):
    ask, now = daemon
    event = {"at": at, "what": What.STARTED, "sentence": "", "subject": ""}

    def odd(path, **query):
        answer = ask(path, **query)
        return {**answer, "events": [event]} if path == "episodes" else answer

    with pytest.raises(NoDaemonError, match="want seconds since 1970"):
        of_daemon(odd, now - 200, now, now, lambda: now)


def test_nobody_there_is_said_with_what_to_do_instead():
    with pytest.raises(NoDaemonError, match=r"http://127\.0\.0\.1:9: .*refused"):
        asking(NOBODY)("state")
    with pytest.raises(report.ReportError, match="--minutes N to look live"):
        report.remembered(NOBODY, report.TimeSpan(), 0.0)


def test_the_daemon_here_is_asked_where_its_configuration_says_that_it_listens(api, tmp_path):
    answers, now = api
    with WebServer(("127.0.0.1:0",), answers.routes()) as server:
        server.start()
        config = tmp_path / "ioplateau.toml"
        config.write_text(f'[web]\nlisten_addresses = ["{server.addresses[0]}"]\n')
        span = ("--from", iso(now - 150), "--to", iso(now))
        done = subprocess.run(
            [IOPLATEAU, "report", "--config.file", config, *span],
            capture_output=True,
            text=True,
            timeout=60,
        )

    assert done.returncode == 0, done.stderr
    assert "the daemon's memory" in done.stdout
    assert "disk sda" in done.stdout


def iso(wall):
    return datetime.fromtimestamp(wall, UTC).isoformat()


@pytest.mark.parametrize(("back_seconds", "is_told"), [(0, True), (5, False)])
def test_what_the_daemon_cannot_see_now_is_told_of_a_span_up_to_now(daemon, back_seconds, is_told):
    ask, now = daemon
    blind = [
        {"source": "netdev", "sentence": "cannot see the network interfaces: x", "is_vital": True},
        {"source": "stat", "sentence": "cannot see the time of the CPUs: x", "is_vital": False},
    ]

    def ask_a_blind_one(path, **query):
        answer = ask(path, **query)
        return {**answer, "failed_sources": blind} if path == "state" else answer

    made = document.document(
        *of_daemon(ask_a_blind_one, now - 60, now - back_seconds, now, lambda: now)
    )
    text = render.text(made)

    assert ("Cannot see the network interfaces: x." in text) is is_told
    assert "the CPUs: x" not in text
