"""What would lift a limit that holds now, from the state of a running daemon."""

import json

import pytest

from ioplateau.limits import ownrows, topology
from ioplateau.limits.budgets import BudgetKey, Dimension, Kind
from ioplateau.limits.claims import VolumeFact
from ioplateau.limits.clouds import discover
from ioplateau.limits.clouds.identity import DiskIdentity, Identity
from ioplateau.limits.ownrows import CatalogueWithOwnRows
from ioplateau.limits.topology import NfsFlow, Rules
from ioplateau.run.cataloguefiles import CatalogueFiles
from ioplateau.state import BudgetState, LimitState, NfsMountState
from ioplateau.tell import api, apiview, lifting, view
from states import budget, by_key, disk, mount, state

CATALOGUE = CatalogueFiles()
P30 = DiskIdentity("sdb", "data", sku="Premium_LRS", tier="P30", size_gib=1024, caching="None")


def throttled_p30(catalogue=CATALOGUE, **parts):
    sold = discover.sold(Identity("azure", "Standard_D8s_v5", disks={"sdb": P30}), catalogue)
    built = topology.build({"sdb": None}, (), (), Rules(), catalogue, sold)
    states = {}
    for key, each in built.budgets.items():
        limits = tuple(
            LimitState(
                limit,
                limit.value,
                1.0,
                1.0,
                key.kind is Kind.DISK and limit.dimension is Dimension.IOPS,
                0.0,
                0,
            )
            for limit in each.limits
        )
        verdict = budget(*key).verdict
        states[key] = BudgetState(each, verdict, limits)
    return state(budgets=states, sold=sold, catalogue=catalogue, **parts)


def test_a_throttled_disk_is_told_what_lifts_it_at_the_size_of_its_requests():
    # 5,000 reads of 4 KiB in a second.
    reads = disk("sdb", {"reads": 0, "read_sectors": 0}, reads=5000, read_sectors=40_000)
    found = throttled_p30(disks={"sdb": reads})

    told = lifting.sentences(found, found.budgets[BudgetKey(Kind.DISK, "sdb")])

    assert any(each.startswith("P40 (performance tier") and "7,500 IOPS" in each for each in told)
    assert len(told) <= 4


@pytest.mark.parametrize("chosen", ["/srv/a", "/srv/b"])
def test_a_volume_that_is_chosen_by_any_of_its_mount_points_is_told_what_lifts_it(chosen):
    """One superblock, mounted at two places."""
    points = ("/srv/a", "/srv/b")
    said = VolumeFact(mount=chosen, service_level="Standard", quota_gib=1024.0, source="test")
    rules = Rules(volumes=(said,))
    flow = NfsFlow("/srv/a", "10.0.0.4:/vol1", "/srv/a", "10.0.0.4", "4.1", None, points)
    built = topology.build({}, [flow], [], rules, CATALOGUE)
    each = built.budgets[BudgetKey(Kind.VOLUME, "/srv/a")]
    [limit] = each.limits
    held = LimitState(limit, limit.value, 1.0, 1.0, True, 0.0, 0)
    found = BudgetState(each, budget(Kind.VOLUME, "/srv/a").verdict, (held,))
    mounted = NfsMountState("/srv/a", mount("/srv/a"), mount_points=points)

    told = lifting.sentences(
        state(
            budgets={each.key: found},
            rules=rules,
            catalogue=CATALOGUE,
            mounts={"/srv/a": mounted},
        ),
        found,
    )

    assert any("Premium in place of Standard" in step for step in told)


def test_own_rows_hold_for_what_lifts_a_limit_wherever_it_is_told():
    rows = ownrows.read(
        {"azure_disks.csv": b"generation,sku,tier,base_iops\n2026-08,Premium_LRS,P40,6789\n"}
    )
    found = throttled_p30(CatalogueWithOwnRows(CATALOGUE, rows))
    told = next(each for each in api.state(found, {})["budgets"] if each["name"] == "sdb")
    seen = next(each for each in view.of(found).budgets if each.name == "sdb")

    assert "6,789 IOPS" in told["lifting"][0]
    assert seen.lifts == tuple(told["lifting"])


def test_a_screen_shows_what_a_daemon_tells_of_what_lifts_a_limit():
    found = throttled_p30()
    seen = apiview.view_of(json.loads(json.dumps(api.state(found, {}))))

    assert seen == view.of(found)
    assert [bool(each.lifts) for each in seen.budgets if each.name == "sdb"] == [True]


def test_nothing_is_told_of_what_is_not_held_back():
    found = throttled_p30()

    assert lifting.of_budget(found, found.budgets[BudgetKey(Kind.VM_UNCACHED, "vm")]) == ()
    assert (
        lifting.of_budget(state(budgets=by_key(budget(Kind.DISK, "x"))), budget(Kind.DISK, "x"))
        == ()
    )


class Walked(dict):
    """Budgets that count how often somebody goes over all of them."""

    walks = 0

    def items(self):
        self.walks += 1
        return super().items()

    def __iter__(self):
        self.walks += 1
        return super().__iter__()


def test_one_budget_of_many_does_not_cost_a_walk_over_all():
    found = throttled_p30()
    budgets = Walked(found.budgets)
    found = found._replace(budgets=budgets)

    assert lifting.of_budget(found, budgets[BudgetKey(Kind.DISK, "sdb")])
    assert budgets.walks == 0
