"""Reads an untrusted tar file member by member, with bounded memory.

The standard library's reader keeps all headers, follows a chain of headers by recursion, and allocates the size that a
header claims. This reader knows the forms in use (ustar, pax, GNU) and reads only names, kinds and sizes; other header
fields mean nothing in a chart.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto

BLOCK_BYTES = 512
# A header in front of a member with a long name, or with more fields than its own header can hold.
MAX_EXTENSION_BYTES = 64 * 1024

_FILES = frozenset({b"0", b"\0", b"7"})
_FOLDER = b"5"
_LINKS = frozenset({b"1", b"2"})
_LENGTH = re.compile(rb"([1-9][0-9]{0,7}) ")
_NUMBER = re.compile(rb" *([0-7]{1,12})?[ \0]*")


class Broken(Exception):
    """A tar file that cannot be read; the text says why."""


class Kind(Enum):
    """The kind of a member."""

    FILE = auto()
    FOLDER = auto()
    LINK = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Member:
    """A member: its name, with undecodable bytes as lone surrogates, and the bytes of a file."""

    name: str
    kind: Kind
    content: bytes


def members(read: Callable[[int], bytes]) -> Iterator[Member]:
    """Yield the members of a tar file, whose bytes `read` returns; raises `Broken`.

    A block of zeros ends the file; the bytes behind it are left to the caller.
    """
    name, records = "", dict[str, bytes]()
    while (block := _whole(read, BLOCK_BYTES)).strip(b"\0"):
        header = _Header(block)
        match header.type:
            case b"x":  # pax: for the next member
                records = _records(_extension(read, header))
            case b"g":  # pax: for all following members
                if {"path", "size"} & _records(_extension(read, header)).keys():
                    raise Broken("a header gives one name or size to all members")
            case b"L":  # GNU: the name of the next member
                name = _text(_extension(read, header).split(b"\0")[0])
            case b"K":  # GNU: the target of the next link
                _extension(read, header)
            case _:
                yield _member(read, header, name, records)
                name, records = "", {}


class _Header:
    """The header block of a member; raises `Broken` if it is invalid."""

    def __init__(self, block: bytes) -> None:
        self._block = block
        self.type = block[156:157]
        blank = block[:148] + b" " * 8 + block[156:]
        if self._number(148, 156) != sum(blank):
            raise Broken("a header has a wrong checksum")
        self.size = self._number(124, 136)

    @property
    def name(self) -> str:
        name = self._block[:100].split(b"\0")[0]
        # In GNU's form other fields are in the place of the name's prefix.
        prefix = self._block[345:500].split(b"\0")[0] if self._block[257:263] == b"ustar\0" else b""
        return _text(prefix + b"/" + name if prefix else name)

    def _number(self, start: int, end: int) -> int:
        found = _NUMBER.fullmatch(self._block[start:end])
        if not found:
            raise Broken("a header has an invalid number, or one that is too large")
        return int(found[1] or b"0", 8)


def _member(read: Callable[[int], bytes], header: _Header, long_name: str, records: dict[str, bytes]) -> Member:
    name = _text(records["path"]) if "path" in records else long_name or header.name
    # The file is sparse: its bytes are a list of holes and data.
    if any(key.startswith("GNU.sparse.") for key in records):
        return Member(name, Kind.OTHER, b"")
    size = header.size
    if "size" in records:
        if not re.fullmatch(rb"[0-9]{1,15}", records["size"]):
            raise Broken("a header has an invalid size")
        size = int(records["size"])
    if header.type in _LINKS:
        return Member(name, Kind.LINK, b"")
    if header.type == _FOLDER or (header.type in _FILES and name.endswith("/")):
        if size:
            raise Broken("a folder has bytes")
        return Member(name, Kind.FOLDER, b"")
    if header.type not in _FILES:
        return Member(name, Kind.OTHER, b"")
    return Member(name, Kind.FILE, _content(read, size))


def _extension(read: Callable[[int], bytes], header: _Header) -> bytes:
    if header.size > MAX_EXTENSION_BYTES:
        raise Broken(f"a header has {header.size:,} bytes; at most {MAX_EXTENSION_BYTES:,} are allowed")
    return _content(read, header.size)


def _records(content: bytes) -> dict[str, bytes]:
    """Read the records of pax: the length of the whole record, a blank, key=value, a line feed."""
    found: dict[str, bytes] = {}
    at = 0
    while at < len(content):
        length = _LENGTH.match(content, at)
        end = at + int(length[1]) if length else 0
        key, equals, value = content[length.end() if length else at : end].partition(b"=")
        if not equals or end > len(content) or not value.endswith(b"\n"):
            raise Broken("a header has an invalid record")
        found[_text(key)] = value[:-1]
        at = end
    return found


def _content(read: Callable[[int], bytes], size: int) -> bytes:
    """Read the bytes of a header's extension or a member, and the zeros up to the next block."""
    content = _whole(read, size)
    _whole(read, -size % BLOCK_BYTES)
    return content


def _whole(read: Callable[[int], bytes], size: int) -> bytes:
    found = read(size)
    if len(found) != size:
        raise Broken("it is cut off")
    return found


def _text(name: bytes) -> str:
    return name.decode(errors="surrogateescape")
