"""The archive of a chart: a gzipped tar with one folder at its top.

`pack` is canonical: the same files give the same bytes, so a digest identifies the files. `unpack` accepts untrusted
archives, and never unpacks more than the limits allow, whatever the archive claims. Only plain files below the top
folder are accepted. Everything else raises `errors.ChartInvalid`; its fields are names of members, or `archive` for the
whole archive.
"""

import hashlib
import io
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tinkwell.core import errors
from tinkwell.core.release.chart.file import tar
from tinkwell.core.value import member_name, parse

METADATA = "Chart.yaml"
# The prefix of a chart's digest.
DIGEST = "sha256:"

MAX_LEVELS = 10
MAX_PACKED_BYTES = 8 * 1024 * 1024
# The size of the unpacked tar, headers included.
MAX_UNPACKED_BYTES = 64 * 1024 * 1024
MAX_FILES = 10_000

_GZIP = zlib.MAX_WBITS | 16
_LEVEL = 9
_PIECE_BYTES = 64 * 1024
_MODE = 0o644
_CONTENT = "chart"
_BESIDE = "is beside the chart's folder; pack one folder with all files in it"


@dataclass(slots=True)
class Allowance:
    """How much may still be unpacked of a chart, including all archives in it."""

    unpacked_bytes: int = MAX_UNPACKED_BYTES
    files: int = MAX_FILES

    def take_bytes(self, at: str, size: int) -> None:
        """Count unpacked bytes. Raises `errors.ChartInvalid` above the limit."""
        self.unpacked_bytes -= size
        if self.unpacked_bytes < 0:
            raise _invalid(at, f"unpacks to more than {MAX_UNPACKED_BYTES:,} bytes; leave large files out of the chart")

    def take_file(self, at: str) -> None:
        """Count a member. Raises `errors.ChartInvalid` above the limit."""
        self.files -= 1
        if self.files < 0:
            raise _invalid(at, f"has more than {MAX_FILES:,} members; leave files out, or pack them into fewer ones")


def pack(top: str, files: Mapping[str, bytes]) -> bytes:
    """Pack files, by their paths within the chart, below the folder `top`. Raises `errors.ChartInvalid`."""
    names, allowance = member_name.Names(_CONTENT), Allowance()
    if len(_parts(top, top)) != 1:
        raise errors.ChartInvalid.of(top, "cannot be the name of a folder; leave out /")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as writer:
        for path in sorted(files):
            member = f"{top}/{path}"
            _add(names, _place("", member), member, is_folder=False)
            allowance.take_file("")
            header = tarfile.TarInfo(member)
            header.size, header.mode = len(files[path]), _MODE
            writer.addfile(header, io.BytesIO(files[path]))
            # Check before the next file is copied.
            _check_unpacked(buffer.tell())
    _check_unpacked(buffer.tell())
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    packed = packer.compress(buffer.getbuffer()) + packer.flush()
    check_size(packed)
    return packed


def unpack(data: bytes) -> dict[str, bytes]:
    """Unpack an archive: the files by their paths within its top folder. Raises `errors.ChartInvalid`."""
    return extract(data, Allowance())


def digest(data: bytes) -> str:
    """Return an archive's digest: `sha256:` and the hash of its bytes in hexadecimal digits."""
    return f"{DIGEST}{hashlib.sha256(data).hexdigest()}"


def check_size(data: bytes, *, at: str = "") -> None:
    """Refuse an archive that is too large."""
    if len(data) > MAX_PACKED_BYTES:
        raise _invalid(at, f"has {len(data):,} bytes; at most {MAX_PACKED_BYTES:,} are allowed: leave large files out")


def extract(data: bytes, allowance: Allowance, *, at: str = "") -> dict[str, bytes]:
    """Unpack an archive that is at `at` in another one, within its remaining allowance."""
    check_size(data, at=at)
    stream = _Stream(data, allowance, at)
    try:
        files = dict(_files(stream, allowance, at))
    except tar.Broken as error:
        raise _invalid(at, f"is not a tar file, or is broken: {error}; pack it again") from error
    stream.finish()
    if not files:
        raise _invalid(at, "has no files; pack the folder in which Chart.yaml is")
    return files


