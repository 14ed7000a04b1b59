"""pint, without a Prometheus: the rules as they are, and rules that are wrong in a known way.

Against a live Prometheus: tests/live/test_dashboards.py, which has one with every series.
"""

import pytest

import pint_peer


def test_pint_finds_nothing_offline():
    done = pint_peer.lint(pint_peer.CONFIG, "--offline")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "entries=" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("written", "instead", "complaint"),
    [
        ("runbook_url:", "runbook:", "alerts/annotation"),
        ('kind="cgroup"', 'kind=~"cgroup"', "promql/regexp"),
        ("severity: warning", "severity: loud", "rule/label"),
        ("rate(", "rat(", "promql/syntax"),
    ],
)
def test_pint_is_held_to_find_what_is_wrong(tmp_path, written, instead, complaint):
    (rules,) = (file for file in pint_peer.RULE_FILES if "throttling" in file.name)
    text = rules.read_text(encoding="utf-8")
    assert written in text
    wrong = tmp_path / rules.name
    wrong.write_text(text.replace(written, instead), encoding="utf-8")

    done = pint_peer.lint(pint_peer.CONFIG, "--offline", rules=[wrong])

    assert done.returncode == 1
    assert complaint in done.stdout + done.stderr
