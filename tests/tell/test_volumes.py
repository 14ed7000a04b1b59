"""`ioplateau limits --volume` as people and programs read it."""

import json

import pytest

from ioplateau import cli
from ioplateau.run import whatif
from ioplateau.run.cataloguefiles import CatalogueFiles
from ioplateau.run.commanderror import CommandError
from ioplateau.tell import volumes

CATALOGUE = CatalogueFiles()


def test_a_person_reads_which_ceiling_holds_which_requests():
    found = whatif.of_volume(
        CATALOGUE, ["netapp:Ultra:50TiB"], "Standard_D32s_v4", 8, ["64k"], [100, 0]
    )
    text = volumes.render(found)

    assert "Azure NetApp Files Ultra, 50 TiB from Standard_D32s_v4, nconnect 8" in text
    assert "about 4,500 MiB/s of reads or 1,600 MiB/s of writes" in text
    assert "of 2024-03" in text
    assert "\nreads, first to bind:\n" in text
    assert "\nwrites, first to bind:\n" in text
    assert "64 KiB         24,000  1,500.0  VM network, measured (bytes)" in text
    assert "nobody enforces it" in text


def test_burst_and_memory_have_their_own_columns_and_parts():
    text = volumes.render(
        whatif.of_volume(CATALOGUE, ["fsx-openzfs:512:2TiB"], request_sizes=["1M"])
    )

    assert "reads; reads past the server's memory" in text
    assert "reads; reads from the server's memory" in text
    assert "in burst: ops/s" in text
    assert "1,600 MB/s in all (burst 3,200 MB/s)" in text


def test_a_document_without_a_date_is_said_to_have_none():
    text = volumes.render(whatif.of_volume(CATALOGUE, ["filestore:zonal:2TiB"]))

    assert "of a document without a date" in text


def test_a_program_reads_the_same_as_json():
    found = whatif.of_volume(CATALOGUE, ["netapp:Premium:4TiB"], "Standard_D8s_v5", 4, ["8k"], [70])
    told = json.loads(json.dumps(volumes.as_json(found), allow_nan=False))

    assert told["cases"] == [
        {
            "request_bytes": 8192,
            "read_share": 0.7,
            "from_memory": False,
            "burst": False,
            "operations_per_second": 32768.0,
            "bytes_per_second": 268435456.0,
            "bindings": ["volume"],
        }
    ]
    assert told["connections"] == 4
    assert {each["kind"] for each in told["ceilings"]} == {
        "volume",
        "nfs_connection",
        "vm_network",
    }


def test_everything_that_is_wrong_is_said_at_once():
    with pytest.raises(CommandError) as error:
        whatif.of_volume(CATALOGUE, ["netapp:Gold:4TiB", "efs:elastic"], "", 99, ["2M", "x"], [101])

    said = str(error.value)
    for words in ("want Standard", "one at a time", "nconnect 99", "at most 1 MiB", "101", "'x'"):
        assert words in said


def test_the_command_prints_it_and_refuses_what_does_not_go_together(capsys):
    assert cli.main(["limits", "--volume", "efs:onezone", "--reads", "100"]) == 0
    assert "EFS, one zone" in capsys.readouterr().out
    assert cli.main(["limits", "--volume", "efs:onezone", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["volume"] == "EFS, one zone"
    assert cli.main(["limits", "--nconnect", "4"]) == 2
    assert "go with --volume" in capsys.readouterr().err
    assert cli.main(["limits", "--volume", "efs:fast"]) == 2
    assert "want elastic" in capsys.readouterr().err
