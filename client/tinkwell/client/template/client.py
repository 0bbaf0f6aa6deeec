"""The client of templates, from which workflows are made."""

import dataclasses
import uuid
from collections.abc import AsyncIterator

from tinkwell.api.v1 import template_service_pb2 as pb
from tinkwell.api.v1 import template_service_pb2_grpc
from tinkwell.client import call
from tinkwell.client.template import message
from tinkwell.client.template.model import Template
from tinkwell.client.value import field
from tinkwell.client.value.change import Change, Created
from tinkwell.client.watch import informer, service
from tinkwell.core.event.kinds import ResourceType


class TemplateClient(service.Service):
    """Creates, finds and watches templates."""

    def __init__(self, caller: call.Caller) -> None:
        self._stub = template_service_pb2_grpc.TemplateServiceStub(caller.channel)
        super().__init__(caller, self._stub.Watch)

    async def create(
        self,
        data: str,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002
    ) -> Created:
        """Create a template from its YAML; without `name` the name in the YAML is used.

            created = await client.templates.create(Path("ubuntu.yaml").read_text())

        Raises `InvalidField` where the YAML is no template, `AlreadyExists` where the name is taken.
        """
        request = field.build(pb.CreateTemplateRequest, id=id or str(uuid.uuid4()), name=name or "", data=data)
        answer = await self._caller.unary(self._stub.CreateTemplate, request, may_repeat=True)
        return Created(answer.id, answer.revision)

    async def get(
        self,
        *,
        id: str | None = None,  # noqa: A002
        name: str | None = None,
    ) -> Template:
        """Get a template with its data, by `id` or by `name`; raises `NotFound`."""
        request = field.build(pb.GetTemplateRequest, **field.exactly_one(id=id, name=name))
        return message.template(await self._caller.unary(self._stub.GetTemplate, request, may_repeat=True))

    def list(self, name: str = "") -> AsyncIterator[Template]:
        """Iterate over templates without their data, oldest first. A `*` in `name` matches any characters."""
        request = field.build(pb.ListTemplatesRequest, name=name)
        return self._list(self._stub.ListTemplates, request, message.template)

    async def update(
        self,
        id: str,  # noqa: A002
        *,
        name: str | None = None,
        data: str | None = None,
        expected_version: int | None = None,
    ) -> Change:
        """Change the name or the YAML; None keeps it. Raises `LostRace` if the version is not the expected one."""
        request = field.build(
            pb.UpdateTemplateRequest, id=id, name=name or "", data=data or "", expected_version=expected_version
        )
        answer = await self._caller.unary(self._stub.UpdateTemplate, request, may_repeat=expected_version is None)
        return Change(answer.revision, answer.version)

    async def delete(
        self,
        *,
        id: str | None = None,  # noqa: A002
        name: str | None = None,
    ) -> Change:
        """Delete a template by `id` or by `name`; workflows made from it stay. Raises `NotFound`."""
        request = field.build(pb.DeleteTemplateRequest, **field.exactly_one(id=id, name=name))
        answer = await self._caller.unary(self._stub.DeleteTemplate, request, may_repeat=False)
        return Change(answer.revision)

    def informer(self, *, strict: bool = False) -> "informer.Informer[Template]":
        """Make a live cache of all templates, without their data, with handlers; see `Informer`."""
        return informer.Informer(
            ResourceType.TEMPLATE, self.list, lambda: self.watch(now=True), _without_data, strict=strict
        )


def _without_data(data: object) -> Template:
    # Lists have no data, so the cache drops the data of events.
    return dataclasses.replace(Template.from_json(data), data=None)
