"""Verdicts in a person's words."""

import pytest

from ioplateau.judge.rulings import asked_ratio
from ioplateau.judge.words import duration, rate, sentence
from ioplateau.limits.budgets import (
    BudgetKey,
    Burst,
    Dimension,
    Direction,
    Kind,
    Limit,
    Origin,
    Verdict,
    Word,
)

SDC = BudgetKey(Kind.DISK, "sdc")
HELD = Verdict(
    SDC,
    Word.THROTTLED,
    100.0,
    Dimension.IOPS,
    Direction.TOTAL,
    500.0,
    Origin.CATALOGUE,
    evidence={
        "level": 500.0,
        "waiting": 16.0,
        "latency_seconds": 0.031,
        "floor_seconds": 0.002,
        "flat_ratio": 0.004,
        "source": "P10",
        "phase": "base",
        "asked_ratio": 1.4,
    },
)


def test_a_throttled_disk_is_told_with_every_proof():
    assert sentence(HELD, 143.0) == (
        "held at 500 IOPS by its disk limit (500 IOPS, catalogue, P10): 16 requests wait, "
        "31 ms instead of 2.0 ms, flat within 0.4%, held for 43 s; at least 1.4 times what it gives in a "
        "second was asked for"
    )


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (1.04, "for 43 s"),
        (1.06, "; at least 1.1 times what it gives in a second was asked for"),
        (3.0, "; at least 3.0 times what it gives in a second was asked for"),
        (3.1, "; more than 3 times what it gives in a second was asked for"),
        (63.56, "; more than 3 times what it gives in a second was asked for"),
    ],
)
def test_what_was_asked_for_is_told_as_far_as_it_is_certain(asked, told):
    verdict = HELD._replace(evidence={**HELD.evidence, "asked_ratio": asked})

    assert sentence(verdict, 143.0).endswith(told)


@pytest.mark.parametrize(
    ("evidence", "told"),
    [
        ({"elsewhere_seconds": 41.0}, "requests waited at other levels for 41 s"),
        ({"free_level": 620.0}, "620 IOPS was done while none waited"),
        ({"level": 460.0}, "it is 8% below that limit now"),
        ({"waiting": 0.2}, "hardly any request waits now"),
        ({"flat_ratio": 0.24, "blocks": 9}, "its rate moves by 24%"),
        ({"level": 530.0, "waiting": 0.0}, "it is 6% above that limit now, hardly any request waits now"),
    ],
)  # fmt: skip
def test_what_speaks_against_a_known_limit_is_told_as_well(evidence, told):
    verdict = HELD._replace(evidence={**HELD.evidence, **evidence})

    assert f"; against it: {told}; at least 1.4 times" in sentence(verdict, 143.0)


@pytest.mark.parametrize("now", [116.0, 700.0])
def test_a_rate_far_off_its_limit_was_held_there_and_is_told_apart(now):
    text = sentence(HELD._replace(evidence={**HELD.evidence, "level": now}), 143.0)

    assert text.startswith(
        f"was held at 500 IOPS by its disk limit (500 IOPS, catalogue, P10), {now:.0f} IOPS now: 16 requests"
    )
    assert "against it" not in text


def test_who_counts_a_limit_himself_needs_no_queue():
    verdict = HELD._replace(evidence={**HELD.evidence, "waiting": 0.0, "phase": "counted"})

    assert "against it" not in sentence(verdict, 143.0)


def test_what_was_asked_for_is_no_guess_of_what_a_longer_queue_would_do():
    # 16 requests at a time, 500 a second, a floor of 2 ms: Little's law backwards says 16 times.
    assert asked_ratio(waiting=15.0, operations_per_second=500.0) == 1.03


@pytest.mark.parametrize("word", Word)
def test_every_word_has_a_sentence_even_without_evidence(word):
    text = sentence(Verdict(SDC, word, 0.0), 5.0)

    assert text
    assert "None" not in text


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_of_budget_can_be_blamed(kind):
    verdict = Verdict(
        BudgetKey(kind, "x"), Word.THROTTLED, 0.0, Dimension.THROUGHPUT, Direction.WRITE, 1e8,
        Origin.CONFIGURED,
    )  # fmt: skip

    assert "100.0 MB/s" in sentence(verdict, 1.0)


def test_slots_blame_the_client_and_not_the_server():
    verdict = Verdict(
        BudgetKey(Kind.NFS_SLOTS, "/a"), Word.THROTTLED, 0.0, Dimension.SLOTS, Direction.TOTAL,
        2.0, Origin.REPORTED, evidence={"waiting_calls": 6.0, "queue_share": 0.75},
    )  # fmt: skip
    unseen = verdict._replace(evidence={**verdict.evidence, "floor": "unseen"})

    assert "the server may be slow, too" in sentence(unseen, 12.0)
    assert sentence(verdict, 12.0) == (
        "all 2 slots of this client are taken: 6 calls wait for one, 75% of a call's time passes "
        "before it is sent, for 12 s; the server is not the cause"
    )


