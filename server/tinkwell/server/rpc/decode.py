"""Reads requests strictly: what is malformed, unknown or out of range is refused with the name of its field.

gRPC answers a failing deserializer with an internal error, and protobuf keeps fields it does not know in silence. So
the interceptor asks gRPC for the bytes and decodes them here.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import cast

from google.protobuf import descriptor
from google.protobuf import message as protobuf

from tinkwell.core import errors
from tinkwell.core.value import parse
from tinkwell.server.rpc import wire

# A request that asks for a stream names what is wanted. It may be kept as long as the stream lasts, as watches do for
# days, and there may be ten thousand of them.
MAX_STREAM_REQUEST_BYTES = 64 * 1024
# Messages and elements in one request. Four megabytes could hold two million empty ones, each dear to look at.
MAX_PARTS = 20_000


@dataclass(frozen=True, slots=True)
class Decoder:
    """Decodes the requests of one method. With `strict`, unknown fields and enum numbers are refused too.

    `max_bytes` is how long one may be, beside gRPC's own limit.
    """

    deserialize: Callable[[bytes], protobuf.Message]
    strict: bool
    max_bytes: int | None = None

    def decode(self, encoded: bytes) -> protobuf.Message:
        """Return the message, or raise `errors.InvalidField`."""
        if self.max_bytes is not None and len(encoded) > self.max_bytes:
            raise errors.InvalidField.of(
                "", f"the request has {len(encoded):,} bytes; one that asks for a stream may have {self.max_bytes:,}"
            )
        try:
            decoded = self.deserialize(encoded)
        except protobuf.DecodeError as exc:
            raise errors.InvalidField([wire.find_fault(_type_of(self.deserialize(b"")), encoded)]) from exc
        if self.strict:
            _Check().message(decoded, "")
            _refuse_unknown(decoded, encoded)
        return decoded

    async def decode_each(self, stream: AsyncIterator[bytes]) -> AsyncIterator[protobuf.Message]:
        """Decode a client's stream, message by message."""
        async for encoded in stream:
            yield self.decode(encoded)


def _type_of(message: protobuf.Message) -> descriptor.Descriptor:
    # The stubs name the parser's own class beside it, which has the same interface.
    return cast("descriptor.Descriptor", message.DESCRIPTOR)


def _refuse_unknown(decoded: protobuf.Message, encoded: bytes) -> None:
    # Discarding and comparing costs microseconds, whatever the number of unknown fields.
    size = decoded.ByteSize()
    decoded.DiscardUnknownFields()
    if decoded.ByteSize() != size:
        raise errors.InvalidField([wire.find_fault(_type_of(decoded), encoded)])


class _Check:
    """Looks at the parts of a message: their number is limited, and enums hold known numbers only."""

    def __init__(self) -> None:
        self._parts = 0

    def message(self, message: protobuf.Message, path: str) -> None:
        for field, content in message.ListFields():
            # Most fields hold a text or a number, at which there is nothing to look.
            if field.message_type is None and field.enum_type is None and not field.is_repeated:
                continue
            name = parse.child(path, field.name)
            if field.is_repeated:
                self._repeated(field, content, name)
            else:
                self._part(field, content, name)

    def _repeated(self, field: descriptor.FieldDescriptor, content: Sequence[object], path: str) -> None:
        self._parts += len(content)
        if self._parts > MAX_PARTS:
            raise errors.InvalidField.of(path, f"the request has more than {MAX_PARTS:,} parts; send fewer at once")
        if field.message_type is not None or field.enum_type is not None:
            for index, part in enumerate(content):
                self._part(field, part, parse.child(path, index))

    def _part(self, field: descriptor.FieldDescriptor, part: object, path: str) -> None:
        if isinstance(part, protobuf.Message):
            self.message(part, path)
        elif field.enum_type is not None and part not in field.enum_type.values_by_number:
            raise errors.InvalidField.of(path, f"{field.enum_type.name} has no value of the number {part}")
