"""What is wrong with an encoded request is found, and its field is named."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from google.protobuf import descriptor
from google.protobuf import message as protobuf
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.api.v1 import event_service_pb2, hardware_service_pb2, template_service_pb2, workflow_service_pb2
from tinkwell.core import errors
from tinkwell.server.rpc import decode, wire

_SERVICES = [
    service
    for module in (event_service_pb2, hardware_service_pb2, template_service_pb2, workflow_service_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
]
_REQUESTS: dict[str, type[protobuf.Message]] = {
    method.input_type.name: method.input_type._concrete_class for service in _SERVICES for method in service.methods
}


def varint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def field(number: int, content: bytes | int) -> bytes:
    """Encode one field: an integer as a varint, bytes with their length."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def described(request: type[protobuf.Message]) -> descriptor.Descriptor:
    return cast("descriptor.Descriptor", request.DESCRIPTOR)


def refusal(request: type[protobuf.Message], encoded: bytes) -> errors.Violation:
    with pytest.raises(errors.InvalidField) as caught:
        decode.Decoder(request.FromString, strict=True).decode(encoded)
    [violation] = caught.value.violations
    return violation


def string_fields(
    message: descriptor.Descriptor, path: str, wrap: Callable[[bytes], bytes]
) -> Iterator[tuple[str, Callable[[bytes], bytes]]]:
    """List every text of a request by its path, and how to encode a request with just that text."""
    for found in message.fields:
        name = (f"{path}." if path else "") + found.name + ("[0]" if found.is_repeated else "")

        def put(content: bytes, number: int = found.number) -> bytes:
            return wrap(field(number, content))

        if found.type == found.TYPE_STRING:
            yield name, put
        elif found.message_type is not None:
            yield from string_fields(found.message_type, name, put)


_TEXTS = [
    pytest.param(request, path, put, id=f"{name}.{path}")
    for name, request in _REQUESTS.items()
    for path, put in string_fields(described(request), "", lambda content: content)
]


@pytest.mark.parametrize("request_type, path, put", _TEXTS)
def test_bytes_that_are_not_utf8_are_refused_in_every_text_by_its_path(
    request_type: type[protobuf.Message], path: str, put: Callable[[bytes], bytes]
) -> None:
    for content in (b"\xff", b"ab\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf5\x80\x80\x80"):
        found = refusal(request_type, put(content))
        assert found.field == path
        assert found.description.startswith("must be UTF-8; the byte at place ")


_PUSH = hardware_service_pb2.PushRequest
_WATCH = event_service_pb2.WatchRequest
_APPEND = workflow_service_pb2.AppendLogsRequest
_REPORT = workflow_service_pb2.ReportActionStatusRequest


def interface(content: bytes) -> bytes:
    """Encode a push of a machine whose second interface has the content."""
    return field(1, field(4, field(1, b"") + field(1, content)))


@pytest.mark.parametrize(
    "request_type, encoded, path, description",
    [
        (_PUSH, field(99, b"x"), "99", "PushRequest has no field of this number"),
        (_PUSH, field(2, 7) + field(99, 1), "99", "PushRequest has no field of this number"),
        (_PUSH, interface(field(1, field(77, 1))), "data.network.interfaces[1].dhcp.77", "DHCP has no field"),
        (_PUSH, interface(field(1, field(1, 5))), "data.network.interfaces[1].dhcp.mac", "is encoded as a varint"),
        (_PUSH, interface(field(1, field(3, b"5"))), "data.network.interfaces[1].dhcp.lease_time", "is encoded as byt"),
        (_PUSH, field(1, 3), "data", "is encoded as a varint and not as bytes with a length"),
        (_PUSH, b"\x0d\x00\x00\x00\x00", "data", "is encoded as 4 bytes"),
        (_PUSH, b"\x0b\x0c", "data", "is encoded as the wire type 3"),
        (_PUSH, b"\x0a\x05ab", "data", "is cut off: 3 bytes are missing"),
        (_PUSH, field(1, b"\x0a\x09ab"), "data.id", "is cut off: 7 bytes are missing"),
        (_PUSH, b"\x0a", "data", "is cut off or malformed"),
        (_PUSH, b"\xff" * 11, "", "is cut off or malformed"),
        (_PUSH, b"\x00\x01", "0", "PushRequest has no field of this number"),
        (_REPORT, b"\x41\x00\x00", "seconds", "is cut off: 6 bytes are missing"),
        (_REPORT, field(8, 1), "seconds", "is encoded as a varint and not as 8 bytes"),
        (_REPORT, field(6, 99), "state", "State has no value of the number 99"),
        (_WATCH, field(1, 1) + field(1, 99), "event_types[1]", "EventType has no value of the number 99"),
        (_WATCH, field(3, b"\x01\x63"), "resource_types[1]", "ResourceType has no value of the number 99"),
        (_WATCH, field(5, field(3, 1)), "since.3", "Duration has no field of this number"),
        (_APPEND, field(2, b"") + field(2, field(4, 9)), "lines[1].stream", "LogStream has no value of the number 9"),
    ],
)
def test_the_first_wrong_field_is_named(
    request_type: type[protobuf.Message], encoded: bytes, path: str, description: str
) -> None:
    found = refusal(request_type, encoded)
    assert found.field == path
    assert found.description.startswith(description)