@pytest.mark.parametrize(
    ("verdict", "told"),
    [
        (HELD, "2.0 ms, flat within 0.4%; at least"),
        (HELD._replace(evidence={**HELD.evidence, "flat_ratio": 0.3}), "2.0 ms; at least"),
        (HELD._replace(dimension=Dimension.SLOTS), "are taken; the server"),
        (Verdict(SDC, Word.STALLED, 100.0), "was answered: not a limit"),
    ],
)
def test_as_it_begins_no_length_is_told(verdict, told):
    assert told in sentence(verdict, 100.0)


def test_an_affected_budget_names_who_holds_it():
    verdict = Verdict(SDC, Word.AFFECTED, 0.0, parent=BudgetKey(Kind.VM_UNCACHED, "vm"))

    assert sentence(verdict, 1.0) == "waits because of the VM's limit for all disks"


@pytest.mark.parametrize("lane", ["uncached disks", "EBS volumes"])
def test_the_vms_limit_over_its_disks_has_the_words_of_its_cloud(lane):
    key = BudgetKey(Kind.VM_UNCACHED, "vm")
    affected = Verdict(SDC, Word.AFFECTED, 0.0, parent=key)
    held = HELD._replace(key=key)

    assert sentence(affected, 1.0, lane) == f"waits because of the VM's limit for {lane}"
    assert f"by the VM's limit for {lane} (" in sentence(held, 143.0, lane)


def test_an_affected_disk_names_the_disks_whose_common_limit_holds_it():
    affected = Verdict(SDC, Word.AFFECTED, 0.0, parent=BudgetKey(Kind.VM_UNCACHED, "pd-ssd"))

    assert sentence(affected, 1.0, "remote disks") == (
        "waits because of the VM's limit for pd-ssd disks"
    )


def test_numbers_carry_their_units():
    assert rate(96e6, Dimension.THROUGHPUT) == "96.0 MB/s"
    assert rate(6400.0, Dimension.IOPS) == "6,400 IOPS"
    assert duration(0.0021) == "2.1 ms"
    assert duration(0.031) == "31 ms"
    assert duration(1.68) == "1.7 s"
    assert [duration(seconds) for seconds in (9.94, 9.96)] == ["9.9 s", "10 s"]
    assert duration(43.0) == "43 s"
    assert duration(720.0) == "12 min"
    assert duration(7140.0) == "119 min"
    assert duration(7800.0) == "2 h 10 min"
    assert duration(4440 * 60.0) == "3 d 2 h"


def test_a_floor_that_nobody_saw_is_called_a_guess():
    guessed = HELD._replace(evidence={**HELD.evidence, "floor": "guess"})

    assert "31 ms instead of 2.0 ms (a guess)" in sentence(guessed, 143.0)
    assert "guess" not in sentence(HELD, 143.0)


WAITS = Verdict(
    SDC, Word.SATURATED, 100.0, evidence={"waiting": 13.4, "latency_seconds": 0.137, "floor_seconds": 0.016}
)  # fmt: skip


def test_a_saturated_disk_is_told_with_how_flat_it_is():
    waits = "13 requests wait, 137 ms instead of 16 ms, but at no known limit"
    flat = WAITS._replace(evidence={**WAITS.evidence, "flat_ratio": 0.011, "blocks": 16})

    assert sentence(WAITS, 136.0) == (
        f"{waits} and not flat: an overloaded device or server, a neighbour, or a limit shared with others"
    )
    assert sentence(flat, 136.0) == (
        f"{waits}, flat within 1.1%, which does not prove one yet: an overloaded device or server, a neighbour, "
        "or a limit nobody told"
    )


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        (
            {"own_level": 20.0},
            "as much was done while none waited: the device or server has become slow",
        ),
        (
            {"own_level": 61.0},
            "one request at a time does as much: a device that serves one after the other, or a limit nobody told",
        ),
        (
            {"as_long_at": 1900.0},
            "they took as long at 1,900 IOPS: a slow device or server, or a limit that has changed",
        ),
        ({"later_per_second": 48.04}, "the server answers 'come back later' 48.0 times a second"),
    ],
)
def test_a_saturated_disk_is_told_to_be_slow_where_that_was_seen(shown, why):
    flat = WAITS._replace(evidence={**WAITS.evidence, "flat_ratio": 0.011, "blocks": 16, **shown})

    assert sentence(flat, 136.0) == (
        f"13 requests wait, 137 ms instead of 16 ms, but at no known limit, and {why}"
    )


