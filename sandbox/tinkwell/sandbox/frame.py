"""The frames between parent and child: a kind of one byte, a length of four bytes, and the body."""

import struct

HEADER = struct.Struct(">cI")

# To the child: a request in JSON.
CALL = b"C"
# From the child, once: it is ready. Text: why it keeps the network, or "".
READY = b"R"
# A piece of the work begins. Text: its name.
PIECE = b"P"
# Each call ends with one of these: the answer in JSON; a mark that it is too large; or, as text, the place and type of
# an error.
ANSWER = b"A"
TOO_LARGE = b"L"
FAILED = b"F"

MAX_PIECE_BYTES = 1024
# The exit code of a child that has run out of memory, after which its state is not reliable.
MEMORY_EXIT_CODE = 90


def pack(kind: bytes, body: bytes) -> bytes:
    """Write one frame."""
    return HEADER.pack(kind, len(body)) + body
