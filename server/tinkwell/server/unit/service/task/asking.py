"""Implements RunTask, CancelTask, GetTask and ListTasks."""

import contextlib
import dataclasses
import json
from collections.abc import AsyncGenerator, Sequence

from tinkwell.core import errors
from tinkwell.core.charm import action
from tinkwell.core.release import name as namespaces
from tinkwell.core.unit import limit
from tinkwell.core.unit import name as names
from tinkwell.core.unit.kinds import Life, TaskKind, TaskState
from tinkwell.core.value import check, document, parse
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.service.request import deploying
from tinkwell.server.unit.service.request import request as requests
from tinkwell.server.unit.service.request.charms import Charms
from tinkwell.server.unit.service.request.removing import missing
from tinkwell.server.unit.store.request import application as applications
from tinkwell.server.unit.store.request import namespace as namespaces_store
from tinkwell.server.unit.store.request import unit
from tinkwell.server.unit.store.task import asking as store
from tinkwell.server.unit.store.task.row import Task

LEADER = "leader"
MAX_PENDING = 1_000
MAX_TIMEOUT_SECONDS = 86_400
_MAX_ARGUMENTS = 1_000
_MAX_ARGUMENT_BYTES = 131_072


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A task that is requested: an action with parameters as JSON text, or a command."""

    id: str = ""
    namespace: str = ""
    unit: str
    action: str = ""
    parameters: str = ""
    arguments: Sequence[str] = ()
    timeout_seconds: int = 0


class Tasks:
    """People's view of tasks. `allows_commands`: whether units may be asked to run any command."""

    def __init__(self, database: Database, charms: Charms, *, allows_commands: bool) -> None:
        self._database = database
        self._charms = charms
        self._allows_commands = allows_commands

    async def run(self, asked: Asked, *, actor: str) -> Task:
        """Request a task for a unit: an action or a command. A repeated request with the same id changes nothing.

        Raises `errors.InvalidField`, `errors.NotFound`, `errors.AlreadyExists` for the id of another task,
        `errors.LimitReached` while too many tasks wait, and `errors.IllegalTransition` for a unit that is being
        removed, for an application without a leader, and for a command if the server allows none.
        """
        asked = _checked(asked)
        if asked.arguments and not self._allows_commands:
            raise errors.IllegalTransition(
                f"unit {asked.unit}", "this server runs no commands on units; set TINKWELL_ALLOW_EXEC to allow them"
            )

        async def work(transaction: Transaction) -> Task:
            if asked.id and (former := await store.find(transaction.fetch, asked.id)) is not None:
                transaction.changed = False
                return await self._as_before(transaction, former, asked)
            unit_id = await self._lock(transaction, asked)
            if await store.count_pending(transaction, unit_id) >= MAX_PENDING:
                raise errors.LimitReached(f"{MAX_PENDING:,} tasks of the unit wait already; wait, or cancel some")
            new = store.NewTask(
                id=asked.id,
                unit_id=unit_id,
                kind=TaskKind.EXEC if asked.arguments else TaskKind.ACTION,
                name=asked.action,
                parameters=await self._parameters(transaction, unit_id, asked),
                arguments=asked.arguments,
                timeout_seconds=asked.timeout_seconds or None,
                actor=actor,
            )
            made = await store.find(transaction.fetch, await store.insert(transaction, new))
            assert made is not None
            return made

        return (await self._database.write(work, actor=actor)).value

    async def cancel(self, task_id: str, *, actor: str) -> Task:
        """Cancel a task: a waiting task ends at once, and a running one is ended by its agent, which is told so.

        Raises `errors.InvalidField`, `errors.NotFound`, and `errors.IllegalTransition` for a task that has ended.
        """
        task_id = parse.parse_uuid("id", task_id)

        async def work(transaction: Transaction) -> Task:
            before = await store.find(transaction.fetch, task_id)
            if before is None or not await unit.lock_by_id(transaction, before.unit_id):
                raise errors.NotFound("TASK", task_id)
            found = await store.find(transaction.fetch, task_id)
            if found is None:
                raise errors.NotFound("TASK", task_id)
            match found.state:
                case TaskState.PENDING:
                    by = f" by {actor}" if actor else ""
                    await store.cancel(transaction, task_id, message=f"it was cancelled{by} before it ran")
                case TaskState.RUNNING:
                    transaction.changed = not found.is_cancelled
                    await store.request_end(transaction, task_id)
                case TaskState.CANCELLED:
                    transaction.changed = False
                case _:
                    raise errors.IllegalTransition(f"task {task_id}", f"it is {found.state} already")
            return await store.find(transaction.fetch, task_id) or found

        return (await self._database.write(work, actor=actor)).value

    async def get(self, task_id: str) -> tuple[Task, Sequence[str]]:
        """Return a task with the newest lines of its log. Raises `errors.InvalidField` and `errors.NotFound`."""
        task_id = parse.parse_uuid("id", task_id)
        found = await store.find(self._database.fetch, task_id)
        if found is None:
            raise errors.NotFound("TASK", task_id)
        return found, await store.lines(self._database.fetch, task_id)

    async def list_of(self, namespace: str, name: str) -> AsyncGenerator[Task, None]:
        """Yield the tasks of a unit, or of all units of an application, newest first.

        Raises `errors.InvalidField` and `errors.NotFound`.
        """
        unit_ids = await self._unit_ids(namespace, name)
        async with (
            self._database.snapshot() as connection,
            contextlib.aclosing(store.list_of_units(connection, unit_ids)) as tasks,
        ):
            async for each in tasks:
                yield each

    async def _unit_ids(self, namespace: str, name: str) -> Sequence[str]:
        fetch = self._database.fetch
        if "/" in name:
            named = requests.parse_unit(namespace, name, field="name")
            found = await unit.find(fetch, named.namespace, named.name)
            if found is None:
                raise missing(named.name)
            return [found.id]
        named = requests.parse_application(namespace, name, field="name")
        application = await applications.find(fetch, named.namespace, named.name)
        if application is None:
            raise deploying.missing(named.namespace, named.name)
        return await unit.list_ids(fetch, application.id)

    async def _lock(self, transaction: Transaction, asked: Asked) -> str:
        """Lock the unit that has to run a task, after its application, and return its id."""
        application = asked.unit.partition("/")[0]
        if application not in await applications.lock(transaction, asked.namespace, [application]):
            raise missing(asked.unit)
        name = asked.unit
        if name.endswith(f"/{LEADER}"):
            found = await applications.find(transaction.fetch, asked.namespace, application)
            if found is None or not found.leader:
                raise errors.IllegalTransition(
                    f"application {application}", "no unit leads it now; wait until one does, or name a unit"
                )
            name = found.leader
        locked = await unit.lock(transaction, asked.namespace, name)
        if locked is None:
            raise missing(name)
        if locked.life is not Life.ALIVE:
            raise errors.IllegalTransition(f"unit {name}", "it is being removed, and gets no more tasks")
        return locked.id

    async def _as_before(self, transaction: Transaction, former: Task, asked: Asked) -> Task:
        """Return a task that was requested before. Raises `errors.AlreadyExists` if the request differs."""
        settings = await namespaces_store.find(transaction.fetch, asked.namespace)
        timeout_seconds = asked.timeout_seconds or (settings.event_timeout_seconds if settings is not None else 0)
        wanted = {
            "another unit": asked.unit in (former.unit, f"{names.application_of(former.unit)}/{LEADER}")
            and asked.namespace == former.namespace,
            "another action": asked.action == former.name,
            "other arguments": tuple(asked.arguments) == tuple(former.arguments),
            "another timeout_seconds": timeout_seconds == former.timeout_seconds,
        }
        other = [what for what, is_same in wanted.items() if not is_same]
        if not other and not asked.arguments:
            parameters = await self._parameters(transaction, former.unit_id, asked, charm=former.charm)
            other = [] if json.loads(parameters) == json.loads(former.parameters) else ["other parameters"]
        if other:
            raise errors.AlreadyExists(
                "id", asked.id, taken_by=f"a task of {former.unit} with {other[0]}", advice="leave the id out"
            )
        return former

    async def _parameters(self, transaction: Transaction, unit_id: str, asked: Asked, *, charm: str = "") -> str:
        """Complete the parameters by the declaration of a charm, given by its digest, empty for the unit's charm."""
        if asked.arguments:
            return "{}"
        known = await self._charms.find(charm or await unit.code(transaction, unit_id), transaction.fetch)
        found = action.find(known.manifest.actions, asked.action, field="action")
        given = document.parse_json_object("parameters", asked.parameters or "{}", max_bytes=limit.CONFIG_BYTES)
        return document.dump_json(action.complete(found, given, field="parameters"))


