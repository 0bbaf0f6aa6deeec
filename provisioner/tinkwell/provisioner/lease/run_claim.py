"""Which of the provisioners that share a state directory watches a run.

    STATE_DIR/claims/KIND@OWNER@RUN.ATTEMPT     a hard link to the lock file of a slot

KIND is `workflow` or `release`, OWNER the id of the workflow or release, RUN that of the action or step. The server
decides who may run it. A claim says to the others on this machine that somebody does: a run that is claimed by another
one that lives is not cleared up behind its back, and its workflow's files stay. A newer claim means that the run has
changed hands. One of a dead owner means nothing. A hook's run belongs to whoever claims its attempt.

The run of a step begins only while who starts it has the claim. So whoever takes an operation over claims its runs, and
lifts the claims to all others of its release, before it looks for them: what it does not find then never begins,
however long a former owner has slept.

A claim is there as a whole, or not at all, and to make, read or remove one is a single step that takes the file system
some microseconds, so it is done without a thread. It is a link because no file is made for it: file systems take long
to find room for files where others have just been deleted. Its name begins with its workflow or release, so that those
of one are told from thousands of others by a glance at the folder.
"""

import os
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Protocol

from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.state_dir import state_dir


class Claims(Protocol):
    """The record of which provisioner watches which run. Every method uses files, and raises `OSError` if they fail."""

    def take(self, key: RunKey) -> None:
        """Claim a run, whoever had it before."""

    def drop(self, key: RunKey) -> None:
        """Claim a run no more; somebody else's claim stays."""

    def has(self, key: RunKey) -> bool:
        """Say whether the newest claim to a run is our own; in any thread."""

    def keep_only(self, kind: RunKind, keys: Container[RunKey]) -> None:
        """Drop all own claims of a kind but those of these attempts."""

    def lift(self, kind: RunKind, owner: str, *, needed: Container[RunKey]) -> None:
        """Remove all claims to runs of a workflow or release, whosoever, but those that are needed."""

    def others(self, kind: RunKind, owner: str = "") -> frozenset[RunKey]:
        """Return the attempts of a kind that others who live have claimed, of one workflow or release or of all."""


class ClaimFolder:
    """The claims of a state directory."""

    def __init__(self, directory: state_dir.StateDir) -> None:
        self._directory = directory
        self._path = directory.path / "claims"
        # The slots that were found, by the inodes of their lock files.
        self._slots: dict[int, int] = {}

    def take(self, key: RunKey) -> None:
        """Claim a run, whoever had it before."""
        path, own = self._file(key), self._directory.lock_file(self._directory.slot)
        try:
            path.hardlink_to(own)
        except FileExistsError:
            if self._read(path) != self._directory.slot:
                unfinished = path.with_name(f"{path.name}.{self._directory.slot}.scrap")
                unfinished.unlink(missing_ok=True)
                unfinished.hardlink_to(own)
                unfinished.replace(path)

    def drop(self, key: RunKey) -> None:
        """Claim a run no more; somebody else's claim stays."""
        path = self._file(key)
        # Who takes it over in this very moment loses its claim. That is harmless: the action is over.
        if self._read(path) == self._directory.slot:
            path.unlink(missing_ok=True)

    def has(self, key: RunKey) -> bool:
        """Say whether the newest claim to a run is our own; in any thread."""
        return self._read(self._file(key)) == self._directory.slot

    def lift(self, kind: RunKind, owner: str, *, needed: Container[RunKey]) -> None:
        """Remove all claims to runs of a workflow or release, whosoever, but those that are needed."""
        for key, _ in self._claims(kind, owner):
            if key not in needed:
                self._file(key).unlink(missing_ok=True)

    def keep_only(self, kind: RunKind, keys: Container[RunKey]) -> None:
        """Drop all own claims of a kind but those of these attempts."""
        for key, slot in self._claims(kind):
            if slot == self._directory.slot and key not in keys:
                self.drop(key)

    def others(self, kind: RunKind, owner: str = "") -> frozenset[RunKey]:
        """Return the attempts of a kind that others who live have claimed, of one workflow or release or of all."""
        claims = [(key, slot) for key, slot in self._claims(kind, owner) if slot != self._directory.slot]
        living = self._directory.live_slots() if claims else frozenset[int]()
        return frozenset(key for key, slot in claims if slot in living)

    def _claims(self, kind: RunKind, owner: str = "") -> Iterator[tuple[RunKey, int]]:
        wanted = f"{kind}@{owner}@" if owner else f"{kind}@"
        with os.scandir(self._path) as entries:
            found = [(entry.name, entry.inode()) for entry in entries if entry.name.startswith(wanted)]
        for name, inode in found:
            known, _, rest = name.removeprefix(f"{kind}@").partition("@")
            run, _, attempt = rest.rpartition(".")
            if attempt.isdecimal() and (slot := self._slot(inode)) is not None:
                yield RunKey(kind, known, run, int(attempt)), slot

    def _file(self, key: RunKey) -> Path:
        run = f"{state_dir.checked(key.run)}.{key.attempt}"
        return self._path / f"{key.kind}@{state_dir.checked(key.owner)}@{run}"

    def _read(self, path: Path) -> int | None:
        """Return the slot of a claim; None if there is no such claim."""
        try:
            return self._slot(path.stat().st_ino)
        except FileNotFoundError:
            return None

    def _slot(self, inode: int) -> int | None:
        """Return the slot whose lock file has this inode; None if no slot has it, so the claim's owner is dead."""
        if inode not in self._slots:
            self._slots = self._directory.lock_inodes()
        return self._slots.get(inode)
