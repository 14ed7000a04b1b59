"""The exposition: right to the byte, valid whatever the labels hold, rendered once."""

import gzip
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.parser import text_string_to_metric_families

import states
from exposition_peer import StateCollector
from ioplateau.engine import Engine
from ioplateau.limits.budgets import BudgetKey, Dimension, FlowKey, Kind
from ioplateau.run import recording
from ioplateau.tell import prometheus
from ioplateau.tell.rows import Scene

MACHINES = Path(__file__).parents[1] / "machines"
pytestmark = pytest.mark.usefixtures("twin")
PROMETHEUS_ACCEPTS = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "text/plain;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.1"
)


def samples(body: bytes) -> list[str]:
    return [line for line in body.decode().split("\n") if line and not line.startswith("#")]


def series(state, **options) -> list[str]:
    return [line.rsplit(" ", 1)[0] for line in samples(prometheus.render(state, **options))]


def scene_of(state, itself=None):
    return lambda: Scene(state, itself, per_connection=True)


def everything():
    """A state in which every table has something to tell."""
    before = states.mount(
        operations={"READ": states.operation(operations=1)}, bytes=(0,) * 8, age_seconds=3590
    )
    return states.state(
        **{
            part: getattr(states.full(), part)
            for part in ("budgets", "flow_throttled_seconds", "machine", "sources")
        },
        disks={"sda": states.disk(before={"reads": 0, "read_milliseconds": 0}, discards=7)},
        mounts={"/mnt/a": states.nfs_mount("/mnt/a", before=before)},
        clients={states.CLIENT: states.nfs_client(before=(states.connection(sends=500),) * 2)},
        interfaces={"eth0": states.interface(before=states.interface().now)},
    )


def test_a_disk_is_told_in_base_units():
    body = prometheus.render(states.state(disks={"sda": states.disk()}))

    assert body.decode().startswith(
        "# HELP ioplateau_disk_operations_total Requests the disk completed, after merging and"
        " splitting. A cloud may count a large one as several operations, and none that a host's cache answers:"
        " budget_utilization_ratio is of what counts.\n"
        "# TYPE ioplateau_disk_operations_total counter\n"
        'ioplateau_disk_operations_total{device="sda",operation="read"} 1000.0\n'
        'ioplateau_disk_operations_total{device="sda",operation="write"} 500.0\n'
        'ioplateau_disk_operations_total{device="sda",operation="flush"} 2.0\n'
    )
    assert 'ioplateau_disk_bytes_total{device="sda",operation="read"} 4.096e+06' in samples(body)
    assert 'ioplateau_disk_busy_seconds_total{device="sda"} 60.0' in samples(body)


def test_gauges_are_means_over_the_rate_window():
    disk = states.disk(before={"reads": 500, "read_milliseconds": 1000})

    lines = samples(prometheus.render(states.state(disks={"sda": disk})))

    # 500 reads in 10 s, 4000 ms altogether.
    read = '{device="sda",operation="read"}'
    assert f"ioplateau_disk_operations_per_second{read} 50.0" in lines
    assert f"ioplateau_disk_await_seconds{read} 0.008" in lines


def test_what_is_not_known_has_no_sample():
    names = "\n".join(series(states.state(disks={"sda": states.disk()})))

    assert "per_second" not in names
    assert "await" not in names
    assert "None" not in names
    assert "pressure" not in names


def test_an_empty_state_tells_only_of_sampling():
    assert series(states.state()) == [
        "ioplateau_ticks_total",
        "ioplateau_last_tick_timestamp_seconds",
        "ioplateau_sampling_interval_seconds",
    ]


@pytest.mark.parametrize("openmetrics_wanted", [False, True])
def test_every_byte_is_what_the_library_would_have_written(openmetrics_wanted):
    state, itself = everything(), states.self_stats()

    ours = prometheus.render(state, itself, openmetrics=openmetrics_wanted, per_connection=True)

    collector = StateCollector(scene_of(state, itself))
    library = generate_openmetrics if openmetrics_wanted else generate_latest
    assert ours == library(collector)


