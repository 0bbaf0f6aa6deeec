"""The changes of one unit in one transaction, under its lock: events are granted, retried, skipped and ended.

A turn reads the unit by one statement, and reads it again after a change of what it has read, because one event may
decide on the next one. Most commits change only the unit's own bags and what it was told, and need no second read.
"""

import dataclasses
from collections.abc import Sequence

from tinkwell.core.unit.kinds import EventKind, EventState, Life, Phase, TaskState, Verdict
from tinkwell.core.unit.ledger import Ledger
from tinkwell.core.unit.resolver import change, explanation, sight
from tinkwell.core.unit.resolver.advance import advance, advance_task
from tinkwell.core.unit.resolver.resolve import awaits_leader, next_event, next_task
from tinkwell.core.unit.resolver.verdict import verdict
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.server.database.database import Transaction
from tinkwell.server.unit.service.delivery import answer, ground, pause, seen
from tinkwell.server.unit.service.delivery.effects import Done
from tinkwell.server.unit.service.delivery.record import Grant, GrantedEvent, Next, NoEvent, Why
from tinkwell.server.unit.service.secret import writing as secret_writing
from tinkwell.server.unit.store import delivery
from tinkwell.server.unit.store.agent import own, tick
from tinkwell.server.unit.store.agent.own import Own
from tinkwell.server.unit.store.agent.wake import Serving
from tinkwell.server.unit.store.delivery import EventRow, Loaded, Looked, NewEvent
from tinkwell.server.unit.store.secret import own as own_secret
from tinkwell.server.unit.store.secret import view as secrets
from tinkwell.server.unit.store.secret.own import OwnSecret
from tinkwell.server.unit.store.task import running as tasks
from tinkwell.server.unit.store.task.row import Task

# The attempt that holds a machine may end without an event.
_HELD_SECONDS = 10.0
# The handlers of these events read the event's bag, so the grant contains it, which saves a call.
_READ = frozenset({EventKind.RELATION_JOINED, EventKind.RELATION_CHANGED})
# After these events there may be rows that nothing needs.
_REAPED_AFTER = frozenset({EventKind.RELATION_DEPARTED, EventKind.RELATION_BROKEN, EventKind.REMOVE})


@dataclasses.dataclass(frozen=True, slots=True)
class Agent:
    """The caller: its token, and what it serves under its lease."""

    token: int
    serving: Serving


class AwaitsLeader(Exception):
    """The next step of the unit's setup depends on the application's leader. There is none: elect one, and retry."""

    def __init__(self, application_id: str) -> None:
        self.application_id = application_id
        super().__init__(application_id)


