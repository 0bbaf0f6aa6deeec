"""Which of the provisioners that share a state directory watches a run.

    STATE_DIR/claims/ACTION.ATTEMPT      {"workflow_id": "…", "slot": 0}

The server decides who may run an action. A claim says to the others on this machine that somebody does: a run that is
claimed by another one that lives is not cleared up behind its back, and its workflow's files stay. A claim is written
once the server has let its owner have the action, so a newer one means that the action has changed hands. One of a dead
owner means nothing. A hook's run belongs to whoever claims its attempt.
"""

import json
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
        content = {"workflow_id": key.workflow_id, "slot": self._directory.slot}
        state.write_file(self._file(key), json.dumps(content))

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
        living = self._directory.live_slots()
        return frozenset(key for key, slot in self._claims() if slot in living) if living else frozenset()

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
        content = json.loads(path.read_bytes())
        return str(content["workflow_id"]), int(content["slot"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise OSError(f"{path} is damaged; remove it") from error