@given(name=st.text(), number=st.integers(0, 2**64))
def test_no_label_and_no_number_makes_a_difference_to_the_library(name, number):
    disk = states.disk(name, read_milliseconds=number % 2**32, reads=number)
    state = states.state(disks={name: disk})

    assert prometheus.render(state) == generate_latest(StateCollector(scene_of(state)))


def test_quotes_backslashes_and_newlines_in_a_path_survive_the_way_to_prometheus():
    path = '/mnt/"a\\b\nc d'

    body = prometheus.render(states.state(mounts={path: states.nfs_mount(path)}))

    found = {
        sample.labels["mount"]
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
        if "mount" in sample.labels
    }
    assert found == {path}


def test_paths_that_differ_in_a_byte_that_is_no_text_stay_two():
    paths = ["/mnt/\udcff", "/mnt/\udcfe"]

    body = prometheus.render(states.state(mounts={path: states.nfs_mount(path) for path in paths}))

    lines = samples(body)
    assert 'ioplateau_nfs_mount_age_seconds{mount="/mnt/\\\\xff"} 3600.0' in lines
    assert 'ioplateau_nfs_mount_age_seconds{mount="/mnt/\\\\xfe"} 3600.0' in lines


def test_two_flows_with_the_same_labels_do_not_break_the_exposition():
    twice = {"a": states.nfs_mount("/mnt/a"), "b": states.nfs_mount("/mnt/a", age_seconds=1)}

    found = series(states.state(mounts=twice))

    assert len(found) == len(set(found))
    assert 'ioplateau_nfs_mount_age_seconds{mount="/mnt/a"}' in found


def test_a_path_that_spells_another_ones_odd_byte_does_not_break_the_exposition():
    paths = ["/mnt/\udcff", "/mnt/\\xff"]

    found = series(states.state(mounts={path: states.nfs_mount(path) for path in paths}))

    assert len(found) == len(set(found))


def test_the_order_does_not_depend_on_the_order_of_the_state():
    names = ["sdb", "sda", "sdc"]
    one = states.state(disks={name: states.disk(name) for name in names})
    other = states.state(disks={name: states.disk(name) for name in reversed(names)})

    assert prometheus.render(one) == prometheus.render(other)


def test_openmetrics_parses_and_ends():
    body = prometheus.render(everything(), states.self_stats(), openmetrics=True).decode()

    families = {family.name: family for family in openmetrics.text_string_to_metric_families(body)}
    assert families["ioplateau_disk_bytes"].type == "counter"
    assert families["ioplateau_disk_bytes"].unit == "bytes"
    assert families["ioplateau_tick_seconds"].type == "histogram"
    assert body.endswith("# EOF\n")


def test_a_throttled_flow_names_the_budget_it_suffers_from():
    flow, budget = FlowKey("disk", "sda"), BudgetKey(Kind.VM_UNCACHED, "vm")

    lines = samples(
        prometheus.render(
            states.state(flow_throttled_seconds={(flow, budget, Dimension.IOPS): 3.5})
        )
    )

    assert (
        'ioplateau_flow_throttled_seconds_total{dimension="iops",flow="sda",flow_kind="disk",'
        'kind="vm_uncached",name="vm"} 3.5'
    ) in lines


def test_the_tick_histogram_is_cumulative_and_complete():
    lines = samples(prometheus.render(states.state(), states.self_stats()))

    assert 'ioplateau_tick_seconds_bucket{le="0.001"} 1.0' in lines
    assert 'ioplateau_tick_seconds_bucket{le="1.0"} 10.0' in lines
    assert 'ioplateau_tick_seconds_bucket{le="+Inf"} 11.0' in lines
    assert "ioplateau_tick_seconds_count 11.0" in lines
    assert "ioplateau_tick_seconds_sum 2.5" in lines


