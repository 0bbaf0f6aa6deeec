"""The archive that a chart travels as: a gzipped tar with one folder at its top.

`pack` is canonical: the same files give the same bytes, so that a digest names the files. `unpack` takes archives from
strangers. It looks at every member before it takes its bytes, and unpacks no more than is allowed, whatever the archive
claims. What is taken are plain files below the top folder; everything else ends in `errors.ChartInvalid`, whose fields
are the names of members, or `archive` where the whole is wrong.
"""

import hashlib
import io
import tarfile
import unicodedata
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tinkwell.core import errors
from tinkwell.core.value import parse

MAX_PACKED_BYTES = 8 * 1024 * 1024
# Of the tar, so that its headers count, too.
MAX_UNPACKED_BYTES = 64 * 1024 * 1024
MAX_FILES = 10_000
MAX_PATH_BYTES = 1_024

_GZIP = zlib.MAX_WBITS | 16
_LEVEL = 9
_BLOCK_BYTES = tarfile.BLOCKSIZE
_PIECE_BYTES = 64 * 1024
_MODE = 0o644


@dataclass(slots=True)
class Allowance:
    """What may still be unpacked of a chart, together with all the archives that are in it."""

    unpacked_bytes: int = MAX_UNPACKED_BYTES
    files: int = MAX_FILES

    def take_bytes(self, at: str, size: int) -> None:
        """Count unpacked bytes. Raises `errors.ChartInvalid` beyond the limit."""
        self.unpacked_bytes -= size
        if self.unpacked_bytes < 0:
            raise _invalid(at, f"unpacks to more than {MAX_UNPACKED_BYTES:,} bytes; leave large files out of the chart")

    def take_file(self, at: str) -> None:
        """Count a member. Raises `errors.ChartInvalid` beyond the limit."""
        self.files -= 1
        if self.files < 0:
            raise _invalid(at, f"has more than {MAX_FILES:,} members; leave files out, or pack them into fewer ones")


def pack(top: str, files: Mapping[str, bytes]) -> bytes:
    """Pack files, by their paths within the chart, below the folder `top`. Raises `errors.ChartInvalid`."""
    tree, allowance = _Tree(), Allowance()
    _check_path(top, (top,))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(files):
            member = f"{top}/{path}"
            tree.add(member, _parts(member), is_folder=False)
            allowance.take_file("")
            header = tarfile.TarInfo(member)
            header.size, header.mode = len(files[path]), _MODE
            tar.addfile(header, io.BytesIO(files[path]))
            # Before the next one is copied.
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
    """Give the name of an archive: `sha256:` and the hexadecimal hash of its bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def check_size(data: bytes, *, at: str = "") -> None:
    """Refuse an archive that is too large."""
    if len(data) > MAX_PACKED_BYTES:
        raise _invalid(at, f"has {len(data):,} bytes; at most {MAX_PACKED_BYTES:,} are allowed: leave large files out")


def extract(data: bytes, allowance: Allowance, *, at: str = "") -> dict[str, bytes]:
    """Unpack an archive that stands in another one at `at`, out of what that may still take."""
    check_size(data, at=at)
    stream = _Stream(data, allowance, at)
    try:
        # As a stream: where a tar of strangers leads back, a seekable one is read in circles.
        with tarfile.open(fileobj=stream, mode="r|", errorlevel=0) as tar:
            files = dict(_members(tar, allowance, at))
            stream.finish(tar.offset)
    except (tarfile.TarError, RecursionError, ValueError, OverflowError, EOFError) as error:
        raise _invalid(
            at, f"is not a tar archive, or is broken ({parse.excerpt(str(error))}); pack it again"
        ) from error
    if not files:
        raise _invalid(at, "has no files; pack the folder in which Chart.yaml is")
    return files


def _members(tar: tarfile.TarFile, allowance: Allowance, at: str) -> Iterator[tuple[str, bytes]]:
    tree = _Tree()
    for member in tar:
        allowance.take_file(at)
        place = f"{at}/{parse.excerpt(member.name)}" if at else parse.excerpt(member.name)
        _check_kind(place, member)
        parts = _parts(member.name)
        _check_path(place, parts)
        tree.add(place, parts, is_folder=member.isdir())
        if member.isdir():
            continue
        if len(parts) == 1:
            raise errors.ChartInvalid.of(
                place, "stands beside the chart's folder; pack one folder with all files in it"
            )
        content = tar.extractfile(member)
        yield "/".join(parts[1:]), content.read() if content else b""


def _check_kind(place: str, member: tarfile.TarInfo) -> None:
    if member.issym() or member.islnk():
        raise errors.ChartInvalid.of(place, "is a link; put the file itself in its place")
    if member.issparse() or not (member.isreg() or member.isdir()):
        raise errors.ChartInvalid.of(place, "is neither a plain file nor a folder; leave it out")


def _parts(path: str) -> tuple[str, ...]:
    return tuple(path.removeprefix("./").removesuffix("/").split("/"))


def _check_path(place: str, parts: tuple[str, ...]) -> None:
    path = "/".join(parts)
    if path.startswith("/"):
        raise errors.ChartInvalid.of(place, "has an absolute path; write it relative to the chart's folder")
    if not {"", ".", ".."}.isdisjoint(parts) or "\\" in path:
        raise errors.ChartInvalid.of(place, r"is no plain path; write it without .., ., // and \ in the chart's folder")
    try:
        parse.parse_text(place, path, max_bytes=MAX_PATH_BYTES)
    except errors.InvalidField as error:
        reason = error.violations[0].description
        raise errors.ChartInvalid.of(place, f"has a name that cannot be taken: it {reason}; rename it") from error


def _fold(name: str) -> str:
    """Give one text for all names that are one file for some system."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _check_unpacked(size: int) -> None:
    Allowance().take_bytes("", size)


