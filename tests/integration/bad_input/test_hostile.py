"""Hostile input to hardware and templates: refused with the field that is wrong, and the next call is answered."""

import decimal
import itertools
import json
import random
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, cast

import grpc
import grpc.aio
import pytest
from google.protobuf import descriptor

from support import resource
from support.edge import Refusal, refused
from support.resource import Resources
from tinkwell.api.v1 import hardware_service_pb2, template_service_pb2
from tinkwell.api.v1 import hardware_service_pb2 as pb

ID = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11"
PUSH = "/tinkwell.api.v1.HardwareService/Push"
CREATE = "/tinkwell.api.v1.TemplateService/CreateTemplate"
UPDATE = "/tinkwell.api.v1.TemplateService/UpdateTemplate"

# Words of PostgreSQL, of its driver, and of Python's tracebacks.
_LEAK = re.compile(r"asyncpg|sqlalchemy|SELECT |INSERT |relation \"|column \"|constraint|Traceback|\$1|::[a-z]{4}")


@pytest.fixture
async def resources(database_url: str) -> AsyncIterator[Resources]:
    """Hardware and templates, served."""
    async with resource.serving(database_url) as running:
        yield running


async def told(resources: Resources, method: str, request: bytes) -> Refusal:
    """Send a request that must be refused as the caller's mistake, and see that the next one is answered."""
    answer = await refused(resources.edge.send(method, request))
    assert answer.code is grpc.StatusCode.INVALID_ARGUMENT, answer
    assert answer.reason == "INVALID_FIELD"
    assert answer.fields
    assert not _LEAK.search(answer.message), answer.message
    unknown = pb.ByIDRequest(id=str(uuid.uuid4()))
    assert (await refused(resources.hardware.ByID(unknown))).code is grpc.StatusCode.NOT_FOUND
    return answer


def push(metadata: str = "{}", **dhcp: object) -> bytes:
    interface = pb.Interface(dhcp=pb.DHCP(**dhcp))  # type: ignore[arg-type]
    machine = pb.Hardware(id=ID, metadata=metadata, network=pb.Network(interfaces=[interface]))
    return pb.PushRequest(data=machine).SerializeToString()


def field(number: int, content: bytes) -> bytes:
    length = len(content)
    return bytes([number << 3 | 2, length & 0x7F | 0x80, length >> 7]) + content


def long_field(number: int, content: bytes) -> bytes:
    length = len(content)
    prefix = bytes([number << 3 | 2, *((length >> shift & 0x7F) | 0x80 for shift in (0, 7, 14)), length >> 21])
    return prefix + content


def texts(
    message: descriptor.Descriptor, path: str, wrap: Callable[[bytes], bytes]
) -> Iterator[tuple[str, Callable[[bytes], bytes]]]:
    """List every text of a request by its path, and how to encode a request with just that text."""
    for found in message.fields:
        name = (f"{path}." if path else "") + found.name + ("[0]" if found.is_repeated else "")

        def put(content: bytes, number: int = found.number) -> bytes:
            return wrap(field(number, content))

        if found.type == found.TYPE_STRING:
            yield name, put
        elif found.message_type is not None and found.message_type.file.package == "tinkwell.api.v1":
            yield from texts(found.message_type, name, put)


def calls() -> Iterator[tuple[str, str, Callable[[bytes], bytes]]]:
    for module, service in (
        (hardware_service_pb2, "HardwareService"),
        (template_service_pb2, "TemplateService"),
    ):
        for method in cast("descriptor.FileDescriptor", module.DESCRIPTOR).services_by_name[service].methods:
            if not method.server_streaming:
                for path, put in texts(method.input_type, "", lambda content: content):
                    yield f"/tinkwell.api.v1.{service}/{method.name}", path, put


async def test_bytes_that_are_not_utf8_are_refused_in_every_text(resources: Resources) -> None:
    for method, path, put in calls():
        assert list((await told(resources, method, put(b"a\xff"))).fields) == [path]


async def test_a_nul_is_refused_in_every_text(resources: Resources) -> None:
    for method, path, put in calls():
        fields = list((await told(resources, method, put(b"a\x00b"))).fields)
        # Times of a machine are ignored in a push, and a call home without a caller is refused for that.
        assert fields[0] in (path, "data.id", "id")
        if method == PUSH and path != "data.id":
            assert path in fields


