"""The Ansible role without a machine; tests/live/test_ansible.py runs it."""

import re
from typing import Any

import pytest
import yaml

from built_packages import PROJECT

ROLE = PROJECT / "deploy/ansible/roles/ioplateau"


def read(name: str) -> Any:
    return yaml.safe_load((ROLE / name).read_text())


def tasks() -> dict[str, Any]:
    return {task["name"]: task for task in read("tasks/main.yml")}


def test_a_configuration_is_tried_with_what_the_service_starts_with():
    unit = (PROJECT / "deploy/systemd/ioplateau.service").read_text()
    (start,) = re.findall(r"^ExecStart=(.*) --config\.file=\S+ \$ARGS$", unit, re.MULTILINE)
    program, command, *flags = start.split()
    tried = read("vars/main.yml")["ioplateau_check"]

    assert tried.startswith(" ".join((program, command, "--check", *flags)))
    assert tried.endswith("{{ ioplateau_flags }}")
    assert (
        "IOPLATEAU_WEB_CONFIG_FILE=/etc/ioplateau/web-config.yml"
        in (PROJECT / "deploy/systemd/tls.conf").read_text()
    )
    assert '"--web.config.file=/etc/ioplateau/web-config.yml" if ioplateau_web_files' in tried
    assert tasks()["Configuration"]["ansible.builtin.copy"]["validate"] == (
        "{{ ioplateau_check }} --config.file=%s"
    )


@pytest.mark.parametrize("name", ["tasks/main.yml", "tasks/web.yml", "tasks/dropins.yml"])
def test_every_file_that_the_service_reads_restarts_it(name):
    writes = [
        task
        for task in read(name)
        if {"ansible.builtin.copy", "ansible.builtin.template"} & task.keys()
    ]

    assert writes
    assert {task.get("notify") for task in writes} == {"Restart ioplateau"}


def test_a_run_that_shows_differences_shows_no_key():
    _, copied = read("tasks/web.yml")

    assert copied["ansible.builtin.copy"]["mode"] == "0640"
    assert copied["diff"] is False


def test_it_ends_once_the_service_runs():
    *_, before, last = tasks().values()

    assert before["ansible.builtin.meta"] == "flush_handlers"
    assert last["ansible.builtin.command"]["argv"] == ["systemctl", "is-active", "ioplateau"]
    assert last["until"] == "ioplateau_active.rc == 0"


def test_where_the_package_s_file_lies_is_known_without_copying_it():
    (_, from_a_file) = read("tasks/package.yml")
    *_, copied, installed = from_a_file["block"]

    assert read("vars/main.yml")["ioplateau_file"].startswith("/var/cache/ioplateau/")
    assert copied["ansible.builtin.copy"]["dest"] == "{{ ioplateau_file }}"
    assert all("{{ ioplateau_file }}" in str(task) for task in installed["block"])
    assert copied["register"] not in str(installed["block"])


# What it writes, by who must read it: the daemon is nobody's account.
MODES = {
    "/etc/default/ioplateau": "0644",
    "/etc/ioplateau/ioplateau.toml": "0644",
    "/etc/ioplateau/{{ item.key }}": "0640",
    "/etc/systemd/system/{{ item }}.d": "0755",
    "/etc/systemd/system/ioplateau.service.d/{{ item }}": "0644",
    "/etc/systemd/system/ioplateau.socket.d/listen.conf": "0644",
    "{{ ioplateau_file | dirname }}": "0755",
    "{{ ioplateau_file }}": "0644",
}


def every_task(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    inner = [each for task in tasks for each in every_task(task.get("block", []))]
    return [*tasks, *inner]


def test_every_file_it_writes_has_its_place_and_its_permissions():
    names = [f"tasks/{file.name}" for file in (ROLE / "tasks").glob("*.yml")]
    done = [
        task[module]
        for name in names
        for task in every_task(read(name))
        for module in ("ansible.builtin.copy", "ansible.builtin.template", "ansible.builtin.file")
        if module in task and task[module].get("state") != "absent"
    ]

    assert {each.get("dest") or each["path"]: each["mode"] for each in done} == MODES


def test_the_drop_ins_are_taken_from_where_the_package_lays_them():
    _, drop_ins, *_ = read("tasks/dropins.yml")
    copied = drop_ins["ansible.builtin.copy"]
    package = yaml.safe_load((PROJECT / "deploy/packages/nfpm.yaml").read_text())
    places = {each["dst"] for each in package["contents"]}
    wanted = re.findall(r"[a-z]+\.conf", read("vars/main.yml")["ioplateau_wanted"])

    assert copied["remote_src"]
    assert copied["src"].removesuffix("/{{ item }}") in places
    assert wanted
    assert all((PROJECT / "deploy/systemd" / name).exists() for name in wanted)
