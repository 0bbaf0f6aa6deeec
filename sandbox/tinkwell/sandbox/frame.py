"""How parent and child write to each other: a kind of one byte, the length of four, and that many bytes."""

import struct

HEADER = struct.Struct(">cI")

# To the child: a request, which is JSON.
CALL = b"C"
# From the child. It is ready once; text: why it keeps the network, or nothing.
READY = b"R"
# A piece of the work begins; text: its name.
PIECE = b"P"
# Each call ends with one of these. The answer, which is JSON; or nothing but that it is too large; or, as text, where
# the module raised which error.
ANSWER = b"A"
TOO_LARGE = b"L"
FAILED = b"F"

MAX_PIECE_BYTES = 1024
# How a child ends that has run out of memory: after that it can promise nothing.
MEMORY_EXIT_CODE = 90


def pack(kind: bytes, body: bytes) -> bytes:
    """Write one frame."""
    return HEADER.pack(kind, len(body)) + body
