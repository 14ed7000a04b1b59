"""The examiner's adapter: a line of configuration in, then a line of verdicts for every tick."""

import json
import subprocess
import sys
from pathlib import Path

ADAPTER = Path(__file__).resolve().parents[2] / "bench" / "score_adapter.py"
CONFIG = {
    "type": "config",
    "id": "x",
    "tick_s": 1.0,
    "vm": {
        "uncached": {"iops": 3200, "bps": 48e6},
        "cached": {"iops": None, "bps": None},
        "nic_bps": None,
    },
    "disks": [{"dev": "sdc", "cache": "none", "iops": 500, "bps": 100e6}],
    "stripes": [],
    "mounts": [],
}


def ticks(rates):
    """Raw diskstats of a disk with 16 requests in flight, a second a line."""
    reads = sectors = milliseconds = busy = 0
    for second, (rate, depth) in enumerate(rates):
        reads, sectors = reads + rate, sectors + 8 * rate
        milliseconds, busy = milliseconds + depth * 1000, busy + min(1000, depth * 1000)
        line = (
            f"   8      32 sdc {reads} 0 {sectors} {milliseconds} 0 0 0 0 {depth} {busy}"
            f" {milliseconds} 0 0 0 0 0 0\n"
        )
        yield {
            "type": "tick",
            "t": 100.0 + second,
            "diskstats": "   8       0 sda 1 0 8 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n" + line,
            "netdev": "Inter-|\n face |\n  eth0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n",
            "psi_io": "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
            "stat": "cpu  1 0 1 1 1 0 0 0 0 0\n",
            "vmstat": "",
            "tcp": [],
        }


def answered(records):
    text = "".join(json.dumps(each) + "\n" for each in [CONFIG, *records])
    done = subprocess.run(
        [sys.executable, str(ADAPTER)], input=text, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_tick_is_answered_and_a_disk_at_its_limit_is_named():
    answers = answered(ticks([(100, 1)] * 8 + [(500, 16)] * 6))

    assert len(answers) == 14
    assert answers[7] == {}
    assert answers[-1]["disk:sdc"]["limit"] == "disk_iops"
    assert abs(answers[-1]["disk:sdc"]["value"] - 500) < 5


def test_what_is_no_resource_of_the_examiner_is_not_named():
    answers = answered(ticks([(500, 16)] * 12))

    assert all("disk:sda" not in answer for answer in answers)
