"""Configuration: what is accepted, and that everything wrong is said at once."""

import argparse
import os
import re
import threading
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioplateau.config import ConfigurationError, Settings, add_flags, load, loading
from ioplateau.config.flags import CONFIG_FILE, FLAGS
from ioplateau.config.loading import read_tree, settings_from
from ioplateau.config.table import TABLE
from ioplateau.limits.budgets import Direction
from ioplateau.limits.claims import ConfiguredLimit, DiskFact, VmFact, VolumeFact
from waiting import wait_until

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = DOCS / "ioplateau.example.toml"
PACKAGED = DOCS.parent / "deploy/packages/ioplateau.toml"


def options(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_flags(parser)
    return parser.parse_args(arguments)


def settings(toml: str = "", *arguments: str, **environ: str) -> Settings:
    return settings_from(tomllib.loads(toml), options(*arguments), environ, file="/etc/io.toml")


def problems(toml: str = "", *arguments: str, **environ: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        settings(toml, *arguments, **environ)
    return [message.removeprefix("/etc/io.toml: ") for message in caught.value.messages]


def uncommented() -> str:
    return without_marks(EXAMPLE)


def without_marks(file: Path) -> str:
    return re.sub(r"(?m)^#(?=[a-z_\[])", "", file.read_text())


def keys_of(tree: dict) -> set[str]:
    return {
        f"{section}.{key}"
        for section, found in tree.items()
        for entry in (found if isinstance(found, list) else [found])
        for key in entry
    }


# The example and the documentation.


def test_the_example_as_it_is_changes_no_default():
    assert settings(EXAMPLE.read_text()) == settings()


def test_the_configuration_of_a_package_changes_none_either_and_what_it_shows_is_accepted():
    assert settings(PACKAGED.read_text()) == settings()
    assert len(settings(without_marks(PACKAGED)).limits) == 1


def test_the_example_with_every_mark_taken_away_is_accepted():
    made = settings(uncommented())

    assert len(made.limits) == 6
    assert made.vm is not None


def test_the_example_has_every_key_and_no_other():
    known = {f"{name}.{key}" for name, section in TABLE.items() for key in section.keys}

    assert keys_of(tomllib.loads(uncommented())) == known


def test_the_example_says_the_true_defaults():
    plain = [name for name, section in TABLE.items() if not section.is_repeated and name != "vm"]
    tree = tomllib.loads(uncommented())
    invented = {
        ("web", "config_file"),
        ("path", "procfs"),
        ("path", "sysfs"),
        ("state", "directory"),
        ("cloud", "volumes_file"),
        ("cloud", "ec2_endpoint"),
        ("limits", "catalogue"),
    }
    for section, key in invented:
        del tree[section][key]
    made = settings_from({name: tree[name] for name in plain}, options(), {}, file="/etc/io.toml")

    assert made == settings()


def test_the_documentation_names_every_flag_and_variable():
    text = (DOCS / "configuration.md").read_text()
    missing = [
        name
        for flag in (CONFIG_FILE, *FLAGS)
        for name in (f"`--{flag.name}", flag.variable)
        if name not in text
    ]

    assert missing == []


# What is accepted.


def test_nothing_said_is_all_defaults():
    made = load(options(), {})

    assert made == Settings()
    assert made.web.listen_addresses == (":10049",)
    assert (made.sampling.interval_seconds, made.sampling.rate_window_seconds) == (1.0, 15.0)
    assert made.cloud.enabled


def test_a_rate_window_nobody_said_has_room_for_two_readings():
    windows = [
        load(options("--sampling.interval", interval), {}).sampling.rate_window_seconds
        for interval in ("1", "7.5", "10")
    ]

    assert windows == [15.0, 15.0, 20.0]


def test_a_limit_keeps_what_was_said_and_where():
    made = settings("""
        [[limit]]
        disk = "nvme*n1"
        iops = 5000
        bytes_per_second = 200_000_000
        burst_iops = 30_000
        burst_seconds = 1800
        [[limit]]
        mount = "/mnt/data"
        bytes_per_second = 134_217_728
        direction = "read"
    """)

    assert made.limits == (
        ConfiguredLimit(
            disk="nvme*n1",
            iops=5000.0,
            bytes_per_second=2e8,
            burst_iops=30000.0,
            burst_seconds=1800.0,
            source="io.toml limit[0]",
        ),
        ConfiguredLimit(
            mount="/mnt/data",
            bytes_per_second=134217728.0,
            direction=Direction.READ,
            source="io.toml limit[1]",
        ),
    )


def test_facts_about_machine_disks_and_volumes_arrive():
    made = settings("""
        vm = { size = "Standard_D8s_v5", controller = "NVMe" }
        disk = [{ lun = 0, sku = "Premium_LRS", caching = "ReadOnly" }]
        volume = [{ mount = "/a", service_level = "Ultra", quota_gib = 1024 }]
    """)

    assert made.vm == VmFact("Standard_D8s_v5", "NVMe", "io.toml vm")
    assert made.disks == (
        DiskFact(lun=0, sku="Premium_LRS", caching="ReadOnly", source="io.toml disk[0]"),
    )
    assert made.volumes == (
        VolumeFact(mount="/a", service_level="Ultra", quota_gib=1024.0, source="io.toml volume[0]"),
    )


def test_a_flag_beats_the_environment_which_beats_the_file():
    toml = '[sampling]\ninterval_seconds = 2\n[log]\nlevel = "debug"\n[path]\nrootfs = "/a"'
    made = settings(
        toml,
        "--sampling.interval=4",
        IOPLATEAU_SAMPLING_INTERVAL="3",
        IOPLATEAU_LOG_LEVEL="error",
    )

    assert made.sampling.interval_seconds == 4.0
    assert made.log.level == "error"
    assert made.paths.rootfs == "/a"


def test_addresses_come_one_a_flag_and_with_commas_from_the_environment():
    addresses = (":1", "[::1]:2")

    flags = settings("", "--web.listen-address=:1", "--web.listen-address", "[::1]:2")
    variable = settings("", IOPLATEAU_WEB_LISTEN_ADDRESS=":1, [::1]:2")

    assert flags.web.listen_addresses == variable.web.listen_addresses == addresses


@pytest.mark.parametrize(
    ("arguments", "environ", "cloud"),
    [
        (["--no-cloud"], {}, False),
        ([], {"IOPLATEAU_NO_CLOUD": "yes"}, False),
        ([], {"IOPLATEAU_NO_CLOUD": "0"}, True),
        ([], {"IOPLATEAU_NO_CLOUD": ""}, True),
    ],
)
def test_the_cloud_is_asked_unless_somebody_says_no(arguments, environ, cloud):
    assert settings("", *arguments, **environ).cloud.enabled is cloud


def test_every_flag_reaches_a_setting():
    said = {
        "web.listen-address": "[::1]:9",
        "web.telemetry-path": "/m",
        "web.config.file": "/w.yml",
        "path.procfs": "/h/proc",
        "path.sysfs": "/h/sys",
        "path.rootfs": "/h",
        "log.level": "warn",
        "log.format": "json",
        "sampling.interval": "0.25",
        "state.directory": "/s",
    }
    made = settings("", *(f"--{name}={value}" for name, value in said.items()), "--no-cloud")

    assert {flag.name for flag in FLAGS} == {*said, "no-cloud", "web.systemd-socket"}
    assert made.web.listen_addresses == ("[::1]:9",)
    assert (made.web.telemetry_path, made.web.config_file) == ("/m", "/w.yml")
    assert (made.paths.procfs, made.paths.sysfs, made.paths.rootfs) == ("/h/proc", "/h/sys", "/h")
    assert (made.log.level, made.log.format) == ("warn", "json")
    assert made.sampling.interval_seconds == 0.25
    assert (made.state_directory, made.cloud.enabled) == ("/s", False)


def test_a_path_of_a_flag_or_variable_may_begin_at_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flag = settings("", "--web.config.file=tls/w.yml").web
    variable = settings("", IOPLATEAU_WEB_CONFIG_FILE="../w.yml").web

    assert flag.config_file == f"{tmp_path}/tls/w.yml"
    assert variable.config_file == f"{tmp_path}/../w.yml"


@pytest.mark.parametrize("said", ["", "tls\n.yml"])
def test_a_path_that_is_none_is_refused_though_it_is_a_flags(said):
    (problem,) = problems("", f"--web.config.file={said}")

    assert problem.endswith(
        ", want an absolute path, or one from a working directory that is there"
    )


def test_a_path_in_a_file_begins_at_the_root():
    (problem,) = problems('web.config_file = "tls/w.yml"')

    assert problem == 'web.config_file: found "tls/w.yml", want an absolute path'


def test_from_a_working_directory_that_is_gone_only_absolute_paths_lead_somewhere(
    tmp_path, monkeypatch
):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert settings("", "--web.config.file=/w.yml").web.config_file == "/w.yml"
    assert problems("", "--web.config.file=w.yml") == [
        '--web.config.file: found "w.yml", want an absolute path, or one from a working directory that is there'
    ]


def test_systemds_sockets_take_the_place_of_addresses_and_refuse_others_beside_them():
    assert settings("", "--web.systemd-socket").web.systemd_socket
    assert settings("[web]\nsystemd_socket = true").web.systemd_socket
    assert not settings("").web.systemd_socket
    with pytest.raises(ConfigurationError, match=r"127\.0\.0\.1:9, but systemd opens the sockets"):
        settings("[web]\nlisten_addresses = ['127.0.0.1:9']", "--web.systemd-socket")


def test_systemd_tells_the_state_directory_where_nobody_else_does():
    environ = {"STATE_DIRECTORY": "/var/lib/private/ioplateau:/var/lib/other"}

    assert settings("", **environ).state_directory == "/var/lib/private/ioplateau"
    assert settings("[state]\ndirectory = '/a'", **environ).state_directory == "/a"


def test_what_kubernetes_puts_into_the_environment_is_not_ours():
    environ = {"IOPLATEAU_PORT": "tcp://10.0.0.1:10049", "IOPLATEAU_SERVICE_HOST": "10.0.0.1"}

    assert settings("", **environ) == settings()


@pytest.mark.parametrize(
    ("name", "is_hidden"),
    [
        ("sda", False),
        ("loop0", False),
        ("dm-0", False),
        ("ram0", True),
        ("zram0", True),
        ("fd0", True),
        ("sr0", True),
    ],
)
def test_by_default_what_is_no_storage_is_left_out(name, is_hidden):
    assert settings().devices.is_hidden(name) is is_hidden


def test_a_device_is_left_out_by_what_people_type_too():
    assert settings('[device]\nexclude = ["/dev/loop*"]\n').devices.is_hidden("loop0")


def test_an_included_device_is_followed_though_excluded():
    devices = settings('[device]\nexclude = ["*"]\ninclude = ["sd[bc]"]').devices

    assert [name for name in ("sda", "sdb", "sdc") if not devices.is_hidden(name)] == [
        "sdb",
        "sdc",
    ]


# What is refused, and how it is said.


def test_everything_wrong_is_said_at_once_in_file_environment_and_flags():
    found = problems(
        """
        lmit = 3
        [web]
        telemetry_path = "metrics"
        [sampling]
        interval = 1
        [[limit]]
        disk = "sda"
        iops = -5
        [[limit]]
        disk = "sda"
        lun = 3
        iops = "many"
        iosp = 5000
        """,
        "--log.level=loud",
        IOPLATEAU_SAMPLING_INTERVAL="often",
    )

    assert found == [
        'lmit: unknown key (found 3); did you mean "limit"?',
        'web.telemetry_path: found "metrics", want a path like "/metrics"',
        'sampling.interval: unknown key (found 1); did you mean "interval_seconds"?',
        "limit[0].iops: found -5, want a number above 0 and at most 1e15 (operations a second)",
        'limit[1].iops: found "many", want a number above 0 and at most 1e15 (operations a second)',
        'limit[1].iosp: unknown key (found 5000); did you mean "iops"?',
        "limit[1]: 2 selectors (disk, lun), want only one",
        '--log.level: found "loud", want one of "debug", "info", "warning", "warn", "error"',
        'IOPLATEAU_SAMPLING_INTERVAL: found "often", want a number from 0.1 to 10 (seconds)',
    ]


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        (
            'limit = [{ disk = "sda", mbps = 100 }]',
            'limit[0].mbps: unknown key (found 100); did you mean "bytes_per_second"?',
        ),
        ('disk = [{ disk = "sda", type = "gp3" }]', 'did you mean "sku"?'),
        ('volume = [{ mount = "/a", level = "Ultra" }]', 'did you mean "service_level"?'),
        (
            'limit = [{ disk = "/dev/disk/by-id/x", iops = 1 }]',
            'found "/dev/disk/by-id/x", want a name or shell pattern of a device',
        ),
        ("sampling.interval_seconds = 0", "sampling.interval_seconds: found 0, want a number from"),
        ("sampling.interval_seconds = 11", "found 11, want a number from 0.1 to 10 (seconds)"),
        ("sampling.interval_seconds = nan", "found nan"),
        ("sampling.interval_seconds = true", "found true, want a number"),
        ("sampling.interval_seconds = 1979-05-27", "found 1979-05-27, want a number"),
        ("sampling.rate_window_seconds = 1", "want at least twice the interval of 1"),
        ("web.connections = 64.5", "found 64.5, want a whole number from 16 to 1024"),
        ("web.listen_addresses = []", "found a list of 0, want a list, not empty,"),
        ('web.listen_addresses = "10049"', 'found "10049", want a list'),
        ('web.listen_addresses = ["10049"]', "want a list, not empty, of: an address like"),
        (
            'web.listen_addresses = ["[127.0.0.1]:9831", "127.0.0.1:9831"]',
            "web.listen_addresses: found 127.0.0.1:9831 twice, want each address once",
        ),
        ('web.telemetry_path = "/-/healthy"', 'found "/-/healthy", want a path like "/metrics"'),
        ('web.telemetry_path = "/"', 'found "/", want a path'),
        ('web.telemetry_path = "//x"', 'found "//x", want a path like "/metrics"'),
        ('web.telemetry_path = "/a/../b"', 'found "/a/../b", want a path like "/metrics"'),
        ('web.telemetry_path = "/a/."', 'found "/a/.", want a path like "/metrics"'),
        ('web.telemetry_path = "/.."', 'found "/..", want a path like "/metrics"'),
        ("web = 3", "web: found 3, want a table, [web]"),
        ("limits = [3]", "found a list of 1, want a table, [limits]; did you mean [[limit]]?"),
        ("web = [3]", "web: found a list of 1, want a table, [web]"),
        (
            'limit = [{ disk = "a", iops = 1e30 }]',
            "found 1e+30, want a number above 0 and at most 1e15",
        ),
        ("limit = { iops = 3 }", "limit: found a table of 1, want [[limit]] with two brackets"),
        ("limit = [3]", "limit[0]: found 3, want a table of keys"),
        ('cloud.enabled = "no"', 'cloud.enabled: found "no", want true or false'),
        ("interval_seconds = 1", 'did you mean "sampling.interval_seconds"?'),
        ("web.level = 'info'", 'did you mean "log.level"?'),
        ("nfs.xyzzy = 1", "known here: per_connection, ports"),
        ('"a\\nb" = 1', r'"a\nb": unknown key'),
        ("nfs.ports = [0]", "nfs.ports: found a list of 1, want a list"),
        ('state.directory = "var"', "want an absolute path"),
        ('vm.controller = "SCSI"', "vm: a controller alone says nothing"),
        ('limit = [{ disk = "a" }]', "limit[0]: no limit, want iops or bytes_per_second"),
        ("limit = [{ iops = 1 }]", "limit[0]: no selector, want one of disk, lun"),
        ('limit = [{ vm = "all", iops = 1 }]', 'found "all", want one of "uncached", "cached"'),
        ("limit = [{ lun = -1, iops = 1 }]", "limit[0].lun: found -1, want a whole number"),
        ('limit = [{ disk = "", iops = 1 }]', 'limit[0].disk: found "", want a name'),
        ('limit = [{ disk = "/dev/", iops = 1 }]', 'limit[0].disk: found "/dev/", want a name'),
        (
            'device.exclude = ["/dev/mapper/a"]',
            "want a list of: a name or shell pattern of a device",
        ),
        ('limit = [{ disk = "a", iops = inf }]', "limit[0].iops: found inf"),
        ('limit = [{ disk = "a", iops = 1, direction = "up" }]', "limit[0].direction: found"),
        (
            'limit = [{ disk = "a", iops = 5000, burst_iops = 3000 }]',
            "limit[0]: burst_iops is 3000, want more than iops, which is 5000",
        ),
        (
            'limit = [{ disk = "a", iops = 1, burst_bytes_per_second = 5 }]',
            "burst_bytes_per_second without bytes_per_second",
        ),
        ('limit = [{ disk = "a", iops = 1, burst_seconds = 5 }]', "without a burst"),
        (
            'limit = [{ disk = "a", iops = 1 }, { disk = "a", iops = 2 }]',
            "limit[1].iops: found 2 for disk a, but limit[0] says 1; want one of them",
        ),
        ('disk = [{ disk = "a" }]', "disk[0]: nothing is said of the disk"),
        ('volume = [{ mount = "/a", quota_gib = 1 }]', "quota_gib without service_level"),
        (
            'volume = [{ mount = "/a", quota_gib = 1, service_level = "Gold" }]',
            'service_level is "Gold", want one of Standard, Premium, Ultra, Flexible',
        ),
        ('volume = [{ mount = "/a" }]', "volume[0]: nothing to compute a limit from"),
    ],
)
def test_each_mistake_is_said_with_path_value_and_what_is_wanted(toml, said):
    found = problems(toml)

    assert any(said in problem for problem in found), found


