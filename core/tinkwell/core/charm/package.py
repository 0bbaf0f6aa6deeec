"""The package of a charm: a zip file, as charmcraft packs it, with the manifest at its top.

`pack` is canonical: the same files give the same bytes, so a digest identifies the files. Nothing is compressed,
because compressed bytes differ between versions of the compression library. `open_package` accepts untrusted packages:
it reads only the list of members at the end, and checks the list's size before it reads. `check` reads the whole
package. Only plain files and folders are accepted. Everything else raises `errors.CharmRefused`; its fields are names
of members, or `package` for the whole package.
"""

import hashlib
import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from tinkwell.core import errors
from tinkwell.core.charm import charmcraft, metadata
from tinkwell.core.charm.record import Charm, Manifest
from tinkwell.core.unit.kinds import CharmKind
from tinkwell.core.value import member_name, parse

MAX_PACKED_BYTES = 256 * 1024 * 1024
MAX_UNPACKED_BYTES = 1024 * 1024 * 1024
MAX_FILES = 50_000
HOOKS = "hooks/"
# A charm of Juju runs its events by this file, or by PROGRAM if there is no such file.
DISPATCH = "dispatch"
PROGRAM = "src/charm.py"
# The prefix of a charm's digest.
DIGEST = "sha256:"

_DIGEST = re.compile(f"{DIGEST}[0-9a-f]{{64}}")
_PIECE_BYTES = 64 * 1024
_PACKAGE = "package"
# The end of the member list is 22 bytes and a comment; each entry of the list is 46 bytes and a name.
_END = struct.Struct("<4s4H2LH")
_END_MAGIC = b"PK\x05\x06"
_MAX_COMMENT_BYTES = 65_535
_MAX_LIST_BYTES = 32 * 1024 * 1024
_EPOCH = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_ENCRYPTED = 1
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, UnicodeDecodeError, ValueError)


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file to pack; `path` is relative to the charm's folder, with / between folders."""

    path: str
    content: bytes
    is_executable: bool = False


@dataclass(frozen=True, slots=True)
class File:
    """A file of a package, and its unpacked size in bytes."""

    path: str
    size: int
    is_executable: bool


class Package:
    """A package with a valid list of members. Closing it does not close the underlying file."""

    def __init__(self, archive: zipfile.ZipFile, members: Sequence[zipfile.ZipInfo]) -> None:
        self._archive = archive
        self._members = {member.filename: member for member in members if not member.is_dir()}
        self.files = tuple(
            File(name, member.file_size, _is_executable(member)) for name, member in sorted(self._members.items())
        )

    def read(self, path: str) -> Iterator[bytes]:
        """Iterate over the bytes of a file, in chunks. Raises `errors.CharmRefused` if they are broken."""
        left = self._members[path].file_size
        try:
            with self._archive.open(self._members[path]) as member:
                while piece := member.read(_PIECE_BYTES):
                    left -= len(piece)
                    yield piece
        except _BROKEN as error:
            raise _refused(path, "is broken, or packed in a way that is not known; pack the charm again") from error
        if left:
            raise _refused(path, "is cut off; pack the charm again")

    def manifest(self) -> tuple[Manifest, tuple[str, ...]]:
        """Read the manifest, and the warnings about it. Raises `errors.CharmRefused`."""
        texts = {name: self._text(name) for name in metadata.READ_FILES if name in self._members}
        return metadata.read_manifest(texts)

    def close(self) -> None:
        """Release the file."""
        self._archive.close()

    def _text(self, name: str) -> str:
        if (size := self._members[name].file_size) > metadata.MAX_MANIFEST_BYTES:
            raise _refused(name, f"has {size:,} bytes; at most {metadata.MAX_MANIFEST_BYTES:,} are allowed")
        try:
            return b"".join(self.read(name)).decode()
        except UnicodeDecodeError as error:
            raise _refused(name, "is not UTF-8; save it as UTF-8") from error


def pack(files: Iterable[NewFile]) -> bytes:
    """Pack files, in any order. Raises `errors.CharmRefused`."""
    buffer, names = io.BytesIO(), member_name.Names("charm")
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED, allowZip64=False) as archive:
        for file in sorted(files, key=lambda file: file.path):
            _add(names, file.path, is_folder=False)
            if len(file.content) + buffer.tell() > MAX_PACKED_BYTES:
                raise _too_large()
            member = zipfile.ZipInfo(file.path, _EPOCH)
            member.create_system = _UNIX
            member.external_attr = (stat.S_IFREG | (0o755 if file.is_executable else 0o644)) << 16
            archive.writestr(member, file.content)
    if buffer.tell() > MAX_PACKED_BYTES:
        raise _too_large()
    return buffer.getvalue()


def digest(file: BinaryIO) -> str:
    """Return a package's digest: `sha256:` and the hash of the whole file in hexadecimal digits."""
    found = hashlib.sha256()
    file.seek(0)
    while piece := file.read(_PIECE_BYTES):
        found.update(piece)
    return f"{DIGEST}{found.hexdigest()}"


def parse_digest(field: str, text: str) -> str:
    """Check the digest of a charm; raises `errors.InvalidField`."""
    if not _DIGEST.fullmatch(text):
        sentence = f"{parse.show(text)} is no digest of a charm; give sha256: and 64 hexadecimal digits"
        raise errors.InvalidField.of(field, sentence)
    return text