_JSON = [
    ("[" * 100_000, "nested deeper than 64 levels"),
    ('{"a":' * 100_000, "nested deeper than 64 levels"),
    ('{"a": 1, "a": 2}', 'the key "a" occurs twice'),
    ('{"a": {"b": {}, "b": {}}}', 'the key "b" occurs twice'),
    ('{"a": 1e999999999}', "beyond what a double can hold"),
    ('{"a": -1e400}', "beyond what a double can hold"),
    ('{"a": %s}' % ("9" * 5_000), "a number has 5,000 characters"),
    ('{"a": 0.%s}' % ("1" * 20_000), "a number has 20,002 characters"),
    ('{"a": NaN}', "not a JSON number"),
    ('{"a": -Infinity}', "not a JSON number"),
    ('{"a": "\\u0000"}', "NUL"),
    ('{"\\u0000": 1}', "NUL"),
    ('{"a": "\\ud800"}', "lone surrogate"),
    ('{"a": "\x01"}', "not JSON"),
    ('{"a": 01}', "not JSON"),
    ("{'a': 1}", "not JSON"),
    ('{"a": 1,}', "not JSON"),
    ('{"a": 1} {}', "not JSON"),
    ("{", "not JSON"),
    ("   ", "is empty"),
    ("\ufeff{}", "byte order mark"),
    ("[]", "must be a JSON object"),
    ("null", "must be a JSON object"),
    ('"{}"', "must be a JSON object"),
    ("1", "must be a JSON object"),
    ('{"a": "%s"}' % ("x" * 1_048_576), "1,048,576"),
    ('{"a": "%s"}' % ('"' * 100), "not JSON"),
]


async def test_hostile_json_is_refused(resources: Resources) -> None:
    for metadata, says in _JSON:
        answer = await told(resources, PUSH, push(metadata))
        assert "data.metadata" in next(iter(answer.fields))
        assert says in next(iter(answer.fields.values()))
        call = pb.PhoneHomeRequest(id=ID, data=metadata).SerializeToString()
        answer = await told(resources, "/tinkwell.api.v1.HardwareService/PhoneHome", call)
        assert next(iter(answer.fields)).startswith("data")


_ABSURD: list[tuple[dict[str, Any], str]] = [
    ({"lease_time": 2**63 - 1}, "lease_time"),
    ({"lease_time": -(2**63)}, "lease_time"),
    ({"ip": pb.IP(family=2**63 - 1)}, "ip.family"),
    ({"mac": "x" * 1_000_000}, "mac"),
    ({"hostname": "x" * 1_000_000}, "hostname"),
    ({"name_servers": ["x"] * 10_000}, "name_servers"),
    ({"name_servers": [""] * 30_000}, "name_servers"),
    ({"ip": pb.IP(address="1" * 100_000)}, "ip.address"),
    ({"ip": pb.IP(address=":" * 100_000)}, "ip.address"),
    ({"ip": pb.IP(netmask="255.255.255.0/24")}, "ip.netmask"),
]


async def test_absurd_values_are_refused(resources: Resources) -> None:
    for dhcp, path in _ABSURD:
        answer = await told(resources, PUSH, push(**dhcp))
        assert list(answer.fields) == [f"data.network.interfaces[0].dhcp.{path}"]


async def test_a_million_empty_interfaces_are_refused(resources: Resources) -> None:
    interfaces = b"\x0a\x00" * 1_000_000
    answer = await told(resources, PUSH, long_field(1, long_field(4, interfaces)))
    assert list(answer.fields) == ["data.network.interfaces"]
    few = pb.Network(interfaces=[pb.Interface()] * 257)
    answer = await told(resources, PUSH, pb.PushRequest(data=pb.Hardware(id=ID, network=few)).SerializeToString())
    assert list(answer.fields) == ["data.network.interfaces"]


_TASK = """version: "0.1"
name: x
tasks:
  - name: t
    worker: w
    actions:
      - name: a
        image: hello-world
"""
_BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{after}: &{after} [{','.join([f'*{name}'] * 9)}]\n" for name, after in itertools.pairwise("abcdefghi")
)


