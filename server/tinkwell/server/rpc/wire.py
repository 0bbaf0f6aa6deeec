"""Finds what is wrong with an encoded message, and in which field.

The protobuf parser says only that a message is wrong, or keeps quiet about fields it does not know. This walk over the
wire format runs after such a verdict, to name the field to the caller.
"""

import collections

from google.protobuf import descriptor

from tinkwell.core import errors
from tinkwell.core.value import parse

# The walk is in Python and runs in the event loop, so it gives up before a hostile message holds others up.
_MAX_FIELDS = 20_000

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_WIRE_NAMES = {_VARINT: "a varint", _FIXED64: "8 bytes", _LENGTH: "bytes with a length", _FIXED32: "4 bytes"}

_Field = descriptor.FieldDescriptor
_EXPECTED = {
    _Field.TYPE_DOUBLE: _FIXED64,
    _Field.TYPE_FIXED64: _FIXED64,
    _Field.TYPE_SFIXED64: _FIXED64,
    _Field.TYPE_FLOAT: _FIXED32,
    _Field.TYPE_FIXED32: _FIXED32,
    _Field.TYPE_SFIXED32: _FIXED32,
    _Field.TYPE_STRING: _LENGTH,
    _Field.TYPE_BYTES: _LENGTH,
    _Field.TYPE_MESSAGE: _LENGTH,
}


def find_fault(message_type: descriptor.Descriptor, encoded: bytes) -> errors.Violation:
    """Return the first field that is malformed, unknown, or not of its type; a general answer if there is none."""
    try:
        _Walk(encoded).message(message_type, "", 0, len(encoded))
    except _Fault as fault:
        return fault.violation
    return errors.Violation("", f"the request is not a valid {message_type.name}")


class _Fault(Exception):
    def __init__(self, field: str, description: str) -> None:
        self.violation = errors.Violation(field, description)
        super().__init__(description)


class _Walk:
    def __init__(self, encoded: bytes) -> None:
        self._encoded = encoded
        self._fields = 0

    def message(self, message_type: descriptor.Descriptor, path: str, position: int, end: int) -> None:
        counts: collections.Counter[int] = collections.Counter()
        while position < end:
            self._fields += 1
            if self._fields > _MAX_FIELDS:
                raise _Fault(path, f"has a malformed or unknown field after the first {_MAX_FIELDS:,}")
            tag, position = self._varint(path, position, end)
            field = message_type.fields_by_number.get(tag >> 3)
            if field is None:
                raise _Fault(parse.child(path, str(tag >> 3)), f"{message_type.name} has no field of this number")
            name = parse.child(path, field.name)
            if field.is_repeated:
                name = parse.child(name, counts[field.number])
                counts[field.number] += 1
            position = self._content(field, tag & 7, name, position, end)

    def _content(self, field: descriptor.FieldDescriptor, wire_type: int, path: str, position: int, end: int) -> int:
        """Check one field's content and return where it ends."""
        expected = _EXPECTED.get(field.type, _VARINT)
        is_packed = wire_type == _LENGTH and field.is_repeated
        if wire_type != expected and not is_packed:
            found = _WIRE_NAMES.get(wire_type, f"the wire type {wire_type}")
            raise _Fault(path, f"is encoded as {found} and not as {_WIRE_NAMES[expected]}")
        match wire_type:
            case 0:
                return self._varint(path, position, end)[1]
            case 1 | 5:
                return _within(path, position + (8 if wire_type == _FIXED64 else 4), end)
        length, position = self._varint(path, position, end)
        stop = _within(path, position + length, end)
        if field.message_type is not None:
            self.message(field.message_type, path, position, stop)
        elif field.type == _Field.TYPE_STRING:
            self._text(path, position, stop)
        return stop

    def _text(self, path: str, position: int, stop: int) -> None:
        try:
            self._encoded[position:stop].decode()
        except UnicodeDecodeError as exc:
            raise _Fault(path, f"must be UTF-8; the byte at place {exc.start} is not") from exc

    def _varint(self, path: str, position: int, end: int) -> tuple[int, int]:
        number = 0
        for place in range(10):
            if position >= end:
                break
            byte = self._encoded[position]
            position += 1
            number |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return number, position
        raise _Fault(path, "is cut off or malformed")


def _within(path: str, stop: int, end: int) -> int:
    if stop > end:
        raise _Fault(path, f"is cut off: {stop - end:,} bytes are missing")
    return stop