def test_one_mistake_is_one_message():
    assert len(problems('limit = [{ disk = "a", iops = -1 }]')) == 1
    assert len(problems('limit = [{ vm = "all", iops = 1 }]')) == 1
    assert len(problems('limit = [{ disk = "a", iops = 5, burst_iops = "x" }]')) == 1


@pytest.mark.parametrize(
    "toml",
    [
        'limit = [{ disk = "a", iops = 1 }, { disk = "a", bytes_per_second = 2 }]',
        'limit = [{ disk = "a", iops = 1 }, { disk = "a", iops = 2, direction = "read" }]',
        'limit = [{ disk = "a", iops = 1 }, { disk = "a", iops = 1 }]',
        'limit = [{ disk = "*", iops = 1 }, { disk = "a", iops = 2 }]',
    ],
)
def test_limits_that_complete_or_refine_each_other_do_not_contradict(toml):
    assert len(settings(toml).limits) == 2


def test_a_wrong_line_is_wrong_also_where_a_flag_overrides_it():
    assert problems("[sampling]\ninterval_seconds = 99", "--sampling.interval=1") == [
        "sampling.interval_seconds: found 99, want a number from 0.1 to 10 (seconds)"
    ]


@pytest.mark.parametrize(
    ("flag", "variable", "words"),
    [
        ("--log.level=info", "IOPLATEAU_LOG_LEVEL", "loud"),
        ("--sampling.interval=1", "IOPLATEAU_SAMPLING_INTERVAL", "99"),
        ("--no-cloud", "IOPLATEAU_NO_CLOUD", "banana"),
    ],
)
def test_a_wrong_variable_is_wrong_also_where_a_flag_overrides_it(flag, variable, words):
    (problem,) = problems("", flag, **{variable: words})

    assert problem.startswith(f"{variable}: found ")