@pytest.mark.parametrize("name", _REQUESTS)
def test_an_unknown_field_is_refused_in_every_request(name: str) -> None:
    assert refusal(_REQUESTS[name], field(12_345, b"")).field == "12345"


def test_packed_and_single_numbers_are_both_read() -> None:
    decoded: Any = decode.Decoder(_WATCH.FromString, strict=True).decode(field(1, b"\x01\x02") + field(1, 3))
    assert list(decoded.event_types) == [1, 2, 3]


def test_a_request_of_many_tiny_parts_is_refused() -> None:
    most: Any = decode.Decoder(_APPEND.FromString, strict=True).decode(field(2, b"") * decode.MAX_PARTS)
    assert len(most.lines) == decode.MAX_PARTS
    assert refusal(_APPEND, field(2, b"") * (decode.MAX_PARTS + 1)).field == "lines"


def test_the_search_for_a_fault_gives_up_in_a_hostile_message() -> None:
    found = refusal(_PUSH, field(2, 7) * 1_000_000 + b"\x0a")
    assert "after the first 20,000" in found.description


def test_without_strictness_only_what_is_malformed_is_refused() -> None:
    lenient = decode.Decoder(_REPORT.FromString, strict=False)
    decoded: Any = lenient.decode(field(6, 99) + field(1_000, 1) + field(1, b"w"))
    assert decoded.workflow_id == "w"
    with pytest.raises(errors.InvalidField):
        lenient.decode(b"\x0a\x05")


@given(st.sampled_from(sorted(_REQUESTS)), st.binary(max_size=64))
def test_any_bytes_are_decoded_or_refused(name: str, encoded: bytes) -> None:
    decoder = decode.Decoder(_REQUESTS[name].FromString, strict=True)
    with contextlib.suppress(errors.InvalidField):
        decoded = decoder.decode(encoded)
        assert decoder.decode(decoded.SerializeToString()) == decoded


@given(st.sampled_from(_TEXTS), st.binary(max_size=8), st.integers(0, 200), st.integers(0, 255))
def test_a_flipped_byte_is_decoded_or_refused(text: Any, content: bytes, place: int, byte: int) -> None:
    request_type, _, put = text.values
    encoded = bytearray(put(content))
    encoded[place % len(encoded)] = byte
    decoder = decode.Decoder(request_type.FromString, strict=True)
    with contextlib.suppress(errors.InvalidField):
        assert isinstance(decoder.decode(bytes(encoded)), request_type)


@given(st.binary(max_size=64))
def test_the_walk_never_fails_itself(encoded: bytes) -> None:
    assert wire.find_fault(described(_PUSH), encoded).description


def test_no_request_has_what_decoding_does_not_look_into() -> None:
    def check(message: descriptor.Descriptor) -> None:
        for found in message.fields:
            if found.message_type is not None:
                assert not found.message_type.GetOptions().map_entry
                assert found.message_type is not message
                check(found.message_type)

    for request in _REQUESTS.values():
        check(described(request))
