"""SecretService on the wire."""

import contextlib
from collections.abc import AsyncGenerator, Awaitable

from tinkwell.api.v1 import event_service_pb2, secret_service_pb2_grpc
from tinkwell.api.v1 import secret_service_pb2 as pb
from tinkwell.core.event.kinds import ResourceType
from tinkwell.server.rpc import auth
from tinkwell.server.rpc.interceptor import Context
from tinkwell.server.rpc.watch.watch import Watches
from tinkwell.server.unit.api import secret_message as message
from tinkwell.server.unit.service.secret.asking import New, Secrets


class SecretServicer(secret_service_pb2_grpc.SecretServiceServicer):
    """Translates between protobuf and the secret service."""

    def __init__(self, service: Secrets, watches: Watches) -> None:
        self._service = service
        self._watches = watches

    async def CreateSecret(self, request: pb.CreateSecretRequest, context: Context) -> pb.Secret:
        new = New(
            id=request.id,
            namespace=request.namespace,
            label=request.label,
            description=request.description,
            content=dict(request.content),
        )
        return message.secret(await self._service.create(new, actor=auth.actor(context)))

    async def UpdateSecret(self, request: pb.UpdateSecretRequest, context: Context) -> pb.Secret:
        changed = await self._service.update(
            request.namespace,
            request.name,
            content=dict(request.content),
            label=request.label if request.HasField("label") else None,
            description=request.description if request.HasField("description") else None,
            actor=auth.actor(context),
        )
        return message.secret(changed)

    async def RemoveSecret(self, request: pb.RemoveSecretRequest, context: Context) -> pb.RemoveSecretResponse:
        await self._service.remove(
            request.namespace, request.name, revision=request.revision, actor=auth.actor(context)
        )
        return pb.RemoveSecretResponse()

    async def GrantSecret(self, request: pb.GrantSecretRequest, context: Context) -> pb.Secret:
        granted = await self._service.grant(
            request.namespace, request.name, request.application, is_granted=True, actor=auth.actor(context)
        )
        return message.secret(granted)

    async def RevokeSecret(self, request: pb.RevokeSecretRequest, context: Context) -> pb.Secret:
        revoked = await self._service.grant(
            request.namespace, request.name, request.application, is_granted=False, actor=auth.actor(context)
        )
        return message.secret(revoked)

    async def GetSecret(self, request: pb.GetSecretRequest, context: Context) -> pb.Secret:
        return message.secret(await self._service.get(request.namespace, request.name))

    async def ListSecrets(self, request: pb.ListSecretsRequest, context: Context) -> AsyncGenerator[pb.Secret, None]:
        async with contextlib.aclosing(self._service.list_of(request.namespace, request.owner)) as found:
            async for each in found:
                yield message.secret(each)

    async def RevealSecret(self, request: pb.RevealSecretRequest, context: Context) -> pb.RevealSecretResponse:
        revision, content = await self._service.reveal(request.namespace, request.name, revision=request.revision)
        return pb.RevealSecretResponse(revision=revision, content=content)

    def Watch(  # type: ignore[override]  # writes its responses by itself
        self, request: event_service_pb2.WatchRequest, context: Context
    ) -> Awaitable[None]:
        return self._watches.stream(request, context, resource_types=(ResourceType.SECRET,))