def test_a_long_value_is_shown_shortened():
    (problem,) = problems(f'log.level = "{"x" * 5000}"')

    assert len(problem) < 200


def test_a_number_too_long_to_print_is_refused_like_any_other():
    (problem,) = problems(f"[web]\nconnections = 0x{'f' * 5000}")

    assert "thousands of digits" in problem


# The file itself.


def from_file(path: Path) -> tuple[str, ...]:
    with pytest.raises(ConfigurationError) as caught:
        load(options(f"--config.file={path}"), {})
    return caught.value.messages


def test_the_file_is_named_by_flag_or_environment(tmp_path):
    file = tmp_path / "io.toml"
    file.write_text('[log]\nlevel = "debug"\n')

    for made in (
        load(options(f"--config.file={file}"), {}),
        load(options(), {"IOPLATEAU_CONFIG_FILE": str(file)}),
    ):
        assert made.log.level == "debug"


def test_of_two_files_that_are_named_only_the_one_in_force_is_read(tmp_path):
    file = tmp_path / "io.toml"
    file.write_text('[log]\nlevel = "debug"\n')
    made = load(options(f"--config.file={file}"), {"IOPLATEAU_CONFIG_FILE": "/nonexistent"})

    assert made.log.level == "debug"


@pytest.mark.parametrize("flags", [["--config.file="], []])
def test_an_empty_name_is_no_file(flags):
    environ = {"IOPLATEAU_CONFIG_FILE": "/nonexistent" if flags else ""}

    assert load(options(*flags), environ) == Settings()


