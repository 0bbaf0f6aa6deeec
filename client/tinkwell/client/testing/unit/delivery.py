"""Grants the events of units to agents, by the core's rules, and takes their outcomes.

The leases are those of the fake server: they end only when a test says so. A leader's term ends at once with its lease.
"""

from datetime import timedelta

from tinkwell.api.v1 import application_service_pb2
from tinkwell.api.v1 import unit_service_pb2 as pb
from tinkwell.client.testing.unit import answer, effect, task
from tinkwell.client.testing.unit.book import Room, Serves, UnitBook, Waiting
from tinkwell.client.testing.world import World
from tinkwell.client.unit.model import UnitStatus
from tinkwell.client.workflow.model import Action, Workflow
from tinkwell.core import errors
from tinkwell.core.event.kinds import ResourceType, State
from tinkwell.core.lease.lease import Reporter
from tinkwell.core.unit.kinds import EventKind, EventState, Life, TaskState
from tinkwell.core.unit.world import Running
from tinkwell.core.unit.world import Unit as WorldUnit

_FIRST_RETRY_SECONDS, _LONGEST_RETRY_SECONDS = 5.0, 300.0


class Delivery:
    """Grants, commits and fails events."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._book: UnitBook = world.units

    def reporter(self, lease_token: int) -> Reporter:
        """Return the reporter with this token. Raises `errors.LeaseLost` if its lease is over."""
        found = self._world.ledger.reporter(lease_token)
        if found.lease is None or not found.lease.is_live:
            raise errors.LeaseLost(lease_token)
        return found

    def serves(self, room: Room, unit: WorldUnit, by: Serves) -> bool:
        """Whether an agent serves a unit that has a place."""
        kind = room.world.applications[unit.application].charm.kind
        if kind not in by.kinds or by.namespace not in ("", room.namespace):
            return False
        if by.application not in ("", unit.application):
            return False
        return by.is_anywhere if unit.id in room.anywhere else unit.machine in by.machines

    def served(self, lease_id: str) -> list[tuple[Room, WorldUnit]]:
        """Return the units that the agent of a lease serves. Units that wait for a place get one first."""
        by = self._book.agents[lease_id]
        found = []
        for room in self._book.all_rooms():
            for unit in room.world.units.values():
                if unit.life is Life.DEAD:
                    continue
                if not unit.machine and unit.id not in room.anywhere:
                    self._place(room, unit, by)
                if self.serves(room, unit, by):
                    found.append((room, unit))
        return found

    def place(self) -> None:
        """Give each unit that waits for a place one that a living agent serves, if there is one."""
        for lease_id in self._book.agents:
            if self._is_live(lease_id):
                self.served(lease_id)
        for room in self._book.all_rooms():
            room.tell()

    def has_agent(self, room: Room, unit: WorldUnit) -> bool:
        """Whether a living agent serves a unit."""
        live = (by for lease_id, by in self._book.agents.items() if self._is_live(lease_id))
        return any(self.serves(room, unit, by) for by in live)

    def is_due(self, room: Room, unit: WorldUnit) -> bool:
        """Whether a unit may have an event or a task that is due and does not run."""
        running, task_ = unit.running, room.world.running_task(unit.name)
        if task_ is not None:
            return task_.is_cancelled
        if room.world.due_task(unit.name):
            return True
        if running is None:
            return room.world.due(unit.name) is not None or self._is_tick(room, unit)
        return running.is_lost or (running.state is EventState.ERROR and self._may_retry(room, unit))

    def next_event(self, lease_token: int, unit_id: str) -> pb.NextEventResponse:
        """Grant a unit's next event, or answer why there is none."""
        reporter = self.reporter(lease_token)
        found = self._book.find(lambda unit: unit.id == unit_id)
        if found is None:
            return _none(pb.NO_EVENT_REASON_GONE)
        room, unit = found
        self._hear()
        self._judge_hold(room, unit, reporter)
        by = self._book.agents.get(reporter.lease_id)
        if by is not None and by.charm and by.charm != self._wanted_charm(room, unit):
            return _none(pb.NO_EVENT_REASON_OTHER_CHARM)
        room.holders[unit.id] = reporter.lease_id
        if self._is_tick(room, unit):
            room.world.tick(unit.name)
        self._judge_task(room, unit, lease_token)
        granted = room.world.grant(unit.name, may_retry=self._may_retry(room, unit))
        return self._answer(room, unit, granted, lease_token)

    def commit(self, request: pb.CommitEventRequest) -> pb.CommitEventResponse:
        """End an event, and grant the next one."""
        reporter = self.reporter(request.lease_token)
        former = self._former(request.event_id, request.attempt)
        if former is not None:
            return pb.CommitEventResponse(next=former)
        if request.HasField("task"):
            return self._commit_task(reporter, request)
        room, unit, running = self._running(reporter, request.event_id, request.attempt)
        room.holders[unit.id] = reporter.lease_id
        effects = effect.read(request.effects)
        self._hear()
        try:
            started = room.world.commit(unit.name, effects)
        except errors.CommitRefused:
            self._plan_retry(room, unit)
            raise
        finally:
            room.tell()
        self._count_notices(room, unit)
        if running.event.kind in (EventKind.START, EventKind.UPDATE_STATUS):
            seconds = self._book.namespaces[room.namespace].update_status_seconds
            room.tick_at[unit.name] = room.now() + timedelta(seconds=seconds)
        following = self._answer(room, unit, started, 0 if request.is_last else request.lease_token)
        if request.is_last:
            following = _none(pb.NO_EVENT_REASON_NOTHING_DUE)
        room.answers[request.event_id, request.attempt] = following
        return pb.CommitEventResponse(next=following)

    def _commit_task(self, reporter: Reporter, request: pb.CommitEventRequest) -> pb.CommitEventResponse:
        """End a task, and grant the unit's next event or task."""
        outcome, effects = task.outcome(request.task), effect.read(request.effects)
        room, unit = self._running_task(reporter, request.event_id)
        self._hear()
        try:
            room.world.commit_task(unit.name, outcome, effects)
        finally:
            room.tell()
        following = _none(pb.NO_EVENT_REASON_NOTHING_DUE)
        if not request.is_last:
            following = self.next_event(request.lease_token, unit.id)
        room.answers[request.event_id, request.attempt] = following
        return pb.CommitEventResponse(next=following)

    def working(self, lease_token: int, event_id: str) -> tuple[Room, WorldUnit]:
        """Return the unit whose event or task runs. Raises `errors.LeaseLost` if it does not run under the lease."""
        reporter = self.reporter(lease_token)
        if any(event_id in room.world.tasks for room in self._book.rooms.values()):
            return self._running_task(reporter, event_id)
        return self._running(reporter, event_id, 0)[:2]

    def append_task_log(self, request: pb.AppendTaskLogRequest) -> None:
        """Store log lines of a task."""
        reporter = self.reporter(request.lease_token)
        room, found = task.Tasks(self._book).find(request.task_id)
        unit = room.unit(found.unit)
        if room.holders.get(unit.id) != reporter.lease_id:
            raise errors.LeaseLost(reporter.token, "the task does not run under it")
        task.append(room, found.id, request.number, [*request.lines])

    def fail(self, request: pb.FailEventRequest) -> pb.FailEventResponse:
        """End an attempt as failed."""
        reporter = self.reporter(request.lease_token)
        room, unit, _ = self._running(reporter, request.event_id, request.attempt)
        if request.is_handed_back:
            room.world.hand_back(unit.name)
            return pb.FailEventResponse(next=_none(pb.NO_EVENT_REASON_NOTHING_DUE))
        if request.is_lost:
            room.world.lose(unit.name)
        else:
            room.world.fail(unit.name, request.message)
        if unit.name in room.world.failed():
            self._plan_retry(room, unit)
        room.tell()
        return pb.FailEventResponse(next=self.next_event(request.lease_token, unit.id))

    def read_bag(self, request: pb.ReadBagRequest) -> pb.ReadBagResponse:
        """Read a bag that the unit may read. Raises `errors.NotFound` for any other."""
        room, unit = self.working(request.lease_token, request.event_id)
        relation = room.world.view(unit.name).relations.get(request.relation)
        known = {unit.name, unit.application}
        if relation is not None:
            known |= {relation.application, *relation.members}
        if relation is None or request.owner not in known:
            raise errors.NotFound("BAG", f"{request.owner} in relation {request.relation}")
        kept = room.world.relations[request.relation]
        data = room.world.bag(request.relation, request.owner)
        bag = application_service_pb2.Bag(owner=request.owner, data=data, version=kept.version(request.owner))
        return pb.ReadBagResponse(bag=bag)

    def set_status(self, request: pb.SetStatusRequest) -> None:
        """Set the status of a unit or its application. Raises `errors.NotLeader`."""
        self.reporter(request.lease_token)
        room, unit = self._find(request.unit_id)
        if request.HasField("application_status"):
            view = room.world.view(unit.name)
            if not view.leads:
                raise errors.NotLeader(unit.name, leader=view.leader)
            said = request.application_status
            room.statuses[unit.application] = UnitStatus(said.name, said.message)
        if request.HasField("workload_version"):
            unit.workload_version = request.workload_version
        if request.HasField("status"):
            room.world.set_status(unit.name, request.status.name, request.status.message)
        room.tell()

    def _find(self, unit_id: str) -> tuple[Room, WorldUnit]:
        found = self._book.find(lambda unit: unit.id == unit_id)
        if found is None:
            raise errors.NotFound(ResourceType.UNIT, unit_id)
        return found

    def _running(self, reporter: Reporter, event_id: str, attempt: int) -> tuple[Room, WorldUnit, Running]:
        """Return the running event. Raises `errors.LeaseLost` if the reporter's attempt is not the one that runs."""
        found = self._book.find(lambda unit: unit.running is not None and unit.running.id == event_id)
        lost = errors.LeaseLost(reporter.token, "the attempt that it reports on is not the one that runs")
        if found is None:
            raise lost
        room, unit = found
        running = unit.running
        assert running is not None
        is_current = running.state is EventState.RUNNING and attempt in (0, running.attempt)
        holder = room.holders.get(unit.id, "")
        if not is_current or not (holder == reporter.lease_id or self._is_heir(holder, reporter)):
            raise lost
        return room, unit, running

    def _running_task(self, reporter: Reporter, task_id: str) -> tuple[Room, WorldUnit]:
        """Return the running task. Raises `errors.LeaseLost` if it does not run, and `errors.IllegalTransition`."""
        room, found = task.Tasks(self._book).find(task_id)
        unit = room.unit(found.unit)
        if found.state.is_final:
            raise errors.IllegalTransition(f"task {task_id}", f"it is {found.state} already")
        if found.state is not TaskState.RUNNING or room.holders.get(unit.id) != reporter.lease_id:
            raise errors.LeaseLost(reporter.token, "the task does not run under it")
        return room, unit

    def _judge_task(self, room: Room, unit: WorldUnit, lease_token: int) -> None:
        """End a task that ran under another lease, or under a former token of this lease."""
        found = room.world.running_task(unit.name)
        if found is not None and room.tokens.get(found.id) != lease_token:
            room.world.lose_task(unit.name)

    def _former(self, event_id: str, attempt: int) -> pb.NextEventResponse | None:
        for room in self._book.rooms.values():
            found = room.answers.get((event_id, attempt))
            if isinstance(found, pb.NextEventResponse):
                return found
        return None

    def _judge_hold(self, room: Room, unit: WorldUnit, reporter: Reporter) -> None:
        """End as lost an attempt that runs under an ended lease, or under a former token of this lease."""
        running = unit.running
        holder = room.holders.get(unit.id, "")
        if holder and holder != reporter.lease_id and self._is_live(holder) and not self._is_heir(holder, reporter):
            raise errors.LeaseHeld("unit", unit.id)
        if running is None or running.state is not EventState.RUNNING or running.is_lost:
            return
        if room.tokens.get(running.id, 0) not in (0, reporter.token):
            room.world.lose(unit.name)
            if unit.name in room.world.failed():
                self._plan_retry(room, unit)

    def _answer(self, room: Room, unit: WorldUnit, granted: Running | None, token: int) -> pb.NextEventResponse:
        asked = room.world.grant_task(unit.name) if granted is None and token and self._is_there(unit) else None
        room.tell()
        if asked is not None:
            room.tokens[asked.id] = token
            stored = self._book.charm(unit.code)
            return pb.NextEventResponse(grant=answer.grant(room, unit, None, stored, asked))
        if granted is not None:
            room.tokens[granted.id] = token
            digest = granted.event.seen.charm or unit.code or room.world.applications[unit.application].charm.digest
            return pb.NextEventResponse(grant=answer.grant(room, unit, granted, self._book.charm(digest)))
        if not self._is_there(unit):
            return _none(pb.NO_EVENT_REASON_GONE)
        if unit.name in room.world.failed():
            at = room.retry_at.get(unit.name)
            return _none(pb.NO_EVENT_REASON_IN_ERROR, None if at is None else (at - room.now()).total_seconds())
        if unit.is_held:
            return _none(pb.NO_EVENT_REASON_MACHINE_HELD)
        # During the setup, the first call that elects a leader also grants the leader's event.
        is_waiting = room.world.due(unit.name) is not None
        tick = room.tick_at.get(unit.name)
        left = 0.0 if is_waiting else None if tick is None else (tick - room.now()).total_seconds()
        return _none(pb.NO_EVENT_REASON_NOTHING_DUE, left)

    def _is_there(self, unit: WorldUnit) -> bool:
        return self._book.find(lambda each: each.id == unit.id) is not None

    def _wanted_charm(self, room: Room, unit: WorldUnit) -> str:
        if room.world.due_task(unit.name) or room.world.running_task(unit.name):
            return unit.code
        if unit.running is not None:
            return unit.running.event.seen.charm
        due = room.world.due(unit.name)
        wanted = due.seen.charm if due is not None else unit.code
        return wanted or room.world.applications[unit.application].charm.digest

    def _hear(self) -> None:
        """Tell the worlds which units have a living agent."""
        for room in self._book.rooms.values():
            for unit in list(room.world.units.values()):
                if unit.life is not Life.DEAD:
                    room.world.hold(unit.name, is_held=bool(unit.machine) and self._is_held(unit.machine))
                    (room.world.hear if self.has_agent(room, unit) else room.world.silence)(unit.name)

    def _is_held(self, machine: str) -> bool:
        """Whether a workflow runs on a machine."""
        running = {each.id for each in self._world.all(Workflow) if each.state is State.RUNNING}
        return any(each.worker_id == machine and each.workflow_id in running for each in self._world.all(Action))

    def _place(self, room: Room, unit: WorldUnit, by: Serves) -> None:
        if not by.machines or room.world.applications[unit.application].charm.kind not in by.kinds:
            return
        taken = [each.machine for each in room.world.units.values()]
        room.world.place(unit.name, min(sorted(by.machines), key=taken.count))

    def _is_live(self, lease_id: str) -> bool:
        lease = self._world.ledger.lease(lease_id)
        return lease is not None and lease.is_live

    def _is_heir(self, lease_id: str, reporter: Reporter) -> bool:
        """Whether the reporter's agent replaces the lease's agent: of each engine, only one agent serves units."""
        former, own = self._world.ledger.lease(lease_id), reporter.lease
        return former is not None and own is not None and former.engine == own.engine

    def _is_tick(self, room: Room, unit: WorldUnit) -> bool:
        at = room.tick_at.get(unit.name)
        return at is not None and at <= room.now() and unit.life is Life.ALIVE

    def _may_retry(self, room: Room, unit: WorldUnit) -> bool:
        at = room.retry_at.get(unit.name)
        return at is not None and at <= room.now()

    def _plan_retry(self, room: Room, unit: WorldUnit) -> None:
        room.retry_at[unit.name] = None
        if self._book.namespaces[room.namespace].retrying and unit.running is not None:
            seconds = min(_FIRST_RETRY_SECONDS * 2 ** (unit.running.attempt - 1), _LONGEST_RETRY_SECONDS)
            room.retry_at[unit.name] = room.now() + timedelta(seconds=seconds)

    def _count_notices(self, room: Room, unit: WorldUnit) -> None:
        """Count an attempt for each waiting notice, because a unit's event runs the handlers of all of them."""
        former = {each: room.notices.pop((unit.name, each), None) for each in unit.notices}
        for each, waiting in former.items():
            found = Waiting(1, room.now()) if waiting is None else Waiting(waiting.attempts + 1, waiting.created_at)
            room.notices[unit.name, each] = found


def _none(reason: pb.NoEventReason.ValueType, due_in: float | None = None) -> pb.NextEventResponse:
    seconds = None if due_in is None else max(due_in, 0.0)
    return pb.NextEventResponse(none=pb.NoEvent(reason=reason, due_in_seconds=seconds))
