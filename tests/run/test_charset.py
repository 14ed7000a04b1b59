"""Whether the locale is UTF-8."""

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
