"""Which of the provisioners that share a state directory watches a run.

    STATE_DIR/claims/ACTION.ATTEMPT -> SLOT:WORKFLOW

The server decides who may run an action. A claim says to the others on this machine that somebody does: a run that is
claimed by another one that lives is not cleared up behind its back, and its workflow's files stay. A claim is written
once the server has let its owner have the action, so a newer one means that the action has changed hands. One of a dead
owner means nothing. A hook's run belongs to whoever claims its attempt.

A claim is a symbolic link that leads nowhere: it is there with its content, or not at all, and to make, read or remove
one is a single step that takes the file system some microseconds. So claims are taken and dropped without a thread.
"""

from collections.abc import Container, Iterator
from pathlib import Path
from typing import Protocol

from tinkwell.core.decide import RunKey
from tinkwell.provisioner import state


class Claims(Protocol):
    """Where it is written who watches a run; everything uses files, and raises `OSError` where these fail."""

    def take(self, key: RunKey) -> None:
        """Claim a run, whoever had it before."""

    def drop(self, key: RunKey) -> None:
        """Claim a run no more; somebody else's claim stays."""

    def keep_only(self, keys: Container[RunKey]) -> None:
        """Drop all own claims but those of these attempts."""

    def others(self) -> frozenset[RunKey]:
        """Return the attempts that others who live have claimed."""


class ClaimFolder:
    """The claims of a state directory."""

    def __init__(self, directory: state.StateDir) -> None:
        self._directory = directory
        self._path = directory.path / "claims"

    def take(self, key: RunKey) -> None:
        """Claim a run, whoever had it before."""
        path, content = self._file(key), f"{self._directory.slot}:{key.workflow_id}"
        try:
            path.symlink_to(content)
        except FileExistsError:
            unfinished = path.with_name(f"{path.name}.{self._directory.slot}.scrap")
            unfinished.unlink(missing_ok=True)
            unfinished.symlink_to(content)
            unfinished.replace(path)

    def drop(self, key: RunKey) -> None:
        """Claim a run no more; somebody else's claim stays."""
        path = self._file(key)
        # Who takes it over in this very moment loses its claim. That is harmless: the action is over.
        if (found := _read(path)) is not None and found[1] == self._directory.slot:
            path.unlink(missing_ok=True)

    def keep_only(self, keys: Container[RunKey]) -> None:
        """Drop all own claims but those of these attempts."""
        for key, slot in self._claims():
            if slot == self._directory.slot and key not in keys:
                self.drop(key)

    def others(self) -> frozenset[RunKey]:
        """Return the attempts that others who live have claimed."""
        claims = [(key, slot) for key, slot in self._claims() if slot != self._directory.slot]
        living = self._directory.live_slots() if claims else frozenset[int]()
        return frozenset(key for key, slot in claims if slot in living)

    def _claims(self) -> Iterator[tuple[RunKey, int]]:
        for path in self._path.iterdir():
            action_id, _, attempt = path.name.rpartition(".")
            if attempt.isdecimal() and (found := _read(path)) is not None:
                yield RunKey(found[0], action_id, int(attempt)), found[1]

    def _file(self, key: RunKey) -> Path:
        return self._path / f"{state.checked(key.action_id)}.{key.attempt}"


def _read(path: Path) -> tuple[str, int] | None:
    """Return workflow and slot of a claim; None where there is none."""
    try:
        slot, _, workflow_id = str(path.readlink()).partition(":")
        return workflow_id, int(slot)
    except FileNotFoundError:
        return None
    except (ValueError, OSError) as error:
        raise OSError(f"{path} is damaged; remove it") from error
