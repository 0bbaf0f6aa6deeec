"""The rival: a grpc.aio server whose methods decode a request, run one prepared statement by asyncpg, and answer.

Nothing is checked, nobody is told whose change it was, and no error is looked at. Templates are not rendered: the
workflow is always the same one. The schema with its triggers is Tinkwell's.

begin   url, sessions       replies with the address
"""

import asyncio
import contextlib
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import asyncpg
import grpc
import grpc.aio
from google.protobuf.message import Message

from bench import generator
from tinkwell.api.v1 import event_service_pb2 as event_pb
from tinkwell.api.v1 import hardware_service_pb2 as hardware_pb
from tinkwell.api.v1 import workflow_service_pb2 as workflow_pb

_PUSH = """
    INSERT INTO hardware (id, metadata, network) VALUES ($1::text::uuid, $2::text::jsonb, $3::text::jsonb)
    RETURNING version
"""
_BY_ID = """
    SELECT id::text, version, metadata::text, network::text, created_at, updated_at
      FROM hardware WHERE id = $1::text::uuid AND deleted_at IS NULL
"""
_PUBLISH = "SELECT id::text, revision FROM publish_event($1::text, $2::text::uuid, $3::text::json, 'anonymous'::text)"
_CREATE = """
    WITH made AS (
        INSERT INTO workflow (id, template_id, template_name, devices, data, total_actions, global_timeout_seconds)
        SELECT $1::text::uuid, id, name, $3::text::jsonb, data, 2, 0 FROM template WHERE name = $2
        RETURNING id
    )
    INSERT INTO action (id, workflow_id, action_index, task_name, name, image, timeout_seconds, worker_id)
    SELECT gen_random_uuid(), made.id, a.place - 1, 'install', a.name, a.name, a.seconds, $4::text::uuid
      FROM made CROSS JOIN (VALUES (1, 'wipe', 60), (2, 'write', 600)) AS a (place, name, seconds)
"""
# Those of the product's sessions that say how statements are planned.
_PLANS = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "enable_bitmapscan": "off", "jit": "off"}

# Quoted, because the class is generic for type checkers only.
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class Sessions:
    """Connections; each call takes the one that was used last. On each, asyncpg prepares a statement once."""

    def __init__(self, sessions: list[asyncpg.Connection]) -> None:
        self._free: asyncio.LifoQueue[asyncpg.Connection] = asyncio.LifoQueue()
        for session in sessions:
            self._free.put_nowait(session)

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, url: str, count: int) -> AsyncIterator["Sessions"]:
        """Open so many, and close them with the block."""
        async with contextlib.AsyncExitStack() as stack:
            sessions = [await asyncpg.connect(url, server_settings=_PLANS) for _ in range(count)]
            for session in sessions:
                stack.push_async_callback(session.close)
            yield cls(sessions)

    async def fetch(self, query: str, *values: object) -> Any:
        """Run a statement and return its first row."""
        session = await self._free.get()
        try:
            return await session.fetchrow(query, *values)
        finally:
            self._free.put_nowait(session)


class Calls:
    """The four calls."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def push(self, request: hardware_pb.PushRequest, _: Context) -> hardware_pb.PushResponse:
        machine = request.data
        interfaces = [
            {"dhcp": {"mac": dhcp.mac, "hostname": dhcp.hostname, "ip": {"address": dhcp.ip.address}}}
            for dhcp in (interface.dhcp for interface in machine.network.interfaces)
        ]
        network = json.dumps({"interfaces": interfaces})
        row = await self._sessions.fetch(_PUSH, machine.id, machine.metadata, network)
        return hardware_pb.PushResponse(version=row["version"])

    async def by_id(self, request: hardware_pb.ByIDRequest, _: Context) -> hardware_pb.Hardware:
        machine, version, metadata, network, created_at, updated_at = await self._sessions.fetch(_BY_ID, request.id)
        interfaces = [
            hardware_pb.Interface(
                dhcp=hardware_pb.DHCP(mac=dhcp["mac"], hostname=dhcp["hostname"], ip=hardware_pb.IP(**dhcp["ip"]))
            )
            for dhcp in (interface["dhcp"] for interface in json.loads(network)["interfaces"])
        ]
        return hardware_pb.Hardware(
            id=machine,
            version=version,
            metadata=metadata,
            network=hardware_pb.Network(interfaces=interfaces),
            created_at=created_at,
            updated_at=updated_at,
        )

    async def create(
        self, request: workflow_pb.CreateWorkflowRequest, _: Context
    ) -> workflow_pb.CreateWorkflowResponse:
        made, worker = str(uuid.uuid4()), json.loads(request.hardware)["device_1"]
        await self._sessions.fetch(_CREATE, made, request.template, request.hardware, worker)
        return workflow_pb.CreateWorkflowResponse(id=made)

    async def publish(self, request: event_pb.PublishRequest, _: Context) -> event_pb.PublishResponse:
        row = await self._sessions.fetch(_PUBLISH, request.name, request.resource_id, request.data)
        return event_pb.PublishResponse(id=row["id"], revision=row["revision"])

    def handlers(self) -> tuple[Any, ...]:
        """Return them as gRPC wants them."""
        served = {
            "HardwareService": {
                "Push": _handler(self.push, hardware_pb.PushRequest),
                "ByID": _handler(self.by_id, hardware_pb.ByIDRequest),
            },
            "WorkflowService": {"CreateWorkflow": _handler(self.create, workflow_pb.CreateWorkflowRequest)},
            "EventService": {"Publish": _handler(self.publish, event_pb.PublishRequest)},
        }
        return tuple(
            grpc.method_handlers_generic_handler(f"tinkwell.api.v1.{service}", methods)
            for service, methods in served.items()
        )


def _handler(serve: Any, request: type[Message]) -> Any:
    return grpc.unary_unary_rpc_method_handler(
        serve, request_deserializer=request.FromString, response_serializer=lambda answer: answer.SerializeToString()
    )


async def work(link: generator.Link) -> None:
    """Serve until there are no more messages."""
    wanted = await link.receive()
    if wanted is None:
        return
    async with Sessions.open(wanted["url"], wanted["sessions"]) as sessions:
        server = grpc.aio.server()
        server.add_generic_rpc_handlers(Calls(sessions).handlers())
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        link.reply(address=f"127.0.0.1:{port}")
        await link.receive()
        await server.stop(None)


if __name__ == "__main__":
    generator.run(work)