def open_package(file: BinaryIO) -> Package:
    """Read the list of a package's members. Raises `errors.CharmRefused`. Reading its files needs `file` open."""
    _check_end(file)
    try:
        archive = zipfile.ZipFile(file)
        members = archive.infolist()
    except _BROKEN as error:
        raise _refused(_PACKAGE, "is not a zip file, or is broken; pack it again") from error
    if len(members) > MAX_FILES:
        raise _too_many()
    if sum(member.file_size for member in members) > MAX_UNPACKED_BYTES:
        raise _refused(_PACKAGE, f"unpacks to more than {MAX_UNPACKED_BYTES:,} bytes; leave large files out")
    names = member_name.Names("charm")
    for member in members:
        _add(names, member.filename, is_folder=member.is_dir())
        _check_member(member)
    return Package(archive, members)


def check(file: BinaryIO) -> Charm:
    """Read a whole package, and return its charm. Raises `errors.CharmRefused`."""
    size = file.seek(0, io.SEEK_END)
    package = open_package(file)
    manifest, warnings = package.manifest()
    _check_kind(manifest, package.files)
    for each in package.files:
        for _ in package.read(each.path):
            pass
    package.close()
    warnings = (*warnings, *_missing_resources(manifest, package.files))
    return Charm(digest=digest(file), manifest=manifest, size=size, warnings=warnings)


def _missing_resources(manifest: Manifest, files: Sequence[File]) -> Iterator[str]:
    paths = {file.path for file in files}
    for name, each in sorted(manifest.resources.items()):
        if each.path not in paths:
            advice = f"give it with --resource {name}=FILE, or put it there as {each.path}"
            yield f"resources.{name} is not in the package, so that the charm does not get it; {advice}"


def _check_kind(manifest: Manifest, files: Sequence[File]) -> None:
    """Refuse files that do not belong to the charm's kind."""
    paths = [file.path for file in files]
    hooks = [file for file in files if file.path.startswith(HOOKS)]
    if manifest.kind is CharmKind.OPS:
        _check_ops(files)
        return
    if manifest.kind is CharmKind.NATIVE:
        if hooks:
            raise _refused(hooks[0].path, "is a hook, and the charm is native; leave out hooks/ or write kind: scripts")
        return
    _check_executable(file for file in hooks if "/" not in file.path.removeprefix(HOOKS))
    if not hooks and (ops := next((path for path in (DISPATCH, PROGRAM) if path in paths), None)):
        sentence = "belongs to a charm of ops, which has metadata.yaml or charmcraft.yaml in the place of charm.yaml"
        raise _refused(ops, f"{sentence}; or write executables in hooks/")


def _check_ops(files: Sequence[File]) -> None:
    """Refuse a charm of Juju without a program, or without a file that ops needs."""
    paths = {file.path: file for file in files}
    if charmcraft.METADATA_YAML not in paths:
        sentence = "is not a file that ops reads; give the folder of the charm, or pack it with charmcraft"
        raise _refused(charmcraft.CHARMCRAFT_YAML, sentence)
    if PROGRAM in paths:
        return
    if DISPATCH in paths:
        _check_executable([paths[DISPATCH]])
        return
    hooks = [file for file in files if file.path.startswith(HOOKS) and "/" not in file.path.removeprefix(HOOKS)]
    if not hooks:
        sentence = "is missing, and so are dispatch and hooks/; a charm of Juju has one of them"
        raise _refused(PROGRAM, f"{sentence}. Another kind of charm has charm.yaml")
    _check_executable(hooks)


def _check_executable(files: Iterable[File]) -> None:
    for file in files:
        if not file.is_executable:
            raise _refused(file.path, "is not executable; run chmod +x on it, and pack the charm again")


def _check_end(file: BinaryIO) -> None:
    """Check the size of the member list before it is read."""
    size = file.seek(0, io.SEEK_END)
    if size > MAX_PACKED_BYTES:
        raise _too_large()
    file.seek(max(0, size - _END.size - _MAX_COMMENT_BYTES))
    tail = file.read()
    at = tail.rfind(_END_MAGIC)
    if at < 0 or len(tail) - at < _END.size:
        raise _refused(_PACKAGE, "is not a zip file, or is cut off; pack the charm's folder as a zip")
    _, _, _, _, count, list_bytes, _, _ = _END.unpack_from(tail, at)
    if count > MAX_FILES:
        raise _too_many()
    if list_bytes > _MAX_LIST_BYTES:
        raise _refused(_PACKAGE, f"has a list of members of {list_bytes:,} bytes; leave files out of the charm")


def _check_member(member: zipfile.ZipInfo) -> None:
    mode = stat.S_IFMT(member.external_attr >> 16)
    if member.orig_filename != member.filename:
        raise _refused(member.filename, "has a name with a NUL in it; rename it")
    if stat.S_ISLNK(mode):
        raise _refused(member.filename, "is a link; put the file itself in its place")
    if mode and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise _refused(member.filename, "is neither a plain file nor a folder; leave it out")
    if member.flag_bits & _ENCRYPTED:
        raise _refused(member.filename, "is encrypted; pack it without a password")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _refused(member.filename, "is compressed in an unusual way; pack it with deflate")


def _add(names: member_name.Names, name: str, *, is_folder: bool) -> None:
    """Add the name of a member. Raises `errors.CharmRefused`."""
    try:
        names.add(name, is_folder=is_folder)
    except ValueError as error:
        raise _refused(name, str(error)) from error
    if len(names) > MAX_FILES:
        raise _too_many()


def _is_executable(member: zipfile.ZipInfo) -> bool:
    return bool(member.external_attr >> 16 & stat.S_IXUSR)


def _too_large() -> errors.CharmRefused:
    return _refused(_PACKAGE, f"has more than {MAX_PACKED_BYTES:,} bytes; leave large files out of the charm")


def _too_many() -> errors.CharmRefused:
    return _refused(_PACKAGE, f"has more than {MAX_FILES:,} members; leave files out, or pack them into fewer ones")


def _refused(member: str, description: str) -> errors.CharmRefused:
    return errors.CharmRefused([errors.Violation(parse.excerpt(member), description)])
