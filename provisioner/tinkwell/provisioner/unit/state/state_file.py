"""The file in which a charm of ops keeps its state, held to what the server has committed.

    UNIT/charm/.unit-state.db    the charm's: ops commits it before its process ends, the server commits after that
    UNIT/state                   one line, of the attempt that may have changed it: the id and the ordinal of its event,
                                 0 for a task, and whether there was a file before
    UNIT/state.copy              the file as it was before that attempt

    begin: copy ─▶ note       keep: drop the note ─▶ drop the copy
    restore: drop SQLite's leftovers ─▶ put the copy back ─▶ drop the note

A note is there from before an attempt until its end is settled: `keep` after the server has committed it, `restore` in
all other cases. Each of them may be repeated, and may be interrupted anywhere. A journal that SQLite has left would be
played into whatever file has the name, so it goes first. All calls block, and raise `OSError`.
"""

import contextlib
import hashlib
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from tinkwell.provisioner.state_dir import state_dir

NAME = ".unit-state.db"
_NOTE, _COPY = "state", "state.copy"
_LEFTOVERS = ("-journal", "-wal", "-shm")
_PRESENT, _ABSENT = "present", "absent"
_NOT_PLAIN = f"{NAME} is no plain file any more"


@dataclass(frozen=True, slots=True)
class StateFile:
    """The file of the unit with this folder, whose charm is in `charm`."""

    folder: Path
    charm: Path

    @property
    def path(self) -> Path:
        """The charm's file; it need not exist."""
        return self.charm / NAME

    def settle(self, committed_ordinal: int) -> None:
        """Hold the file to what is committed, where it is not known how the attempt has ended that may have changed it.

        Whoever knows has asked the server with the outcome of the attempt before this. `committed_ordinal` is that of
        the unit's newest event that is committed.
        """
        if (noted := self._noted()) is not None:
            if noted.ordinal and noted.ordinal == committed_ordinal:
                self.keep()
            else:
                self.restore()

    def begin(self, attempt_id: str, ordinal: int) -> None:
        """Remember the file as it is before an attempt, while nothing is unsettled. A task has the ordinal 0."""
        copy = self.folder / _COPY
        if self.path.is_symlink() or (self.path.exists() and not self.path.is_file()):
            raise OSError(_NOT_PLAIN)
        try:
            scrap = self.folder / f"{_COPY}.scrap"
            shutil.copy2(self.path, scrap, follow_symlinks=False)
            scrap.replace(copy)
            is_there = _PRESENT
        except FileNotFoundError:
            copy.unlink(missing_ok=True)
            is_there = _ABSENT
        # Its content goes to the disk with the note: what the note promises is there then.
        if is_there == _PRESENT:
            _flush(copy)
        state_dir.write_file(self.folder / _NOTE, f"{attempt_id} {ordinal} {is_there}")

    def keep(self) -> None:
        """Let the file stay as it is: the attempt is committed."""
        (self.folder / _NOTE).unlink(missing_ok=True)
        (self.folder / _COPY).unlink(missing_ok=True)

    def restore(self) -> None:
        """Have the file be as it was before the attempt that is unsettled, if one is."""
        noted = self._noted()
        if noted is None:
            return
        for leftover in _LEFTOVERS:
            _remove(self.path.with_name(NAME + leftover))
        if not noted.was_there:
            _remove(self.path)
        elif (copy := self.folder / _COPY).exists():  # otherwise it is back already
            if self.path.is_dir():  # nothing takes the place of a folder
                _remove(self.path)
            with contextlib.suppress(FileNotFoundError):
                _own_as(self.charm, copy)
            copy.replace(self.path)
        _flush(self.charm)
        self.keep()

    def carry_over(self, new: Path) -> None:
        """Give another charm, in a folder that is to take the place of this one, the file. Nothing may be unsettled."""
        with contextlib.suppress(FileNotFoundError):
            os.link(self.path, new / NAME, follow_symlinks=False)

    def fits(self, digest: str) -> bool:
        """Say whether the file is the one with this digest; what is no plain file never is."""
        try:
            return self.digest() == digest
        except OSError:
            return False

    def digest(self) -> str:
        """Return the SHA-256 of the file in hexadecimal digits; a word where there is none."""
        try:
            # A pipe in its place would never be open.
            handle = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return _ABSENT
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(_NOT_PLAIN)
            return hashlib.file_digest(file, "sha256").hexdigest()

    def _noted(self) -> "_Note | None":
        try:
            _, ordinal, is_there = (self.folder / _NOTE).read_text("ascii").split()
        except FileNotFoundError:
            return None
        return _Note(int(ordinal), is_there == _PRESENT)


@dataclass(frozen=True, slots=True)
class _Note:
    """What is noted of an attempt: the ordinal of its event, and whether there was a file before it."""

    ordinal: int
    was_there: bool


def _own_as(charm: Path, copy: Path) -> None:
    """Give the copy to who has the charm's files."""
    found = charm.stat()
    if os.geteuid() == 0 and found.st_uid != copy.stat().st_uid:
        os.chown(copy, found.st_uid, found.st_gid)


def _remove(path: Path) -> None:
    """Remove whatever a charm has put there; there need not be anything."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    # What a charm has put there meanwhile may be a link to a pipe, which would never be open.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
