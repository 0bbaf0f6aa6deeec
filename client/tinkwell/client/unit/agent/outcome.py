"""Outcome files: what the handlers of an attempt have done, on the disk before the server is told.

Whoever runs a unit's handlers keeps the outcome once they have succeeded, then commits it, then drops it. An agent that
begins sends first what it finds here: those attempts need not be repeated, for their tokens' ends do not matter to the
server. An attempt that has no outcome file counts as lost, and is made again.

    FOLDER/UNIT_ID    a line of JSON {"event_id", "attempt", "lease_token", "sha256", "state", "task"}, and then the
                      effects, of which that is the digest; the last two only where they are given

There is at most one file for each unit, since one event of it is in flight at a time. All calls block for as long as
the disk takes.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinkwell.core.unit.effect import TaskOutcome
from tinkwell.core.unit.kinds import TaskState

_SCRAP = ".scrap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an attempt at a unit's event, or a task, has come to; `effects` are in whatever form they are sent in.

    `state` is the digest of a file that the charm keeps, as it is after the attempt, empty where it keeps none.
    """

    unit_id: str
    event_id: str
    attempt: int
    lease_token: int
    effects: bytes
    state: str = ""
    task: TaskOutcome | None = None


class OutcomeFolder:
    """The folder in which an agent keeps its outcomes. Nobody else may use it meanwhile. Raises `OSError`."""

    def __init__(self, path: Path) -> None:
        """Make the folder if it is not there, and remove what a predecessor did not finish writing."""
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = path
        for scrap in path.glob(f"*{_SCRAP}"):
            scrap.unlink()

    def keep(self, outcome: Outcome) -> None:
        """Write an outcome, in the place of the unit's former one; once this returns it outlives the machine's power.

        Raises `ValueError` where the unit's id is no UUID.
        """
        path = self._file(outcome.unit_id)
        header = {
            "event_id": outcome.event_id,
            "attempt": outcome.attempt,
            "lease_token": outcome.lease_token,
            "sha256": hashlib.sha256(outcome.effects).hexdigest(),
            **({"state": outcome.state} if outcome.state else {}),
            **({"task": dataclasses.asdict(outcome.task)} if outcome.task else {}),
        }
        unfinished = path.with_suffix(_SCRAP)
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(json.dumps(header).encode() + b"\n" + outcome.effects)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
        self._flush()

    def find(self, unit_id: str) -> Outcome | None:
        """Return a unit's outcome; None for none, and for a file whose content does not fit its digest.

        Raises `ValueError` where the unit's id is no UUID.
        """
        try:
            content = self._file(unit_id).read_bytes()
        except FileNotFoundError:
            return None
        return _read(unit_id, content)

    def drop(self, unit_id: str) -> None:
        """Remove a unit's outcome, if any. It may come back when the power fails: commits repeat safely."""
        with contextlib.suppress(FileNotFoundError):
            self._file(unit_id).unlink()

    def unit_ids(self) -> list[str]:
        """Return the ids of the units that have an outcome file, in order. What else is there is left alone."""
        return sorted(path.name for path in self._path.iterdir() if _is_id(path.name) and path.is_file())

    def _file(self, unit_id: str) -> Path:
        # The id comes from a server, and must not name a file elsewhere.
        return self._path / str(uuid.UUID(unit_id))

    def _flush(self) -> None:
        descriptor = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _is_id(name: str) -> bool:
    try:
        return str(uuid.UUID(name)) == name
    except ValueError:
        return False


def _read(unit_id: str, content: bytes) -> Outcome | None:
    """Read a file; one that the disk has not kept as it was written is worth nothing."""
    line, _, effects = content.partition(b"\n")
    try:
        header = json.loads(line)
        if header["sha256"] != hashlib.sha256(effects).hexdigest():
            return None
        return Outcome(
            unit_id=unit_id,
            event_id=str(header["event_id"]),
            attempt=int(header["attempt"]),
            lease_token=int(header["lease_token"]),
            effects=effects,
            state=str(header.get("state", "")),
            task=_task(header.get("task")),
        )
    except (ValueError, LookupError, TypeError):
        return None


def _task(header: dict[str, Any] | None) -> TaskOutcome | None:
    if header is None:
        return None
    return TaskOutcome(state=TaskState(header["state"]), result=str(header["result"]), message=str(header["message"]))
