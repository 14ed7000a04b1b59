"""What commands tell with --json holds to the schema of docs/."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from machine_tree import azure_vm

IOPLATEAU = Path(sys.executable).with_name("ioplateau")
SCHEMA = json.loads((Path(__file__).parents[2] / "docs/api.schema.json").read_text())
RULE = '[[limit]]\ndisk = "sdc"\niops = 500\n[[disk]]\ndisk = "sdd"\nsku = "P30"\n'


def told(name, *words):
    """What a command tells, held to what the schema says of it, and to no other answer's."""
    done = subprocess.run(
        [IOPLATEAU, *words, "--json"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout, done.stderr
    value = json.loads(done.stdout)
    jsonschema.validate(value, {"$defs": SCHEMA["$defs"], "$ref": f"#/$defs/{name}"})
    jsonschema.validate(value, SCHEMA)
    return value


@pytest.fixture
def flags(tmp_path):
    file = tmp_path / "ioplateau.toml"
    file.write_text(RULE)
    return ["--no-cloud", "--config.file", file, *azure_vm(tmp_path).flags]


def test_the_limits_of_a_machine(flags):
    found = told("limits", "limits", *flags)

    assert any(budget["limits"] for budget in found["budgets"])
    assert all(budget["members"] for budget in found["budgets"])


@pytest.mark.parametrize(
    "words",
    [
        ("Standard_D8s_v3", "--disk", "4xP30:readonly", "--disk", "P30"),
        ("Standard_DS4", "--disk", "P10"),
        ("m5.large", "--disk", "gp2:size=100"),
    ],
)
def test_what_binds_a_machine_first(words):
    found = told("what_if", "limits", "--vm-size", *words)

    assert any(case["bindings"] for case in found["cases"])


@pytest.mark.parametrize(
    "words",
    [
        ("netapp:Premium:4TiB", "--vm-size", "Standard_D8s_v3"),
        ("efs:onezone", "--vm-size", "m5.large", "--nconnect", "4"),
        ("netapp:Premium:4TiB",),
    ],
)
def test_what_binds_a_volume_first(words):
    found = told("what_if_volume", "limits", "--volume", *words)

    assert found["ceilings"]


def test_what_the_doctor_finds(flags):
    assert told("doctor", "doctor", *flags)["findings"]


def test_what_was_recorded(flags, tmp_path):
    found = told("record", "record", tmp_path / "found.jsonl", "--seconds", "1", *flags)

    assert found["snapshots"] == 2


def undescribed(node, place=""):
    """Names of the properties that are told by nothing, with where they are."""
    if isinstance(node, dict):
        for name, value in node.get("properties", {}).items():
            if not {"description", "$ref"} & value.keys():
                yield f"{place}/{name}"
        for name, value in node.items():
            yield from undescribed(value, f"{place}/{name}")
    elif isinstance(node, list):
        for value in node:
            yield from undescribed(value, place)


def test_every_key_has_a_description():
    assert list(undescribed(SCHEMA)) == []