def test_process_metrics_have_the_names_every_client_uses():
    found = series(states.state(), self_stats=states.self_stats())

    assert "process_cpu_seconds_total" in found
    assert "process_resident_memory_bytes" in found
    assert "process_max_fds" not in found  # not known


def test_a_replay_does_not_tell_of_the_process():
    names = "\n".join(series(states.full()))

    assert "process_" not in names
    assert "build_info" not in names


def test_prometheus_gets_openmetrics():
    content_type, is_openmetrics = prometheus.negotiate(PROMETHEUS_ACCEPTS)

    assert is_openmetrics
    assert content_type.startswith("application/openmetrics-text; version=1.0.0")


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ('text/plain;version="0.0.4"', "text/plain; version=0.0.4; charset=utf-8"),
        ("text/plain;version=1.0.0rc1", "text/plain; version=0.0.4; charset=utf-8"),
        ("text/plain;version=abc", "text/plain; version=0.0.4; charset=utf-8"),
        ("application/openmetrics-text;version=abc", "text/plain; version=0.0.4; charset=utf-8"),
        (f"text/plain;version={'9' * 5000}", "text/plain; version=0.0.4; charset=utf-8"),
        ("text/plain;version=1.0.0;q=high", "text/plain; version=0.0.4; charset=utf-8"),
        (
            'application/openmetrics-text;version="1.0.0"',
            "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores",
        ),
    ],
)
def test_versions_in_quotes_and_versions_that_are_none_are_no_error(accept, content_type):
    assert prometheus.negotiate(accept)[0] == content_type


OPENMETRICS, PLAIN = "application/openmetrics-text", "text/plain"


@pytest.mark.parametrize(
    ("accept", "begins"),
    [
        (f"{OPENMETRICS};version=1.0.0;q=0, {PLAIN}", PLAIN),
        (f"{OPENMETRICS};q=0.5, {PLAIN};q=0.6", PLAIN),
        (f"{OPENMETRICS};q=0.1, */*;q=0.2", PLAIN),
        (f"{PLAIN};q=0.5, {OPENMETRICS};q=0.6", OPENMETRICS),
        (f"{PLAIN} ; q = 0.9, {OPENMETRICS}", OPENMETRICS),
        (f"{PLAIN};q=0, {OPENMETRICS};q=0.001", OPENMETRICS),
        (f"{PLAIN};q=0.3;version=0.0.4, {PLAIN};version=1.0.0", f"{PLAIN}; version=1.0.0"),
        (f"{OPENMETRICS};q=0", PLAIN),
    ],
)
def test_what_weighs_most_is_answered(accept, begins):
    assert prometheus.negotiate(accept)[0].startswith(begins)


@pytest.mark.parametrize("version", ["0.0.1", "1.0.1", "1.1.0", "2.0.0", "9.9.9"])
def test_only_versions_that_are_written_are_confirmed(version):
    alone = f"{OPENMETRICS};version={version}"

    assert prometheus.negotiate(alone) == ("text/plain; version=0.0.4; charset=utf-8", False)
    assert (
        "; version=1.0.0;" in prometheus.negotiate(f"{alone}, {OPENMETRICS};version=1.0.0;q=0.5")[0]
    )
    assert "; version=0.0.4;" in prometheus.negotiate(f"{PLAIN};version={version}")[0]


@pytest.mark.parametrize("escaping", ["underscores", "dots", "values", "allow-utf-8", "none"])
@pytest.mark.parametrize(
    ("name", "encode"), [(OPENMETRICS, generate_openmetrics), (PLAIN, generate_latest)]
)
def test_the_escaping_that_is_said_is_that_of_the_names(name, encode, escaping):
    content_type, is_openmetrics = prometheus.negotiate(f"{name};version=1.0.0;escaping={escaping}")
    said = content_type.partition("escaping=")[2]
    state = states.full()

    body = prometheus.render(state, openmetrics=is_openmetrics, per_connection=True)
    assert encode(StateCollector(scene_of(state)), said) == body