def _checked(asked: Asked) -> Asked:
    checks = check.Checks(most=document.MAX_VIOLATIONS)
    task_id = checks.take(parse.parse_uuid, "id", asked.id) if asked.id else ""
    namespace = checks.take(namespaces.parse_namespace, "namespace", asked.namespace)
    if asked.unit.endswith(f"/{LEADER}"):
        checks.take(names.parse_application, "unit", asked.unit.removesuffix(f"/{LEADER}"))
    else:
        checks.take(names.parse_unit, "unit", asked.unit)
    if bool(asked.action) == bool(asked.arguments):
        checks.refuse("action", "name an action, or give the arguments of a command, and not both")
    if asked.arguments and asked.parameters:
        checks.refuse("parameters", "go with an action; leave them out, or name one in the place of arguments")
    _check_arguments(checks, asked.arguments)
    checks.take(parse.parse_int_range, "timeout_seconds", asked.timeout_seconds, low=0, high=MAX_TIMEOUT_SECONDS)
    checks.finish()
    return dataclasses.replace(asked, id=task_id, namespace=namespace)


def _check_arguments(checks: check.Checks, arguments: Sequence[str]) -> None:
    if len(arguments) > _MAX_ARGUMENTS:
        checks.refuse("arguments", f"there are {len(arguments):,}; at most {_MAX_ARGUMENTS:,} may be")
        return
    if arguments and not arguments[0]:
        checks.refuse("arguments[0]", "is empty; name the program that is to run")
    for index, text in enumerate(arguments):
        if "\0" in text:
            checks.refuse(parse.child("arguments", index), "holds the character U+0000, which no program takes")
    if sum(len(text.encode(errors="surrogatepass")) for text in arguments) > _MAX_ARGUMENT_BYTES:
        checks.refuse("arguments", f"are longer than {_MAX_ARGUMENT_BYTES:,} bytes in all; send a file otherwise")
