"""HTML from words that come from anywhere."""

from ioplateau.tell.html import el


def test_what_steers_a_screen_or_turns_its_writing_is_shown_by_its_number():
    told = el("p", "/mnt/\u202egpj\x1b[31m\x00\udcff <b>", title="\u2066x")

    assert told == ('<p title="\\u2066x">/mnt/\\u202egpj\\x1b[31m\\x00\\xff &lt;b&gt;</p>')


def test_lines_stay_lines():
    assert el("pre", "one\ntwo") == "<pre>one\ntwo</pre>"
