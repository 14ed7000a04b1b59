"""NFS: volumes, the client's slots, its connections, and the VM's network under them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ioplateau.judge import parameters as number
from ioplateau.judge.blame import (
    Culprit,
    is_connection_bound,
    waits_for_acknowledgements,
    waits_for_another,
    waits_for_slots,
    waits_in,
)
from ioplateau.judge.case import Case
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.hypotheses import NONE_HOLDS, Hypotheses, any_of, conclude
from ioplateau.judge.providers import allowance_exceeded
from ioplateau.judge.restart import Restartable
from ioplateau.judge.rulings import Ruling, quiet
from ioplateau.judge.signals import NO_PART, NONE, STRONG, WatchedFlow
from ioplateau.judge.window import DIMENSIONS, Recent, level, regime
from ioplateau.judge.wire import Wire
from ioplateau.judge.witness import ClientWitness, Witness
from ioplateau.judge.words import CLIENTS
from ioplateau.limits.budgets import (
    Budget,
    BudgetKey,
    Dimension,
    Direction,
    FlowKey,
    Kind,
    Origin,
    Verdict,
    Word,
)


class MountJudge(Restartable):
    """Remembers every mount, client and interface between blocks."""

    def __init__(self) -> None:
        super().__init__()
        self._volumes: dict[BudgetKey, Case] = {}
        self._slots: dict[BudgetKey, Case] = {}
        self._connections: dict[BudgetKey, Case] = {}
        self._networks: dict[BudgetKey, Case] = {}
        self._clients: dict[FlowKey, str] = {}
        self._awake: dict[FlowKey, WatchedFlow] = {}  # mounts that this block had to look at
        self._wires: dict[str, Wire] = {}  # by client
        # By slots: calls on the wire, of the blocks in which others waited for one.
        self._loads: dict[BudgetKey, Recent] = {}
        self._usual: dict[FlowKey, float] = {}

    def take_budgets(self, budgets: Mapping[BudgetKey, Budget], at: float) -> None:
        """Take these budgets; those that stay keep their memory."""
        self._saved.begin(at)
        volumes = {key: b for key, b in budgets.items() if key.kind is Kind.VOLUME}
        flows = {m for b in volumes.values() for m in b.members}
        stayed = flows & self._watched_flows.keys()
        self._watched_flows = {
            flow: self._watched_flows.get(flow) or self._saved.to_watched(flow, WatchedFlow(), at)
            for flow in flows
        }
        self._usual = {flow: usual for flow, usual in self._usual.items() if flow in flows}
        self._volumes = self._carried_on(Kind.VOLUME, self._volumes, budgets, stayed, at)
        self._slots = self._carried_on(Kind.NFS_SLOTS, self._slots, budgets, stayed, at)
        self._connections = self._carried_on(
            Kind.NFS_CONNECTION, self._connections, budgets, stayed, at
        )
        self._networks = self._carried_on(Kind.VM_NETWORK, self._networks, budgets, stayed, at)
        for case in self._volumes.values():
            _, *others = case.budget.members
            case.others = [(flow.name, self._watched_flows[flow]) for flow in others]
        self._loads = {key: self._loads.get(key) or Recent() for key in self._slots}
        self._clients = {
            flow: key.name
            for key, b in budgets.items()
            if key.kind is Kind.NFS_SLOTS
            for flow in b.members
        }

    def _carried_on(
        self,
        kind: Kind,
        before: Mapping[BudgetKey, Case],
        budgets: Mapping[BudgetKey, Budget],
        stayed: Collection[FlowKey],
        at: float,
    ) -> dict[BudgetKey, Case]:
        found = {}
        for key, budget in budgets.items():
            if key.kind is not kind:
                continue
            case = before.get(key)
            if kind is Kind.VM_NETWORK:
                # The limit is the VM's: all its interfaces are one flow, which outlives each of them.
                watched = WatchedFlow() if case is None else case.watched
            else:
                watched = self._watched_flows[budget.members[0]]
            if case is not None and kind in CLIENTS:
                common = {*case.budget.members} & {*budget.members}
                if not common.isdisjoint(stayed):
                    case.drawn = watched  # a client outlives its first mount
            found[key] = self._saved.carried_on(case, budget, watched, at)
        return found

    def step(
        self,
        at: float,
        dt: float,
        flows: Mapping[FlowKey, FlowTick | None],
        witness: Witness,
        verdicts: dict[BudgetKey, Verdict],
    ) -> None:
        """Every budget judged here, one block."""
        if not self._watched_flows and not self._networks:
            return
        self._look(at, dt, flows, witness)
        for case in self._networks.values():
            _look_at_interfaces(case.watched, [flows.get(flow) for flow in case.budget.members])
        self._follow_wires(witness, dt)
        network = self._bind_networks(dt)
        exceeded = allowance_exceeded(witness.allowances)
        for key, case in self._networks.items():
            counted = None
            if exceeded is not None:
                counted = Ruling.counted(case, *exceeded)
            says = Hypotheses(counted=counted, met=network.get(key))
            held = network.get(key)
            direction = (held and held.direction) or Direction.TOTAL
            verdicts[key] = conclude(case, at, dt, says, self._queued(direction))
        slots = self._bind_slots(at, dt, witness, verdicts)
        self._judge_volumes(at, dt, witness, verdicts, network=network, slots=slots)

    def _look(
        self,
        at: float,
        dt: float,
        flows: Mapping[FlowKey, FlowTick | None],
        witness: Witness,
    ) -> None:
        silent = self._silent_clients(witness, flows)
        self._awake = {}
        calm = None  # what all that rest did is one value
        for flow, watched in self._watched_flows.items():
            tick = flows.get(flow)
            if (
                watched.asleep
                and tick is not None
                and (tick is calm or watched.sleeps_on(tick))
                and not (silent and self._clients.get(flow, "") in silent)
            ):
                calm = tick
                if flow in self._usual:
                    self._follow_usual(flow, 0.0, dt)
                continue
            self._awake[flow] = watched
            if tick is None:
                watched.miss()
                continue
            stalled = watched.stalled_seconds
            name = self._clients.get(flow, "")
            client, is_silent = witness.clients.get(name), flow in silent.get(name, ())
            if client is not None and client.shortest_trip_seconds is not None:
                watched.take_way(client.shortest_trip_seconds)
            wire = self._wires.get(name)
            lost = None if wire is None else wire.lost
            on_wire = None if lost is None else _on_wire(client, tick, lost)
            watched.look(tick, at, dt, on_wire)
            self._notice_stall(flow, watched, tick, dt, stalled, is_silent=is_silent)
            if (stalled or watched.resumes) and not watched.stalled_seconds:
                watched.resume(stalled, client.on_wire if client is not None else None)

    def unsettle(self) -> None:
        """A gap: nothing new is learned just after it."""
        for watched in self._watched_flows.values():
            watched.unsettle()
        for case in self._networks.values():
            case.watched.unsettle()

    def _queued(self, direction: Direction) -> tuple[FlowKey, ...]:
        return tuple(
            flow
            for flow, watched in self._awake.items()
            if waits_for_another(watched) and waits_in(watched, direction)
        )

    # -- stalls

    def _notice_stall(
        self,
        flow: FlowKey,
        watched: WatchedFlow,
        tick: FlowTick,
        dt: float,
        stalled: float,
        *,
        is_silent: bool,
    ) -> None:
        """stalled: seconds of a stall until this block. is_silent: it waits for a server that is."""
        usual = self._usual.get(flow, 0.0)
        trickle = (
            watched.active
            and watched.operations < number.LITTLE * usual
            and watched.latency >= 2 * number.BLOCK_SECONDS
            and watched.excess > 2 * number.STEEP
        )
        if (is_silent and not watched.active) or trickle:
            watched.unsettle()
            watched.stalled_seconds = stalled + dt
            return
        watched.stalled_seconds = 0.0
        self._follow_usual(flow, tick.operations_per_second, dt)

    def _silent_clients(
        self, witness: Witness, flows: Mapping[FlowKey, FlowTick | None]
    ) -> dict[str, frozenset[FlowKey]]:
        """Those whose server gives no answers, with the mounts that wait for them: those that read or wrote
        just before. Where none did and nothing at all is answered, whichever ever did, or else all: nobody tells
        whose the other calls are.
        """
        found = {}
        for name, client in witness.clients.items():
            wire = self._wires.get(name)
            if wire is None or not wire.is_silent(client):
                continue
            mounts = self._slots[BudgetKey(Kind.NFS_SLOTS, name)].budget.members
            ticks = [tick for flow in mounts if (tick := flows.get(flow)) is not None]
            if client.receives_per_second and any(tick.operations_per_second for tick in ticks):
                continue
            ever = [flow for flow in mounts if self._usual.get(flow)]
            lately = [f for f in ever if self._usual[f] * number.SETTLED_SECONDS >= 1.0]
            # Of a server that answers something, one call may take long and nobody be waiting: a copy it makes.
            found[name] = frozenset(
                lately if client.receives_per_second else lately or ever or mounts
            )
        return found

    def _follow_usual(self, flow: FlowKey, operations_per_second: float, dt: float) -> None:
        usual = self._usual.get(flow, 0.0)
        if usual or operations_per_second:
            self._usual[flow] = usual + min(1.0, dt / number.SETTLED_SECONDS) * (
                operations_per_second - usual
            )

    def _follow_wires(self, witness: Witness, dt: float) -> None:
        operations, loads = dict.fromkeys(witness.clients, 0.0), dict.fromkeys(witness.clients, 0.0)
        for flow, watched in self._awake.items():
            name = self._clients.get(flow, "")
            if name in operations:
                operations[name] += watched.operations
                loads[name] += watched.rtt_load
        before, self._wires = self._wires, {}
        for name, client in witness.clients.items():
            wire = self._wires[name] = before.get(name) or Wire()
            wire.follow(client, operations[name], loads[name], dt)

    # -- limits

    def _bind_networks(self, dt: float) -> dict[BudgetKey, Ruling]:
        bound: dict[BudgetKey, Ruling] = {}
        for key, case in self._networks.items():
            nic = case.watched
            self._lend_queue(nic)
            claim = case.weigh_claims(dt)
            is_write = nic.write_bytes_per_second > nic.read_bytes_per_second
            # One mount that waits blames its own volume; several share what is between.
            shared = self._waiting_in(is_write) > 1 and not case.claims and self._is_steadier(nic)
            _, waiting = nic.parts[is_write]
            case.plateau.step(nic, dt, allowed=shared, recurs=waiting > 0)
            if claim is not None:
                bound[key] = Ruling.known(case, claim)
            elif case.plateau.on and case.plateau.dimension is Dimension.THROUGHPUT:
                ruling = Ruling.learned(case, Culprit.VM)
                busier = Direction.WRITE if is_write else Direction.READ
                bound[key] = ruling._replace(direction=busier)
        return bound

    def _is_steadier(self, nic: WatchedFlow) -> bool:
        """Whether the interface stands still while each mount that waits does not."""
        whole = nic.level_of(Dimension.THROUGHPUT).spread
        return all(
            watched.level_of(Dimension.THROUGHPUT).spread >= max(number.OFF_LEVEL, 2 * whole)
            for flow, watched in self._awake.items()
            if watched.queue >= STRONG
        )

    def _lend_queue(self, nic: WatchedFlow) -> None:
        """Let the mounts that wait speak for the interface, in each direction of which they carry most."""
        waits = [watched for watched in self._awake.values() if watched.queue > NONE]
        carried = (
            (nic.read_bytes_per_second, sum([each.read_bytes_per_second for each in waits])),
            (nic.write_bytes_per_second, sum([each.write_bytes_per_second for each in waits])),
        )
        nic.queue, nic.excess, nic.parts = NONE, 0.0, [NO_PART, NO_PART]
        for write, (total, part) in enumerate(carried):
            if not total or part < 0.5 * total:
                continue
            parts = [each.parts[write] for each in waits]
            held, waiting = map(sum, zip(*parts, strict=True))
            nic.parts[write] = held, waiting
            speaking = [each for each in waits if each.parts[write][0] > 0]
            nic.queue = max([nic.queue, *[each.queue for each in speaking]])
            nic.excess = max([nic.excess, *[each.excess for each in speaking]])
        nic.outstanding, nic.waiting = map(sum, zip(*nic.parts, strict=True))
        nic.operations = sum([each.operations for each in waits])
        nic.queued = nic.queued + 1 if nic.queue >= STRONG else 0
        nic.recent_operations.add(0.0)

    def _waiting_in(self, is_write: bool) -> int:
        """How many mounts wait on the wire, with more requests of this direction than of the other."""
        short = {key.name for key, case in self._slots.items() if case.word is Word.THROTTLED}
        # Who waits for slots waits here, not on the wire.
        return sum(
            watched.queue >= STRONG
            and watched.parts[is_write][1] >= 0.5 * watched.waiting
            and self._clients.get(flow) not in short
            for flow, watched in self._awake.items()
        )

    def _bind_slots(
        self, at: float, dt: float, witness: Witness, verdicts: dict[BudgetKey, Verdict]
    ) -> dict[str, tuple[FlowKey, ...]]:
        """By client whose slots are taken, the mounts that wait for one while their wire is at ease."""
        bound = {}
        moving = {self._clients.get(flow) for flow in self._awake}
        for key, case in self._slots.items():
            if key.name not in moving and (lasting := case.lasting()) is not None:
                verdicts[key] = lasting
                continue
            client = witness.clients.get(key.name)
            moving_here = [
                (flow, watched)
                for flow in case.budget.members
                if (watched := self._watched_flows[flow]).active
            ]
            load = sum([watched.rtt_load for _, watched in moving_here])
            is_full = self._is_full(key, load, moving_here)
            waiting = tuple(
                [
                    flow
                    for flow, watched in moving_here
                    if waits_for_slots(watched, client, load, is_full=is_full)
                ]
            )
            case.drawn = self._watched_flows[self._busiest(waiting or case.budget.members)]
            gain = 1.0 if waiting else -1.0
            if waiting and all(self._watched_flows[flow].has_waited_before for flow in waiting):
                gain = 0.0
            case.belief.weigh(gain, dt)
            says = NONE_HOLDS
            if case.belief.held:
                bound[key.name] = waiting
                holders = _holders(moving_here, waiting, load) if waiting else ""
                is_seen = is_full or any(w.rtt_floors.was_alone for _, w in moving_here)
                says = Hypotheses(
                    slots=self._short_of_slots(case, client, moving_here, holders, is_seen=is_seen)
                )
            verdicts[key] = conclude(case, at, dt, says, waiting or case.budget.members)
        return bound

    def _is_full(
        self, key: BudgetKey, load: float, moving: Sequence[tuple[FlowKey, WatchedFlow]]
    ) -> bool:
        """Whether the calls on the wire stay as many while others wait here, whatever a call takes, and
        the rates do not: so a limit of their number holds them, and none of a rate.
        """
        recent = self._loads[key]
        if sum([watched.queue_load for _, watched in moving]) < number.QUEUE_WAITING:
            recent.forget()
            return False
        recent.add(load)
        looks = self._wires[key.name].looks if key.name in self._wires else ()
        is_same = looks and looks == (looks[0],) * number.LEVEL_LEAST and looks[0] > 0
        if is_same and _moves(moving, number.LEVEL_LEAST) >= 2 * number.OFF_LEVEL:
            return True
        held = level(regime(recent.values))
        moves = _moves(moving, held.count)
        is_sure = held.count >= 2 * number.LEVEL_LEAST or held.spread <= number.LITTLE * moves
        return (
            is_sure
            and held.count >= number.LEVEL_LEAST
            and held.spread <= number.OFF_LEVEL
            and moves >= max(number.OFF_LEVEL, 2 * held.spread)
        )

    @staticmethod
    def _short_of_slots(
        case: Case,
        client: ClientWitness | None,
        moving: Sequence[tuple[FlowKey, WatchedFlow]],
        holders: str,
        *,
        is_seen: bool,
    ) -> Ruling:
        """is_seen: it was seen how long calls take while few are on the wire."""
        known = case.budget.limits[0] if case.budget.limits else None
        on_wire = client.on_wire if client is not None else None
        if known is not None and on_wire and not 0.5 <= on_wire / known.value <= 2.0:
            known = None  # it holds for mounts that are made now
        limit = known.value if known is not None else None
        evidence: dict[str, float | str] = {
            "waiting_calls": max(
                (client.backlog if client is not None else None) or 0.0,
                sum([watched.queue_load for _, watched in moving]),
            ),
            "queue_share": case.watched.queue_share,
        }
        if not is_seen:
            evidence["floor"] = "unseen"
        return Ruling(
            Word.THROTTLED,
            Dimension.SLOTS,
            Direction.TOTAL,
            limit,
            known.origin if known is not None else Origin.LEARNED,
            phase="base",
            culprit=holders,
            evidence=evidence,
        )

    def _judge_volumes(
        self,
        at: float,
        dt: float,
        witness: Witness,
        verdicts: dict[BudgetKey, Verdict],
        *,
        network: Mapping[BudgetKey, Ruling],
        slots: Mapping[str, tuple[FlowKey, ...]],
    ) -> None:
        """Volumes, and the connections of clients. network: the one that is held; slots: by client whose slots are
        taken, the mounts that wait for one.
        """
        tight: dict[str, list[FlowKey]] = {}  # mounts that fill their client's connections
        for key, case in self._volumes.items():
            lasting = case.lasting()
            if lasting is not None and not slots:
                verdicts[key] = lasting
                continue
            flow = case.budget.members[0]
            name = self._clients.get(flow, "")
            if lasting is not None and name not in slots:
                verdicts[key] = lasting
                continue
            watched = case.watched
            # Calls of this mount may be what takes the slots: those that take longer on the wire than they should.
            takes_long = watched.rtt_excess >= number.QUEUE_EXCESS
            is_short = name in slots and not (
                takes_long and slots[name] and flow not in slots[name]
            )
            is_tight = is_connection_bound(witness.clients.get(name))
            held = None
            for holder, ruling in network.items():
                if waits_in(watched, ruling.direction or Direction.TOTAL):
                    held = holder
                    break
            if held is not None:
                watched.unsettle()  # where it stands, the network makes it stand
            if case.all_calls is not None:
                case.other_calls = self._other_calls(case, name, witness)
            claim = case.weigh_claims(dt, elsewhere=held is not None)
            case.look_for_limit(
                dt,
                told=() if is_tight else case.limits_to_beat,
                doubts=int(waits_for_acknowledgements(watched)),
                allowed=claim is None
                and held is None
                and not is_short
                and not case.is_shared_now
                and not watched.stalled_seconds,
            )
            met = elsewhere = None
            is_met = case.met is not None
            if is_met and is_tight:
                if claim is None:
                    tight.setdefault(name, []).append(flow)
                elsewhere = BudgetKey(Kind.NFS_CONNECTION, name)
            elif is_met:
                met = Ruling.learned(case, Culprit.DISK)
            elif is_short and watched.active:
                elsewhere = BudgetKey(Kind.NFS_SLOTS, name)
            elif waits_for_another(watched):
                elsewhere = held
            says = any_of(claim, met, elsewhere)
            verdicts[key] = conclude(case, at, dt, says, (flow,))
        self._judge_connections(at, dt, verdicts, tight)

    def _other_calls(self, case: Case, name: str, witness: Witness) -> float:
        """Calls per second of a volume that neither read nor write, where a limit may count them and all calls of its
        client are this one mount's; else 0.
        """
        client = witness.clients.get(name)
        if client is None or client.receives_per_second is None:
            return 0.0
        if len(self._slots[BudgetKey(Kind.NFS_SLOTS, name)].budget.members) > 1:
            return 0.0
        return max(0.0, client.receives_per_second - case.watched.operations)

    def _judge_connections(
        self,
        at: float,
        dt: float,
        verdicts: dict[BudgetKey, Verdict],
        tight: Mapping[str, Sequence[FlowKey]],
    ) -> None:
        for key, case in self._connections.items():
            flows = tight.get(key.name)
            busiest = self._busiest(flows or case.budget.members)
            case.drawn = self._watched_flows[busiest]
            if flows:
                volume = self._volumes[BudgetKey(Kind.VOLUME, busiest.name)]
                says = Hypotheses(met=Ruling.learned(volume, Culprit.DISK))
                verdicts[key] = conclude(case, at, dt, says, tuple(flows))
            else:
                verdicts[key] = case.lasting() or quiet(case, at, dt)

    def _busiest(self, flows: Collection[FlowKey]) -> FlowKey:
        """Of a client's mounts the one that does most: the figures of a verdict on the client are its."""
        moving = [flow for flow in flows if self._watched_flows[flow].operations]
        if len(moving) > 1:
            return max(moving, key=lambda flow: self._watched_flows[flow].operations)
        return next(iter(moving or flows))

    def cases(self) -> Iterable[Case]:
        parts = (self._volumes, self._slots, self._connections, self._networks)
        return [case for part in parts for case in part.values()]

    def forget(self, flows: Collection[FlowKey]) -> None:
        super().forget(flows)
        for flow in flows:
            self._usual.pop(flow, None)