@given(
    st.lists(
        st.sampled_from(
            [*("text/plain", "application/openmetrics-text", ";", ",", "version", "=", '"', "1"),
             *(".", "0", "rc1", "q=0.5", " ", "escaping", "*/*", "-", "\u0663")]
        )
    ).map("".join)
)  # fmt: skip
def test_whatever_is_accepted_gets_one_of_our_formats(accept):
    content_type, is_openmetrics = prometheus.negotiate(accept)

    assert content_type.startswith(("text/plain; version=", "application/openmetrics-text; "))
    assert is_openmetrics == content_type.startswith("application")


@pytest.mark.parametrize("accept", ["", "*/*", "text/html", "nonsense;;,=;q", "text/plain"])
def test_everybody_else_gets_text(accept):
    assert prometheus.negotiate(accept) == ("text/plain; version=0.0.4; charset=utf-8", False)


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ("gzip", True),
        ("deflate, GZIP;q=1.0", True),
        ("gzip; q=0.5", True),
        ("gzip;q=0", False),
        ("gzip; q=0.0", False),
        ("gzip;q=0;x=1", False),
        ("", False),
        ("br", False),
    ],
)
def test_gzip_is_used_only_where_wanted(header, wanted):
    assert prometheus.wants_gzip(header) is wanted


def test_the_body_is_the_exposition_in_the_format_asked_for():
    state = states.full()

    answer = prometheus.Exposition().answer(state, PROMETHEUS_ACCEPTS, "gzip")

    assert answer.content_encoding == "gzip"
    assert gzip.decompress(answer.body) == prometheus.render(state, openmetrics=True)


def test_a_state_is_rendered_once_however_many_ask():
    asked = []

    def itself():
        asked.append(1)
        return states.self_stats(scrapes=len(asked))

    exposition, state = prometheus.Exposition(itself), states.full()
    first = exposition.answer(state)
    packed = exposition.answer(state, "", "gzip")
    second = exposition.answer(state)

    assert first.body is second.body
    assert gzip.decompress(packed.body) == first.body
    assert len(asked) == 1


def test_the_next_state_is_rendered_anew():
    exposition = prometheus.Exposition()
    exposition.answer(states.state(ticks=1))

    body = exposition.answer(states.state(ticks=2)).body

    assert "ioplateau_ticks_total 2.0" in samples(body)


def test_what_changed_and_what_went_is_told_so_after_many_renderings():
    exposition = prometheus.Exposition()
    gone = states.state(disks={"sda": states.disk("sda"), "sdb": states.disk("sdb")})
    exposition.answer(gone)
    exposition.answer(gone, PROMETHEUS_ACCEPTS)

    after = states.state(disks={"sda": states.disk("sda", reads=1001)})

    assert exposition.answer(after).body == prometheus.render(after)
    assert exposition.answer(gone).body == prometheus.render(gone)


@pytest.mark.parametrize("machine", ["nfs_two_mounts", "vm_group_d4s"])
def test_what_is_taken_over_from_the_last_scrape_is_what_would_be_told_anew(machine):
    _, snapshots = recording.read(MACHINES / machine / "recording.jsonl.gz")
    engine, exposition = Engine(), prometheus.Exposition()
    compared = 0
    for number, snapshot in enumerate(snapshots):
        state = engine.observe(snapshot)
        if number % 7 == 0:
            assert exposition.answer(state).body == prometheus.render(state)
            compared += 1

    assert compared > 10


def test_connections_are_told_one_by_one_only_on_request():
    state = states.full()
    named = 'ioplateau_nfs_connection_requests_total{connection="1"'

    brief = prometheus.Exposition().answer(state).body.decode()
    whole = prometheus.Exposition(per_connection=True).answer(state).body.decode()

    assert named not in brief
    assert named in whole


@pytest.mark.live
def test_promtool_accepts_the_exposition():
    body = prometheus.render(everything(), states.self_stats(), per_connection=True)

    done = subprocess.run(
        ["promtool", "check", "metrics"], input=body, capture_output=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
