"""Every method of the whole server under input that nobody meant to send: it is refused, and the server goes on."""

import contextlib
import json
import random
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import grpc
import grpc.aio
import pytest
from google.protobuf import descriptor, message_factory
from google.protobuf import message as protobuf

import tinkwell.client
from support.edge import Refusal, refusal, refusal_in
from tinkwell.api.v1 import (
    event_service_pb2,
    hardware_service_pb2,
    template_service_pb2,
    work_service_pb2,
    workflow_service_pb2,
)

_DEADLINE_SECONDS = 10
_READ_AT_MOST = 3
_CODE = grpc.StatusCode
# What a caller may be told about a request of its own making.
_BLAMED_ON_THE_CALLER = {
    *(_CODE.INVALID_ARGUMENT, _CODE.NOT_FOUND, _CODE.ALREADY_EXISTS, _CODE.FAILED_PRECONDITION),
    *(_CODE.PERMISSION_DENIED, _CODE.ABORTED, _CODE.OUT_OF_RANGE),
}
# Words of PostgreSQL, of its driver, and of Python's tracebacks.
_LEAK = re.compile(r"asyncpg|sqlalchemy|SELECT |INSERT |relation \"|column \"|constraint|Traceback|\$1|::[a-z]{4}")

_Field = descriptor.FieldDescriptor


@dataclass(frozen=True)
class Method:
    """A method of the API, and how to call it with any bytes."""

    path: str
    input_type: descriptor.Descriptor
    sends_many: bool
    answers_many: bool

    async def call(self, channel: grpc.aio.Channel, request: bytes) -> Refusal | None:
        """Make the call, read the beginning of what it answers, and return how it, or its first part, was refused."""
        try:
            return await self._call(channel, request)
        except grpc.aio.AioRpcError as error:
            return refusal(error)

    async def _call(self, channel: grpc.aio.Channel, request: bytes) -> Refusal | None:
        if self.sends_many:
            many: Any = channel.stream_unary(self.path)
            await many(iter([request]), timeout=_DEADLINE_SECONDS)
        elif self.answers_many:
            stream: Any = channel.unary_stream(self.path)
            call = stream(request, timeout=_DEADLINE_SECONDS)
            for _ in range(1 if self.path.endswith("Watch") else _READ_AT_MOST):
                if await call.read() is grpc.aio.EOF:
                    break
            call.cancel()
        else:
            one: Any = channel.unary_unary(self.path)
            answer = await one(request, timeout=_DEADLINE_SECONDS)
            if self.path.endswith("/ReportActionStatuses"):
                return _first_refusal(workflow_service_pb2.ReportActionStatusesResponse.FromString(answer))
        return None


def _first_refusal(answer: workflow_service_pb2.ReportActionStatusesResponse) -> Refusal | None:
    refused = [outcome.error for outcome in answer.outcomes if outcome.HasField("error")]
    return refusal_in(refused[0]) if refused else None


def methods() -> Iterator[Method]:
    for module in (
        *(hardware_service_pb2, template_service_pb2, workflow_service_pb2),
        *(work_service_pb2, event_service_pb2),
    ):
        for service in cast("descriptor.FileDescriptor", module.DESCRIPTOR).services_by_name.values():
            for found in service.methods:
                path = f"/{service.full_name}/{found.name}"
                yield Method(path, found.input_type, found.client_streaming, found.server_streaming)


METHODS = list(methods())


@pytest.fixture
async def channel(server_address: str) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(server_address) as opened:
        yield opened


def texts(
    message: descriptor.Descriptor, path: str, wrap: Callable[[bytes], bytes]
) -> Iterator[tuple[str, Callable[[bytes], bytes]]]:
    """List every text of a request by its path, and how to encode a request with just that text."""
    for found in message.fields:
        name = (f"{path}." if path else "") + found.name + ("[0]" if found.is_repeated else "")

        def put(content: bytes, number: int = found.number) -> bytes:
            assert len(content) < 128
            return wrap(bytes([*_varint(number << 3 | 2), len(content)]) + content)

        if found.type == found.TYPE_STRING:
            yield name, put
        elif found.message_type is not None and found.message_type.file.package == "tinkwell.api.v1":
            yield from texts(found.message_type, name, put)


def _varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 0x7F | 0x80, number >> 7])


async def test_bytes_that_are_not_utf8_are_refused_in_every_text_by_its_path(channel: grpc.aio.Channel) -> None:
    count = 0
    for method in METHODS:
        for path, put in texts(method.input_type, "", lambda content: content):
            told = await method.call(channel, put(b"a\xff"))
            assert told is not None, (method.path, path)
            assert (method.path, told.code, list(told.fields)) == (method.path, _CODE.INVALID_ARGUMENT, [path])
            count += 1
    assert count > 50


