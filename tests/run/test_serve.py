"""The daemon and what it took up of its last run."""

import json
import time

import pytest

from at_once import AtOnce
from ioplateau.engine import Engine, EngineSettings
from ioplateau.engine.accounts import SavedAccounts, SavedLevel, SavedMeter, SavedSeconds
from ioplateau.limits.budgets import BudgetKey, Dimension, Direction, FlowKey, Kind
from ioplateau.run.serve import Daemon
from ioplateau.run.settings import ServeSettings
from ioplateau.run.statefile import StateFile
from ioplateau.saved import write
from ioplateau.web.settings import WebSettings

SDA = BudgetKey(Kind.DISK, "sda")
PLACE = (SDA, Dimension.IOPS, Direction.TOTAL)
COUNTED = SavedAccounts(
    meters=(SavedMeter(*PLACE, 12.5, 3),),
    learned=(SavedLevel(*PLACE, 500.0),),
    flows=(SavedSeconds(FlowKey("disk", "sda"), SDA, Dimension.IOPS, 12.5),),
)


def test_what_was_taken_up_is_kept_at_once_without_what_is_counted(tmp_path):
    """After a crash within the first minute the same seconds would be counted twice by whoever scrapes."""
    memory = {**Engine().memory(), "accounts": write(COUNTED)}
    began = time.time() - 3600.0
    StateFile(tmp_path, AtOnce()).write(memory, began)
    settings = ServeSettings(
        EngineSettings(),
        web=WebSettings(listen_addresses=("127.0.0.1:0",)),
        state_directory=str(tmp_path),
    )
    daemon = Daemon(settings, lambda: settings)
    try:
        daemon._memory.restore(daemon._take_memory, daemon._clock.wall())
        is_written = daemon._files.finish(30.0)
    finally:
        daemon._web.close()
    kept = json.loads((tmp_path / "state.json").read_text())

    assert is_written
    assert kept["wall"] == pytest.approx(began, abs=60.0)
    uncounted = {"meters": [], "flows": [], "holds": []}
    assert kept["memory"]["accounts"] == {**memory["accounts"], **uncounted}
