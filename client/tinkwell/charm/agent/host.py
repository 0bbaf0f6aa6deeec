"""Serves one unit: gets its events, calls the charm's handlers, and reports the outcomes.

    wake or time ──▶ NextEvent ──▶ grant ──▶ handlers ──▶ outcome file ──▶ CommitEvent ──▶ the next grant, or none
                        ▲                       └──────── an exception ──▶ FailEvent  ──┘            │
                        └────────────────────────────────────────────────────────────────────────────┘

A task is granted and committed in the same way. A task that fails is committed as failed, without effects.
The effects of handlers are on the disk before the server is told. An outcome that a former agent left is sent before
the host asks for an event, because asking tells the server that attempts under another lease are lost.
"""

import asyncio
import dataclasses
import logging
import traceback

from tinkwell.charm.agent import granted
from tinkwell.charm.agent import outbox as outboxes
from tinkwell.charm.agent.folder import AgentFolder
from tinkwell.charm.attempt.dispatch import dispatch, run
from tinkwell.charm.charm import Charm
from tinkwell.client import errors
from tinkwell.client.lease.keeper import Keeper
from tinkwell.client.retry import HOPELESS, until_answered
from tinkwell.client.unit.agent.api import UnitApi
from tinkwell.client.unit.agent.grant import Grant, NoEvent, NoEventReason
from tinkwell.client.unit.agent.outcome import Outcome
from tinkwell.client.unit.agent.worker import encode
from tinkwell.client.unit.task import Task
from tinkwell.core.unit.effect import NO_EFFECTS, Effects, TaskOutcome
from tinkwell.core.unit.kinds import TaskState

logger = logging.getLogger(__name__)

# Errors that concern the whole agent, and not only this unit.
_HOPELESS = (*HOPELESS, errors.PermissionDenied)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The objects that all hosts of an agent share. `digest` is that of the charm."""

    units: UnitApi
    lease: Keeper
    folder: AgentFolder
    charm_class: type[Charm]
    digest: str
    stopping: asyncio.Event
    # How long the host waits before it asks the server about a unit that is woken while its event is handled.
    look_seconds: float = 1.0
    # When to ask again for a unit that another agent holds, or for which the server grants nothing.
    held_seconds: float = 10.0


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed; `state` is the end state of a task."""

    message: str
    state: TaskState = TaskState.FAILED


@dataclasses.dataclass(frozen=True, slots=True)
class Done:
    """A task that has ended by itself."""

    effects: Effects
    outcome: TaskOutcome


