"""What tests of secrets share: an owner and a reader that are related, and an agent that runs both."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import grpc.aio
import pytest

from support import application_site, edge
from support.application_site import Site
from support.unit_site import Agent, title
from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.api.v1 import secret_service_pb2 as secret_pb
from tinkwell.api.v1 import unit_service_pb2 as unit_pb
from tinkwell.server.secret.keys import Key, Keys

KEYS = Keys((Key.of(b"1" * 32),))
PG = "name: pg\nprovides: {db: postgresql}\npeers: {cluster: pg}\nactions: {show: {}}\n"
WEB = "name: web\nrequires: {db: postgresql}\nactions: {show: {}}\n"
FIRST, SECOND = "a" * 20, "b" * 20


def add(name: str = FIRST, *, is_application: bool = False, **more: Any) -> unit_pb.SecretEdit:
    """A new secret."""
    chosen = {"content": {"password": "kanarienvogel-1"}, **more}
    return unit_pb.SecretEdit(id=name, add=unit_pb.SecretChange(is_application=is_application, **chosen))


def change(name: str = FIRST, **more: Any) -> unit_pb.SecretEdit:
    """A change of a secret."""
    return unit_pb.SecretEdit(id=name, set=unit_pb.SecretChange(**more))


def grant(relation: int, application: str = "web", *, name: str = FIRST, unit: str = "") -> unit_pb.SecretEdit:
    """A grant of a secret."""
    given = secret_pb.SecretGrant(relation=relation, application=application, unit=unit)
    return unit_pb.SecretEdit(id=name, grant=given)


def revoke(relation: int = 0, *, name: str = FIRST) -> unit_pb.SecretEdit:
    """Its end."""
    return unit_pb.SecretEdit(id=name, revoke=secret_pb.SecretGrant(relation=relation))


def remove(revision: int = 0, *, name: str = FIRST) -> unit_pb.SecretEdit:
    """The removal of a revision, or of all."""
    return unit_pb.SecretEdit(id=name, remove=unit_pb.SecretRemoval(revision=revision))


def track(revision: int, *, name: str = FIRST, label: str | None = None) -> unit_pb.SecretEdit:
    """What is read from now on."""
    return unit_pb.SecretEdit(id=name, track=unit_pb.SecretTracking(revision=revision, label=label))


@dataclass
class Stage:
    """Units by their names, all of one agent, and the relation of pg and web."""

    site: Site
    agent: Agent
    ids: dict[str, str]
    relation: int

    async def do(self, unit: str, *edits: unit_pb.SecretEdit, term: int = 0) -> unit_pb.NextEventResponse:
        """Have a task of a unit do something to secrets."""
        await self.begin(unit)
        effects: dict[str, Any] = {"secrets": list(edits), "term": term}
        return await self.agent.end(self.ids[unit], effects=effects)

    async def begin(self, unit: str) -> None:
        """Begin a task of a unit."""
        await self.site.apps.RunTask(pb.RunTaskRequest(unit=unit, action="show"))
        granted = (await self.agent.next(self.ids[unit])).grant
        assert granted.HasField("task"), title(granted)

    async def refused(self, unit: str, *edits: unit_pb.SecretEdit, term: int = 0) -> dict[str, str]:
        """Return what of it is refused, by fields."""
        await self.begin(unit)
        effects: dict[str, Any] = {"secrets": list(edits), "term": term}
        request = self.agent.ending(self.ids[unit], effects=effects)
        return (await application_site.refusal(self.site.units.CommitEvent(request))).fields

    async def read(self, unit: str, name: str = FIRST, **more: Any) -> dict[str, str] | str:
        """Return what a task of a unit reads, or the reason why it may not."""
        await self.begin(unit)
        request = self.agent.reading(self.ids[unit], "" if "label" in more else name, **more)
        try:
            return dict((await self.site.units.ReadSecret(request)).content)
        except grpc.aio.AioRpcError as error:
            return edge.refusal(error).reason
        finally:
            await self.agent.end(self.ids[unit])

    async def next(self, unit: str) -> str:
        """Return the name of a unit's next event, which is granted, and the revision that it tells of."""
        found = await self.agent.next(self.ids[unit])
        if not found.HasField("grant"):
            return ""
        event = found.grant.event
        return f"{event.name} {event.secret.id[:1]} {event.secret.revision}".strip()

    async def commit(self, unit: str, *edits: unit_pb.SecretEdit, **more: Any) -> unit_pb.NextEventResponse:
        """Commit it."""
        return await self.agent.commit(self.ids[unit], secrets=list(edits), **more)

    async def run(self) -> list[str]:
        """Run all that is due."""
        return await self.agent.run(*self.ids.values())


@pytest.fixture
async def stage(database_url: str) -> AsyncIterator[Stage]:
    """Two units of pg and one of web, which have nothing due."""
    async with application_site.open_site(database_url, keys=KEYS) as site:
        await site.deploy(PG, "pg", 2)
        await site.deploy(WEB, "web")
        agent = await site.agent()
        names = ("pg/0", "pg/1", "web/0")
        ids = {name: (await site.unit(name)).id for name in names}
        made = await site.apps.Relate(pb.RelateRequest(first="pg", second="web"))
        await agent.run(*ids.values())
        yield Stage(site, agent, ids, made.number)
