"""Messages between a tool and the agent: parts of any bytes, each behind its length, and all behind theirs.

A length is four bytes, the highest first. `program` has its own writing of this, since it imports nothing of ours.
"""

import asyncio
from collections.abc import Sequence

LENGTH_BYTES = 4
# Input, and what the system lets anybody have in arguments.
MAX_BYTES = 4 * 1024 * 1024 + 2 * 1024 * 1024
MAX_PARTS = 10_000


class Malformed(Exception):
    """What came is no message; the text says why."""


def encode(parts: Sequence[bytes]) -> bytes:
    """Write a message."""
    content = b"".join(len(part).to_bytes(LENGTH_BYTES, "big") + part for part in parts)
    return len(content).to_bytes(LENGTH_BYTES, "big") + content


def decode(content: bytes) -> list[bytes]:
    """Read the parts behind the first length; raises `Malformed`."""
    found, begin = list[bytes](), 0
    while begin < len(content):
        first = begin + LENGTH_BYTES
        end = first + int.from_bytes(content[begin:first], "big")
        if first > len(content) or end > len(content):
            raise Malformed("a part is longer than its message")
        if len(found) == MAX_PARTS:
            raise Malformed(f"a message has more than {MAX_PARTS:,} parts")
        found.append(content[first:end])
        begin = end
    return found


async def read(stream: asyncio.StreamReader) -> list[bytes]:
    """Read a message; raises `Malformed`, and `asyncio.IncompleteReadError` where the other side hangs up."""
    size = int.from_bytes(await stream.readexactly(LENGTH_BYTES), "big")
    if size > MAX_BYTES:
        raise Malformed(f"a message has {size:,} bytes; at most {MAX_BYTES:,} are read")
    return decode(await stream.readexactly(size))
