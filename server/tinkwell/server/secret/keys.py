"""The key file: one key per line. The first key seals, and all keys open.

    # Tinkwell's keys; see docs/how-to/secrets.md. What begins with # is a comment, and empty lines mean nothing.
    vCE0Yt2JkVd8oG0Qn3bq6zZ0v5J1mJc1cVb8kq8uQmA=
    3q2+7wABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhs=

A key is 32 random bytes in Base64. Its id is computed from it, so that a file contains only keys, different keys never
have the same id on two servers, and the order of lines can change. Each use of a key has a key of its own, derived from
it.

An account that can read the file can read every secret, and one that can write it can replace the keys. So the file
must belong to the account of the server, or to root, and no other account may read or write it (mode 0600 or 0400).
"""

import base64
import binascii
import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

KEY_BYTES = 32
ID_BYTES = 8
MAX_FILE_BYTES = 64 * 1024
_MODE = 0o600
_OTHERS = 0o077
_HEAD = "# Tinkwell's keys. The first one seals, all of them open. Whoever has this file can read every secret.\n"


class InvalidKeys(Exception):
    """The key file cannot be used or written. The text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key by its id, and the keys derived from it, one for each use."""

    id: bytes
    sealing: bytes = field(repr=False)

    @classmethod
    def of(cls, secret: bytes) -> "Key":
        """Make a key from 32 random bytes."""
        assert len(secret) == KEY_BYTES

        def derive(use: str) -> bytes:
            return hmac.new(secret, f"tinkwell {use}".encode(), hashlib.sha256).digest()

        return cls(derive("id")[:ID_BYTES], derive("seal"))


class Keys:
    """At least one key, in the order of the file."""

    def __init__(self, keys: Sequence[Key]) -> None:
        assert keys
        self._by_id = {key.id: key for key in keys}
        self.first = keys[0]

    @property
    def ids(self) -> Sequence[bytes]:
        """The ids of all keys, in the order of the file."""
        return list(self._by_id)

    def find(self, id: bytes) -> Key | None:  # noqa: A002  # the word for it
        """Return the key with an id."""
        return self._by_id.get(id)


def read(path: Path) -> Keys:
    """Read a key file. Raises `InvalidKeys`."""
    keys: list[Key] = []
    for number, line in enumerate(_read_text(path).splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        key = _parse(line.strip())
        if key is None:
            raise InvalidKeys(
                f"{path}: line {number} is no key, which is {KEY_BYTES} random bytes in Base64; "
                "`tinkwell secret keygen` makes one"
            )
        if any(key.id == other.id for other in keys):
            raise InvalidKeys(f"{path}: line {number} repeats a key; delete it")
        keys.append(key)
    if not keys:
        raise InvalidKeys(f"{path}: there is no key in it; `tinkwell secret keygen` makes one")
    return Keys(keys)


def create(path: Path, *, append: bool = False) -> Key:
    """Write a key file with a new key, or append a new key to an existing one. Raises `InvalidKeys`."""
    secret = secrets.token_bytes(KEY_BYTES)
    line = base64.b64encode(secret).decode() + "\n"
    if append:
        path = path.resolve()
        read(path)
        former = _read_text(path)
        text = former + ("" if former.endswith("\n") else "\n") + line
    else:
        text = _HEAD + line
    try:
        _write(path, text, may_exist=append)
    except FileExistsError as error:
        raise InvalidKeys(f"{path} exists; --append adds a key to it") from error
    except OSError as error:
        raise InvalidKeys(f"{path} cannot be written: {error.strerror or error}") from error
    return Key.of(secret)


def _parse(line: str) -> Key | None:
    try:
        secret = base64.b64decode(line, validate=True)
    except (binascii.Error, ValueError):
        return None
    return Key.of(secret) if len(secret) == KEY_BYTES else None


def _read_text(path: Path) -> str:
    """Return the content of the file, if only permitted accounts can have written it."""
    try:
        # The open file is checked, so that it cannot be replaced in between. Opening a pipe would block.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            _check(path, os.fstat(descriptor))
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InvalidKeys(f"{path} cannot be read: {error.strerror or error}") from error
    if len(content) > MAX_FILE_BYTES:
        raise InvalidKeys(f"{path} has more than {MAX_FILE_BYTES:,} bytes, so it is no key file")
    # A line that is not ASCII is not a key, and is reported by its number.
    return content.decode("ascii", errors="replace")


def _check(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise InvalidKeys(f"{path} is not a file")
    if status.st_uid not in (os.geteuid(), 0):
        raise InvalidKeys(
            f"{path} belongs to the account {status.st_uid}, "
            f"and must belong to {os.geteuid()}, which reads it, or to root"
        )
    if mode := stat.S_IMODE(status.st_mode) & _OTHERS:
        raise InvalidKeys(
            f"{path} may be used by others (mode {stat.S_IMODE(status.st_mode):04o}, of which {mode:04o} is too much); "
            f"run `chmod {_MODE:o} {path}`"
        )


def _write(path: Path, text: str, *, may_exist: bool) -> None:
    """Write the file so that it is complete or absent, and that no other account can ever read it."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            os.fchmod(descriptor, _MODE)
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        if may_exist:
            partial.replace(path)
        else:
            path.hardlink_to(partial)
    finally:
        partial.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