_YAML = [
    _BOMB,
    "[" * 50_000,
    "{a: " * 50_000,
    "- " * 50_000 + "x",
    "&a [*a]",
    _TASK + "tasks: []\n",
    _TASK + "        timeout: 99999999999999999999999\n",
    _TASK + "        timeout: -1e400\n",
    _TASK.replace("hello-world", "!!python/object/apply:os.system ['true']"),
    _TASK.replace("name: x", "name: !!binary aGVsbG8="),
    _TASK + "--- \n" + _TASK,
    _TASK.replace("name: x", 'name: "\\0"'),
    _TASK.replace("name: x", 'name: "\\ud800"'),
    _TASK.replace("worker: w", "worker: \x07"),
    _TASK.replace("worker: w", "worker: {{"),
    _TASK.replace("worker: w", "worker: {{.x | exec}}"),
    _TASK.replace("worker: w", "worker: {{range .x}}" * 5_000),
    _TASK.replace("\n", "\r\n\t"),
    "%YAML 9.9\n---\n" + _TASK,
    "\ufeff\ufeff" + _TASK,
    "x" * 1_048_577,
    "? " * 10_000,
    "'" * 100_001,
    "# " + "x" * 1_000_000,
    "null",
    "\x85",
]


async def test_hostile_yaml_is_refused(resources: Resources) -> None:
    for data in _YAML:
        create = template_service_pb2.CreateTemplateRequest(name="x", data=data)
        answer = await told(resources, CREATE, create.SerializeToString())
        assert next(iter(answer.fields)).startswith("data")
        update = template_service_pb2.UpdateTemplateRequest(id=ID, data=data)
        answer = await told(resources, UPDATE, update.SerializeToString())
        assert next(iter(answer.fields)).startswith("data")


async def test_whatever_is_accepted_can_be_read_listed_and_deleted(resources: Resources) -> None:
    chance = random.Random(20_261_120)
    words = [
        "",
        "x",
        "ü",
        "\U0001f600",
        "\\",
        '"',
        "'",
        "%s",
        "{}",
        "\n",
        "\x00",
        "\x7f",
        "\u2028",
        "\u202e",
        "-0",
        "1e5",
    ]
    numbers = ["0", "-0", "-0.0", "1.10", "1E+5", "1e-300", "9" * 60, "0.1e1", "123456789012345678901234567890.12"]

    def document(depth: int) -> str:
        kind = chance.randrange(5 if depth else 3)
        if kind == 0:
            return json.dumps(chance.choice(words), ensure_ascii=chance.random() < 0.5)
        if kind == 1:
            return chance.choice(numbers)
        if kind == 2:
            return chance.choice(["true", "null", "[]", "{}"])
        parts = [document(depth - 1) for _ in range(chance.randrange(4))]
        if kind == 3:
            return f"[{','.join(parts)}]"
        keys = [json.dumps(chance.choice(words) + str(index)) for index in range(len(parts))]
        return f"{{{','.join(f'{key}: {part}' for key, part in zip(keys, parts, strict=True))}}}"

    accepted = 0
    for _ in range(300):
        metadata = f'{{"doc": {document(3)}}}'
        encoded = push(metadata, hostname=chance.choice(words), name_servers=[chance.choice(words)])
        try:
            await resources.edge.send(PUSH, encoded)
        except grpc.aio.AioRpcError as error:
            assert error.code() is grpc.StatusCode.INVALID_ARGUMENT  # noqa: PT017
            continue
        accepted += 1
        found = await resources.hardware.ByID(pb.ByIDRequest(id=ID))
        assert _exact(found.metadata) == _exact(metadata)
        assert [listed.metadata async for listed in resources.hardware.All(pb.AllRequest())] == [found.metadata]
        await resources.hardware.Delete(pb.DeleteRequest(id=ID))
    assert accepted > 50
    for event in await resources.events():
        assert _exact(json.dumps(event["data"]["metadata"])) is not None


def _exact(text: str) -> object:
    return json.loads(text, parse_float=_number, parse_int=_number)


def _number(text: str) -> object:
    # Zeros are equal whatever their sign, and the rest is compared digit by digit.
    number = decimal.Decimal(text)
    return (format(number, "f") if number else 0,)