def _moves(moving: Sequence[tuple[FlowKey, WatchedFlow]], count: int) -> float:
    """Spread of what is steadiest of all mounts' rates, over so many blocks."""
    return min(
        [
            level(watched.values_of(each)[-count:]).spread
            for _, watched in moving
            for each in DIMENSIONS
        ]
    )


def _holders(
    moving: Sequence[tuple[FlowKey, WatchedFlow]], waiting: Collection[FlowKey], load: float
) -> str:
    """The mounts whose calls take long on the wire and are most of those there; "": none are. load: calls on
    the wire, of all mounts.
    """
    held = [
        (flow.name, watched.rtt_load)
        for flow, watched in moving
        if flow not in waiting and watched.rtt_excess >= number.QUEUE_EXCESS
    ]
    is_most = sum([calls for _, calls in held]) >= 0.5 * load
    return ", ".join([name for name, _ in held]) if is_most else ""


def _on_wire(client: ClientWitness | None, tick: FlowTick, lost: int) -> int | None:
    """Calls of a mount that are sent and not answered as a block ends, as far as its client's connections
    tell: if they carry these calls (those of pNFS go to other servers) and few others. lost: calls that count
    as sent for ever. None: unknown.
    """
    if client is None or client.receives_per_second is None:
        return None
    calls, least = tick.operations_per_second, 1 - number.LEAST_PART
    if client.receives_per_second < least * calls:
        return None
    if not client.on_wire:
        return client.on_wire
    is_alone = calls >= least * client.receives_per_second
    return (max(client.on_wire - lost, 0) or None) if is_alone else None


def _look_at_interfaces(watched: WatchedFlow, ticks: Iterable[FlowTick | None]) -> None:
    """The sum of a VM's interfaces. They have bytes only, and each direction is limited by itself: `bytes`, in
    which a plateau is looked for, are those of the busier one.
    """
    known = [tick for tick in ticks if tick is not None]
    if not known:
        watched.miss()
        return
    watched.clear()
    watched.busy = 1.0  # nobody counts for which part of the time something is under way
    watched.read_bytes_per_second = sum([tick.read_bytes_per_second for tick in known])
    watched.write_bytes_per_second = sum([tick.write_bytes_per_second for tick in known])
    watched.bytes = max(watched.read_bytes_per_second, watched.write_bytes_per_second)
    watched.recent_bytes.add(watched.bytes)
