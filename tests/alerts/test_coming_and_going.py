"""What comes and goes is one alert: it keeps firing for a while after its reason has ended."""

import re
import subprocess

from boards_and_rules import ALERTS, ROOT, RULE_FILES, RULE_TEXTS
from rule_stories import growing, play, series, value

SDA = {"kind": "disk", "name": "sda", "dimension": "iops", "direction": "total"}
DISK = 'ALERTS{alertname="IoplateauDiskThrottled",alertstate="firing"}'
DOWN = 'ALERTS{alertname="IoplateauExporterDown",alertstate="firing"}'
BOTH = ('{severity="warning"}', 1), ('{severity="critical"}', 1)
FIVE_OF_TEN_MINUTES = " ".join(f"{begun}+15x20 {begun + 300}x18" for begun in range(0, 2100, 300))


def held(seconds):
    return [
        series("ioplateau_budget_throttled_seconds_total", seconds, **SDA),
        series("ioplateau_budget_demand_ratio", "2.3x400", **SDA),
    ]


def test_a_disk_that_is_held_for_five_of_each_ten_minutes_is_one_alert(tmp_path):
    always = f"count by (severity) (count_over_time({DISK}[30m:1m]) >= 30)"

    assert (
        play(tmp_path, held(FIVE_OF_TEN_MINUTES), [], [value("65m", always, *BOTH)], kept=True)
        == ""
    )


def test_it_ends_a_quarter_of_an_hour_after_its_reason(tmp_path):
    firing = f"count by (severity) ({DISK})"
    story = held(growing(1, 20, then_minutes=25))

    assert (
        play(tmp_path, story, [], [value("38m", firing, *BOTH), value("40m", firing)], kept=True)
        == ""
    )


def test_an_exporter_that_answers_again_is_told_sooner(tmp_path):
    firing = f"count({DOWN})"
    values = [value("9m", firing, ("{}", 1)), value("11m", firing)]

    assert play(tmp_path, [series("up", "1x4 0x15 1x60")], [], values, kept=True) == ""


def test_so_long_each_alert_keeps_firing():
    other = {"IoplateauExporterDown": "5m", "IoplateauNfsServerNotAnswering": "5m"}
    longer = {
        ("IoplateauVolumeAtLimit", "warning"): "18m"
    }  # than the critical one, which ends later

    for one in ALERTS:
        assert one.kept == longer.get((one.name, one.severity), other.get(one.name, "15m"))


def test_an_older_prometheus_takes_what_the_command_of_the_docs_leaves(tmp_path):
    said = (ROOT / "docs" / "alerts.md").read_text(encoding="utf-8")
    (command,) = re.findall(
        r"^    (sed .*keep_firing_for.*) /etc/prometheus/ioplateau/\*", said, re.MULTILINE
    )
    for file, text in RULE_TEXTS.items():
        (tmp_path / file.name).write_text(text, encoding="utf-8")
    subprocess.run(f"{command} {tmp_path}/*.rules.yml", shell=True, check=True, timeout=30)
    left = {file: (tmp_path / file.name).read_text(encoding="utf-8") for file in RULE_FILES}

    assert not any("keep_firing_for" in text for text in left.values())
    assert (
        subprocess.run(
            ["promtool", "check", "rules", *tmp_path.glob("*.yml")], timeout=60
        ).returncode
        == 0
    )