def _files(stream: "_Stream", allowance: Allowance, at: str) -> Iterator[tuple[str, bytes]]:
    names = member_name.Names(_CONTENT)
    top = ""
    for member in tar.members(stream.read):
        allowance.take_file(at)
        place = _place(at, member.name)
        if member.kind is tar.Kind.LINK:
            raise errors.ChartInvalid.of(place, "is a link; put the file itself in its place")
        if member.kind is tar.Kind.OTHER:
            raise errors.ChartInvalid.of(place, "is neither a plain file nor a folder; leave it out")
        parts = _add(names, place, member.name.removeprefix("./"), is_folder=member.kind is tar.Kind.FOLDER)
        top = top or parts[0]
        if parts[0] != top or (member.kind is tar.Kind.FILE and len(parts) == 1):
            raise errors.ChartInvalid.of(place, _BESIDE)
        if member.kind is tar.Kind.FILE:
            yield "/".join(parts[1:]), member.content


def _place(at: str, name: str) -> str:
    shown = parse.excerpt(name)
    return f"{at}/{shown}" if at else shown


def _parts(place: str, name: str) -> tuple[str, ...]:
    """Split the path of a member. Raises `errors.ChartInvalid` if it is not a plain path."""
    try:
        return member_name.split(name, _CONTENT)
    except ValueError as error:
        raise errors.ChartInvalid.of(place, str(error)) from error


def _add(names: member_name.Names, place: str, name: str, *, is_folder: bool) -> tuple[str, ...]:
    """Add the name of a member, and return the parts of its path. Raises `errors.ChartInvalid`."""
    try:
        return names.add(name, is_folder=is_folder)
    except ValueError as error:
        raise errors.ChartInvalid.of(place, str(error)) from error


def _check_unpacked(size: int) -> None:
    Allowance().take_bytes("", size)


class _Stream:
    """The unpacked bytes of a gzip file; at most the requested bytes are in memory."""

    def __init__(self, data: bytes, allowance: Allowance, at: str) -> None:
        self._data = data
        self._allowance = allowance
        self._at = at
        self._pieces = self._unpacked()
        self._buffer = bytearray()
        self._bytes_behind = 0

    def read(self, size: int) -> bytes:
        """Return `size` bytes, or fewer at the end. Raises `errors.ChartInvalid`."""
        while len(self._buffer) < size and (piece := next(self._pieces, b"")):
            self._allowance.take_bytes(self._at, len(piece))
            self._buffer += piece
        with memoryview(self._buffer) as view:
            found = bytes(view[:size])
        del self._buffer[:size]
        return found

    def finish(self) -> None:
        """Read to the end of the file. Raises `errors.ChartInvalid` if there is anything but zeros."""
        while piece := self.read(_PIECE_BYTES):
            if piece.strip(b"\0"):
                raise _invalid(self._at, "has more behind its last member; pack it again")
        if self._bytes_behind:
            raise _invalid(self._at, f"has {self._bytes_behind:,} bytes behind its end; pack it again")

    def _unpacked(self) -> Iterator[bytes]:
        """Unpack in small pieces of input and output, because zlib copies the unused input each time."""
        unpacker = zlib.decompressobj(_GZIP)
        for start in range(0, len(self._data), _PIECE_BYTES):
            packed = self._data[start : start + _PIECE_BYTES]
            try:
                while piece := unpacker.decompress(packed, _PIECE_BYTES):
                    yield piece
                    packed = unpacker.unconsumed_tail
            except zlib.error as error:
                raise _invalid(self._at, "is not gzip, or is broken; pack it with `tinkwell chart package`") from error
            if unpacker.eof:
                self._bytes_behind = len(unpacker.unused_data) + max(0, len(self._data) - start - _PIECE_BYTES)
                return
        raise _invalid(self._at, "is cut off; pack or fetch it again")


def _invalid(at: str, description: str) -> errors.InvalidField:
    return errors.ChartInvalid.of(at or "archive", description)
