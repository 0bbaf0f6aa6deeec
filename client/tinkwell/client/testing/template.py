"""The TemplateService of the fake server. YAML is checked by the core's rules, as in the real server."""

# ruff: noqa: N802  # RPC methods carry their names

import dataclasses
import uuid
from collections.abc import AsyncIterator
from typing import Any

from tinkwell.api.v1 import event_service_pb2, template_service_pb2_grpc
from tinkwell.api.v1 import template_service_pb2 as pb
from tinkwell.client.template.model import Template
from tinkwell.client.testing import encode
from tinkwell.client.testing.world import World
from tinkwell.core import errors
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.template import template as core_template


class TemplateServicer(template_service_pb2_grpc.TemplateServiceServicer):
    """Templates in memory."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def CreateTemplate(self, request: pb.CreateTemplateRequest, context: Any) -> pb.CreateTemplateResponse:
        name = core_template.parse_template(request.data).name
        template = Template(id=request.id or str(uuid.uuid4()), name=request.name or name, data=request.data)
        old = self._world.resources[ResourceType.TEMPLATE].get(template.id)
        if old is not None:
            if (old.name, old.data) != (template.name, template.data):
                raise errors.AlreadyExists("id", template.id)
            return pb.CreateTemplateResponse(id=template.id)
        self._check_name(template)
        self._world.put(template)
        return pb.CreateTemplateResponse(id=template.id, revision=self._world.log.tail)

    async def GetTemplate(self, request: pb.GetTemplateRequest, context: Any) -> pb.Template:
        return encode.fill(pb.Template(), self._world.template(request.id or request.name))

    async def ListTemplates(self, request: pb.ListTemplatesRequest, context: Any) -> AsyncIterator[pb.Template]:
        for template in self._world.templates_like(request.name):
            yield encode.fill(pb.Template(), dataclasses.replace(template, data=None))

    async def UpdateTemplate(self, request: pb.UpdateTemplateRequest, context: Any) -> pb.UpdateTemplateResponse:
        old = self._world.find(Template, request.id)
        if request.HasField("expected_version") and request.expected_version != old.version:
            raise errors.LostRace(f"template {old.id} has version {old.version}")
        new = dataclasses.replace(old, name=request.name or old.name, data=request.data or old.data)
        core_template.parse_template(new.data or "")
        if new == old:
            return pb.UpdateTemplateResponse(version=old.version)
        self._check_name(new)
        stored = self._world.put(new)
        return pb.UpdateTemplateResponse(revision=self._world.log.tail, version=stored.version)

    async def DeleteTemplate(self, request: pb.DeleteTemplateRequest, context: Any) -> pb.DeleteTemplateResponse:
        event = self._world.remove(self._world.template(request.id or request.name))
        return pb.DeleteTemplateResponse(revision=event.revision)

    async def Watch(
        self, request: event_service_pb2.WatchRequest, context: Any
    ) -> AsyncIterator[event_service_pb2.WatchResponse]:
        async for response in self._world.log.follow(request, [ResourceType.TEMPLATE]):
            yield response

    def _check_name(self, template: Template) -> None:
        for other in self._world.all(Template):
            if other.id != template.id and other.name and other.name == template.name:
                raise errors.AlreadyExists("name", template.name, taken_by=other.id)
