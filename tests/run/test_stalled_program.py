"""The disk of the program itself is stalled, and with it the catalogue; that of the state is not."""

import threading

import states
from ioplateau.engine import EngineSettings
from ioplateau.limits import topology
from ioplateau.limits.budgets import Word
from ioplateau.limits.clouds import discover
from ioplateau.limits.clouds.identity import DiskIdentity, Identity
from ioplateau.limits.topology import Rules
from ioplateau.run.cataloguefiles import CatalogueFiles
from ioplateau.run.serve import Daemon
from ioplateau.run.settings import ServeSettings
from ioplateau.state import BudgetState, LimitState
from ioplateau.web.settings import WebSettings

P30 = DiskIdentity("sdb", "data", sku="Premium_LRS", tier="P30", size_gib=1024, caching="None")
SECONDS = 30.0


class Stalled(CatalogueFiles):
    """A catalogue that says that it was asked and answers when it may."""

    def __init__(self):
        super().__init__()
        self.asked, self.answers = threading.Event(), threading.Event()

    def pairs(self, table, prefix):
        self.asked.set()
        self.answers.wait(SECONDS)
        return super().pairs(table, prefix)


def throttled_p30(catalogue):
    sold = discover.sold(Identity("azure", "Standard_D8s_v5", disks={"sdb": P30}), CatalogueFiles())
    built = topology.build({"sdb": None}, (), (), Rules(), CatalogueFiles(), sold)
    found = {}
    for key, each in built.budgets.items():
        limits = tuple(LimitState(one, one.value, 1.0, 1.0, True, 0.0, 0) for one in each.limits)
        verdict = states.budget(*key, word=Word.THROTTLED).verdict
        found[key] = BudgetState(each, verdict, limits)
    return states.state(budgets=found, sold=sold, catalogue=catalogue)


def test_looking_for_what_lifts_a_limit_keeps_no_file_of_the_state_from_being_written(tmp_path):
    catalogue = Stalled()
    settings = ServeSettings(
        engine=EngineSettings(catalogue=catalogue),
        web=WebSettings(listen_addresses=("127.0.0.1:0",)),
        state_directory=str(tmp_path),
    )
    daemon = Daemon(settings, lambda: settings)
    try:
        daemon._after_tick(throttled_p30(catalogue), None)
        was_asked = catalogue.asked.wait(SECONDS)
        daemon._memory.write(daemon._engine.memory(), 1_700_000_000.0)
        is_written = daemon._files.finish(SECONDS / 2)
    finally:
        catalogue.answers.set()
        daemon._web.close()

    assert was_asked
    assert is_written
    assert [*tmp_path.iterdir()]
