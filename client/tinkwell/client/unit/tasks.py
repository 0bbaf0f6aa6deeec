"""The client's calls for tasks: run, wait for, cancel and list them."""

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

# How often a waiting client reads the task if no event comes.
_LONGEST_SECONDS = 10.0


class TaskClient(ReadingClient):
    """Lets units run actions of their charms, and commands."""

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

        Parameters are keyword arguments, or all of them in a mapping or as JSON text. Missing ones get the charm's
        defaults. Raises `InvalidField` for an action that the charm does not have, and for parameters that do not fit
        the action. The task is run after the unit's start, after the events before it, at most once; it is FAILED if it
        is lost. `timeout_seconds` counts from the start of the task; 0 means the namespace's event_timeout_seconds.
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
        """Ask a unit to run a command in its charm's folder, and return the task at once; otherwise like `run`.

        Raises `PermissionDenied` if the server does not allow commands, or not for this caller.
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
        """Cancel a task by its id. A waiting task ends at once; a running one is ended by its agent."""
        request = field.build(pb.CancelTaskRequest, id=task)
        return messages.read(await self._caller.unary(self._stub.CancelTask, request, may_repeat=True))

    async def task(self, task: str) -> Task:
        """Get a task by its id, with its parameters, result and log; raises `NotFound`."""
        request = field.build(pb.GetTaskRequest, id=task)
        return messages.read(await self._caller.unary(self._stub.GetTask, request, may_repeat=True))

    def tasks(self, name: str, *, namespace: str = "") -> AsyncIterator[Task]:
        """Iterate over the tasks of a unit, or of all units of an application, newest first."""
        request = field.build(pb.ListTasksRequest, namespace=namespace, name=name)
        return self._list(self._stub.ListTasks, request, messages.read)

    async def finished(self, task: str, *, timeout_seconds: float | None = None) -> Task:
        """Wait for the end of a task, and return it, whether it succeeded or not.

        Raises `TimeoutError`, and `NotFound` for a task that does not exist or is no longer kept.
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
