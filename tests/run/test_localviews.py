"""What `top` shows of the machine that it samples itself."""

import io
import json

import states
from ioplateau.engine import EngineSettings
from ioplateau.limits import topology
from ioplateau.limits.budgets import Word
from ioplateau.limits.clouds import discover
from ioplateau.limits.clouds.identity import DiskIdentity, Identity
from ioplateau.limits.topology import Rules
from ioplateau.run.cataloguefiles import CatalogueFiles
from ioplateau.run.localviews import LocalViews
from ioplateau.run.settings import ServeSettings
from ioplateau.run.top import _print_states
from ioplateau.run.views import MOST_WAITING
from ioplateau.state import BudgetState, LimitState

DISKS = ("sdb", "sdc")


def tick(mono, *, held):
    """A machine of two P30, at their limits or not."""
    catalogue = CatalogueFiles()
    disks = {name: DiskIdentity(name, "data", sku="Premium_LRS", size_gib=1024) for name in DISKS}
    sold = discover.sold(Identity("azure", "Standard_D8s_v5", disks=disks), catalogue)
    built = topology.build(dict.fromkeys(DISKS), (), (), Rules(), catalogue, sold)
    found = {}
    for key, each in built.budgets.items():
        limits = tuple(
            LimitState(one, one.value, 1.0, 1.0, held and key.name in DISKS, 0.0, 0)
            for one in each.limits
        )
        verdict = states.budget(*key, word=Word.THROTTLED if held else Word.HEALTHY).verdict
        found[key] = BudgetState(each, verdict, limits)
    return states.state(mono=mono, budgets=found, sold=sold, catalogue=catalogue)


def test_what_would_lift_a_limit_is_looked_for_one_budget_a_tick():
    source = LocalViews(ServeSettings(EngineSettings(asks_cloud=False)))
    lifted = []
    for second, held in enumerate((False, True, True, True, False)):
        source._after_tick(tick(1000.0 + second, held=held), None)
        seen = [] if source.views.empty() else source.views.get().view.budgets
        lifted.append(sum(bool(each.lifts) for each in seen))

    assert lifted == [0, 1, 2, 2, 0]


def ticked(count):
    """A source nobody has read yet, after so many ticks and the one that rates need before them."""
    source = LocalViews(ServeSettings(EngineSettings(asks_cloud=False)))
    for second in range(count + 1):
        source._after_tick(tick(1000.0 + second, held=False), None)
    source.put(None)
    return source


def test_a_slow_reader_is_told_each_tick_once():
    out = io.StringIO()

    is_seen = _print_states(ticked(3), None, out)

    assert is_seen
    assert [json.loads(line)["mono"] for line in out.getvalue().splitlines()] == [
        1001.0,
        1002.0,
        1003.0,
    ]


def test_of_what_nobody_takes_the_newest_is_kept():
    kept = [seen.state.mono for seen in ticked(MOST_WAITING + 5)]

    assert kept == [1000.0 + 6 + 1 + at for at in range(MOST_WAITING - 1)]
