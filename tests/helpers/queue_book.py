"""Queues without a limit: places that are slow, far, or busy with something else.

Every scene is drawn from a random generator: nobody chose its numbers, only their ranges, each with
where it comes from. What a single machine of the kind shows in a few minutes is what is meant, no
average of many.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import cycle
from math import exp, inf, log, sqrt

from queue_world import STEP_SECONDS, Asked, Drawn, Place, Scene

KIB, MIB = 1024.0, 1024.0**2
# One request at a time before the load proper, as a machine has that boots or is opened.
CALM_SECONDS = (15.0, 40.0)


def far_server(r: random.Random) -> Scene:
    """An NFS server in another zone or region, at constant depth."""
    # Round trips between regions of one continent are 5 to 40 ms (learn.microsoft.com/azure/
    # networking/azure-network-latency). The kernel's slots: 64 of a session (NFS4_DEF_SLOT_TABLE_SIZE,
    # fs/nfs/nfs4session.h), 128 as filers recommend, 65,536 by default of version 3.
    slots = r.choice([64, 128, 65536])
    seconds, calm = r.uniform(0.005, 0.040), r.uniform(*CALM_SECONDS)
    wanders = wander(r, r.uniform(0.02, 0.08), r.uniform(1, 10))
    return Scene(
        lambda _: Place(seconds * wanders()),
        _deepens(calm, r.randint(2, 64)),
        size=r.choice([4, 8, 64, 256]) * KIB,
        write_share=r.choice([0.0, 0.3, 1.0]),
        scatter=r.uniform(0.05, 0.4),
        is_mount=True,
        slots=slots,
        settled=calm,
    )


def old_array(r: random.Random) -> Scene:
    """A disk array whose service time moves with what its other users do."""
    # 4 to 20 ms are disks behind a controller: seek and half a turn (below), less what its cache hits.
    seconds, calm = r.uniform(0.004, 0.020), r.uniform(*CALM_SECONDS)
    wanders = wander(r, r.uniform(0.10, 0.35), r.uniform(5, 60))
    return Scene(
        lambda _: Place(seconds * wanders()),
        _deepens(calm, r.randint(2, 32)),
        size=r.choice([4, 8, 16, 64]) * KIB,
        write_share=r.choice([0.0, 0.3, 0.5]),
        scatter=r.uniform(0.3, 0.9),
        erases_busy=r.random() < 0.5,
        settled=calm,
    )


def disk_in_sequence(r: random.Random) -> Scene:
    """A hard disk that reads file after file, each somewhere between its rim and its middle."""
    # Zoned bit recording: 64.8 MB/s at the rim and 31.0 in the middle (Deskstar 7K500, specification
    # 4.4.4); of today's drives 180 to 280 and about half of that.
    rim, size = r.uniform(60e6, 280e6), r.choice([128, 256, 512, 1024]) * KIB
    calm, longest = r.uniform(*CALM_SECONDS), r.uniform(5, 40)
    wanders = wander(r, r.uniform(0.01, 0.03), r.uniform(0.3, 2))
    rate = _jumps(r, lambda: rim * r.uniform(0.48, 1.0), lambda: r.uniform(1, longest))
    return Scene(
        lambda at: _at_most(rate(at) * wanders() / size),
        _deepens(calm, r.randint(2, 32)),
        size=size,
        write_share=r.choice([0.0, 1.0]),
        scatter=r.uniform(0.02, 0.1),
        erases_busy=r.random() < 0.5,
        settled=calm,
    )


def disk_at_random(r: random.Random) -> Scene:
    """A hard disk that seeks."""
    # Seek 4 ms (servers) to 12 ms (mobile), half a turn 2 ms (15,000/min) to 5.6 ms (5,400/min).
    # Sorting a queue of 32 about doubles what a drive does (native command queuing).
    alone, calm = r.uniform(0.004, 0.012) + r.uniform(0.002, 0.0056), r.uniform(*CALM_SECONDS)
    depth, wanders = r.randint(2, 32), wander(r, r.uniform(0.02, 0.10), r.uniform(2, 30))
    sorting = 1 + log(depth) / log(32)
    return Scene(
        lambda at: Place(alone, (sorting if at >= calm else 1.0) / (alone * wanders())),
        _deepens(calm, depth),
        size=r.choice([4, 8, 16, 64]) * KIB,
        write_share=r.choice([0.0, 0.3, 1.0]),
        scatter=r.uniform(0.3, 0.5),
        erases_busy=r.random() < 0.5,
        settled=calm,
    )


def delayed_acknowledgements(r: random.Random) -> Scene:
    """NFS whose small calls wait for an acknowledgement now and then, and then all of them do."""
    # 40 ms is TCP_DELACK_MIN (include/net/tcp.h); stretches of either kind on one connection are in
    # tests/machines/nfs_two_mounts.
    quick, calm = r.uniform(0.0008, 0.004), r.uniform(*CALM_SECONDS)
    share = _jumps(r, lambda: r.choice([0.0, 0.0, r.random(), 1.0]), lambda: r.uniform(2, 25))
    return Scene(
        lambda at: Place(quick + 0.040 * share(at)),
        _deepens(calm, r.randint(1, 8)),
        size=r.choice([4, 8, 16]) * KIB,
        write_share=r.choice([0.0, 0.3]),
        scatter=r.uniform(0.1, 0.5),
        is_mount=True,
        slots=64,
        settled=calm,
    )


def garbage_collection(r: random.Random) -> Scene:
    """An SSD that is written to and cleans up every some seconds."""
    # Cleaning makes the slowest requests 5 to 138 times as slow (Yan et al., Tiny-Tail Flash, FAST '17);
    # the mean of a second moves less.
    alone, calm = r.uniform(0.00005, 0.0005), r.uniform(*CALM_SECONDS)
    period, lasts, slower = r.uniform(4, 30), r.uniform(0.3, 6), r.uniform(3, 30)
    wanders = wander(r, r.uniform(0.03, 0.15), r.uniform(0.5, 5))
    place = lambda at: Place(  # noqa: E731
        alone * wanders() * (slower if at % period < lasts * (0.5 + 0.5 * r.random()) else 1.0)
    )
    return Scene(
        place,
        _deepens(calm, r.randint(4, 64)),
        size=r.choice([4, 8, 16, 64]) * KIB,
        write_share=r.choice([0.5, 1.0]),
        scatter=r.uniform(0.2, 1.0),
        settled=calm,
    )


def rebuild(r: random.Random) -> Scene:
    """An array that rebuilds a member and takes a share of the bandwidth for it, until it is done."""
    # md lets a rebuild have between 1 and 200 MB/s by what else is asked (Documentation/admin-guide/
    # md.rst, sync_speed_min and _max); it looks each three seconds (SYNC_MARK_STEP, md.c).
    whole, size = r.uniform(200e6, 900e6), r.choice([64, 128, 256, 512]) * KIB
    calm, ends = r.uniform(*CALM_SECONDS), r.uniform(90, 200)
    taken = _jumps(r, lambda: r.uniform(0.1, 0.6), lambda: 3.0 * r.randint(1, 5))
    wanders = wander(r, r.uniform(0.02, 0.06), r.uniform(0.5, 3))
    return Scene(
        lambda at: _at_most(whole * wanders() * (1 - (taken(at) if at < ends else 0.0)) / size),
        _deepens(calm, r.randint(4, 64)),
        size=size,
        write_share=r.choice([0.0, 0.5, 1.0]),
        scatter=r.uniform(0.1, 0.5),
        erases_busy=r.random() < 0.5,
        settled=calm,
    )


def snapshot(r: random.Random) -> Scene:
    """Writes after a snapshot: the first to each chunk copies it, the next does not."""
    # Copy on write reads and writes a chunk before the write itself: two to four times the time
    # (Documentation/admin-guide/device-mapper/snapshot.rst). Random writes find ever fewer chunks new.
    alone, slower = r.uniform(0.0005, 0.008), r.uniform(2.0, 4.0)
    calm, fades = r.uniform(*CALM_SECONDS), r.uniform(20, 120)
    wanders = wander(r, r.uniform(0.03, 0.10), r.uniform(0.5, 5))
    return Scene(
        lambda at: Place(
            alone
            * wanders()
            * (1 + (slower - 1) * exp(-max(0.0, at - calm) / fades) * (at >= calm))
        ),
        _deepens(calm, r.randint(2, 32)),
        size=r.choice([4, 8, 16, 64]) * KIB,
        write_share=1.0,
        scatter=r.uniform(0.3, 0.8),
        erases_busy=r.random() < 0.5,
        settled=calm,
    )


def thin_provisioned(r: random.Random) -> Scene:
    """A file that is written for the first time on a thin volume, and again, and is longer then."""
    # The first write of a chunk (64 KiB to 1 GiB) allocates it and commits metadata
    # (Documentation/admin-guide/device-mapper/thin-provisioning.rst): a few times the time.
    alone, slower = r.uniform(0.0005, 0.006), r.uniform(2.0, 8.0)
    calm, once = r.uniform(*CALM_SECONDS), r.uniform(10, 50)
    wanders = wander(r, r.uniform(0.04, 0.12), r.uniform(0.5, 5))
    return Scene(
        lambda at: Place(
            alone * wanders() * (slower if at >= calm and int((at - calm) / once) % 2 == 0 else 1.0)
        ),
        _deepens(calm, r.randint(2, 32)),
        size=r.choice([4, 16, 64, 256]) * KIB,
        write_share=1.0,
        scatter=r.uniform(0.3, 0.8),
        erases_busy=r.random() < 0.5,
        settled=calm,
    )


def writeback(r: random.Random) -> Scene:
    """Dirty pages that the kernel writes in gusts, and nothing between."""
    # vm.dirty_writeback_centisecs and dirty_expire_centisecs: each 5 s and each 30 s (Documentation/
    # admin-guide/sysctl/vm.rst); 128 requests at a time are a queue's nr_requests.
    period, lasts = r.choice([5.0, 30.0]), r.uniform(0.1, 0.7)
    alone, parallel = r.uniform(0.0003, 0.003), r.randint(4, 32)
    depth = r.choice([64, 128])
    wanders = wander(r, r.uniform(0.05, 0.15), r.uniform(0.5, 5))
    wholes = period * lasts * parallel / alone
    state = {"due": 0.0, "amount": 0.0}

    def asked(at: float, served: float) -> Asked:
        if at >= state["due"]:
            state["due"] += period
            state["amount"] = max(state["amount"], served) + wholes * r.uniform(0.5, 1.0)
        return Asked(min(depth, max(0.0, state["amount"] - served)))

    return Scene(
        lambda _: Place(alone, parallel / (alone * wanders())),
        asked,
        size=r.choice([16, 64, 256]) * KIB,
        write_share=1.0,
        scatter=r.uniform(0.2, 0.6),
        erases_busy=r.random() < 0.5,
        more_depth=0,
    )


def each_second(r: random.Random) -> Scene:
    """An application that hands over all it has to write once a second, as much each time."""
    return _in_step(r, is_mount=False)


def each_second_to_filer(r: random.Random) -> Scene:
    """The same on an NFS mount."""
    return _in_step(r, is_mount=True)


def _in_step(r: random.Random, *, is_mount: bool) -> Scene:
    # Redis' appendfsync everysec and innodb_flush_log_at_trx_commit = 2 write once a second, a recorder as
    # often; for each part of a second its looks fall into, or between, what is handed over.
    period, part = r.choice([0.2, 0.5, 1.0, 1.0, 1.0, 2.0]), r.uniform(0.1, 0.9)
    alone, parallel = r.uniform(0.0005, 0.010), r.randint(1, 16)
    amount, varies = part * period * parallel / alone, r.choice([0.0, 0.002, 0.01, 0.05])
    calm, phase, depth = (
        r.uniform(*CALM_SECONDS),
        r.uniform(0, period),
        r.choice([8, 32, 128, 1000]),
    )
    before = r.choice([1, parallel])  # at a time, until then: so more may have been done
    wanders = wander(r, r.uniform(0.02, 0.10), r.uniform(0.5, 5))
    state = {"due": calm + phase, "left": 0.0, "served": 0.0}

    def place(_: float) -> Place:
        takes = alone * wanders()
        return Place(takes, parallel / takes)

    def asked(at: float, served: float) -> Asked:
        state["left"] = max(0.0, state["left"] - (served - state["served"]))
        state["served"] = served
        if at < calm:
            return Asked(before)
        while at >= state["due"]:
            state["due"] += period
            state["left"] += max(8.0, amount) * r.gauss(1, varies)
        return Asked(min(depth, state["left"]) if state["left"] >= 0.5 else 0)

    return Scene(
        place,
        asked,
        size=r.choice([16, 64, 256]) * KIB,
        write_share=1.0,
        scatter=r.uniform(0.05, 0.4),
        is_mount=is_mount,
        erases_busy=r.random() < 0.5,
        more_depth=0,
        settled=calm,
    )


def own_rate_one(r: random.Random) -> Scene:
    """An application that holds itself to a rate, one request at a time."""
    return _own_rate(r, 1)


def own_rate_eight(r: random.Random) -> Scene:
    """The same with up to eight requests at a time, most of which are in service."""
    return _own_rate(r, 8)


def _own_rate(r: random.Random, depth: int) -> Scene:
    # 1 to 20 ms: SSDs of clouds up to hard disks. A limiter of an application is as even as its clock.
    alone, share, calm = r.uniform(0.001, 0.020), r.uniform(0.4, 0.9), r.uniform(*CALM_SECONDS)
    wanders = wander(r, r.uniform(0.02, 0.08), r.uniform(0.5, 10))
    rate = share * depth / alone
    return Scene(
        lambda _: Place(alone * min(1 / share, wanders())),
        lambda at, _: Asked(1, 0.2 * rate / depth) if at < calm else Asked(depth, rate),
        size=r.choice([4, 8, 64]) * KIB,
        write_share=r.choice([0.0, 0.3, 1.0]),
        scatter=r.uniform(0.02, 0.3),
        erases_busy=r.random() < 0.5,
        settled=calm,
        # One that waits must wait most of its time to be seen to.
        limit_share=(0.05, 0.12) if depth == 1 else (0.4, 0.75),
        more_depth=0 if depth == 1 else 8,
    )


def own_rates_slowed(r: random.Random) -> Scene:
    """An application of several parts, each at a pace of its own while it works, whose disk becomes slow."""
    return _slowed(r, is_mount=False)


def own_rates_slowed_filer(r: random.Random) -> Scene:
    """The same on an NFS mount."""
    return _slowed(r, is_mount=True)


def _slowed(r: random.Random, *, is_mount: bool) -> Scene:
    # A neighbour, a rebuild, another path: from then on, or for a while, all takes several times as long.
    alone, calm = r.uniform(0.0005, 0.010), r.uniform(*CALM_SECONDS)
    slower, begins, lasts = r.uniform(1.5, 8), r.uniform(120, 250), r.choice([30.0, 90.0, inf])
    wanders = wander(r, r.uniform(0.02, 0.10), r.uniform(0.5, 10))
    # Jobs, batches and agents work for a while and rest for a while; what one does is even, or nearly so.
    parts = [_part(r, r.uniform(0.2, 6) / alone) for _ in range(r.randint(1, 4))]
    most = sum(rate for rate, _ in parts)
    trembles = wander(r, r.choice([0.0, 0.002, 0.005, 0.01]), r.uniform(0.2, 3))
    is_slow = lambda at: begins <= at < begins + lasts  # noqa: E731
    depth = 4 * slower * most * alone  # so it never is all it may have at a time

    def asked(at: float, _: float) -> Asked:
        rate = sum(now(at) for _, now in parts) * trembles()
        if at < calm:
            return Asked(1, 0.2 / alone)
        return Asked(depth, rate) if rate > 0 else Asked(0)

    return Scene(
        lambda at: Place(alone * min(2.0, wanders()) * (slower if is_slow(at) else 1.0)),
        asked,
        seconds=420,
        size=r.choice([4, 8, 64]) * KIB,
        write_share=r.choice([0.0, 0.3, 1.0]),
        scatter=r.uniform(0.02, 0.3),
        is_mount=is_mount,
        erases_busy=r.random() < 0.5,
        settled=calm,
    )


def _part(r: random.Random, rate: float) -> tuple[float, Callable[[float], float]]:
    """Its rate while it works, and what it asks for now: it works and rests in turn."""
    longest, states = r.uniform(15, 90), cycle([rate, 0.0])
    return rate, _jumps(r, lambda: next(states), lambda: longest * r.uniform(0.3, 1))


def server_restart(r: random.Random) -> Scene:
    """A server that goes silent, comes back, and answers all that waited."""
    # A failover takes 10 to 60 s; timeo is 60 s (nfs(5)), so that nothing times out in the shorter ones.
    seconds, calm = r.uniform(0.001, 0.020), r.uniform(*CALM_SECONDS)
    silent, lasts, slow = r.uniform(60, 90), r.uniform(8, 40), r.uniform(3, 20)
    slower = r.uniform(1.5, 6)  # with a cold cache, at first
    wanders = wander(r, r.uniform(0.03, 0.10), r.uniform(0.5, 5))

    def place(at: float) -> Place:
        if silent <= at < silent + lasts:
            return Place(inf)
        cold = silent + lasts <= at < silent + lasts + slow
        return Place(seconds * wanders() * (slower if cold else 1.0))

    return Scene(
        place,
        _deepens(calm, r.randint(1, 48)),
        size=r.choice([4, 8, 64, 256]) * KIB,
        write_share=r.choice([0.0, 0.3, 1.0]),
        scatter=r.uniform(0.1, 0.5),
        is_mount=True,
        slots=64,
        settled=calm,
    )


def starved_machine(r: random.Random) -> Scene:
    """A machine whose CPUs are taken away, so that completions are seen late and requests asked late."""
    # Steal of 10 to 70 %, by what the neighbours do; a scheduler's turn is 4 to 30 ms.
    alone, turn = r.uniform(0.0005, 0.004), r.uniform(0.004, 0.030)
    calm = r.uniform(*CALM_SECONDS)
    steal = _jumps(r, lambda: r.choice([0.0, r.uniform(0.1, 0.7)]), lambda: r.uniform(2, 20))
    wanders = wander(r, r.uniform(0.03, 0.10), r.uniform(0.5, 5))

    def place(at: float) -> Place:
        stolen = steal(at) * min(1.3, wanders())
        return Place(alone + turn * stolen / (1 - min(0.9, stolen)))

    return Scene(
        place,
        _deepens(calm, r.randint(1, 32)),
        size=r.choice([4, 8, 64]) * KIB,
        write_share=r.choice([0.0, 0.3, 1.0]),
        scatter=r.uniform(0.1, 0.5),
        erases_busy=r.random() < 0.5,
        settled=calm,
    )


def shingled(r: random.Random) -> Scene:
    """A drive of shingled tracks: writes are quick until its cache is full, then each waits for cleaning."""
    # Its cache takes writes as they come; once full, each waits for a band to be written again, seconds
    # long: a tenth and less of before (Aghayev and Desnoyers, Skylight, FAST '15). Here within minutes.
    alone, calm = r.uniform(0.004, 0.010), r.uniform(*CALM_SECONDS)
    full, slower, band = r.uniform(15, 60), r.uniform(5, 20), r.uniform(0.5, 4.0)
    quick = wander(r, r.uniform(0.02, 0.08), r.uniform(0.5, 5))
    cleaning = _jumps(r, lambda: r.uniform(0.6, 1.4), lambda: band * r.uniform(0.5, 1.5))
    return Scene(
        lambda at: _at_most(
            1 / (alone * quick() * (slower * cleaning(at) if at >= calm + full else 1.0))
        ),
        _deepens(calm, r.randint(2, 32)),
        size=r.choice([4, 8, 16, 64]) * KIB,
        write_share=1.0,
        scatter=r.uniform(0.2, 0.6),
        erases_busy=r.random() < 0.5,
        settled=calm,
    )


def commits(r: random.Random) -> Scene:
    """A log on a hard disk: each commit is forced, and waits for the track to come round again."""
    # One turn: 4 ms (15,000/min) to 11.1 ms (5,400/min). Now and then a seek to where data lies.
    turn, calm = 60 / r.choice([5400, 7200, 10000, 15000]), r.uniform(*CALM_SECONDS)
    seeks, lasts = r.uniform(0.0, 0.3), r.uniform(2, 20)
    away = _jumps(r, lambda: r.choice([0.0, seeks, seeks * r.random()]), lambda: lasts)
    return Scene(
        lambda at: _at_most(1 / (turn * (1 + away(at)))),
        _deepens(calm, r.randint(2, 16)),
        size=r.choice([4, 8, 16]) * KIB,
        write_share=1.0,
        scatter=r.uniform(0.05, 0.3),
        settled=calm,
    )


def encrypted(r: random.Random) -> Scene:
    """A fast disk whose requests one CPU encrypts, which has other work too."""
    # One thread encrypts at 0.2 to 1.2 GB/s, the disk behind it does several times that
    # (https://blog.cloudflare.com/speeding-up-linux-disk-encryption/).
    size, speed = r.choice([16, 64, 128, 256]) * KIB, r.uniform(0.2e9, 1.2e9)
    alone, calm = r.uniform(0.0001, 0.001), r.uniform(*CALM_SECONDS)
    other = _jumps(r, lambda: r.choice([0.0, r.uniform(0.0, 0.5)]), lambda: r.uniform(3, 30))
    wanders = wander(r, r.uniform(0.01, 0.05), r.uniform(0.5, 5))
    return Scene(
        lambda at: Place(alone + size / speed, speed * wanders() * (1 - other(at)) / size),
        _deepens(calm, r.randint(8, 64)),
        size=size,
        write_share=r.choice([0.0, 0.5, 1.0]),
        scatter=r.uniform(0.02, 0.2),
        settled=calm,
    )


FREE_SCENES: Mapping[str, Drawn] = {
    "a far server at constant depth": far_server,
    "an old array whose service time moves": old_array,
    "a hard disk in sequence": disk_in_sequence,
    "a hard disk at random": disk_at_random,
    "delayed acknowledgements": delayed_acknowledgements,
    "an SSD that collects garbage": garbage_collection,
    "an array that rebuilds": rebuild,
    "writes after a snapshot": snapshot,
    "first writes to a thin volume": thin_provisioned,
    "gusts of writeback": writeback,
    "once a second": each_second,
    "once a second, to a filer": each_second_to_filer,
    "an application's own rate, one at a time": own_rate_one,
    "an application's own rate, eight at a time": own_rate_eight,
    "paces of its own, and a disk that becomes slow": own_rates_slowed,
    "paces of its own, and a filer that becomes slow": own_rates_slowed_filer,
    "a server that restarts": server_restart,
    "a machine without CPU": starved_machine,
    "a drive of shingled tracks": shingled,
    "commits to a turning disk": commits,
    "an encrypted disk and one CPU": encrypted,
}
# Where a limit on top makes several requests wait for minutes, so that one nobody told can be found:
# not in gusts, not of one request at a time, which might as well be a slow device, and not of
# a drive that is slower than the limit from some second on.
FINDABLE = FREE_SCENES.keys() - {
    "gusts of writeback",
    "once a second",
    "once a second, to a filer",
    "an application's own rate, one at a time",
    "a drive of shingled tracks",
}


def _deepens(calm: float, depth: float) -> Callable[[float, float], Asked]:
    return lambda at, _: Asked(1.0 if at < calm else depth)


def _at_most(per_second: float) -> Place:
    """A place that serves one after the other."""
    return Place(1 / per_second, per_second)


def wander(
    r: random.Random, share: float, seconds: float, step_seconds: float = STEP_SECONDS
) -> Callable[[], float]:
    """A factor about 1 that wanders by this share, and forgets within these seconds; the next at each call,
    `step_seconds` later.
    """
    keep = exp(-step_seconds / seconds)
    kick = share * sqrt(1 - keep * keep)
    state = [r.gauss(0.0, share)]

    def step() -> float:
        state[0] = keep * state[0] + r.gauss(0.0, kick)
        return exp(state[0])

    return step


def _jumps(
    r: random.Random, value: Callable[[], float], lasts: Callable[[], float]
) -> Callable[[float], float]:
    """A value that holds for a while, and then is another."""
    state = {"value": value(), "until": lasts()}

    def now(at: float) -> float:
        while at >= state["until"]:
            state["value"], state["until"] = value(), state["until"] + lasts()
        return state["value"]

    return now
