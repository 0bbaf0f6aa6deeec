"""The client of secrets: changes and grants those of users, and reads those of units and applications."""

import uuid
from collections.abc import AsyncIterator, Mapping

from tinkwell.api.v1 import secret_service_pb2 as pb
from tinkwell.api.v1 import secret_service_pb2_grpc
from tinkwell.client import call
from tinkwell.client.unit.secret.model import RevealedSecret, Secret, read
from tinkwell.client.value import field
from tinkwell.client.watch import informer as informers
from tinkwell.client.watch import service
from tinkwell.core.event.kinds import ResourceType


class SecretClient(service.Service):
    """Makes, changes, grants, lists and reveals secrets.An empty namespace means "default".

    A secret is named by its `name`, the 20 characters by which charms know it; a user's secret also by its label. Only
    a unit changes the secrets that it owns; they can be listed, and revealed to callers who may.
    """

    def __init__(self, caller: call.Caller) -> None:
        self._stub = secret_service_pb2_grpc.SecretServiceStub(caller.channel)
        super().__init__(caller, self._stub.Watch)

    async def create(
        self,
        content: Mapping[str, str],
        *,
        label: str = "",
        description: str = "",
        namespace: str = "",
        id: str | None = None,  # noqa: A002
    ) -> Secret:
        """Create a user's secret.

            secret = await client.secrets.create({"password": password}, label="db-admin")
            await client.secrets.grant("db-admin", "web")
            await client.applications.set_config("web", {"token": f"secret:{secret.name}"})

        The content has at most 64 keys and 1 MiB. Raises `AlreadyExists` for a label that is taken.
        """
        request = field.build(
            pb.CreateSecretRequest,
            id=id or str(uuid.uuid4()),
            namespace=namespace,
            label=label,
            description=description,
            content=dict(content),
        )
        return read(await self._caller.unary(self._stub.CreateSecret, request, may_repeat=True))

    async def update(
        self,
        name: str,
        content: Mapping[str, str] | None = None,
        *,
        label: str | None = None,
        description: str | None = None,
        namespace: str = "",
    ) -> Secret:
        """Give a user's secret a new revision, label or description; None keeps the former one.

        Units that read the secret get secret-changed for a new revision.
        """
        request = field.build(
            pb.UpdateSecretRequest,
            namespace=namespace,
            name=name,
            content=dict(content or {}),
            label=label,
            description=description,
        )
        return read(await self._caller.unary(self._stub.UpdateSecret, request, may_repeat=False))

    async def remove(self, name: str, *, revision: int = 0, namespace: str = "") -> None:
        """Remove a revision of a user's secret, or with 0 the whole secret."""
        request = field.build(pb.RemoveSecretRequest, namespace=namespace, name=name, revision=revision)
        await self._caller.unary(self._stub.RemoveSecret, request, may_repeat=False)

    async def grant(self, name: str, application: str, *, namespace: str = "") -> Secret:
        """Let the units of an application read a user's secret."""
        request = field.build(pb.GrantSecretRequest, namespace=namespace, name=name, application=application)
        return read(await self._caller.unary(self._stub.GrantSecret, request, may_repeat=True))

    async def revoke(self, name: str, application: str, *, namespace: str = "") -> Secret:
        """Take back the grant of a user's secret to an application."""
        request = field.build(pb.RevokeSecretRequest, namespace=namespace, name=name, application=application)
        return read(await self._caller.unary(self._stub.RevokeSecret, request, may_repeat=True))

    async def get(self, name: str, *, namespace: str = "") -> Secret:
        """Get a secret without its content; raises `NotFound`."""
        request = field.build(pb.GetSecretRequest, namespace=namespace, name=name)
        return read(await self._caller.unary(self._stub.GetSecret, request, may_repeat=True))

    def list(self, *, namespace: str = "", owner: str = "") -> AsyncIterator[Secret]:
        """Iterate over secrets without their content, by namespace, owner and id.

        An empty namespace means all; with an `owner`, the name of a unit or an application, it means "default".
        """
        request = field.build(pb.ListSecretsRequest, namespace=namespace, owner=owner)
        return self._list(self._stub.ListSecrets, request, read)

    async def reveal(self, name: str, *, revision: int = 0, namespace: str = "") -> RevealedSecret:
        """Get the content of a revision, 0 for the newest. Raises `PermissionDenied` if the caller may not see it."""
        request = field.build(pb.RevealSecretRequest, namespace=namespace, name=name, revision=revision)
        answer = await self._caller.unary(self._stub.RevealSecret, request, may_repeat=True)
        return RevealedSecret(name, answer.revision, dict(answer.content))

    def informer(self, *, strict: bool = False) -> "informers.Informer[Secret]":
        """Make a live cache of all secrets with handlers; see `Informer`."""
        return informers.Informer(
            ResourceType.SECRET, self.list, lambda: self.watch(now=True), Secret.from_json, strict=strict
        )
