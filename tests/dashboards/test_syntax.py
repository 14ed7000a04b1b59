"""Every expression of every dashboard is one that Prometheus understands."""

import json
import subprocess

import boards_and_rules as ours


def test_promtool_accepts_every_expression_with_grafanas_variables_put_in(tmp_path):
    exprs = [shown.expr for shown in ours.every_expression()]
    exprs += [expr for _, expr in ours.annotations()]
    rules = [
        {"record": f"panel:{number}", "expr": ours.substituted(expr)}
        for number, expr in enumerate(exprs)
    ]
    file = tmp_path / "panels.yml"
    file.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    done = subprocess.run(
        ["promtool", "check", "rules", "--lint=all", "--lint-fatal", file],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert len(rules) > 100


def test_no_variable_is_left_over():
    left = [expr for _, _, expr, _ in ours.every_expression() if "$" in ours.substituted(expr)]

    assert left == []
