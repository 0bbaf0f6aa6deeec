"""Which of the provisioners that share a state directory watches a run.

    STATE_DIR/claims/WORKFLOW@ACTION.ATTEMPT     a hard link to the lock file of a slot

The server decides who may run an action. A claim says to the others on this machine that somebody does: a run that is
claimed by another one that lives is not cleared up behind its back, and its workflow's files stay. A claim is written
once the server has let its owner have the action, so a newer one means that the action has changed hands. One of a dead
owner means nothing. A hook's run belongs to whoever claims its attempt.

A claim is there as a whole, or not at all, and to make, read or remove one is a single step that takes the file system
some microseconds, so it is done without a thread. It is a link because no file is made for it: file systems take long
to find room for files where others have just been deleted. Its name begins with the workflow, so that those of one are
told from thousands of others by a glance at the folder.
"""

import os
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Protocol

from tinkwell.core.workflow.decide import RunKey
from tinkwell.provisioner.state_dir import state_dir


class Claims(Protocol):
    """Where it is written who watches a run; everything uses files, and raises `OSError` where these fail."""

    def take(self, key: RunKey) -> None:
        """Claim a run, whoever had it before."""

    def drop(self, key: RunKey) -> None:
        """Claim a run no more; somebody else's claim stays."""

    def keep_only(self, keys: Container[RunKey]) -> None:
        """Drop all own claims but those of these attempts."""

    def others(self, workflow_id: str = "") -> frozenset[RunKey]:
        """Return the attempts that others who live have claimed, of one workflow or of all."""


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

    def keep_only(self, keys: Container[RunKey]) -> None:
        """Drop all own claims but those of these attempts."""
        for key, slot in self._claims():
            if slot == self._directory.slot and key not in keys:
                self.drop(key)

    def others(self, workflow_id: str = "") -> frozenset[RunKey]:
        """Return the attempts that others who live have claimed, of one workflow or of all."""
        claims = [(key, slot) for key, slot in self._claims(workflow_id) if slot != self._directory.slot]
        living = self._directory.live_slots() if claims else frozenset[int]()
        return frozenset(key for key, slot in claims if slot in living)

    def _claims(self, workflow_id: str = "") -> Iterator[tuple[RunKey, int]]:
        wanted = f"{workflow_id}@" if workflow_id else ""
        with os.scandir(self._path) as entries:
            found = [(entry.name, entry.inode()) for entry in entries if entry.name.startswith(wanted)]
        for name, inode in found:
            known, _, run = name.partition("@")
            action_id, _, attempt = run.rpartition(".")
            if attempt.isdecimal() and (slot := self._slot(inode)) is not None:
                yield RunKey(known, action_id, int(attempt)), slot

    def _file(self, key: RunKey) -> Path:
        return self._path / f"{state_dir.checked(key.workflow_id)}@{state_dir.checked(key.action_id)}.{key.attempt}"

    def _read(self, path: Path) -> int | None:
        """Return the slot of a claim; None where there is none."""
        try:
            return self._slot(path.stat().st_ino)
        except FileNotFoundError:
            return None

    def _slot(self, inode: int) -> int | None:
        """Return the slot whose lock file this is; None where it is no one's, whose owner then is dead."""
        if inode not in self._slots:
            self._slots = self._directory.lock_inodes()
        return self._slots.get(inode)
