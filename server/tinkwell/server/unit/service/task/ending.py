"""Implements CommitEvent of a task and AppendTaskLog, and ends tasks whose agents do not end them.

A task runs at most once. If it has SUCCEEDED it ends with all of its effects, otherwise with none. A call that repeats
the end of a task gets the answer of the first call.
"""

import dataclasses
from collections.abc import Sequence

from tinkwell.core import errors
from tinkwell.core.unit import limit
from tinkwell.core.unit.effect import Effects, TaskOutcome
from tinkwell.core.unit.kinds import TaskState
from tinkwell.core.value import check, document, parse
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.secret.service.operations import SecretService
from tinkwell.server.unit.service.agent.reaping import Reaping
from tinkwell.server.unit.service.delivery import effects, fence
from tinkwell.server.unit.service.delivery.following import Refusal, following
from tinkwell.server.unit.service.delivery.record import Next
from tinkwell.server.unit.service.delivery.tries import in_tries
from tinkwell.server.unit.service.delivery.turn import Turn
from tinkwell.server.unit.store import delivery
from tinkwell.server.unit.store.agent import hold
from tinkwell.server.unit.store.delivery import LookAgain, Looked
from tinkwell.server.unit.store.task import running as store
from tinkwell.server.unit.store.task.row import Task

# The time that an agent has to end a task that is past its deadline, and to report that.
GRACE_SECONDS = 30.0
MAX_LINES = 1_000
_OVERDUE_AT_ONCE = 100
_MAX_MESSAGE_CHARACTERS = 1_000
_MAX_NUMBER = 2**31 - 1
_ENDS = (TaskState.SUCCEEDED, TaskState.FAILED, TaskState.TIMEOUT, TaskState.CANCELLED)


@dataclasses.dataclass(frozen=True, slots=True)
class _Call:
    """The end of a task, and the caller."""

    task_id: str
    outcome: TaskOutcome
    given: Effects
    lease_token: int
    grants: bool


class TaskEnding:
    """Ends tasks, and stores their logs."""

    def __init__(self, database: Database, reaping: Reaping, sealing: SecretService) -> None:
        self._database = database
        self._reaping = reaping
        self._sealing = sealing

    async def commit(
        self,
        task_id: str,
        attempt: int,
        outcome: TaskOutcome,
        given: Effects,
        *,
        lease_token: int,
        is_last: bool = False,
        actor: str,
    ) -> Next:
        """End a task, and return what NextEvent would return.

        Raises `errors.InvalidField`, `errors.NotFound`, `errors.LeaseLost`, `errors.IllegalTransition` for a task that
        has ended in another way, and `errors.CommitRefused`, `errors.SecretsDisabled` and `errors.NotLeader` if its
        effects are not allowed: the task has FAILED then.
        """
        call = _parse(_Call(task_id, outcome, given, lease_token, grants=not is_last), attempt)
        return await in_tries(lambda: self._once(call, actor=actor))

    async def _once(self, call: _Call, *, actor: str) -> Next:
        turns: list[Turn] = []

        async def work(transaction: Transaction) -> Next | Refusal:
            transaction.changed = False
            before = await store.find(transaction.fetch, call.task_id)
            found = await hold.find(transaction.fetch, before.unit_id) if before is not None else None
            if found is None:
                raise errors.NotFound("TASK", call.task_id)
            turns[:] = [Turn(transaction, found.unit_id, lease_token=call.lease_token)]
            looked = await _lock(transaction, turns[0], call, found)
            task = await store.find(transaction.fetch, call.task_id)
            if task is None:
                raise errors.NotFound("TASK", call.task_id)
            if task.state is TaskState.RUNNING:
                refusal = await self._end(turns[0], transaction, looked, call, task)
                if refusal is not None:
                    return refusal
            elif task.state is not call.outcome.state:
                raise errors.IllegalTransition(f"task {task.id}", f"it is {task.state} already")
            return await following(turns[0], looked.held, lease_token=call.lease_token, grants=call.grants)

        ended = (await self._database.write(work, actor=actor)).value
        if turns[0].reaps:
            await self._reaping.run(actor=actor)
        if isinstance(ended, Refusal):
            # Raised only here, outside of the transaction, so that what was written stays.
            raise ended.error
        return ended

    async def _end(
        self, turn: Turn, transaction: Transaction, looked: Looked, call: _Call, task: Task
    ) -> Refusal | None:
        outcome, loaded = call.outcome, looked.loaded
        if outcome.state is not TaskState.SUCCEEDED:
            await turn.end_task(task.id, outcome.state, result=outcome.result or "{}", message=outcome.message)
            return None
        if await effects.has_led(transaction, loaded, call.given):
            # A task runs once, so it is not repeated under another leader.
            await turn.end_task(task.id, TaskState.FAILED, message="its application's leader has changed")
            return Refusal(effects.not_leader(loaded))
        ordinal = loaded.unit.last_ordinal
        ground = effects.ground_of(looked, None, charm=task.charm, ordinal=ordinal, term=call.given.term)
        try:
            done = await effects.write(transaction, ground, call.given, self._sealing)
        except effects.Refused as refused:
            message = f"refused: {refused.error}"[:_MAX_MESSAGE_CHARACTERS]
            await turn.end_task(task.id, TaskState.FAILED, message=message)
            return Refusal(refused.for_caller)
        await turn.commit_task(loaded, task.id, done, result=outcome.result or "{}")
        return None

    async def append(self, task_id: str, number: int, lines: Sequence[str], *, lease_token: int, actor: str) -> None:
        """Add lines to the log of a running task, numbered from `number` on. A line that exists stays unchanged.

        Raises `errors.InvalidField`, `errors.NotFound`, and `errors.LeaseLost` if the caller does not hold the task's
        unit.
        """
        task_id = parse.parse_uuid("task_id", task_id)
        fence.parse_token(lease_token)
        _check_lines(number, lines)

        async def work(transaction: Transaction) -> None:
            transaction.changed = False
            task = await store.find(transaction.fetch, task_id)
            if task is None or not await delivery.lock_unit(transaction, task.unit_id):
                raise errors.NotFound("TASK", task_id)
            held = await hold.read(transaction, task.unit_id, lease_token=lease_token)
            fence.inherits(held, lease_token)
            await store.append(transaction, task_id, number, lines)

        if lines:
            await self._database.write(work, actor=actor)

    async def end_overdue(self) -> None:
        """End tasks as TIMEOUT that run for too long and that their agents do not end."""
        for task_id, unit_id in await store.overdue(
            self._database.fetch, grace_seconds=GRACE_SECONDS, most=_OVERDUE_AT_ONCE
        ):
            await self._end_overdue(task_id, unit_id)

    async def _end_overdue(self, task_id: str, unit_id: str) -> None:
        async def work(transaction: Transaction) -> None:
            transaction.changed = await delivery.lock_unit(transaction, unit_id)
            if transaction.changed:
                await store.end(
                    transaction, task_id, TaskState.TIMEOUT, message="its time is over, and nobody ended it"
                )

        await self._database.write(work, actor="")


