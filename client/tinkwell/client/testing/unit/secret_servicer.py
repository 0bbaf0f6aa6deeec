"""The SecretService of the fake server. It stores secrets in clear."""

# ruff: noqa: N802  # RPC methods carry their names

import secrets
import uuid
from collections.abc import AsyncIterator
from typing import Any

from tinkwell.api.v1 import event_service_pb2, secret_service_pb2_grpc
from tinkwell.api.v1 import secret_service_pb2 as pb
from tinkwell.client.testing.unit import secret
from tinkwell.client.testing.unit.book import DEFAULT_NAMESPACE, Room, UnitBook
from tinkwell.client.testing.unit.request import Requests
from tinkwell.client.testing.world import World
from tinkwell.core import errors
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.unit import effect as effects
from tinkwell.core.unit import secret as rule
from tinkwell.core.unit.kinds import Life
from tinkwell.core.unit.world import Secret


class SecretServicer(secret_service_pb2_grpc.SecretServiceServicer):
    """Secrets in memory."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._book: UnitBook = world.units
        self._requests = Requests(world)

    async def CreateSecret(self, request: pb.CreateSecretRequest, context: Any) -> pb.Secret:
        room = self._requests.ensure(request.namespace)
        former = next((each for each in room.world.secrets.values() if request.id and each.id == request.id), None)
        if former is not None:
            if (former.owner, former.label) != ("", request.label):
                raise errors.AlreadyExists("id", request.id, taken_by=f"secret {former.name}")
            return secret.message(room, former)
        rule.parse_label("label", request.label)
        content = rule.parse_content("content", request.content)
        _check_label(room, request.label)
        name = rule.new_id(secrets.token_bytes(rule.ID_BYTES))
        room.chosen[f"secret {name}"] = request.id or str(uuid.uuid4())
        made = room.world.create_secret(name, content, label=request.label, description=request.description)
        room.tell()
        return secret.message(room, made)

    async def UpdateSecret(self, request: pb.UpdateSecretRequest, context: Any) -> pb.Secret:
        room, found = self._users(request.namespace, request.name)
        label = request.label if request.HasField("label") else None
        content = rule.parse_content("content", request.content) if request.content else None
        rule.parse_label("label", label or "")
        if label is not None and label != found.label:
            _check_label(room, label)
        described = request.description if request.HasField("description") else None
        if (content, label, described) != (None, None, None):
            edit = effects.SecretSet(id=found.name, content=content, label=label, description=described)
            room.world.update_secret(edit)
        room.tell()
        return secret.message(room, found)

    async def RemoveSecret(self, request: pb.RemoveSecretRequest, context: Any) -> pb.RemoveSecretResponse:
        room, found = self._users(request.namespace, request.name)
        revision = request.revision
        if revision and revision not in found.revisions:
            raise errors.NotFound("SECRET", f"{found.name} in revision {revision}")
        if revision == found.latest and len(found.revisions) > 1:
            advice = "remove the whole secret, or give it another revision first"
            raise errors.IllegalTransition(f"secret {found.name}", f"revision {revision} is the newest one; {advice}")
        room.world.remove_secret(found.name, revision)
        room.tell()
        return pb.RemoveSecretResponse()

    async def GrantSecret(self, request: pb.GrantSecretRequest, context: Any) -> pb.Secret:
        return self._grant(request, is_granted=True)

    async def RevokeSecret(self, request: pb.RevokeSecretRequest, context: Any) -> pb.Secret:
        return self._grant(request, is_granted=False)

    async def GetSecret(self, request: pb.GetSecretRequest, context: Any) -> pb.Secret:
        return secret.message(*self._find(request.namespace, request.name))

    async def ListSecrets(self, request: pb.ListSecretsRequest, context: Any) -> AsyncIterator[pb.Secret]:
        wanted = request.namespace or (DEFAULT_NAMESPACE if request.owner else "")
        for room in self._book.all_rooms(wanted):
            for found in sorted(room.world.secrets.values(), key=lambda each: (each.owner, each.name)):
                if request.owner in ("", found.owner):
                    yield secret.message(room, found)

    async def RevealSecret(self, request: pb.RevealSecretRequest, context: Any) -> pb.RevealSecretResponse:
        _, found = self._find(request.namespace, request.name)
        wanted = request.revision or found.latest
        if wanted not in found.revisions:
            raise errors.NotFound("SECRET", f"{found.name} in revision {wanted}")
        return pb.RevealSecretResponse(revision=wanted, content=found.revisions[wanted].content)

    async def Watch(
        self, request: event_service_pb2.WatchRequest, context: Any
    ) -> AsyncIterator[event_service_pb2.WatchResponse]:
        async for response in self._world.log.follow(request, [ResourceType.SECRET]):
            yield response

    def _grant(self, request: Any, *, is_granted: bool) -> pb.Secret:
        room = self._book.room(request.namespace)
        application = room.world.applications.get(request.application)
        if application is None:
            raise errors.NotFound(ResourceType.APPLICATION, request.application)
        room, found = self._users(request.namespace, request.name)
        if is_granted and application.life is not Life.ALIVE:
            raise errors.IllegalTransition(f"application {request.application}", "it is being removed")
        room.world.grant_secret(found.name, request.application, is_granted=is_granted)
        room.tell()
        return secret.message(room, found)

    def _users(self, namespace: str, wanted: str) -> tuple[Room, Secret]:
        room, found = self._find(namespace, wanted)
        if found.owner:
            text = f"it belongs to {found.owner}, and its charm alone changes it"
            raise errors.IllegalTransition(f"secret {found.name}", text)
        return room, found

    def _find(self, namespace: str, wanted: str) -> tuple[Room, Secret]:
        """Return a secret by its name, or a user's by its label."""
        room = self._book.rooms.get(namespace or DEFAULT_NAMESPACE)
        for each in room.world.secrets.values() if room is not None else ():
            if wanted and (each.name == wanted or (not each.owner and each.label == wanted)):
                assert room is not None
                return room, each
        raise errors.NotFound("SECRET", wanted)


def _check_label(room: Room, label: str) -> None:
    for each in room.world.secrets.values():
        if label and not each.owner and each.label == label:
            raise errors.AlreadyExists("label", label, taken_by=f"secret {each.name}", advice="choose another one")
