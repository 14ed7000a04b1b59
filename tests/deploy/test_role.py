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
