"""Gives machines that announce themselves, and that nobody has any plans for, the workflow of a default template.

How far the phone calls have been dealt with is a position that the server keeps, so that none is lost over restarts. A
workflow's id follows from the machine and the template, so a call that is dealt with twice, or by several provisioners,
makes one workflow; and one that was made and deleted is not made again.
"""

import asyncio
import logging
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import NoReturn

from tinkwell.client import errors, retry
from tinkwell.client.client import Client
from tinkwell.client.watch.event import Event
from tinkwell.client.watch.watch import Watch
from tinkwell.core.event.kinds import EventType

logger = logging.getLogger(__name__)

DEVICE = "device_1"
# What lies behind the position is only dealt with again, so it need not follow each call.
COMMIT_SECONDS = 5.0
# So many machines are remembered as having their workflow; a forgotten one costs a question.
MAX_ENROLLED = 10_000
# What is answered about one machine or its template, and says nothing about the next one.
_REFUSALS = (errors.NotFound, errors.InvalidField, errors.IllegalTransition, errors.LostRace, errors.Internal)
_NAMESPACE = uuid.UUID("6c9d2b6e-4f0b-4c57-9a1e-0f6f6f8a7d11")


def workflow_id_of(machine_id: str, template: str) -> str:
    """Return the id of the workflow that a machine gets from a template."""
    return str(uuid.uuid5(_NAMESPACE, f"{machine_id} {template}"))


def address_of(machine_id: str, data: Mapping[str, object]) -> str:
    """Return what a template is given for a machine: its first MAC address, else its first IP address, else its id."""
    found = list(_interfaces(data))
    macs = [mac for dhcp in found if isinstance(mac := dhcp.get("mac"), str) and mac]
    ips = [ip.get("address") for dhcp in found if isinstance(ip := dhcp.get("ip"), Mapping)]
    return next((each for each in (*macs, *ips) if isinstance(each, str) and each), machine_id)


class Enrolment:
    """Watches phone calls and makes workflows, until it is cancelled."""

    def __init__(self, server: Client, template: str, *, commit_seconds: float = COMMIT_SECONDS) -> None:
        self._server = server
        self._template = template
        self._commit_seconds = commit_seconds
        self._position = f"enrolment-{template}"
        self._token: int | None = None
        self._committed = 0
        self._next_commit = 0.0
        self._enrolled: OrderedDict[str, None] = OrderedDict()

    async def run(self) -> NoReturn:
        """Work until cancelled; raises an `errors.Error` that cannot be mended."""
        held = await retry.until_answered(
            lambda: self._server.events.position(self._position, claim=True), what="claim a position"
        )
        self._token, self._committed = held.token, held.revision
        begin = held.revision + 1 if held.revision else None
        history_id = held.history_id if held.revision else ""
        while True:
            try:
                await self._follow(begin, history_id)
            except errors.Compacted as error:
                logger.warning("phone calls were forgotten before they were dealt with", extra={"cause": str(error)})
                begin = error.oldest_revision
            except errors.HistoryGone as error:
                logger.warning("the log is another one; its newest phone calls count", extra={"cause": str(error)})
                begin, history_id, self._committed = None, "", 0

    async def _follow(self, begin: int | None, history_id: str) -> None:
        """Deal with calls from a revision on, or of the last minutes; raises `HistoryGone`."""
        watch = self._server.hardware.watch(
            event_types=[EventType.HARDWARE_PHONE_HOME],
            from_revision=begin,
            history_id=history_id,
            on_bookmark=self._commit,
        )
        async with watch as events:
            logger.info("phone calls are watched", extra={"template": self._template})
            async for event in events:
                await self._deal_with(event)
                await self._commit(watch)

    async def _deal_with(self, event: Event) -> None:
        machine_id = event.resource_id
        if machine_id in self._enrolled:
            return
        try:
            if not await self._has_workflow(machine_id):
                await self._create(machine_id, address_of(machine_id, event.data))
        except _REFUSALS as error:
            # Its next call is another chance.
            fields = {"machine": machine_id, "template": self._template, "cause": str(error)}
            logger.warning("a machine gets no workflow", extra=fields)

    async def _has_workflow(self, machine_id: str) -> bool:
        try:
            return bool(
                await retry.until_answered(
                    lambda: self._server.workflows.context_list(machine_id),
                    what="list a machine's workflows",
                    gives_up=(errors.LimitReached, errors.Internal),
                )
            )
        except errors.LimitReached:
            return True  # more than fit into an answer

    async def _create(self, machine_id: str, address: str) -> None:
        workflow_id = workflow_id_of(machine_id, self._template)
        try:
            created = await retry.until_answered(
                lambda: self._server.workflows.create(self._template, {DEVICE: address}, id=workflow_id),
                what="create a workflow",
                gives_up=(errors.AlreadyExists, errors.LostRace, errors.Internal),
            )
        except errors.AlreadyExists:
            logger.info("a machine had its workflow before", extra={"machine": machine_id, "workflow": workflow_id})
        else:
            if created.revision:
                logger.info("a machine gets a workflow", extra={"machine": machine_id, "workflow": workflow_id})
        self._enrolled[machine_id] = None
        if len(self._enrolled) > MAX_ENROLLED:
            self._enrolled.popitem(last=False)

    async def _commit(self, watch: Watch) -> None:
        """Store how far it has come, now and then, unless another provisioner does."""
        now = asyncio.get_running_loop().time()
        if self._token is None or watch.revision <= self._committed or now < self._next_commit:
            return
        self._next_commit = now + self._commit_seconds
        try:
            await self._server.events.commit_position(
                self._position, revision=watch.revision, history_id=watch.history_id, token=self._token
            )
            self._committed = watch.revision
        except errors.LostRace:
            # Both deal with every call, which does no harm; only one needs to remember.
            logger.info("another provisioner keeps the position", extra={"position": self._position})
            self._token = None
        except errors.Error as error:
            if isinstance(error, retry.HOPELESS):
                raise
            logger.warning("the position is not stored", extra={"position": self._position, "cause": str(error)})


def _interfaces(data: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Yield what interfaces ask for their addresses with; psql may have stored anything."""
    network = data.get("network")
    interfaces = network.get("interfaces") if isinstance(network, Mapping) else None
    for interface in interfaces if isinstance(interfaces, list) else ():
        dhcp = interface.get("dhcp") if isinstance(interface, Mapping) else None
        if isinstance(dhcp, Mapping):
            yield dhcp
