"""Tinkerbell's TemplateService."""

import contextlib
from collections.abc import AsyncGenerator

from tinkwell.api.tink import template_pb2 as pb
from tinkwell.api.tink import template_pb2_grpc
from tinkwell.core import errors
from tinkwell.server.rpc import auth
from tinkwell.server.rpc.interceptor import Context
from tinkwell.server.template.service.operations import TemplateService
from tinkwell.server.tink import resource_message as message


class TemplateServicer(template_pb2_grpc.TemplateServiceServicer):
    """Translates between protobuf and the service."""

    def __init__(self, service: TemplateService) -> None:
        self._service = service

    async def CreateTemplate(self, request: pb.WorkflowTemplate, context: Context) -> pb.CreateResponse:
        created = await self._service.create(
            template_id="", name=request.name, data=request.data, actor=auth.actor(context)
        )
        return pb.CreateResponse(id=created.id)

    async def GetTemplate(self, request: pb.GetRequest, context: Context) -> pb.WorkflowTemplate:
        key = request.WhichOneof("get_by")
        if key is None:
            raise _missing_key()
        return message.template(await self._service.find(key, getattr(request, key)))

    async def DeleteTemplate(self, request: pb.GetRequest, context: Context) -> pb.Empty:
        key = request.WhichOneof("get_by")
        if key is None:
            raise _missing_key()
        await self._service.delete(key, getattr(request, key), actor=auth.actor(context))
        return pb.Empty()

    async def ListTemplates(
        self, request: pb.ListRequest, context: Context
    ) -> AsyncGenerator[pb.WorkflowTemplate, None]:
        async with contextlib.aclosing(self._service.list_named(request.name)) as templates:
            async for template in templates:
                yield message.template(template)

    async def UpdateTemplate(self, request: pb.WorkflowTemplate, context: Context) -> pb.Empty:
        await self._service.update(
            template_id=request.id,
            name=request.name,
            data=request.data,
            expected_version=None,
            actor=auth.actor(context),
        )
        return pb.Empty()


def _missing_key() -> errors.InvalidField:
    return errors.InvalidField.of("id", "is missing; give the id or the name of a template")
