"""Whether the locale is UTF-8."""

import os
import subprocess
import sys

import pytest

from ioplateau.run import charset


@pytest.mark.parametrize(
    ("environ", "is_utf8"),
    [
        ({}, False),
        ({"LANG": "C"}, False),
        ({"LANG": "C.UTF-8"}, True),
        ({"LANG": "de_DE.utf8@euro"}, True),
        ({"LANG": "en_US.ISO-8859-1"}, False),
        ({"LANG": "C.UTF-8", "LC_ALL": "C"}, False),
        ({"LANG": "C", "LC_CTYPE": "en_US.UTF-8"}, True),
        ({"LANG": "C.UTF-8", "LC_ALL": ""}, True),
    ],
)
def test_the_strongest_variable_that_is_set_decides(environ, is_utf8):
    assert charset.is_utf8(environ) is is_utf8


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({"LANG": "C.UTF-8"}, "True UTF-8"),
        ({"LANG": "xx_XX.UTF-8"}, "True UTF-8"),
        ({"LC_ALL": "xx_XX.UTF-8"}, "True UTF-8"),
        ({"LC_ALL": "C"}, "False ANSI_X3.4-1968"),
        ({"LC_ALL": "xx_XX.ISO-8859-1"}, "False ANSI_X3.4-1968"),
    ],
)
def test_a_locale_that_is_not_installed_is_replaced_by_one_that_draws_the_same(environ, told):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "PYTHONUTF8"))}
    script = "print(charset.set_locale(), locale.nl_langinfo(locale.CODESET))"
    done = subprocess.run(
        [sys.executable, "-c", f"import locale; from ioplateau.run import charset; {script}"],
        env={**kept, **environ},
        capture_output=True,
        text=True,
    )

    assert done.stdout.strip() == told, done.stderr
