"""Two hundred VMs of one volume, scraped by a real Prometheus: the sum that none of them sees.

Each VM is the recording of a real NFS client at some other second of it; one process serves
them all. The rules are the committed ones, 15 times as fast (live_prometheus.faster).
"""

import re
from pathlib import Path

import pytest

from boards_and_rules import RECORDS
from live_prometheus import (
    fast_routes,
    fast_rules,
    running_alertmanager,
    running_prometheus,
    running_receiver,
)
from recorded_vms import RecordedVm, serving_vms, told

# Two hundred scrapes a second, by rules that run fifteen times as often.
pytestmark = [pytest.mark.live, pytest.mark.alone, pytest.mark.rates]

VMS = 200
LIMIT_BYTES = 1_950_000_000
CONFIG = f"""
[[limit]]
volume = "10.77.0.1:/export/a"
bytes_per_second = {LIMIT_BYTES}
"""
NAME = "IoplateauVolumeAtLimit"
FULL_SECONDS = (35, 80)  # of the recording: reads as fast as they go, with depth 2 and 16
HEARD_SECONDS = 20
COUNTER = re.compile(rb"^(\S+_total(?:\{[^}]*\})?) (\S+)$", re.MULTILINE)


def payload_bytes(exposition):
    """Bytes read and written by a VM so far."""
    found = re.findall(
        rb"^ioplateau_nfs_payload_bytes_total\{[^}]*\} (\S+)", exposition, re.MULTILINE
    )
    return sum(float(number) for number in found)


def prolonged(expositions, first, last):
    """The seconds from first to last once more behind them, so that counters go on: a page takes half of 15 minutes."""
    began, ended = (dict(COUNTER.findall(expositions[second])) for second in (first, last))

    def later(found):
        passed = float(ended.get(found[1], 0)) - float(began.get(found[1], 0))
        return b"%s %r" % (found[1], float(found[2]) + passed)

    again = (COUNTER.sub(later, each) for each in expositions[first + 1 : last + 1])
    return [*expositions[: last + 1], *again]


def resident_mib(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024


def test_the_volume_shows_its_sum_and_limit_and_its_alert_fires_once(tmp_path, capsys):
    first, last = FULL_SECONDS
    expositions = prolonged(told("nfs_mbps_nc4_v41", CONFIG), first, last)
    vms = [RecordedVm(f"vm{number:03}", expositions, first + number % 20) for number in range(VMS)]
    a_client = (payload_bytes(expositions[last]) - payload_bytes(expositions[first])) / (
        last - first
    )
    with (
        serving_vms(vms) as address,
        running_receiver() as receiver,
        running_alertmanager(tmp_path, fast_routes(tmp_path, receiver.url)) as alertmanager,
        running_prometheus(
            tmp_path,
            [(vm.name, address, f"/{vm.name}") for vm in vms],
            fast_rules(tmp_path),
            alertmanager,
        ) as prometheus,
    ):
        prometheus.wait_until(
            lambda: prometheus.number("ioplateau:volume_clients:count") == VMS, 30, "all clients"
        )
        prometheus.wait_until(lambda: bool(receiver.of(NAME, "firing")), 40, "the notification")
        firing_for = f'ALERTS{{alertname="{NAME}",severity="critical",alertstate="firing"}}'
        prometheus.wait_until(
            lambda: prometheus.number(f"count_over_time({firing_for}[1m])") >= HEARD_SECONDS,
            HEARD_SECONDS + 40,
            "more evaluations",
        )
        total = prometheus.number(
            'avg_over_time(ioplateau:volume_bytes:rate1m{direction="total"}[20s])'
        )
        limit = prometheus.number("ioplateau:volume_limit_bytes:max")
        share = prometheus.number("sum(ioplateau:volume_client_share:ratio)")
        alerts = prometheus.query(firing_for)
        seconds = {
            group["name"]: group["evaluationTime"] for group in prometheus.get("rules")["groups"]
        }
        series = prometheus.number("count({instance=~'vm.+'})")
        memory = resident_mib(prometheus.process)
        heard = receiver.of(NAME, "firing")
        clients = receiver.of("IoplateauNfsVolumeThrottled", "firing")

    with capsys.disabled():
        print(
            f"\nfleet of {VMS}: {total / 1e6:.0f} MB/s of {limit / 1e6:.0f} MB/s; the fleet's "
            f"{len(RECORDS)} rules take {seconds['ioplateau-fleet'] * 1000:.0f} ms, all others "
            f"{(sum(seconds.values()) - seconds['ioplateau-fleet']) * 1000:.0f} ms; Prometheus "
            f"{memory:.0f} MiB with {series:.0f} series"
        )
    assert total == pytest.approx(VMS * a_client, rel=0.1)
    assert limit == pytest.approx(LIMIT_BYTES)
    assert share == pytest.approx(1)
    assert [one["metric"]["volume"] for one in alerts] == ["10.77.0.1:/export/a"]
    # A warning, and once it has lasted and much more is asked for, a page in its place; of the
    # volume, once each, whatever the number of its clients.
    told_of = [[one["labels"]["alertname"] for one in body["alerts"]] for body in heard]
    severities = [body["alerts"][0]["labels"]["severity"] for body in heard]
    assert told_of == [[NAME]] * len(heard)
    assert severities in (["warning", "critical"], ["critical"])
    assert clients == []
    sentence = heard[-1]["alerts"][0]["annotations"]["description"]
    assert sentence.startswith("200 clients of 10.77.0.1:/export/a together drew up to ")
    assert "MB/s of 1950 MB/s" in sentence