class Turn:
    """One locked unit. `reaps` says whether there may be rows to reap after the transaction."""

    def __init__(self, transaction: Transaction, unit_id: str, *, lease_token: int = 0) -> None:
        self._transaction = transaction
        self._unit_id = unit_id
        self._lease_token = lease_token
        self._looked: Looked | None = None
        # Whether the own data that was read is still current.
        self._is_own_seen = False
        self.reaps = False

    async def look(self) -> Looked | None:
        """Read the unit for the holder of a lease, unless it was read and has not changed.

        Return None if there is none.
        """
        if self._looked is None:
            self._looked = await delivery.look(self._transaction.fetch, self._unit_id, lease_token=self._lease_token)
            self._is_own_seen = self._looked is not None
        return self._looked

    async def load(self) -> Loaded | None:
        """Read what the unit's next event depends on. Return None if there is no such unit."""
        looked = await self.look()
        return looked.loaded if looked is not None else None

    def forget(self) -> None:
        """Read the unit again at the next look, because it has changed."""
        self._looked = None

    async def next(self, agent: Agent, *, elects: bool) -> Next:
        """Grant what is due, or say why nothing is.

        With `elects`, raises `AwaitsLeader` if an election has to come first. Raises `delivery.LookAgain`.
        """
        while True:
            loaded = await self.load()
            if loaded is None or loaded.view.life is Life.DEAD:
                return NoEvent(Why.GONE)
            if loaded.running_task:
                granted = await self._look_at_task(loaded, agent)
                if granted is not None:
                    return granted
                continue
            if loaded.in_flight is None:
                return await self._grant_next(loaded, agent, elects=elects)
            answered = await self._look_at(loaded, loaded.in_flight, agent)
            if answered is not None:
                return answered

    async def _look_at(self, loaded: Loaded, flight: EventRow, agent: Agent) -> Next | None:
        """Handle an event in flight. Return None if there is none afterwards."""
        is_running = flight.state is EventState.RUNNING
        if is_running and flight.lease_token == agent.token:
            return await self._answer(
                loaded, _granted(flight, flight.event, flight.attempt, loaded), flight.remaining_seconds
            )
        judged = verdict(flight.event, loaded.ledger, loaded.view)
        if judged is Verdict.SKIP:
            await self.skip(loaded, flight, message="what it was about is gone")
        elif judged is Verdict.WITHDRAW:
            await self.withdraw(flight)
        elif loaded.view.is_held:
            return NoEvent(Why.MACHINE_HELD, _HELD_SECONDS)
        elif is_running:
            return await self._retry_lost(loaded, flight, agent)
        elif flight.retry_in_seconds is not None and flight.retry_in_seconds <= 0:
            return await self._retry(loaded, flight, agent)
        else:
            granted = await self._grant_task(loaded, agent, has_error=True)
            return granted or NoEvent(Why.IN_ERROR, flight.retry_in_seconds)
        return None

    async def _look_at_task(self, loaded: Loaded, agent: Agent) -> Grant | None:
        """Grant a running task again to its agent, or end it if it was lost: a task never runs twice."""
        task = await tasks.find(self._transaction.fetch, loaded.running_task)
        if task is not None and task.lease_token == agent.token:
            return await self._answer_task(loaded, task)
        await tasks.end(self._transaction, loaded.running_task, TaskState.FAILED, message="its agent was lost")
        self.forget()
        return None

    async def _grant_task(self, loaded: Loaded, agent: Agent, *, has_error: bool = False) -> Grant | None:
        """Grant the task that comes before all due events, or return None if there is none that the agent can run."""
        waiting = next_task(loaded.ledger, loaded.view, has_error=has_error)
        if not waiting or not _runs_on(agent.serving, loaded.view.code):
            return None
        task = await tasks.grant(self._transaction, waiting, charm=loaded.view.code, lease_token=agent.token)
        return await self._answer_task(loaded, task) if task is not None else None

    async def _retry_lost(self, loaded: Loaded, flight: EventRow, agent: Agent) -> Next:
        is_handed_back = flight.lease_token == delivery.HANDED_BACK
        if is_handed_back or not flight.is_lost:
            return await self._retry(loaded, flight, agent, is_lost=flight.is_lost or not is_handed_back)
        # Whatever ends these attempts from outside may do so every time, so an operator has to look.
        message = "its attempt was lost, for the second time in a row"
        return NoEvent(Why.IN_ERROR, await self.fail(loaded, flight, message=message))

    async def _retry(self, loaded: Loaded, flight: EventRow, agent: Agent, *, is_lost: bool = False) -> Next:
        has_failed = flight.state is EventState.ERROR
        event = sight.sighted(flight.event, loaded.view, has_failed=has_failed)
        if not _runs(agent.serving, event):
            # The agent of the lost attempt and its code may be gone for good, and the new code may be the remedy.
            event = sight.sighted(flight.event, loaded.view, has_failed=True)
        if not _runs(agent.serving, event):
            return NoEvent(Why.OTHER_CHARM)
        seconds = float(loaded.settings.event_timeout_seconds)
        await self._apply_granted(change.granted(event, loaded.view))
        attempt = await delivery.retry_event(
            self._transaction,
            flight.id,
            event,
            lease_token=agent.token,
            timeout_seconds=seconds,
            is_lost=is_lost,
        )
        if has_failed:
            await tick.clear_error(self._transaction, self._unit_id)
            self._is_own_seen = False
        return await self._answer(loaded, _granted(flight, event, attempt, loaded), seconds)

    async def _grant_next(self, loaded: Loaded, agent: Agent, *, elects: bool) -> Next:
        ledger, view = loaded.ledger, loaded.view
        if view.is_held:
            return NoEvent(Why.MACHINE_HELD, _HELD_SECONDS)
        if elects and awaits_leader(ledger, view):
            raise AwaitsLeader(loaded.application.id)
        task = await self._grant_task(loaded, agent)
        if task is not None:
            return task
        event = next_event(ledger, view)
        if event is not None:
            return await self._grant(loaded, event, agent)
        if view.is_dying:
            # The unit was never installed, so it need not be told of its end.
            await self.end(loaded)
            return NoEvent(Why.GONE)
        looked = await self.look()
        # The unit is read again after a change of these times, so they are current.
        due = [looked.own.due_in_seconds if looked is not None else None]
        if any(each.is_owner for each in view.secrets.values()):
            due.append(await secrets.due_in_seconds(self._transaction.fetch, self._unit_id))
        return NoEvent(Why.NOTHING_DUE, min((each for each in due if each is not None), default=None))

    async def _grant(self, loaded: Loaded, event: UnitEvent, agent: Agent) -> Next:
        if not _runs(agent.serving, event):
            event = sight.sighted(UnitEvent(kind=EventKind.UPGRADE_CHARM), loaded.view)
            if not (_may_upgrade(loaded) and _runs(agent.serving, event)):
                return NoEvent(Why.OTHER_CHARM)
        changes = change.granted(event, loaded.view)
        await self._apply_granted(changes)
        seconds = float(loaded.settings.event_timeout_seconds)
        new = await self._new_event(loaded, event, EventState.RUNNING)
        new = dataclasses.replace(new, lease_token=agent.token, timeout_seconds=seconds, phase=_phase(loaded, changes))
        reads = (event.unit or event.application) if event.kind in _READ and not event.is_echo else ""
        written = await delivery.write_event(self._transaction, self._unit_id, new, reads=reads)
        granted = GrantedEvent(
            id=written.id,
            event=event,
            ordinal=written.ordinal,
            attempt=1,
            phase=new.phase,
            reason=new.reason,
            leaving=new.leaving,
            actor=new.actor,
            remote=written.bag,
        )
        return await self._answer(loaded, granted, seconds)

    async def _new_event(self, loaded: Loaded, event: UnitEvent, state: EventState) -> NewEvent:
        found = explanation.ground(event, loaded.view)
        remote = ""
        if found is not None and event.unit:
            remote = await tick.removal_actor(self._transaction, loaded.unit.namespace, event.unit)
        actor = ground.actor_of(event, found, loaded, remote)
        relation = loaded.view.relations.get(event.relation)
        return NewEvent(
            event=event,
            state=state,
            is_peer=relation is not None and relation.is_peer,
            phase=loaded.view.phase,
            cause=ground.cause_of(event, loaded, actor),
            reason=found.reason if found is not None else "",
            leaving=found.leaving if found is not None else "",
            actor=actor,
        )

    async def _apply_granted(self, changes: tuple[change.Change, ...]) -> None:
        if changes:
            await delivery.apply(self._transaction, self._unit_id, changes)
            self._is_own_seen = False

    async def _answer(self, loaded: Loaded, granted: GrantedEvent, seconds: float) -> Grant:
        return answer.grant(
            self._unit_id,
            granted,
            loaded,
            await self._own(),
            timeout_seconds=max(0.0, seconds),
            secrets=await self._own_secrets(loaded),
        )

    async def _answer_task(self, loaded: Loaded, task: Task) -> Grant:
        seconds = task.remaining_seconds or 0.0
        return answer.grant(
            self._unit_id,
            None,
            loaded,
            await self._own(),
            timeout_seconds=max(0.0, seconds),
            task=task,
            secrets=await self._own_secrets(loaded),
        )

    async def _own_secrets(self, loaded: Loaded) -> Sequence[OwnSecret]:
        return await own_secret.read(self._transaction.fetch, self._unit_id) if loaded.view.secrets else ()

    async def _own(self) -> Own:
        """Return the unit's own data as it is now, including changes of this transaction."""
        if self._looked is not None and self._is_own_seen:
            return self._looked.own
        return await own.read(self._transaction, self._unit_id)

    async def commit(self, loaded: Loaded, flight: EventRow, done: Done) -> None:
        """End an event with success. Its effects are written already."""
        after = advance(loaded.ledger, flight.event, loaded.view, done.written)
        await delivery.end_event(
            self._transaction, flight.id, EventState.COMMITTED, deferred=done.deferred, consumed=done.consumed
        )
        looked = self._looked
        await self._pass(loaded, after, [flight.event])
        await secret_writing.renew(self._transaction, done.renewed)
        if looked is not None and not done.changes_view and seen.stays(flight.event, loaded.view):
            self._looked = dataclasses.replace(looked, loaded=seen.after(loaded, after, done.written))
            self._is_own_seen = not done.changes_own

    async def commit_task(self, loaded: Loaded, task_id: str, done: Done, *, result: str) -> None:
        """End a task as SUCCEEDED. Its effects are written already."""
        self.forget()
        after = advance_task(loaded.ledger, loaded.view, done.written)
        await delivery.save(self._transaction, self._unit_id, loaded.ledger, after)
        await secret_writing.renew(self._transaction, done.renewed)
        await self.end_task(task_id, TaskState.SUCCEEDED, result=result)

    async def end_task(self, task_id: str, state: TaskState, *, result: str = "{}", message: str = "") -> None:
        """End a running task."""
        await tasks.end(self._transaction, task_id, state, result=result, message=message)
        self.forget()

    async def skip(self, loaded: Loaded, flight: EventRow, *, message: str) -> None:
        """Skip an event, as if it had succeeded, and with it the events that must follow it at once."""
        if flight.event.kind is EventKind.RELATION_CREATED:
            # Units enter a relation one after the other, and each sees the units that are in it.
            await delivery.lock_relation(self._transaction, loaded.unit.namespace, flight.event.relation)
            self.forget()
            loaded = await self.load() or loaded
        left_out = [flight.event]
        await delivery.end_event(self._transaction, flight.id, EventState.SKIPPED, message=message)
        ledger = advance(loaded.ledger, flight.event, loaded.view)
        while ledger.queue:
            event = sight.sighted(ledger.queue[0], loaded.view)
            new = await self._new_event(loaded, event, EventState.SKIPPED)
            await delivery.write_event(self._transaction, self._unit_id, new)
            ledger = advance(ledger, event, loaded.view)
            left_out.append(event)
        await self._pass(loaded, ledger, left_out)
        if flight.state is EventState.ERROR:
            await tick.clear_error(self._transaction, self._unit_id)

    async def withdraw(self, flight: EventRow) -> None:
        """Withdraw an event whose reason is gone, as if it had never been granted."""
        await delivery.end_event(self._transaction, flight.id, EventState.WITHDRAWN)
        await delivery.apply(self._transaction, self._unit_id, change.withdrawn(flight.event))
        self.forget()
        self.reaps = True
        if flight.state is EventState.ERROR:
            await tick.clear_error(self._transaction, self._unit_id)

    async def fail(self, loaded: Loaded, flight: EventRow, *, message: str) -> float | None:
        """Put an event in ERROR. Return the seconds until its retry, or None if it is not retried automatically."""
        seconds = pause.retry_seconds(flight.attempt) if loaded.settings.is_retrying else None
        await delivery.end_event(
            self._transaction, flight.id, EventState.ERROR, message=message, retry_in_seconds=seconds
        )
        await tick.set_error(self._transaction, self._unit_id, f"{flight.event.name}: {message}")
        self.forget()
        return seconds

    async def give_up(self, flight: EventRow, *, lease_token: int = 0) -> None:
        """Mark an attempt as lost or handed back. It is under no lease afterwards."""
        await delivery.take_over(self._transaction, flight.id, lease_token)
        self.forget()

    async def end(self, loaded: Loaded) -> None:
        """Mark a unit as DEAD that has no further events."""
        await delivery.apply(self._transaction, self._unit_id, change.ended(loaded.view))
        self.forget()
        self.reaps = True

    async def _pass(self, loaded: Loaded, after: Ledger, events: list[UnitEvent]) -> None:
        """Write what the unit has been told, and what its events change elsewhere."""
        self.forget()
        await delivery.save(self._transaction, self._unit_id, loaded.ledger, after)
        for event in events:
            await delivery.apply(self._transaction, self._unit_id, change.committed(event, loaded.view))
            self.reaps = self.reaps or event.kind in _REAPED_AFTER
        if any(event.kind in seen.TICKS for event in events):
            seconds = pause.tick_seconds(loaded.settings.update_status_seconds)
            await tick.set_next(self._transaction, self._unit_id, seconds)