def test_a_message_begins_with_the_file(tmp_path):
    file = tmp_path / "io.toml"
    file.write_text("a = 1\n")

    assert from_file(file)[0].startswith(f"{file}: a: unknown key (found 1)")


def test_a_missing_file_is_an_error(tmp_path):
    assert from_file(tmp_path / "no.toml") == (
        f"{tmp_path}/no.toml: cannot be read: No such file or directory",
    )


def test_a_configuration_may_come_through_a_pipe_and_be_empty():
    read, write = os.pipe()
    os.write(write, b"[state]\nnothing = 1\n")
    os.close(write)

    assert "nothing" in from_file(Path(f"/dev/fd/{read}"))[0]
    os.close(read)
    assert load(options("--config.file=/dev/null"), {}) == load(options(), {})


@pytest.mark.parametrize("seconds", [0.01, 60.0])
def test_a_configuration_that_does_not_come_is_told_to_be_waited_for(capsys, monkeypatch, seconds):
    monkeypatch.setattr(loading, "SILENT_SECONDS", seconds)
    read, write = os.pipe()
    file, late = f"/dev/fd/{read}", seconds < 1
    reading = threading.Thread(target=load, args=(options(f"--config.file={file}"), {}))
    reading.start()
    told = wait_until(lambda: capsys.readouterr().err) if late else ""
    os.close(write)
    reading.join()
    os.close(read)

    words = f"ioplateau: waiting for {file}, to which nobody has written yet\n"
    assert told + capsys.readouterr().err == (words if late else "")


