"""Kubernetes manifests and the cloud-init snippet, against the schemas of those who read them.

Needs uv (validators come from PyPI, the operator's definitions as a Go module) and the Debian
package cloud-init.
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from built_packages import PROJECT

KUBERNETES = PROJECT / "deploy" / "kubernetes"
VALIDATOR = "kubernetes-validate==1.37.0"
OPERATOR = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
CHECK = "import json,sys,jsonschema; s,d=json.load(sys.stdin); jsonschema.validate(d,s)"


def run(*command: Any, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command], input=text, capture_output=True, text=True)


def rules() -> str:
    return run("python3", KUBERNETES / "rules.py").stdout


def daemon_set() -> dict[str, Any]:
    documents = yaml.safe_load_all((KUBERNETES / "daemonset.yaml").read_text())
    return next(each for each in documents if each["kind"] == "DaemonSet")


@pytest.mark.live
@pytest.mark.parametrize("version", ["1.30", "1.33"])
def test_kubernetes_takes_every_field_of_the_daemon_set(version):
    done = run(
        *("uvx", "--quiet", "--from", VALIDATOR, "kubernetes-validate", "-k", version, "--strict"),
        KUBERNETES / "daemonset.yaml",
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "daemonset/ioplateau" in done.stdout + done.stderr


@pytest.fixture(scope="module")
def definitions(tmp_path_factory) -> Path:
    done = run(PROJECT / "deploy/packages/go.sh", "mod", "download", "-json", OPERATOR)
    return Path(json.loads(done.stdout)["Dir"]) / "example" / "prometheus-operator-crd"


@pytest.mark.live
@pytest.mark.parametrize("kind", ["podmonitors", "prometheusrules"])
def test_the_operator_takes_every_field(definitions, kind):
    wanted = (KUBERNETES / "podmonitor.yaml").read_text() if kind == "podmonitors" else rules()
    done = _validated(definitions, kind, yaml.safe_load(wanted))
    misspelt = yaml.safe_load(wanted)
    misspelt["spec"]["podMetricsEndpoint"] = []
    refused = _validated(definitions, kind, misspelt)

    assert done.returncode == 0, done.stderr[-2000:]
    assert "podMetricsEndpoint" in refused.stderr


def _validated(definitions: Path, kind: str, document: Any) -> subprocess.CompletedProcess[str]:
    definition = yaml.safe_load((definitions / f"monitoring.coreos.com_{kind}.yaml").read_text())  # type: ignore[no-untyped-call]
    schema = _strict(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"type": "object"}
    schema.pop("additionalProperties")
    return run(
        *("uv", "run", "--quiet", "--no-project", "--with", "jsonschema==4.25.1"),
        *("python", "-c", CHECK),
        text=json.dumps([schema, document]),
    )


def _strict(schema: Any) -> Any:
    """The API server drops what it does not know; here that is an error."""
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _strict(value) for key, value in schema.items()}
    if isinstance(found.get("properties"), dict):
        found.setdefault("additionalProperties", False)
    if isinstance(found.get("pattern"), str):  # Go's spelling, and Python's
        found["pattern"] = found["pattern"].replace("^(?i)", "(?i)^")
    return found


# What the operator labels a target of a PodMonitor with, before our relabelings.
OPERATORS = {"namespace", "container", "pod", "job", "endpoint"}


def test_no_label_of_the_target_is_one_of_our_metrics():
    from ioplateau.tell.prometheus import TABLES

    monitor = yaml.safe_load((KUBERNETES / "podmonitor.yaml").read_text())
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    labels = set(OPERATORS)
    for step in endpoint["relabelings"]:
        if step.get("action") == "labeldrop":
            labels = {label for label in labels if not re.fullmatch(step["regex"], label)}
        else:
            labels.add(step["targetLabel"])

    assert "instance" in labels
    assert not labels & {label for table in TABLES for label in table.labels}


def test_the_prometheus_rule_has_every_alert_of_every_file():
    wanted = [
        group
        for file in sorted((PROJECT / "alerts").glob("*.rules.yml"))
        for group in yaml.safe_load(file.read_text())["groups"]
    ]

    assert yaml.safe_load(rules())["spec"]["groups"] == wanted


def test_the_pod_sees_the_node_and_cannot_touch_it():
    pod = daemon_set()["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    mounts = {each["name"]: each for each in container["volumeMounts"]}
    from_the_node = {each["name"] for each in pod["volumes"] if "hostPath" in each} - {"state"}

    assert pod["hostPID"]
    assert pod["hostNetwork"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["privileged"] is False
    assert from_the_node == {"proc", "sys"}
    assert all(mounts[name]["readOnly"] for name in from_the_node)


def test_the_pods_flags_are_flags_of_ours():
    from ioplateau.config.flags import CONFIG_FILE, FLAGS

    (container,) = daemon_set()["spec"]["template"]["spec"]["containers"]
    command, *flags = container["args"]

    assert command == "serve"
    assert {flag.split("=")[0] for flag in flags} <= {
        f"--{each.name}" for each in (CONFIG_FILE, *FLAGS)
    }


@pytest.mark.parametrize("address", ["10.0.0.7", "fd00::5"])
def test_the_pod_listens_where_it_is_in_ipv4_and_ipv6(address):
    from ioplateau.web.listen import split_address

    (container,) = daemon_set()["spec"]["template"]["spec"]["containers"]
    (said,) = (flag for flag in container["args"] if flag.startswith("--web.listen-address="))
    words = said.partition("=")[2].replace("$(POD_ADDRESS)", address)

    assert split_address(words) == (address, 10049)


@pytest.mark.live
def test_cloud_init_takes_the_snippet():
    done = run(
        "cloud-init", "schema", "--config-file", PROJECT / "deploy/cloud-init/ioplateau.yaml"
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "Valid" in done.stdout + done.stderr


@pytest.mark.live
@pytest.mark.parametrize("cloud", ["azure", "ec2"])
def test_prometheus_takes_the_example_of_finding_vms_by_their_tags(cloud):
    done = run("promtool", "check", "config", PROJECT / f"deploy/prometheus/{cloud}.yml")

    assert done.returncode == 0, done.stdout + done.stderr
