"""Every expression of every dashboard gives data: the real machine and recordings, one Prometheus.

What this machine lacks (NFS, burst credit, a throttled stripe) comes from recordings that are
scraped as if they lived. Control groups with limits are in no recording.
"""

import re
import time

import pytest

import boards_and_rules as ours
import pint_peer
from boards_and_rules import BOARDS
from live_daemon import free_port, running_daemon
from live_prometheus import fast_rules, running_prometheus
from recorded_vms import RecordedVm, serving_vms, told

pytestmark = pytest.mark.live

WATCHED_SECONDS = 25

HERE = """
[[limit]]
disk = "*"
iops = 1_000_000
bytes_per_second = 10_000_000_000
[[limit]]
vm = "network"
bytes_per_second = 1_000_000_000
direction = "write"
"""
STRIPE = """
[vm]
size = "Standard_D4s_v3"
[[disk]]
disk = "sdd"
sku = "Premium_LRS"
size_gib = 512
caching = "ReadOnly"
[[limit]]
disk = "sd?"
iops = 2300
bytes_per_second = 150_000_000
[[limit]]
vm = "uncached"
iops = 6400
bytes_per_second = 96_000_000
"""
P10 = """
[[limit]]
disk = "sda"
iops = 500
bytes_per_second = 100_000_000
"""
BURST = (
    P10
    + """burst_iops = 3500
burst_seconds = 60
"""
)
NFS = """
[[limit]]
mount = "/mnt/a"
bytes_per_second = 10_000_000
iops = 1000
"""
# Where in a recording something is going on.
RECORDED = (
    ("stripe", "vm_group_d4s", STRIPE, 32),
    ("disk", "disk_iops_p10", P10, 90),
    ("burst", "burst_then_base", BURST, 45),
    ("nfs", "nfs_mbps_nc4_v41", NFS, 62),
    ("slots", "nfs_slots_v3", NFS, 85),
    ("learned", "disk_iops_p10", "", 90),  # what nobody says; up to second 141
)

SHOWN = [
    pytest.param(shown, id=f"{shown.board}: {shown.panel['title']} {number}")
    for number, shown in enumerate(ours.every_expression())
]
EACH_EXPRESSION = pytest.mark.parametrize("shown", SHOWN)
VARIABLES = [
    pytest.param(name, variable, id=f"{name} ${variable['name']}")
    for name, board in BOARDS.items()
    for variable in board["templating"]["list"]
    if variable["type"] == "query"
]
TABLES = [
    pytest.param(panel, id=f"{name}: {panel['title']}")
    for name, panel in ours.every_panel()
    if panel["type"] == "table"
]


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory):
    directory = tmp_path_factory.mktemp("dashboards")
    vms = [
        RecordedVm(name, told(machine, config), start) for name, machine, config, start in RECORDED
    ]
    with running_daemon(HERE, directory) as daemon, serving_vms(vms) as address:
        targets = [(vm.name, address, f"/{vm.name}") for vm in vms]
        targets.append(("here", daemon.url.removeprefix("http://"), "/metrics"))
        targets.append(("down", f"127.0.0.1:{free_port()}", "/metrics"))
        with running_prometheus(directory, targets, fast_rules(directory)) as running:
            running.wait_until(
                lambda: running.number("min(count_over_time(up[5m]))") >= WATCHED_SECONDS,
                WATCHED_SECONDS + 30,
                "enough scrapes",
            )
            yield running


def asked(prometheus, shown):
    """As Grafana asks: tables and stats once, graphs over the range."""
    expr = ours.substituted(shown.expr)
    if shown.panel["type"] in {"table", "stat"}:
        return prometheus.query(expr)
    return prometheus.query_range(expr, WATCHED_SECONDS + 5)


def test_every_target_was_scraped(prometheus):
    assert prometheus.number("sum(up)") == len(RECORDED) + 1


@EACH_EXPRESSION
def test_an_expression_has_data_and_its_legend_its_labels(prometheus, shown):
    found = asked(prometheus, shown)
    labels = set.union(set(), *(series["metric"] for series in found))

    # Words that stand where there is nothing: here there is something.
    is_nothing = shown.expr.startswith("vector(0) unless")
    if 'kind="cgroup"' not in shown.expr:
        assert bool(found) != is_nothing, shown.expr
    assert set(ours.legend_labels(shown.legend)) <= labels


@pytest.mark.parametrize("panel", TABLES)
def test_a_tables_columns_are_there(prometheus, panel):
    found = [prometheus.query(ours.substituted(one["expr"])) for one in panel["targets"]]
    labels = {label for result in found for series in result for label in series["metric"]}
    renamed = panel["transformations"][-1]["options"]["renameByName"]
    wanted = {key for key in renamed if not key.startswith("Value")}
    letters = {key.removeprefix("Value #") for key in renamed if key.startswith("Value #")}

    assert letters <= {target["refId"] for target in panel["targets"]}
    numbers = [
        one["targetField"]
        for change in panel["transformations"]
        if change["id"] == "convertFieldType"
        for one in change["options"]["conversions"]
    ]
    for result in found:
        for series in result:
            for label in numbers:
                assert float(series["metric"].get(label, 0)) >= 0, label
    # A label without a value is no label: a serial number, say, that no disk here has.
    lacking = {"lun", "serial", "model", "stack", "tier"}
    if panel["title"] != "Control groups":
        assert wanted - labels <= lacking


@pytest.mark.parametrize(("name", "variable"), VARIABLES)
def test_a_variable_has_values(prometheus, name, variable):
    query = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["definition"])
    now = time.time()
    values = prometheus.get(
        f"label/{query[2]}/values",
        **{"match[]": ours.substituted(query[1]), "start": now - 60, "end": now},
    )

    assert values


@pytest.mark.parametrize("name", ["vm", "disk", "nfs"])
def test_throttled_episodes_are_bands(prometheus, name):
    (expr,) = (
        one["expr"] for one in BOARDS[name]["annotations"]["list"] if one["name"] == "Throttled"
    )

    assert prometheus.query_range(ours.substituted(expr), WATCHED_SECONDS)


def test_rules_were_evaluated_without_an_error(prometheus):
    rules = prometheus.rules()

    assert len(rules) == len(ours.RULES)
    assert {rule["health"] for rule in rules} == {"ok"}


@pytest.mark.parametrize(
    "name", sorted({name for rule in ours.RULES for name in ours.names_in(rule.expr)})
)
def test_what_a_rule_reads_exists(prometheus, name):
    assert prometheus.query(f"count_over_time({name}[5m])")


def test_nothing_was_complained_of(prometheus):
    assert prometheus.log.read_text() == ""


# A week of history is what pint wants to see; this Prometheus has a minute.
PINT = """
prometheus "live" {{
  uri = "{url}"
}}
check "promql/series" {{
  lookbackRange = "5m"
  lookbackStep  = "5s"
}}
"""


def test_pint_finds_nothing(prometheus, tmp_path):
    config = tmp_path / "pint.hcl"
    config.write_text(pint_peer.CONFIG.read_text() + PINT.format(url=prometheus.url))
    done = pint_peer.lint(config)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "online=true" in done.stderr, done.stderr