@dataclass(slots=True)
class _Folder:
    """A folder, or a file, of which `entries` is None; what is in it is known by name without regard to case."""

    name: str
    entries: "dict[str, _Folder] | None" = field(default_factory=dict)


class _Tree:
    """All members so far; a system that ignores case, and one that does not, must make the same files of them."""

    def __init__(self) -> None:
        self._root = _Folder("")
        self._seen: set[tuple[str, ...]] = set()

    def add(self, place: str, parts: tuple[str, ...], *, is_folder: bool) -> None:
        """Add a member and the folders above it. Raises `errors.ChartInvalid`."""
        if parts in self._seen:
            raise errors.ChartInvalid.of(place, "occurs twice; pack each file once")
        self._seen.add(parts)
        here = self._root
        for depth, name in enumerate(parts, start=1):
            needs_folder = is_folder or depth < len(parts)
            assert here.entries is not None
            entry = here.entries.setdefault(_fold(name), _Folder(name, {} if needs_folder else None))
            if entry.name != name:
                other = "/".join((*parts[: depth - 1], entry.name))
                raise errors.ChartInvalid.of(
                    place,
                    f"differs from {parse.show(other)} only in case or in how accents are written; rename one of them",
                )
            if (entry.entries is not None) is not needs_folder:
                raise errors.ChartInvalid.of(place, "is a file and a folder at once; rename one of them")
            here = entry
        if len(self._root.entries or {}) > 1:
            raise errors.ChartInvalid.of(
                place, "stands beside the chart's folder; pack one folder with all files in it"
            )


class _Stream(io.RawIOBase):
    """The unpacked bytes of a gzip file, of which no more exist at once than were asked for."""

    def __init__(self, data: bytes, allowance: Allowance, at: str) -> None:
        super().__init__()
        self._unpacker = zlib.decompressobj(_GZIP)
        self._left = data
        self._allowance = allowance
        self._at = at
        self._length = 0
        self._zeros_from = 0

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def read(self, size: int = _PIECE_BYTES, /) -> bytes:
        """Return so many bytes, fewer at the end. Raises `errors.ChartInvalid`."""
        pieces: list[bytes] = []
        while size and not self._unpacker.eof:
            try:
                piece = self._unpacker.decompress(self._left, size)
            except zlib.error as error:
                raise self._invalid("is not gzip, or is broken; pack it with `tinkwell chart package`") from error
            self._left = self._unpacker.unconsumed_tail
            if not piece and not self._left and not self._unpacker.eof:
                raise self._invalid("is cut off; pack or fetch it again")
            self._allowance.take_bytes(self._at, len(piece))
            pieces.append(piece)
            size -= len(piece)
        found = b"".join(pieces)
        self._length += len(found)
        if used := found.rstrip(b"\0"):
            self._zeros_from = self._length - len(found) + len(used)
        return found

    def finish(self, end: int) -> None:
        """Read on to the end; behind the last member, which ends at `end`, there must be the zeros that end a tar."""
        while self.read():
            pass
        if self._unpacker.unused_data:
            raise self._invalid(f"has {len(self._unpacker.unused_data):,} bytes behind its end; pack it again")
        if self._zeros_from > end or self._length < end + _BLOCK_BYTES:
            raise self._invalid("is cut off, or is broken behind its last member; pack it again")

    def _invalid(self, description: str) -> errors.InvalidField:
        return _invalid(self._at, description)


def _invalid(at: str, description: str) -> errors.InvalidField:
    return errors.ChartInvalid.of(at or "archive", description)