async def _lock(transaction: Transaction, turn: Turn, call: _Call, found: hold.FoundUnit) -> Looked:
    """Lock all rows that the end of a task may change, in the global order, and look at the unit."""
    locks_application = found.leads or effects.writes_application(call.given)
    if locks_application and not await delivery.lock_application(transaction, found.application_id):
        raise errors.NotFound("TASK", call.task_id)
    if not await delivery.lock_unit(transaction, found.unit_id):
        raise errors.NotFound("TASK", call.task_id)
    looked = await turn.look()
    if looked is None or (looked.held.leads and not locks_application):
        raise LookAgain
    # As with events, the heir of an agent may report what the agent has left.
    if fence.inherits(looked.held, call.lease_token) and looked.held.own is not None:
        await hold.take(transaction, found.unit_id, looked.held.own.id)
    return looked


def _parse(call: _Call, attempt: int) -> _Call:
    checks = check.Checks()
    task_id = checks.take(parse.parse_uuid, "event_id", call.task_id)
    checks.take(parse.parse_int_range, "attempt", attempt, low=1, high=1)
    checks.take(parse.parse_int_range, "lease_token", call.lease_token, low=1, high=fence.MAX_TOKEN)
    outcome = call.outcome
    if outcome.state not in _ENDS:
        checks.refuse("task.state", f"give one of {', '.join(_ENDS)}")
    if outcome.result:
        checks.take(_parse_result, "task.result", outcome.result)
    if len(outcome.message) > _MAX_MESSAGE_CHARACTERS or "\0" in outcome.message:
        checks.refuse("task.message", f"must be text of at most {_MAX_MESSAGE_CHARACTERS:,} characters, without U+0000")
    checks.finish()
    return dataclasses.replace(call, task_id=task_id)


def _parse_result(field: str, text: str) -> str:
    document.parse_json_object(field, text, max_bytes=limit.TASK_RESULT_BYTES)
    return text


def _check_lines(number: int, lines: Sequence[str]) -> None:
    checks = check.Checks()
    checks.take(parse.parse_int_range, "number", number, low=1, high=_MAX_NUMBER)
    if len(lines) > MAX_LINES:
        raise errors.InvalidField.of("lines", f"there are {len(lines):,}; at most {MAX_LINES:,} may come at once")
    for index, line in enumerate(lines):
        if "\0" in line or len(line.encode(errors="surrogatepass")) > limit.LOG_LINE_BYTES:
            sentence = f"must be text of at most {limit.LOG_LINE_BYTES:,} bytes, without U+0000"
            checks.refuse(parse.child("lines", index), sentence)
    checks.finish()