@pytest.mark.parametrize("is_named", [True, False])
def test_a_pipe_is_not_read_again(tmp_path, is_named):
    read, write = os.pipe()
    os.close(write)
    file = tmp_path / "pipe" if is_named else Path(f"/dev/fd/{read}")
    if is_named:
        os.mkfifo(file)
    with pytest.raises(ConfigurationError) as caught:
        load(options(f"--config.file={file}"), {}, again=True)
    os.close(read)

    assert caught.value.messages == (f"{file}: cannot be read: no regular file",)


def test_a_directory_is_an_error(tmp_path):
    assert from_file(tmp_path) == (f"{tmp_path}: cannot be read: Is a directory",)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[web]\nlisten_addresses = [\n", "is not TOML: .*at end of document"),
        (b"[log]\nlevel = debug\n", r"is not TOML: .*\(at line 2, column 9\)"),
        (b"[log]\n[log]\n", r"is not TOML: .*\(at line 2"),
        (b"# ok\n# \xff\n", r"is not UTF-8 \(at line 2\)"),
        (b"\x00\x01", r"is not TOML: .*\(at line 1"),
        (b"a = " + b"[" * 100_000, "nested too deeply"),
        (b"a = " + b"9" * 5000, r"is not TOML: a number of more than 4300 digits\Z"),
        (b"a = 1\n" + b"a." * 257 + b"a = 1", r"more than 256 dots \(at line 2\)"),
        (b"#" * (1 << 21), "more than 1,048,576 bytes"),
    ],
)
def test_what_is_no_toml_is_said_with_its_place(tmp_path, content, said):
    file = tmp_path / "io.toml"
    file.write_bytes(content)
    (message,) = from_file(file)

    assert re.search(said, message)


