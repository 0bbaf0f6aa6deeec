"""Requests by their descriptor: ordinary ones with odd values, damaged ones, and what was never a message."""

import random
from collections.abc import Callable, Sequence

from google.protobuf import descriptor, message_factory
from google.protobuf import message as protobuf

from support.fuzz import value
from support.fuzz.value import Known

_Field = descriptor.FieldDescriptor
_MAX_DEPTH = 6
_LIMIT_BYTES = 4 << 20
_SIGNED = {
    **dict.fromkeys((_Field.TYPE_INT32, _Field.TYPE_SINT32, _Field.TYPE_SFIXED32), 32),
    **dict.fromkeys((_Field.TYPE_INT64, _Field.TYPE_SINT64, _Field.TYPE_SFIXED64), 64),
}
_UNSIGNED = {
    **dict.fromkeys((_Field.TYPE_UINT32, _Field.TYPE_FIXED32), 32),
    **dict.fromkeys((_Field.TYPE_UINT64, _Field.TYPE_FIXED64), 64),
}
# Requests whose fields are all odd are refused for the first of them, so most have one or two such fields.
_ODDITIES = (0.0, 0.1, 0.1, 0.3, 1.0)
_FEW, _MANY = (1, 1, 2, 3), (500, 20_001)


def draw(chance: random.Random, message_type: descriptor.Descriptor, known: Known) -> bytes:
    """Draw an encoded request of a type, or what is sent in its place."""
    dice = chance.random()
    if dice < 0.04:
        return chance.randbytes(chance.randrange(1, 400))
    if dice < 0.05:
        return b"\x0a" + varint(_LIMIT_BYTES) + b"x" * _LIMIT_BYTES
    encoded = _Drawing(chance, known, oddity=chance.choice(_ODDITIES)).message(message_type, 0).SerializeToString()
    if dice < 0.6:
        return encoded
    return chance.choice(_DAMAGES)(chance, message_type, encoded)


def varint(number: int) -> bytes:
    """Encode an integer as protobuf does."""
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


class _Drawing:
    """One message."""

    def __init__(self, chance: random.Random, known: Known, *, oddity: float) -> None:
        self._chance = chance
        self._known = known
        self._oddity = oddity

    def message(self, message_type: descriptor.Descriptor, depth: int) -> protobuf.Message:
        drawn = message_factory.GetMessageClass(message_type)()
        # Most fields are set, since what is missing is refused before anything else is looked at.
        # And in any order, as of several that exclude each other the last one counts.
        for field in self._chance.sample(list(message_type.fields), len(message_type.fields)):
            if self._chance.random() < (0.85 if depth < _MAX_DEPTH else 0.0):
                self._set(drawn, field, depth)
        return drawn

    def _set(self, drawn: protobuf.Message, field: descriptor.FieldDescriptor, depth: int) -> None:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            keys, values = (field.message_type.fields_by_name[name] for name in ("key", "value"))
            for _ in range(self._chance.choice(_FEW)):
                getattr(drawn, field.name)[self._scalar(keys)] = self._scalar(values)
        elif field.is_repeated:
            count = self._chance.choice(_MANY if self._chance.random() < 0.02 and depth == 0 else _FEW)
            if field.message_type is not None:
                drawn_ones = [self.message(field.message_type, depth + 1) for _ in range(min(count, 3))]
                getattr(drawn, field.name).extend(drawn_ones[index % len(drawn_ones)] for index in range(count))
            else:
                scalars = [self._scalar(field) for _ in range(min(count, 3))]
                getattr(drawn, field.name).extend(scalars[index % len(scalars)] for index in range(count))
        elif field.message_type is not None:
            getattr(drawn, field.name).CopyFrom(self.message(field.message_type, depth + 1))
        else:
            setattr(drawn, field.name, self._scalar(field))

    def _scalar(self, field: descriptor.FieldDescriptor) -> str | bytes | int | float | bool:
        chance = self._chance
        if field.type in _SIGNED:
            return value.whole(chance, _SIGNED[field.type], signed=True, oddity=self._oddity)
        if field.type in _UNSIGNED:
            return value.whole(chance, _UNSIGNED[field.type], signed=False, oddity=self._oddity)
        match field.type:
            case _Field.TYPE_STRING:
                return value.text(chance, field.name, self._known, oddity=self._oddity)
            case _Field.TYPE_BYTES:
                return value.octets(chance)
            case _Field.TYPE_BOOL:
                return chance.random() < 0.5
            case _Field.TYPE_ENUM:
                assert field.enum_type is not None
                numbers = list(field.enum_type.values_by_number)
                return chance.choice(
                    numbers if chance.random() < 1 - self._oddity / 2 else (99, -1, 2**31 - 1, -(2**31))
                )
            case _:
                return value.real(chance)


