"""The watches of machines and templates, each about its own resources only."""

import asyncio
from typing import TYPE_CHECKING

import grpc
import grpc.aio

from support.edge import refused
from tinkwell.api.v1 import (
    event_service_pb2,
    hardware_service_pb2,
    hardware_service_pb2_grpc,
    template_service_pb2,
    template_service_pb2_grpc,
)

if TYPE_CHECKING:
    from support.server import Server

ID = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11"
YAML = """version: "0.1"
name: focal
tasks:
  - name: t
    worker: w
    actions:
      - name: a
        image: hello-world
"""


async def test_each_watch_streams_the_events_of_its_own_resources(server: "Server") -> None:
    async with grpc.aio.insecure_channel(server.address) as channel, asyncio.timeout(30):
        hardware = hardware_service_pb2_grpc.HardwareServiceStub(channel)
        template = template_service_pb2_grpc.TemplateServiceStub(channel)
        request = event_service_pb2.WatchRequest(now=True)
        watches = [hardware.Watch(request), template.Watch(request)]
        for watch in watches:
            first = await watch.read()
            assert isinstance(first, event_service_pb2.WatchResponse)
            assert first.created
        created = await template.CreateTemplate(template_service_pb2.CreateTemplateRequest(data=YAML))
        machine = hardware_service_pb2.Hardware(id=ID)
        pushed = await hardware.Push(hardware_service_pb2.PushRequest(data=machine))
        for watch, revision, name in zip(
            watches, (pushed.revision, created.revision), ("hardware.created", "template.created"), strict=True
        ):
            events: list[event_service_pb2.Event] = []
            while not events:
                response = await watch.read()
                assert isinstance(response, event_service_pb2.WatchResponse)
                events.extend(response.events)
            assert [(event.revision, event.name) for event in events] == [(revision, name)]
            watch.cancel()


async def test_a_watch_of_one_resource_type_refuses_another(server: "Server") -> None:
    async with grpc.aio.insecure_channel(server.address) as channel:
        request = event_service_pb2.WatchRequest(resource_types=[event_service_pb2.RESOURCE_TYPE_WORKFLOW])
        for watch in (
            hardware_service_pb2_grpc.HardwareServiceStub(channel).Watch(request),
            template_service_pb2_grpc.TemplateServiceStub(channel).Watch(request),
        ):
            told = await refused(watch.read())
            assert told.code is grpc.StatusCode.INVALID_ARGUMENT
            assert list(told.fields) == ["resource_types"]
