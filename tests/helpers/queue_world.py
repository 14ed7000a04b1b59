"""Requests that wait: at a device that is slow, far or busy with something else, and at a limit.

    python tests/helpers/queue_world.py [SEEDS]      # a table: every scene of queue_book.py, so many seeds each

A scene is drawn from a seed. Every tenth of a second it says how long one request takes there and how
many a second the place manages, and how many are asked for at once; what follows is worked out in
closed form (Little's law, and the least of what is asked, managed and allowed), and counted as the
kernel counts it: time at completion, so that a stall is silent while it lasts and told when it ends.
Nothing here knows how the judge decides.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, sqrt
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "exporter"))

from ioplateau.judge.flows import FlowTick
from ioplateau.judge.judge import Judge
from ioplateau.judge.witness import ClientWitness, Witness
from ioplateau.limits.budgets import BudgetKey, FlowKey, Kind, Word
from story_world import Device, Story, budgets_of

DISK, MOUNT = "sda", "/a"
STEPS = 10  # of a second
STEP_SECONDS = 1 / STEPS
JIFFY_SECONDS = 0.004
# Limits that are sold are buckets of some milliseconds up to a second, and hold within a percent:
# measured, tests/helpers/limit_matrix.py.
BUCKET_SECONDS, LIMITER_RIPPLE = (0.01, 1.0), (0.0005, 0.006)
# A tick is held against a limit if the limit bound in nearly all of it, or in none of it.
BOUND, FREE = 0.9, 0.0
# Just below it is neither: a request that comes a moment early waits, another does not.
NEAR = 0.05
# An alarm may last so long after what caused it, and a burst's end may be counted a tick late.
ENDING_SECONDS = 5


class Place(NamedTuple):
    """What answers, now: seconds of one request that does not wait, requests a second at most."""

    seconds: float
    most_per_second: float = inf


class Asked(NamedTuple):
    """What is asked, now: so many at a time, and no more than so many a second."""

    depth: float
    per_second: float = inf


@dataclass(frozen=True, slots=True)
class Scene:
    """One machine and its load. place(at), asked(at, served so far): called once a step, in order."""

    place: Callable[[float], Place]
    asked: Callable[[float, float], Asked]
    seconds: int = 180
    size: float = 8192.0
    write_share: float = 0.0
    scatter: float = 0.3  # standard deviation of a request's time over its mean
    is_mount: bool = False
    slots: int | None = None
    erases_busy: bool = False  # as Linux 5.7 to 6.9 do: an arrival erases busy time
    # Where a limit is put on top: of what is done, and how many more are asked at a time, so that what
    # waits can be seen to wait.
    limit_share: tuple[float, float] = (0.4, 0.75)
    more_depth: int = 8
    settled: float = 0.0  # seconds after which the load is what the scene is about


Drawn = Callable[[random.Random], Scene]


@dataclass(frozen=True, slots=True)
class Limiter:
    """A token bucket on top: operations a second, and how many seconds of them it saves."""

    per_second: float
    bucket_seconds: float
    ripple: float


class Tick(NamedTuple):
    """One tick: what is measured, and the share of it in which the limit denied something."""

    flow: FlowTick
    witness: Witness
    denied: float


class Heard(NamedTuple):
    """What the judge said of one tick, and what was true."""

    at: int
    denied: float
    rate: float
    throttled: frozenset[BudgetKey]


def ticks_of(
    scene: Scene, numbers: random.Random, limiter: Limiter | None, tick_seconds: int = 1
) -> list[Tick]:
    """The whole scene, tick by tick."""
    found = []
    steps = STEPS * tick_seconds
    tokens = limiter.per_second * limiter.bucket_seconds if limiter else inf
    served_ever = held = 0.0
    for tick in range(scene.seconds // tick_seconds):
        allowed = limiter.per_second * numbers.gauss(1.0, limiter.ripple) if limiter else inf
        done = waited = sent = 0.0
        denials = idle_steps = 0
        outstanding = on_wire = 0.0
        open_ended = False
        for step in range(steps):
            at = tick * tick_seconds + step * STEP_SECONDS
            place, asked = scene.place(at), scene.asked(at, served_ever)
            room = min(asked.depth, scene.slots) if scene.slots else asked.depth
            could = min(room / place.seconds, place.most_per_second) if room > 0 else 0.0
            if could > 0:
                # So many requests end in a step, give or take what their times scatter.
                spread = scene.scatter / sqrt(max(1.0, could * STEP_SECONDS))
                could *= max(0.2, numbers.gauss(1.0, spread))
            wanted = min(could, asked.per_second)
            if limiter:
                tokens = min(
                    max(limiter.per_second * limiter.bucket_seconds, allowed * STEP_SECONDS),
                    tokens + allowed * STEP_SECONDS,
                )
            served = min(wanted * STEP_SECONDS, tokens)
            is_denied = served < wanted * STEP_SECONDS * 0.97
            tokens -= served
            denials += is_denied
            open_ended = asked.per_second < could and not is_denied
            outstanding = served / STEP_SECONDS * place.seconds if open_ended else asked.depth
            on_wire = min(outstanding, scene.slots) if scene.slots else outstanding
            held += outstanding * STEP_SECONDS
            sent += on_wire * STEP_SECONDS
            idle_steps += outstanding <= 0
            if served > 0:
                waited, held = waited + held, 0.0
            done += served
            served_ever += served
        done, waited, sent = done / tick_seconds, waited / tick_seconds, sent / tick_seconds
        busy = _busy(scene, done, waited, idle_steps / steps, open_ended=open_ended)
        flow = _flow(scene, done, waited, sent, round(outstanding), busy)
        flow = flow._replace(elapsed_seconds=float(tick_seconds))
        found.append(Tick(flow, _witness(scene, done, on_wire, waited), denials / steps))
    return found


def _busy(scene: Scene, done: float, waited: float, idle: float, *, open_ended: bool) -> float:
    busy = min(1.0 - idle, waited)
    if scene.erases_busy and open_ended and done > 0:
        # update_io_ticks() of Linux 5.7 to 6.9: an arrival adds a jiffy and restarts the clock.
        gap = 1 / (2 * done)
        busy = min(busy, done * (gap + min(gap, JIFFY_SECONDS)))
    return busy


def _flow(
    scene: Scene, done: float, waited: float, sent: float, in_flight: int, busy: float
) -> FlowTick:
    write = scene.write_share
    wait = waited / done if done > 0 else None
    rates = {
        "read_operations_per_second": done * (1 - write),
        "write_operations_per_second": done * write,
        "read_bytes_per_second": done * (1 - write) * scene.size,
        "write_bytes_per_second": done * write * scene.size,
        "read_await_seconds": wait if write < 1 else None,
        "write_await_seconds": wait if write > 0 else None,
        "queue_length": waited,
    }
    if not scene.is_mount:
        return FlowTick(1.0, **rates, in_flight=in_flight, busy_ratio=busy)
    if wait is None:
        return FlowTick(1.0)
    wire = wait * min(1.0, sent / waited) if waited else wait
    return FlowTick(
        1.0,
        **rates,
        read_rtt_seconds=wire if write < 1 else None,
        write_rtt_seconds=wire if write > 0 else None,
        read_queue_seconds=wait - wire if write < 1 else None,
        write_queue_seconds=wait - wire if write > 0 else None,
    )


def _witness(scene: Scene, done: float, on_wire: float, waited: float) -> Witness:
    if scene.is_mount:
        client = ClientWitness(
            connections=1,
            slot_limit=scene.slots,
            backlog=max(0.0, waited - on_wire) if scene.slots else 0.0,
            on_wire=round(on_wire),
            receives_per_second=done,
        )
        return Witness(clients={MOUNT: client})
    return Witness()


def fastest(ticks: Iterable[Tick]) -> float:
    return max(tick.flow.operations_per_second for tick in ticks)


def told(scene: Scene, ticks: Iterable[Tick], limit: float | None) -> list[Heard]:
    """What a judge says who knows this limit of operations a second, or none (None)."""
    device = {MOUNT if scene.is_mount else DISK: Device(iops=limit)}
    story = Story("", (), mounts=device) if scene.is_mount else Story("", (), device)
    budgets = budgets_of(story, known=limit is not None)
    key = FlowKey("nfs", MOUNT) if scene.is_mount else FlowKey("disk", DISK)
    judge = Judge()
    judge.observe(1000.0, None, budgets, {}, Witness())
    found, at = [], 1000.0
    for index, tick in enumerate(ticks, start=1):
        elapsed = tick.flow.elapsed_seconds
        at += elapsed
        verdicts = judge.observe(at, elapsed, budgets, {key: tick.flow}, tick.witness)
        rate = tick.flow.operations_per_second
        throttled = frozenset(k for k, v in verdicts.items() if v.word is Word.THROTTLED)
        found.append(Heard(index, tick.denied, rate, throttled))
    return found


@lru_cache(maxsize=4)
def unlimited(draw: Drawn, seed: int, tick_seconds: int = 1) -> tuple[Scene, tuple[Tick, ...]]:
    """A scene without a limit."""
    scene = draw(random.Random(seed))
    return scene, tuple(ticks_of(scene, random.Random(seed + 1), None, tick_seconds))


def alarms(draw: Drawn, seed: int, *, known: bool, tick_seconds: int = 1) -> list[Heard]:
    """Where a limit is called binding though there is none. known: one is told that is far away."""
    scene, ticks = unlimited(draw, seed, tick_seconds)
    far = random.Random(seed + 2).uniform(3, 10) * fastest(ticks) if known else None
    return [heard for heard in told(scene, ticks, far) if heard.throttled]


@dataclass(frozen=True, slots=True)
class Found:
    """Of the ticks in which a limit bound: seconds from the first of them until it was found (None:
    never), the share of the ticks after that which were called throttled; and false alarms."""

    bound: int
    after: float | None
    held: float
    wrong: list[Heard]


def limited(draw: Drawn, seed: int, *, known: bool) -> Found:
    """The same scene under a limit that is less than it would do, at almost any time."""
    scene, free = unlimited(draw, seed)
    numbers = random.Random(seed + 3)
    settled = sorted(
        rate
        for tick in free[round(scene.settled) :]
        if (rate := tick.flow.operations_per_second) > 0.05 * fastest(free)
    )
    limit = settled[len(settled) // 10] * numbers.uniform(*scene.limit_share)
    limiter = Limiter(limit, numbers.uniform(*BUCKET_SECONDS), numbers.uniform(*LIMITER_RIPPLE))
    again = _pressed(draw(random.Random(seed)), limit)
    heard = told(again, ticks_of(again, numbers, limiter), limit if known else None)
    key = BudgetKey(Kind.VOLUME, MOUNT) if scene.is_mount else BudgetKey(Kind.DISK, DISK)
    bound = [h for h in heard if h.denied >= BOUND and h.at > scene.settled + 1]
    first = next((h for h in bound if key in h.throttled), None)
    rest = [key in h.throttled for h in bound if first and h.at >= first.at]
    unclear = {
        h.at + more
        for h in heard
        if h.denied > FREE or h.rate > (1 - NEAR) * limit
        for more in range(ENDING_SECONDS)
    }
    wrong = [h for h in heard if h.throttled - {key} or (h.throttled and h.at not in unclear)]
    return Found(
        len(bound),
        None if first is None else 1.0 + sum(h.at < first.at for h in bound),
        sum(rest) / len(rest) if rest else 0.0,
        wrong,
    )


def _pressed(scene: Scene, limit: float) -> Scene:
    """Well below the limit at first, then with more requests at a time, as many as there are slots."""

    def asked(at: float, served: float) -> Asked:
        wish = scene.asked(at, served)
        if at < scene.settled:
            return wish._replace(per_second=min(wish.per_second, limit / 2))
        more = scene.more_depth if wish.depth else 0
        return wish._replace(depth=min(wish.depth + more, scene.slots or inf))

    return replace(scene, asked=asked)


def stretches(heard: Iterable[Heard]) -> list[tuple[int, int]]:
    """First and last tick of each alarm."""
    found: list[tuple[int, int]] = []
    for one in heard:
        if found and one.at - found[-1][1] <= 1:
            found[-1] = found[-1][0], one.at
        else:
            found.append((one.at, one.at))
    return found


def main(seeds: int) -> None:
    from queue_book import FREE_SCENES

    for name, draw in FREE_SCENES.items():
        words = [f"{name:44}"]
        for known in (True, False):
            wrong = [alarms(draw, seed, known=known) for seed in range(seeds)]
            words.append(f"{'far' if known else 'unknown'}: {sum(map(bool, wrong))} of {seeds}")
        for known in (True, False):
            found = [limited(draw, seed, known=known) for seed in range(seeds)]
            after = sorted(f.after for f in found if f.after is not None)
            held = sum(f.held for f in found) / len(found)
            words.append(
                f"limit {'known' if known else 'unknown'}: found {len(after)},"
                f" latest {after[-1] if after else inf:.0f} s, held {held:.2f},"
                f" wrong {sum(map(bool, (f.wrong for f in found)))}"
            )
        sys.stdout.write(" | ".join(words) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
