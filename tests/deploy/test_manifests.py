"""Kubernetes manifests and the cloud-init snippet, against the schemas of those who read them.

Needs uv (validators come from PyPI, the operator's definitions as a Go module) and the Debian
package cloud-init.
"""

import json
import re
import subprocess
import sys
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


def of_kind(kind: str) -> list[dict[str, Any]]:
    documents = yaml.safe_load_all((KUBERNETES / "daemonset.yaml").read_text())
    return [each for each in documents if each["kind"] == kind]


def daemon_set() -> dict[str, Any]:
    (found,) = of_kind("DaemonSet")
    return found


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

    assert not {"hostPID", "hostIPC"} & pod.keys()
    assert pod["hostNetwork"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["privileged"] is False
    assert from_the_node == {"proc", "sys", "udev"}
    assert all(mounts[name]["readOnly"] for name in from_the_node)


def mounted():
    """What of this machine is mounted now."""
    return {*re.findall("^device .*", Path("/proc/1/mountstats").read_text(), re.MULTILINE)}


@pytest.mark.live
def test_root_without_capabilities_among_its_own_processes_sees_the_nodes_mounts(tmp_path):
    proc, own, file = tmp_path / "proc", tmp_path / "own", tmp_path / "a.jsonl"
    for place in (proc, own):
        place.mkdir()
    record = (
        f"{sys.executable} -m ioplateau record {file} --seconds 1 --no-cloud --path.procfs={proc}"
    )
    inside = (
        f"mount -t tmpfs own {own}; mount --bind /proc {proc}; mount -o remount,bind,ro {proc};"
        " exec unshare --pid --fork --mount-proc"
        f" setpriv --bounding-set=-all --inh-caps=-all --no-new-privs {record}"
    )
    before = mounted()
    done = run("unshare", "--mount", "--propagation", "private", "sh", "-c", inside)

    assert done.returncode == 0, done.stderr
    seen = json.loads(file.read_text().splitlines()[1])["f"]["/proc/self/mountstats"]
    assert "device own mounted" not in seen
    assert before & mounted() <= {*re.findall("^device .*", seen, re.MULTILINE)}


def test_every_directory_of_the_pods_flags_is_mounted_from_where_it_should_be():
    pod = daemon_set()["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    volumes = {each["name"]: each for each in pod["volumes"]}
    sources = {
        each["mountPath"]: volumes[each["name"]].get("hostPath", {}).get("path")
        or volumes[each["name"]]["configMap"]["name"]
        for each in container["volumeMounts"]
    }
    flags = settings_of(container)
    (config_map,) = of_kind("ConfigMap")

    assert sources == {
        flags["path.procfs"]: "/proc",
        flags["path.sysfs"]: "/sys",
        "/run/udev": "/run/udev",
        flags["state.directory"]: "/var/lib/ioplateau-daemonset",
        str(Path(flags["config.file"]).parent): config_map["metadata"]["name"],
    }
    assert [*config_map["data"]] == [Path(flags["config.file"]).name]
    assert volumes["state"]["hostPath"]["type"] == "DirectoryOrCreate"


def test_the_pod_is_asked_at_paths_of_ours_and_scraped_where_it_listens():
    from ioplateau.run import serve

    (container,) = daemon_set()["spec"]["template"]["spec"]["containers"]
    (port,) = container["ports"]
    monitor = yaml.safe_load((KUBERNETES / "podmonitor.yaml").read_text())
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    source = Path(serve.__file__).read_text()

    for probe, path in (("readinessProbe", "/-/ready"), ("livenessProbe", "/-/healthy")):
        assert container[probe]["httpGet"] == {"path": path, "port": port["name"]}
        assert f'"{path}": ' in source
    assert port["containerPort"] == port["hostPort"] == 10049
    assert endpoint["port"] == port["name"]
    labels = daemon_set()["spec"]["template"]["metadata"]["labels"]
    assert labels == daemon_set()["spec"]["selector"]["matchLabels"]
    assert labels == monitor["spec"]["selector"]["matchLabels"]


def test_every_machine_gets_a_pod_whatever_it_is_tainted_with():
    pod = daemon_set()["spec"]["template"]["spec"]

    assert pod["tolerations"] == [{"operator": "Exists"}]
    assert pod["priorityClassName"] == "system-node-critical"
    (quota,) = of_kind("ResourceQuota")  # without it GKE creates none of them
    (scope,) = quota["spec"]["scopeSelector"]["matchExpressions"]
    assert scope["values"] == [pod["priorityClassName"]]
    assert quota["metadata"]["namespace"] == daemon_set()["metadata"]["namespace"]


@pytest.mark.parametrize("name", ["file.yml", "remote-write.yml"])
def test_prometheus_reads_the_rules_where_they_are_said_to_be_put(name):
    wanted = yaml.safe_load((PROJECT / "deploy/prometheus" / name).read_text())
    (there,) = wanted["rule_files"]
    said = (PROJECT / "docs/alerts.md").read_text()

    assert f'rule_files: ["{there}"]' in said
    assert f"cp alerts/{Path(there).name} {Path(there).parent}/" in said
    assert [*(PROJECT / "alerts").glob(Path(there).name)]
    assert wanted["alerting"]["alertmanagers"]  # else nobody hears of them


@pytest.mark.parametrize("name", ["agent.yml", "file.yml", "remote-write.yml"])
def test_a_target_of_a_file_is_called_as_its_vm(name):
    wanted = yaml.safe_load((PROJECT / "deploy/prometheus" / name).read_text())
    (job,) = wanted["scrape_configs"]
    (target, *_) = json.loads((PROJECT / "deploy/prometheus/targets.example.json").read_text())
    (address,) = target["targets"]
    labels = relabelled(
        {"__address__": address, **target["labels"]}, job.get("relabel_configs", ())
    )

    network = "vnet-1/" if name == "agent.yml" else ""
    assert labels["instance"] == f"{network}{target['labels']['vm']}"
    assert "vm" not in labels
    assert labels["team"] == target["labels"]["team"]
    assert (wanted["global"]["scrape_interval"], job["job_name"]) == ("15s", "ioplateau")


@pytest.mark.parametrize(
    ("cloud", "found", "instance"),
    [
        (
            "azure",
            {
                "__meta_azure_machine_tag_ioplateau": "true",
                "__meta_azure_machine_resource_group": "rg-1",
                "__meta_azure_machine_name": "db-01",
            },
            "rg-1/db-01",
        ),
        ("ec2", {"__meta_ec2_instance_id": "i-0abc"}, "i-0abc"),
    ],
)
def test_a_vm_that_is_found_by_its_tag_is_called_as_its_cloud_calls_it(cloud, found, instance):
    wanted = yaml.safe_load((PROJECT / f"deploy/prometheus/{cloud}.yml").read_text())
    (job,) = wanted["scrape_configs"]

    assert relabelled(found, job["relabel_configs"])["instance"] == instance
    (discovery,) = job[f"{cloud}_sd_configs"]
    assert discovery["port"] == 10049


def relabelled(labels: dict[str, str], steps: Any) -> dict[str, str]:
    """As Prometheus does it, as far as the examples go. Raises AssertionError for a target dropped."""
    for step in steps:
        text = step.get("separator", ";").join(
            labels.get(name, "") for name in step.get("source_labels", ())
        )
        pattern, action = step.get("regex", "(.*)"), step.get("action", "replace")
        found = re.fullmatch(pattern, text)
        if action == "labeldrop":
            labels = {
                name: each for name, each in labels.items() if not re.fullmatch(pattern, name)
            }
        elif action == "keep":
            assert found, f"dropped: {text!r} is not {pattern!r}"
        elif found:
            fresh = found.expand(step.get("replacement", "$1").replace("$1", r"\1"))
            labels = {**labels, step["target_label"]: fresh}
    return labels


def settings_of(container: Any) -> dict[str, str]:
    """What its environment sets, by the name of the flag."""
    from ioplateau.config.flags import CONFIG_FILE, FLAGS

    names = {each.variable: each.name for each in (CONFIG_FILE, *FLAGS)}
    ours = [each for each in container["env"] if each["name"].startswith("IOPLATEAU_")]
    return {names[each["name"]]: each["value"] for each in ours}


def test_a_command_in_the_pod_has_the_settings_of_its_daemon():
    (container,) = daemon_set()["spec"]["template"]["spec"]["containers"]

    assert container["args"] == ["serve"]
    assert {"config.file", "path.procfs", "web.listen-address"} <= settings_of(container).keys()


@pytest.mark.parametrize("address", ["10.0.0.7", "fd00::5"])
def test_the_pod_listens_where_it_is_in_ipv4_and_ipv6(address):
    from ioplateau.web.listen import split_address

    (container,) = daemon_set()["spec"]["template"]["spec"]["containers"]
    words = settings_of(container)["web.listen-address"].replace("$(POD_ADDRESS)", address)
    names = [each["name"] for each in container["env"]]

    assert split_address(words) == (address, 10049)
    # A variable knows those before it alone.
    assert names.index("POD_ADDRESS") < names.index("IOPLATEAU_WEB_LISTEN_ADDRESS")


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