def _runs(serving: Serving, event: UnitEvent) -> bool:
    """Whether an agent has the code that an attempt has to run on."""
    return _runs_on(serving, event.seen.charm)


def _runs_on(serving: Serving, charm: str) -> bool:
    return not serving.charms or charm in serving.charms


def _may_upgrade(loaded: Loaded) -> bool:
    """Whether `upgrade-charm` may come before the due event, as it may before all events of Operation.

    An agent that has only the new charm could otherwise never get that far if no agent runs the former one.
    """
    ledger, view = loaded.ledger, loaded.view
    is_free = ledger.started and not ledger.plan and not ledger.queue
    return is_free and view.life is Life.ALIVE and ledger.charm_seen != view.charm


def _phase(loaded: Loaded, changes: tuple[change.Change, ...]) -> Phase:
    entered = [each.phase for each in changes if isinstance(each, change.EnterPhase)]
    return entered[-1] if entered else loaded.view.phase


def _granted(flight: EventRow, event: UnitEvent, attempt: int, loaded: Loaded) -> GrantedEvent:
    return GrantedEvent(
        id=flight.id,
        event=event,
        ordinal=flight.ordinal,
        attempt=attempt,
        phase=loaded.view.phase,
        reason=flight.reason,
        leaving=flight.leaving,
        actor=flight.actor,
    )
