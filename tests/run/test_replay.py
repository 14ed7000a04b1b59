"""What a replay says of a recording, in episodes."""

import io
from itertools import islice
from pathlib import Path

from ioplateau.engine import EngineSettings
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.measure.snapshot import DISKSTATS
from ioplateau.run import recording
from ioplateau.run.replay import replay

DISK = Path(__file__).parents[1] / "machines" / "disk_iops_p10" / "recording.jsonl.gz"
LIMITED = EngineSettings(rules=Rules((ConfiguredLimit(disk="sda", iops=500.0),)))


def test_an_episode_ends_when_its_disk_goes(tmp_path):
    path, seen = tmp_path / "gone.jsonl", 0
    header, snapshots = recording.read(DISK)
    with path.open("wb") as file:
        writer = recording.Writer(file, header.interval_seconds)
        for seen, snapshot in enumerate(snapshots):
            lines = snapshot.texts[DISKSTATS].splitlines(keepends=True)
            left = b"".join(line for line in lines if seen < 80 or b" sda" not in line)
            writer.write(snapshot._replace(texts={**snapshot.texts, DISKSTATS: left}))
    out = io.StringIO()
    replay(path, LIMITED, "text", out)

    (episode,) = (line for line in out.getvalue().splitlines() if "disk sda throttled" in line)
    assert seen > 100
    assert " ..    80.0 s  disk sda throttled" in episode


def test_a_device_mapper_node_is_told_with_its_name(tmp_path):
    path = tmp_path / "mapped.jsonl"
    header, snapshots = recording.read(DISK)
    with path.open("wb") as file:
        writer = recording.Writer(file, header.interval_seconds)
        for snapshot in snapshots:
            block = {**snapshot.static.block, "sda": {"size": "2048", "dm/name": "vg-data"}}
            writer.write(snapshot._replace(static=snapshot.static._replace(block=block)))
    out = io.StringIO()
    replay(path, LIMITED, "text", out)

    assert "  disk sda (vg-data) throttled: " in out.getvalue()


def test_an_episode_that_goes_on_at_the_end_is_counted(tmp_path):
    path = tmp_path / "begun.jsonl"
    header, snapshots = recording.read(DISK)
    with path.open("wb") as file:
        writer = recording.Writer(file, header.interval_seconds)
        for snapshot in islice(snapshots, 80):
            writer.write(snapshot)
    out = io.StringIO()
    replay(path, LIMITED, "text", out)

    assert out.getvalue().splitlines()[-1].endswith(", 1 episode")
