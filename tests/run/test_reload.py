"""SIGHUP: the configuration is read beside the loop, however long that takes."""

import threading

from ioplateau.engine import EngineSettings
from ioplateau.run.reload import SILENT_SECONDS, Reload, ReloadError
from ioplateau.run.settings import ServeSettings
from waiting import wait_until

SETTINGS = ServeSettings(engine=EngineSettings(), state_directory="/new")


def read_in(reload):
    """What the thread that reads comes to."""
    return wait_until(reload.take)


def test_nothing_is_read_unless_somebody_asks():
    reload = Reload(lambda: SETTINGS)

    assert not reload.begin()
    assert reload.take() is None


def test_what_was_read_is_taken_once():
    reload = Reload(lambda: SETTINGS)
    reload.wanted()

    assert reload.begin()
    assert read_in(reload) is SETTINGS
    assert reload.take() is None


def test_what_is_wrong_is_told_and_the_next_signal_works():
    answers = iter([ReloadError("no"), TypeError("odd"), None])

    def read():
        if (wrong := next(answers)) is not None:
            raise wrong
        return SETTINGS

    reload = Reload(read)
    found = []
    for _ in range(3):
        reload.wanted()
        reload.begin()
        found.append(read_in(reload))

    assert [str(each) for each in found[:2]] == ["no", "TypeError('odd')"]
    assert found[2] is SETTINGS


def test_a_signal_while_it_is_read_has_it_read_once_more():
    answers = threading.Event()
    reload = Reload(lambda: answers.wait() and SETTINGS)
    reload.wanted()
    reload.begin()
    reload.wanted()
    reload.wanted()

    assert not reload.begin()  # one reading at a time
    answers.set()
    assert read_in(reload) is SETTINGS
    assert reload.begin()
    assert read_in(reload) is SETTINGS
    assert not reload.begin()


def test_silence_is_said_once(caplog):
    now, answers = [0.0], threading.Event()
    reload = Reload(lambda: answers.wait() and SETTINGS, clock=lambda: now[0])
    reload.wanted()
    reload.begin()
    for now[0] in (SILENT_SECONDS - 1, SILENT_SECONDS, SILENT_SECONDS + 1):
        reload.take()
    answers.set()
    read_in(reload)

    assert [record.message for record in caplog.records].count(
        "configuration does not answer, the old one stays until it does"
    ) == 1


def test_what_changes_with_a_restart_only_stays_as_it_was_and_is_named():
    before = ServeSettings(EngineSettings(interval_seconds=5.0), state_directory="/var/lib/a")
    wanted = ServeSettings(
        EngineSettings(interval_seconds=1.0, asks_cloud=False),
        state_directory="/var/lib/b",
        refresh_seconds=60.0,
    )
    taken, waits = wanted.after(before)

    assert waits == ("sampling.interval_seconds", "state.directory")
    assert (taken.engine.interval_seconds, taken.state_directory) == (5.0, "/var/lib/a")
    assert (taken.engine.asks_cloud, taken.refresh_seconds) == (False, 60.0)
    assert taken.after(taken) == (taken, ())