async def test_a_nul_is_refused_in_every_text(channel: grpc.aio.Channel) -> None:
    for method in METHODS:
        for path, put in texts(method.input_type, "", lambda content: content):
            told = await method.call(channel, put(b"a\x00b"))
            # A lone text may be refused for what is missing beside it.
            assert told is not None, (method.path, path)
            assert (method.path, told.code, bool(told.fields)) == (method.path, _CODE.INVALID_ARGUMENT, True)
            assert not _LEAK.search(told.message), told.message


class Scatterbrain:
    """Fills requests with what fits, what almost fits, and what does not."""

    def __init__(self, chance: random.Random, ids: list[str]) -> None:
        self._chance = chance
        self._texts = [
            *(ids * 3),
            *("", " ", "x", "a\0b", "\x1b[2J", "é" * 150, "\u202e", "\U0001f600", "../..", "%", "*", "' OR 1=1 --"),
            *("{}", "[]", "{", '{"a": 1, "a": 2}', '{"device_1": "52:54:00:10:00:0a"}', "[" * 200, "x" * 70_000),
            *("52:54:00:10:00:0a", "192.168.56.43", "::1", "install", "step-0", "a.b", "workflow.timeout", "n"),
        ]

    def fill(self, message: protobuf.Message, depth: int = 0) -> protobuf.Message:
        for field in cast("descriptor.Descriptor", message.DESCRIPTOR).fields:
            # What follows output waits for more of it, and rightly so.
            if self._chance.random() < 0.25 or field.name == "follow":
                continue
            if field.message_type is not None and depth > 4:
                continue
            if field.is_repeated:
                self._repeat(message, field, depth)
            elif field.message_type is not None:
                self.fill(getattr(message, field.name), depth + 1)
            else:
                setattr(message, field.name, self._scalar(field))
        return message

    def _repeat(self, message: protobuf.Message, field: descriptor.FieldDescriptor, depth: int) -> None:
        parts: Any = getattr(message, field.name)
        for _ in range(self._chance.randrange(3)):
            if field.message_type is not None:
                self.fill(parts.add(), depth + 1)
            else:
                parts.append(self._scalar(field))

    def _scalar(self, field: descriptor.FieldDescriptor) -> Any:
        match field.type:
            case _Field.TYPE_STRING:
                return self._chance.choice(self._texts)
            case _Field.TYPE_BYTES:
                return self._chance.choice([b"", b"{}", b"{", b"\xff\x00", b'"\\u0000"', b"[" * 500, b"1"])
            case _Field.TYPE_BOOL:
                return self._chance.random() < 0.5
            case _Field.TYPE_DOUBLE | _Field.TYPE_FLOAT:
                return self._chance.choice([0.0, -1.0, 1e300, float("nan"), float("inf"), float("-inf")])
            case _Field.TYPE_ENUM:
                return self._chance.choice([0, 1, 2, 3, 4, 5, 6, 7, 99, -1])
            case _Field.TYPE_INT32:
                return self._chance.choice([0, 1, 2, -1, 2**31 - 1, -(2**31)])
            case _Field.TYPE_INT64:
                return self._chance.choice([0, 1, 2, -1, 2**31, 2**63 - 1, -(2**63)])
        raise AssertionError(f"{field.full_name} has a type that nothing is known about")


async def ids_of_everything(client: tinkwell.client.Client) -> list[str]:
    """Make one of everything, so that requests can be about something."""
    machine = str(uuid.uuid4())
    await client.hardware.push({"id": machine})
    task = {"name": "install", "worker": "{{.d}}", "actions": [{"name": "step-0", "image": "b"}]}
    template = await client.templates.create(json.dumps({"version": "0.1", "name": "n", "tasks": [task]}))
    workflow = (await client.workflows.create(template.id, {"d": machine})).id
    (action,) = await client.workflows.actions(workflow)
    return [machine, template.id, workflow, action.id, str(uuid.uuid4())]


@pytest.mark.parametrize("seed", [1, 2])
async def test_no_request_is_a_fault_of_the_server(
    channel: grpc.aio.Channel, client: tinkwell.client.Client, seed: int
) -> None:
    chance = random.Random(seed)
    scatterbrain = Scatterbrain(chance, await ids_of_everything(client))
    answered = 0
    for _ in range(8):
        for method in METHODS:
            request = message_factory.GetMessageClass(method.input_type)()
            with contextlib.suppress(ValueError):
                # Some texts are no times, which protobuf says itself.
                scatterbrain.fill(request)
            told = await method.call(channel, request.SerializeToString())
            answered += told is None
            if told is not None:
                assert told.code in _BLAMED_ON_THE_CALLER, (method.path, told, request)
                assert not _LEAK.search(told.message), told.message
    assert answered > 10
    machine = str(uuid.uuid4())
    assert (await client.hardware.push({"id": machine})).version == 1
