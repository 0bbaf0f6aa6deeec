"""TemplateService on the wire."""

import contextlib
from collections.abc import AsyncGenerator, Awaitable

from tinkwell.api.v1 import event_service_pb2, template_service_pb2_grpc
from tinkwell.api.v1 import template_service_pb2 as pb
from tinkwell.core import errors
from tinkwell.core.event.kinds import ResourceType
from tinkwell.server.rpc import auth
from tinkwell.server.rpc.watch.watch import Context, Watches
from tinkwell.server.template.api import message
from tinkwell.server.template.service.operations import TemplateService


class TemplateServicer(template_service_pb2_grpc.TemplateServiceServicer):
    """Translates between protobuf and the template service."""

    def __init__(self, service: TemplateService, watches: Watches) -> None:
        self._service = service
        self._watches = watches

    async def CreateTemplate(self, request: pb.CreateTemplateRequest, context: Context) -> pb.CreateTemplateResponse:
        created = await self._service.create(
            template_id=request.id, name=request.name, data=request.data, actor=auth.actor(context)
        )
        return pb.CreateTemplateResponse(id=created.id, revision=created.revision)

    async def GetTemplate(self, request: pb.GetTemplateRequest, context: Context) -> pb.Template:
        key = request.WhichOneof("get_by")
        if key is None:
            raise _missing_key()
        return message.to_message(await self._service.find(key, getattr(request, key)))

    async def ListTemplates(
        self, request: pb.ListTemplatesRequest, context: Context
    ) -> AsyncGenerator[pb.Template, None]:
        async with contextlib.aclosing(self._service.list_named(request.name)) as templates:
            async for template in templates:
                yield message.to_message(template)

    async def UpdateTemplate(self, request: pb.UpdateTemplateRequest, context: Context) -> pb.UpdateTemplateResponse:
        updated = await self._service.update(
            template_id=request.id,
            name=request.name,
            data=request.data,
            expected_version=request.expected_version if request.HasField("expected_version") else None,
            actor=auth.actor(context),
        )
        return pb.UpdateTemplateResponse(revision=updated.revision, version=updated.version)

    async def DeleteTemplate(self, request: pb.DeleteTemplateRequest, context: Context) -> pb.DeleteTemplateResponse:
        key = request.WhichOneof("get_by")
        if key is None:
            raise _missing_key()
        revision = await self._service.delete(key, getattr(request, key), actor=auth.actor(context))
        return pb.DeleteTemplateResponse(revision=revision)

    def Watch(  # type: ignore[override]  # writes its responses by itself
        self, request: event_service_pb2.WatchRequest, context: Context
    ) -> Awaitable[None]:
        return self._watches.stream(request, context, resource_types=(ResourceType.TEMPLATE,))


def _missing_key() -> errors.InvalidField:
    return errors.InvalidField.of("id", "is missing; give the id or the name of a template")
