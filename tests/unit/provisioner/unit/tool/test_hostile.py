"""Three hundred messages that no tool sends: each is hung up on or refused, and the desk goes on."""

import asyncio
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from unit.provisioner.unit import stage

from tinkwell.provisioner.unit.tool import desk, frame

SEED, COUNT = 32, 300
GOOD_TOOL = b"is-leader"


def _length(number: int) -> bytes:
    return number.to_bytes(frame.LENGTH_BYTES, "big")


def _spoilt(draw: random.Random, good: bytes) -> bytes:
    spoilt = bytearray(good)
    spoilt[draw.randrange(len(spoilt))] ^= 1 << draw.randrange(8)
    return bytes(spoilt)


def _messages(context: bytes) -> Iterator[bytes]:
    """Make messages: cut ones, ones with lengths that lie, wrong contexts, and arguments of all kinds."""
    draw = random.Random(SEED)
    good = frame.encode([context, GOOD_TOOL, b""])
    makers: list[Callable[[], bytes]] = [
        lambda: good[: draw.randrange(len(good))],
        lambda: draw.randbytes(draw.randrange(1, 200)),
        lambda: _length(draw.choice([0, 1, frame.MAX_BYTES + 1, 0xFFFFFFFF])) + draw.randbytes(20),
        lambda: _length(8) + _length(draw.randrange(5, 1 << 32)) + b"abcd",
        lambda: frame.encode([draw.randbytes(16), GOOD_TOOL, b""]),
        lambda: frame.encode([context, draw.randbytes(30), b""]),
        lambda: frame.encode([context, b"relation-get", b"", *(draw.randbytes(9) for _ in range(draw.randrange(9)))]),
        lambda: frame.encode([context, b"state-set", draw.randbytes(99), b"--file", b"-"]),
        lambda: frame.encode([context] * draw.randrange(1, 3)),
        lambda: _spoilt(draw, good),
    ]
    return (makers[number % len(makers)]() for number in range(COUNT))


async def _ask(path: Path, message: bytes) -> bytes:
    """Send a message, say that nothing more comes, and return what is answered."""
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        writer.write(message)
        writer.write_eof()
        return await reader.read()
    except (BrokenPipeError, ConnectionResetError):
        return b""
    finally:
        writer.close()


async def test_hostile_messages_end_their_connection_and_nothing_else(tmp_path: Path) -> None:
    attempt = stage.attempt()
    async with desk.Desk(tmp_path / "run/socket", [os.geteuid()]).serving() as office:
        with office.admitting(attempt) as context:
            for number, message in enumerate(_messages(context.encode())):
                answer = await _ask(office.path, message)
                if answer:
                    code, out, err = frame.decode(answer[frame.LENGTH_BYTES :])
                    assert (code, bool(out)) == (b"0", True) or err.startswith(b"ERROR "), number
            good = await _ask(office.path, frame.encode([context.encode(), GOOD_TOOL, b""]))
            assert frame.decode(good[frame.LENGTH_BYTES :]) == [b"0", b"False\n", b""]
        assert office.connections == 0
    assert attempt.bag_edits == []
