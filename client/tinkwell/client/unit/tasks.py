"""Tasks of units: run, waited for, cancelled and listed."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.client.unit import task as messages
from tinkwell.client.unit.reading import ReadingClient
from tinkwell.client.unit.task import Task
from tinkwell.client.value import field

# How long a task is waited for before it is looked at, though no event has told of it.
_LONGEST_SECONDS = 10.0


class TaskClient(ReadingClient):
    """Has units run actions of their charms, and commands."""

    async def run(
        self,
        unit: str,
        action: str,
        parameters: Mapping[str, Any] | str | None = None,
        /,
        *,
        timeout_seconds: int = 0,
        namespace: str = "",
        id: str | None = None,  # noqa: A002
        **named: Any,
    ) -> Task:
        """Ask a unit, such as web/0 or web/leader, to run an action, and return the task at once.

            task = await client.applications.run("web/0", "backup", target="/srv/backup", level=3)
            print((await client.applications.finished(task.id)).result)

        Parameters are named ones, or all of them in a mapping or as JSON. Missing ones get the defaults of the charm,
        which must be able to take them all: else `InvalidField` is raised, as for an action that it does not have. The
        task is run after the unit's start, in its turn, at most once, and is FAILED if it is lost.
        `timeout_seconds` is counted from its start on; 0 stands for the namespace's event_timeout_seconds.
        """
        if parameters is not None and named:
            raise TypeError("give the parameters in a mapping, or by their names")
        request = field.build(
            pb.RunTaskRequest,
            id=id or str(uuid.uuid4()),
            namespace=namespace,
            unit=unit,
            action=action,
            parameters=field.to_json_text(named if parameters is None else parameters, "parameters"),
            timeout_seconds=timeout_seconds,
        )
        return messages.read(await self._caller.unary(self._stub.RunTask, request, may_repeat=True))

    async def exec(
        self,
        unit: str,
        arguments: Sequence[str],
        *,
        timeout_seconds: int = 0,
        namespace: str = "",
        id: str | None = None,  # noqa: A002
    ) -> Task:
        """Ask a unit to run a command in its charm's folder, and return the task at once; else as `run`.

        Raises `PermissionDenied` where the server does not allow commands, or not to this caller.
        """
        request = field.build(
            pb.RunTaskRequest,
            id=id or str(uuid.uuid4()),
            namespace=namespace,
            unit=unit,
            arguments=tuple(arguments),
            timeout_seconds=timeout_seconds,
        )
        return messages.read(await self._caller.unary(self._stub.RunTask, request, may_repeat=True))

    async def cancel(self, task: str) -> Task:
        """End a task by its id: at once where it waits; where it runs, its agent ends it."""
        request = field.build(pb.CancelTaskRequest, id=task)
        return messages.read(await self._caller.unary(self._stub.CancelTask, request, may_repeat=True))

    async def task(self, task: str) -> Task:
        """Get a task by its id, with what it was given, has answered and told; raises `NotFound`."""
        request = field.build(pb.GetTaskRequest, id=task)
        return messages.read(await self._caller.unary(self._stub.GetTask, request, may_repeat=True))

    def tasks(self, name: str, *, namespace: str = "") -> AsyncIterator[Task]:
        """Iterate over the tasks of a unit, or of all units of an application, newest first."""
        request = field.build(pb.ListTasksRequest, namespace=namespace, name=name)
        return self._list(self._stub.ListTasks, request, messages.read)

    async def finished(self, task: str, *, timeout_seconds: float | None = None) -> Task:
        """Wait for the end of a task, and return it as it is then, whatever came of it.

        Raises `TimeoutError`, and `NotFound` for one that is not there, or not kept any more.
        """
        async with asyncio.timeout(timeout_seconds):
            found = await self.task(task)
            if found.state.is_final:
                return found
            async with self.watch(resource_types=["TASK"], resource_id=task, now=True) as events:
                await events.wait_live()
                while not (found := await self.task(task)).state.is_final:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(_LONGEST_SECONDS):
                            await anext(events)
                return found