class Host:
    """Serves one unit until it is gone, or the agent stops."""

    def __init__(self, served: Served, unit_id: str) -> None:
        self._served = served
        self._unit_id = unit_id
        self._is_awake = asyncio.Event()
        self._has_warned = False
        # Whether the server has ever said anything else than that the unit is gone.
        self._is_known = False

    def wake(self) -> None:
        """Wake the host: an event of the unit may be due."""
        self._is_awake.set()

    async def run(self) -> None:
        """Serve the unit until it is gone; raises an `errors.Error` that concerns the whole agent."""
        following = await self._send_kept()
        while not self._served.stopping.is_set():
            if isinstance(following, Grant):
                self._is_known = True
                following = await self._handle(following)
            elif _is_gone(following):
                # The server names each removed unit to all agents, because it no longer knows which agent served it.
                level = logging.INFO if self._is_known else logging.DEBUG
                logger.log(level, "the unit is gone", extra={"unit_id": self._unit_id})
                return
            else:
                if following is not None:
                    self._is_known = True
                    self._note(following)
                    await self._sleep(following.due_in_seconds)
                if not self._served.stopping.is_set():
                    following = await self._next()

    async def _sleep(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._is_awake.wait()
        except TimeoutError:
            pass
        self._is_awake.clear()

    def _note(self, none: NoEvent) -> None:
        if none.reason is NoEventReason.OTHER_CHARM and not self._has_warned:
            self._has_warned = True
            fields = {"unit_id": self._unit_id, "charm": self._served.digest}
            logger.warning(
                "the unit runs on another charm; upgrade its application to this one, or start an agent with that",
                extra=fields,
            )

    async def _next(self) -> Grant | NoEvent:
        self._is_awake.clear()
        units, unit_id = self._served.units, self._unit_id
        try:
            return await until_answered(
                lambda: self._served.lease.under(lambda token: units.next_event(token, unit_id)), what="get an event"
            )
        except errors.NotFound:
            return NoEvent(reason=NoEventReason.GONE)
        except errors.LeaseHeld:
            return NoEvent(reason=NoEventReason.NOTHING_DUE, due_in_seconds=self._served.held_seconds)
        except errors.LeaseLost:
            # The unit does not belong to this agent; the server wakes it when it does.
            return NoEvent(reason=NoEventReason.NOTHING_DUE)
        except _HOPELESS:
            raise
        except errors.Error as error:
            logger.warning("no event is given", extra={"unit_id": unit_id, "cause": str(error)})
            return NoEvent(reason=NoEventReason.NOTHING_DUE, due_in_seconds=self._served.held_seconds)

    async def _send_kept(self) -> Grant | NoEvent | None:
        """Commit the outcome that a former agent has left, if any."""
        kept = await asyncio.to_thread(self._served.folder.outcomes.find, self._unit_id)
        if kept is None:
            return None
        logger.info("an outcome is sent that was kept", extra={"event_id": kept.event_id, "attempt": kept.attempt})
        return await self._commit(kept)

    async def _handle(self, grant: Grant) -> Grant | NoEvent | None:
        token = await self._served.lease.token()
        ended = await self._attempt(grant, token)
        event = grant.event
        if grant.task is not None:
            return await self._end_task(grant.task, token, ended)
        fields = {"unit": grant.unit, "event": event.name, "ordinal": event.ordinal, "attempt": event.attempt}
        match ended:
            case Done():
                raise AssertionError("an event has ended as a task does")
            case NoEvent():
                logger.info("an event is not needed any more", extra=fields)
                return ended
            case Failure(message):
                logger.warning("an event has failed", extra=fields | {"cause": message})
                return await self._fail(event.id, event.attempt, message)
            case Effects():
                following = await self._conclude(event.id, event.attempt, token, ended)
                logger.info("an event is handled", extra=fields)
                return following

    async def _end_task(
        self, task: Task, token: int, ended: Effects | Done | Failure | NoEvent
    ) -> Grant | NoEvent | None:
        """Commit the outcome of a task: its result and effects, or why it failed."""
        match ended:
            case NoEvent():
                return ended
            case Failure(message, state):
                outcome, effects = TaskOutcome(state=state, message=_short(message)), NO_EFFECTS
            case Done(effects, outcome):
                outcome = dataclasses.replace(outcome, message=_short(outcome.message))
            case Effects():
                raise AssertionError("a task has ended as an event does")
        following = await self._conclude(task.id, 1, token, effects, outcome)
        logger.info("a task has ended", extra={"unit": task.unit, "task": task.name, "state": outcome.state})
        return following

    async def _attempt(self, grant: Grant, token: int) -> Effects | Done | Failure | NoEvent:
        """Call the handlers of an event, while other tasks send statuses and lines, and watch for the unit's end."""
        served, event = self._served, grant.event
        if grant.task is not None and grant.task.is_cancelled:
            return _CANCELLED
        outbox = outboxes.Outbox(
            served.units,
            served.lease,
            self._unit_id,
            ordinal=event.ordinal,
            attempt=event.attempt,
            task_id=grant.task.id if grant.task is not None else "",
        )
        surroundings = granted.Granted(served.units, served.lease, token, grant, outbox)
        pump = asyncio.create_task(outbox.run(), name=f"outbox of {grant.unit}")
        work = asyncio.create_task(self._dispatch(grant, surroundings, outbox), name=f"handlers of {grant.unit}")
        look = asyncio.create_task(self._until_gone(token), name=f"end of {grant.unit}")
        try:
            await asyncio.wait({work, look}, return_when=asyncio.FIRST_COMPLETED)
            return work.result() if work.done() else look.result()
        finally:
            for task in (pump, work, look):
                task.cancel()
            await asyncio.gather(pump, work, look, return_exceptions=True)
            await outbox.flush()

    async def _conclude(
        self, event_id: str, attempt: int, token: int, effects: Effects, task: TaskOutcome | None = None
    ) -> Grant | NoEvent | None:
        """Keep the effects of an event or a task on the disk, and commit them."""
        try:
            outcome = Outcome(
                unit_id=self._unit_id,
                event_id=event_id,
                attempt=attempt,
                lease_token=token,
                effects=encode(effects),
                task=task,
            )
            await asyncio.to_thread(self._served.folder.outcomes.keep, outcome)
        except (errors.InvalidField, OSError) as error:
            why = f"what it has done cannot be kept: {error}"
            return await self._fail(event_id, attempt, why, is_task=task is not None)
        return await self._commit(outcome)

    async def _until_gone(self, token: int) -> NoEvent | Failure:
        """Return once the unit is gone, or its running task is cancelled.

        It asks only under the lease of the grant: under a later lease, asking would tell the server that the attempt is
        lost.
        """
        while True:
            await self._is_awake.wait()
            # The unit's own statuses wake it, too.
            await asyncio.sleep(self._served.look_seconds)
            self._is_awake.clear()
            try:
                following = await self._served.units.next_event(token, self._unit_id)
            except errors.NotFound:
                return NoEvent(reason=NoEventReason.GONE)
            except errors.Error:
                continue  # the end of the event raises the same error
            if isinstance(following, NoEvent) and _is_gone(following):
                return following
            if isinstance(following, Grant) and following.task is not None and following.task.is_cancelled:
                return _CANCELLED

    async def _dispatch(
        self, grant: Grant, surroundings: granted.Granted, outbox: outboxes.Outbox
    ) -> Effects | Done | Failure:
        mark = outboxes.current.set(outbox)
        try:
            async with asyncio.timeout(grant.timeout_seconds) as deadline:
                given = granted.attempt(grant, self._served.folder)
                if given.task is not None:
                    return Done(*await run(self._served.charm_class, given, surroundings))
                return await dispatch(self._served.charm_class, given, surroundings)
        except (Exception, SystemExit) as error:  # any error of a charm fails its event, but not the agent
            if deadline.expired():
                return Failure(f"it was not done within {round(grant.timeout_seconds, 2):g} seconds", TaskState.TIMEOUT)
            outbox.log("ERROR", traceback.format_exc())
            return Failure(_said(error))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return Failure("a handler was cancelled by itself")
        finally:
            outboxes.current.reset(mark)

    async def _commit(self, outcome: Outcome) -> Grant | NoEvent | None:
        """Commit an outcome, and drop its file."""
        units, is_last = self._served.units, self._served.stopping.is_set()

        async def commit(token: int) -> Grant | NoEvent:
            # The answer contains the next event, so it also answers wakes that came before.
            self._is_awake.clear()
            return await units.commit(
                token, outcome.event_id, outcome.attempt, outcome.effects, is_last=is_last, task=outcome.task
            )

        following: Grant | NoEvent | None = None
        try:
            following = await until_answered(lambda: self._served.lease.under(commit), what="commit an event")
        except (errors.CommitRefused, errors.SecretsDisabled) as error:
            logger.warning("an effect is refused", extra={"event_id": outcome.event_id, "cause": str(error)})
        except (errors.IllegalTransition, errors.NotFound) as error:
            # The attempt was declared lost, or the event was skipped or removed meanwhile, so the server refuses its
            # effects.
            logger.warning("an outcome is not wanted", extra={"event_id": outcome.event_id, "cause": str(error)})
        except (errors.InvalidField, errors.ResourceExhausted) as error:
            # It can never be committed, for example because it is too large; without an end, the event would be granted
            # again and again.
            is_task = outcome.task is not None
            following = await self._fail(outcome.event_id, outcome.attempt, str(error), is_task=is_task)
        await asyncio.to_thread(self._served.folder.outcomes.drop, self._unit_id)
        return following

    async def _fail(
        self, event_id: str, attempt: int, message: str, *, is_task: bool = False
    ) -> Grant | NoEvent | None:
        units, said = self._served.units, _short(message)

        async def fail(token: int) -> Grant | NoEvent:
            self._is_awake.clear()
            if is_task:
                failed = TaskOutcome(state=TaskState.FAILED, message=said)
                return await units.commit(token, event_id, attempt, NO_EFFECTS, task=failed)
            return await units.fail(token, event_id, attempt, said)

        try:
            return await until_answered(lambda: self._served.lease.under(fail), what="fail an event")
        except (errors.IllegalTransition, errors.NotFound) as error:
            logger.warning("a failure is not wanted", extra={"event_id": event_id, "cause": str(error)})
            return None


_CANCELLED = Failure("it was cancelled", TaskState.CANCELLED)


def _is_gone(following: Grant | NoEvent | None) -> bool:
    return isinstance(following, NoEvent) and following.reason is NoEventReason.GONE


def _short(message: str) -> str:
    """Shorten a message so that the server accepts it: a refusal would end the agent of all units."""
    return outboxes.plain(message)[: outboxes.MESSAGE_CHARACTERS]


def _said(error: BaseException) -> str:
    """Describe an error in a line; the log has the traceback."""
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