READS = Limit(Dimension.THROUGHPUT, Direction.READ, 60e6, Origin.CATALOGUE)
BURSTS = Limit(Dimension.IOPS, Direction.TOTAL, 500, Origin.CONFIGURED, burst=Burst(3500.0, None))


@pytest.mark.parametrize(
    ("known", "told"),
    [
        (
            [Limit(Dimension.IOPS, Direction.TOTAL, 300, Origin.LEARNED)],
            "not held by its limit of 300 IOPS (learned)",
        ),
        (
            [BURSTS, READS],
            "not held by its limits of 500 IOPS (burst 3,500 IOPS) and 60.0 MB/s of reads",
        ),
    ],
)
def test_limits_that_are_known_and_do_not_hold_are_named(known, told):
    flat = WAITS._replace(evidence={**WAITS.evidence, "flat_ratio": 0.011, "blocks": 16})
    waits, at_ease = (
        sentence(each, 136.0, known=known)
        for each in (flat, Verdict(BudgetKey(Kind.VM_UNCACHED, "vm"), Word.HEALTHY, 0.0))
    )

    assert waits.startswith(
        f"13 requests wait, 137 ms instead of 16 ms, but {told}, flat within 1.1%"
    )
    assert waits.endswith("or another limit nobody told")
    assert at_ease == told


def test_calls_that_pass_most_time_on_the_client_are_said_to():
    queued = WAITS._replace(evidence={**WAITS.evidence, "queue_share": 0.91})

    assert sentence(queued, 136.0).startswith(
        "13 requests wait, 137 ms instead of 16 ms, 91% of a call's time passes before it is sent, but at no known"
    )


def test_a_healthy_disk_whose_requests_wait_now_and_then_says_so():
    """Buffered writes come in gusts."""
    healthy = WAITS._replace(word=Word.HEALTHY)

    assert (
        sentence(healthy, 136.0)
        == "13 requests wait, 137 ms instead of 16 ms, but not all the time"
    )
    for calm in ({"waiting": 0.1}, {"latency_seconds": 0.02}):
        served = healthy._replace(evidence={**healthy.evidence, **calm})
        assert sentence(served, 136.0) == "requests are served at once"


@pytest.mark.parametrize(
    ("floor", "waits"),
    [
        ({}, "3 requests wait, 32 ms instead of 16 ms, but not all the time"),
        ({"floor": "guess"}, None),
    ],
)
def test_who_has_a_queue_is_not_said_to_wait_for_none(floor, waits):
    evidence = {"waiting": 3.1, "latency_seconds": 0.032, "floor_seconds": 0.016, **floor}
    healthy = WAITS._replace(word=Word.HEALTHY, evidence=evidence)
    flat = healthy._replace(word=Word.APP_LIMITED)

    assert sentence(healthy, 136.0) == (waits or "requests are served at once")
    assert sentence(flat, 136.0).endswith(f": {waits or 'none waits'}")


@pytest.mark.parametrize(
    ("kind", "idle", "healthy"),
    [
        (Kind.DISK, "nothing to do", "requests are served at once"),
        # Other calls than reads and writes are not counted.
        (Kind.VOLUME, "(almost) no reads or writes", "requests are served at once"),
        (Kind.NFS_SLOTS, "(almost) no reads or writes", "requests are served at once"),
        # Whether requests wait is not known of an interface; of a VM's disks each says so of itself.
        (Kind.VM_NETWORK, "nothing to do", "at no known limit"),
        (Kind.VM_UNCACHED, "nothing to do", "at no known limit"),
    ],
)
def test_of_what_is_at_rest_or_at_ease_nothing_is_told_that_is_not_known(kind, idle, healthy):
    key = BudgetKey(kind, "x")

    assert sentence(Verdict(key, Word.IDLE, 0.0), 1.0) == idle
    assert sentence(Verdict(key, Word.HEALTHY, 0.0), 1.0) == healthy


def test_a_second_that_is_short_of_little_is_one():
    assert [duration(seconds) for seconds in (0.9994, 0.9996)] == ["999 ms", "1.0 s"]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Kind.NFS_SLOTS, "but not because of the client's own slots"),
        (Kind.NFS_CONNECTION, "but not because of what its connections can carry"),
    ],
)
def test_calls_that_wait_elsewhere_are_not_said_to_wait_now_and_then(kind, said):
    evidence = {"waiting": 14.0, "latency_seconds": 0.105, "floor_seconds": 0.0087}
    verdict = Verdict(BudgetKey(kind, "/a"), Word.HEALTHY, 100.0, evidence=evidence)

    assert sentence(verdict, 160.0) == f"14 requests wait, 105 ms instead of 8.7 ms, {said}"