def _flip(chance: random.Random, _: descriptor.Descriptor, encoded: bytes) -> bytes:
    damaged = bytearray(encoded or b"\x00")
    for _number in range(chance.randrange(1, 8)):
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def _cut(chance: random.Random, _: descriptor.Descriptor, encoded: bytes) -> bytes:
    return encoded[: chance.randrange(len(encoded) + 1)]


def _insert(chance: random.Random, _: descriptor.Descriptor, encoded: bytes) -> bytes:
    place = chance.randrange(len(encoded) + 1)
    return encoded[:place] + chance.randbytes(chance.randrange(1, 20)) + encoded[place:]


def _repeat(chance: random.Random, _: descriptor.Descriptor, encoded: bytes) -> bytes:
    return (encoded * chance.choice((2, 3, 1_000)))[: _LIMIT_BYTES - 1_000]


def _no_text(chance: random.Random, message_type: descriptor.Descriptor, encoded: bytes) -> bytes:
    texts = [field.number for field in message_type.fields if field.type == _Field.TYPE_STRING]
    content = value.octet_text(chance)
    return encoded + varint(chance.choice(texts or [1]) << 3 | 2) + varint(len(content)) + content


def _odd_number(chance: random.Random, message_type: descriptor.Descriptor, encoded: bytes) -> bytes:
    number = chance.choice([field.number for field in message_type.fields] or [1])
    odd = chance.choice((b"\xff" * 9 + b"\x01", b"\xff" * 11, b"\x80" * 9 + b"\x00", b"\xff" * 9 + b"\x7f", b"\x80"))
    return encoded + varint(number << 3) + odd


def _odd_length(chance: random.Random, message_type: descriptor.Descriptor, encoded: bytes) -> bytes:
    number = chance.choice([field.number for field in message_type.fields] or [1])
    length = chance.choice((2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1))
    return encoded + varint(number << 3 | 2) + varint(length) + b"x"


def _odd_wire(chance: random.Random, message_type: descriptor.Descriptor, encoded: bytes) -> bytes:
    number = chance.choice([field.number for field in message_type.fields] or [1])
    return encoded + varint(number << 3 | chance.randrange(8)) + chance.randbytes(8)


def _unknown_field(chance: random.Random, _: descriptor.Descriptor, encoded: bytes) -> bytes:
    number = chance.choice((0, 19_000, 2**29 - 1, 1_000))
    return encoded + (varint(number << 3 | 2) + b"\x01x") * chance.choice((1, 30_000))


def _nest(chance: random.Random, message_type: descriptor.Descriptor, encoded: bytes) -> bytes:
    """Put messages into each other, whether the type has such a field or not, or open groups that nothing closes."""
    if chance.random() < 0.3:
        return b"\x0b" * chance.choice((101, 10_000, 1_000_000))
    numbers = [field.number for field in message_type.fields if field.message_type is not None] or [1]
    number, nested = chance.choice(numbers), b""
    for _ in range(chance.choice((10, 99, 101, 3_000))):
        nested = varint(number << 3 | 2) + varint(len(nested)) + nested
    return nested


def _overlong_packed(chance: random.Random, message_type: descriptor.Descriptor, encoded: bytes) -> bytes:
    number = chance.choice([field.number for field in message_type.fields if field.is_repeated] or [1])
    content = b"\x01" * chance.choice((1, 20_001, 1_000_000))
    return encoded + varint(number << 3 | 2) + varint(len(content)) + content


_DAMAGES: Sequence[Callable[[random.Random, descriptor.Descriptor, bytes], bytes]] = (
    *(_flip, _flip, _cut, _insert, _repeat, _no_text, _odd_number, _odd_length, _odd_wire),
    *(_unknown_field, _nest, _overlong_packed),
)
