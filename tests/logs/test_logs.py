"""The log's lines, as they leave the process."""

import io
import json
import logging
import os
import subprocess
import sys
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioplateau.logs import Lines, LogSettings, event, is_journal, logfmt, setup

LOG = logging.getLogger("ioplateau.test")


@pytest.fixture
def root_logger():
    """The process's logging, put back afterwards."""
    root = logging.getLogger()
    handlers, level, raises = root.handlers[:], root.level, logging.raiseExceptions
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.raiseExceptions = raises
    logging.captureWarnings(capture=False)


def said(settings: LogSettings, speak) -> list[str]:
    stream = io.StringIO()
    setup(settings, stream, environ={})
    speak()
    return stream.getvalue().splitlines()


def record(message: str, level: int = logging.INFO, /, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("ioplateau", level, "", 0, message, None, None)
    made.created = 1.25
    made.ioplateau_fields = fields
    return made


def test_an_event_is_one_line_of_words():
    line = Lines("logfmt", journal=False).format(
        record("budget throttled", disk="sdc", limit=500.0, learned=False, tier=None)
    )

    assert line == (
        "time=1970-01-01T00:00:01.250Z level=info "
        'msg="budget throttled" disk=sdc limit=500.0 learned=false'
    )


def test_as_json_an_event_is_one_object():
    line = Lines("json", journal=False).format(record("a\nb", disk="sdc", limit=500.0, known=True))

    assert json.loads(line) == {
        "time": "1970-01-01T00:00:01.250Z",
        "level": "info",
        "msg": "a\nb",
        "disk": "sdc",
        "limit": 500.0,
        "known": True,
    }
    assert "\n" not in line


@pytest.mark.parametrize(
    ("level", "prefix"),
    [
        (logging.DEBUG, "<7>level=debug"),
        (logging.INFO, "<6>level=info"),
        (logging.WARNING, "<4>level=warning"),
        (logging.ERROR, "<3>level=error"),
        (logging.CRITICAL, "<2>level=critical"),
        (25, "<6>level="),
    ],
)
def test_the_journal_gets_the_priority_and_no_time(level, prefix):
    line = Lines("logfmt", journal=True).format(record("x", level))

    assert line.startswith(prefix)
    assert "time=" not in line


def test_the_journal_is_known_by_device_and_inode_not_by_the_variable_alone(tmp_path):
    with (tmp_path / "stderr").open("w") as stream:
        status = os.fstat(stream.fileno())
        ours = f"{status.st_dev}:{status.st_ino}"

        assert is_journal(stream, {"JOURNAL_STREAM": ours})
        assert not is_journal(stream, {"JOURNAL_STREAM": "1:2"})
        assert not is_journal(stream, {})
    assert not is_journal(io.StringIO(), {"JOURNAL_STREAM": ours})


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ("sdc", "v=sdc"),
        ("", 'v=""'),
        ("two words", 'v="two words"'),
        ("a=b", 'v="a=b"'),
        ('say "no"', r'v="say \"no\""'),
        ("back\\slash", r'v="back\\slash"'),
        ("line\nlevel=error msg=forged", r'v="line\nlevel=error msg=forged"'),
        ("\x1b[31mred\x7f", r'v="\u001b[31mred\u007f"'),
        ("Daten-Träger", "v=Daten-Träger"),
        ("\udcff", r'v="\udcff"'),
        ("\u202egnp.exe", r'v="\u202egnp.exe"'),
        (True, "v=true"),
        (3, "v=3"),
    ],
)
def test_a_value_can_neither_forge_words_nor_lines(value, word):
    assert logfmt({"v": value}) == word


@given(st.text())
def test_whatever_is_logged_is_one_printable_line(text):
    line = Lines("logfmt", journal=False).format(record(text, field=text))

    assert line.isprintable()


def test_a_field_cannot_take_the_place_of_the_level():
    line = Lines("logfmt", journal=True).format(record("x", level="none", msg="y"))

    assert line == "<6>level=info msg=x"


def test_the_level_decides_what_is_said(root_logger):
    def speak():
        for level in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
            event(LOG, level, "happened")

    assert len(said(LogSettings("debug"), speak)) == 4
    assert len(said(LogSettings("warn"), speak)) == 2
    assert len(said(LogSettings("error"), speak)) == 1


def test_an_exception_is_part_of_its_line(root_logger):
    def speak():
        try:
            raise ValueError("no\nway")  # noqa: TRY301
        except ValueError:
            event(LOG, logging.ERROR, "failed", exc_info=True, path="/x")

    (line,) = said(LogSettings(), speak)

    assert "msg=failed path=/x traceback=" in line
    assert r"ValueError: no\nway" in line


def test_what_libraries_log_and_warn_has_the_same_form(root_logger):
    def speak():
        logging.getLogger("some.library").warning("took %d s", 3)
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("old\nways", stacklevel=1)

    first, second = said(LogSettings(), speak)

    assert 'level=warning msg="took 3 s"' in first
    assert "level=warning" in second


def test_setting_up_again_replaces_the_old_form(root_logger):
    said(LogSettings(), lambda: None)
    lines = said(LogSettings(format="json"), lambda: event(LOG, logging.INFO, "again"))

    assert [json.loads(line)["msg"] for line in lines] == ["again"]


def test_a_log_that_nobody_reads_any_more_ends_nothing():
    program = (
        "import logging, os, sys\n"
        "from ioplateau.logs import LogSettings, event, setup\n"
        "setup(LogSettings())\n"
        "os.close(2)\n"
        "event(logging.getLogger(), logging.ERROR, 'unheard')\n"
        "print('alive')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )

    assert done.stdout == "alive\n"