def test_flags_are_checked_even_when_the_file_is_broken(tmp_path):
    file = tmp_path / "io.toml"
    file.write_text("[")
    with pytest.raises(ConfigurationError) as caught:
        load(options(f"--config.file={file}", "--sampling.interval=0"), {})

    assert len(caught.value.messages) == 2


# Whatever tree TOML can spell.

SECTIONS = sorted(TABLE)
KEYS = sorted({key for section in TABLE.values() for key in section.keys})
SCALARS = (
    st.none().map(lambda _: [])
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.dates()
    | st.sampled_from(["sda", "uncached", "/mnt", "read", "Premium", ":10049", "/metrics"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=6), inner, max_size=6)
    ),
    max_leaves=12,
)
TABLES = st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=6), VALUES, max_size=6)
TREES = st.dictionaries(
    st.sampled_from(SECTIONS) | st.text(max_size=6),
    VALUES | TABLES | st.lists(TABLES, max_size=3),
    max_size=8,
)


def messages(tree: dict, environ: dict[str, str]) -> tuple[str, ...]:
    try:
        made = settings_from(tree, options(), environ)
    except ConfigurationError as error:
        return error.messages or ("an error without a message\n",)
    return () if isinstance(made, Settings) else ("neither error nor settings\n",)


@given(TREES)
def test_nonsense_is_accepted_or_refused_in_whole_lines_and_never_crashes(tree):
    assert not [message for message in messages(tree, {}) if "\n" in message]


@given(st.sampled_from([flag for flag in FLAGS if not flag.is_repeated]), st.text(max_size=20))
def test_nonsense_in_the_environment_is_refused_with_the_name_of_its_variable(flag, words):
    said = messages({}, {flag.variable: words})

    assert all(re.match(rf"{flag.variable}: found .*, want ", message) for message in said[:1])


@pytest.mark.parametrize("name", ["sdc", "/dev/sdc", "/dev/mapper/sdc"])
def test_a_disk_may_be_named_as_people_type_it(name):
    found = settings(f'limit = [{{ disk = "{name}", iops = 1 }}]')

    assert found.limits[0].disk == "sdc"


def test_a_byte_order_mark_before_a_configuration_is_none_of_it(tmp_path):
    file = tmp_path / "ioplateau.toml"
    file.write_bytes(b'\xef\xbb\xbf[log]\nlevel = "debug"\n')

    assert read_tree(str(file)) == {"log": {"level": "debug"}}


def test_of_port_0_each_address_gets_another_so_that_it_may_stand_twice():
    found = settings('web.listen_addresses = ["127.0.0.1:0", "127.0.0.1:0"]')

    assert found.web.listen_addresses == ("127.0.0.1:0", "127.0.0.1:0")
