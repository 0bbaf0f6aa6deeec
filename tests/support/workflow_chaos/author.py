"""Creates machines, templates and workflows, and cancels some, whether servers answer at once or only after a while."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import tinkwell.client
from support.workflow_chaos.scenario import Errand
from tinkwell.client import errors

_TIMEOUT_SECONDS = 10
_PAUSE_SECONDS = 0.2
# The call is made again; each of them may be.
_AGAIN = (errors.Unavailable, errors.DeadlineExceeded, errors.LostRace, errors.ResourceExhausted)


class Author:
    """Makes all that a run is about. What a server should not have answered is a complaint."""

    def __init__(self, address: str) -> None:
        self.complaints: list[str] = []
        self.created = 0
        self._client = tinkwell.client.connect(address, timeout_seconds=_TIMEOUT_SECONDS, actor="author")

    async def prepare(self, machines: Sequence[str], errands: Sequence[Errand]) -> None:
        """Create the machines and the templates."""
        for machine in machines:
            await self._client.hardware.push({"id": machine})
        for errand in errands:
            await self._client.templates.create(errand.template, name=errand.template_name)

    async def run(self, errands: Sequence[Errand]) -> None:
        """Create the workflows when it is time to, and cancel those that are to be; returns when all is done."""
        async with asyncio.TaskGroup() as tasks:
            for errand in errands:
                tasks.create_task(self._do(errand))

    async def close(self) -> None:
        """Let go of the connection."""
        await self._client.close()

    async def _do(self, errand: Errand) -> None:
        id_ = errand.plan.workflow_id
        await asyncio.sleep(errand.create_after)
        await self._call(
            lambda: self._client.workflows.create(errand.template_name, errand.devices, id=id_), f"create {id_}"
        )
        self.created += 1
        if errand.cancel_after is not None:
            await asyncio.sleep(errand.cancel_after)
            await self._call(
                lambda: self._client.workflows.cancel(id_, "by plan"),
                f"cancel {id_}",
                # It may have ended, and be forgotten by now.
                (errors.IllegalTransition, errors.NotFound),
            )

    async def _call(
        self, call: Callable[[], Awaitable[object]], what: str, refusals: tuple[type[errors.Error], ...] = ()
    ) -> None:
        """Call until it is answered."""
        while True:
            try:
                await call()
            except _AGAIN:
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            except refusals:
                pass
            except errors.Error as error:
                self.complaints.append(f"to {what} was answered by {error.code} {error.reason}: {error.message}")
            return
