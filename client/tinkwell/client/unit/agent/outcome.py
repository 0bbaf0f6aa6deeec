"""Outcome files: the effects of an attempt's handlers, on the disk before the server is told.

An agent keeps the outcome once the handlers have succeeded, then commits it, then drops it. A new agent first commits
the outcomes that it finds, so that those attempts need not be repeated: the server accepts them although their leases
are over. An attempt without an outcome file counts as lost, and is made again.

    FOLDER/UNIT_ID    a line of JSON {"event_id", "attempt", "lease_token", "sha256", "state", "task"}, and then the
    effects, whose digest is "sha256"; "state" and "task" only if they are set

There is at most one file for each unit, because a unit runs one event at a time. All calls block while they use the
disk.
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
    """The outcome of an attempt at a unit's event or task; `effects` are encoded as they are sent.

    `state` is the digest of the charm's state file after the attempt, empty if it keeps none.
    """

    unit_id: str
    event_id: str
    attempt: int
    lease_token: int
    effects: bytes
    state: str = ""
    task: TaskOutcome | None = None


def is_unit_id(name: str) -> bool:
    """Whether the name of a file or folder is the id of a unit."""
    try:
        return str(uuid.UUID(name)) == name
    except ValueError:
        return False


class OutcomeFolder:
    """The folder in which an agent keeps its outcomes. No other process may use it meanwhile. Raises `OSError`."""

    def __init__(self, path: Path) -> None:
        """Create the folder if needed, and remove files that a former agent did not finish."""
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = path
        for scrap in path.glob(f"*{_SCRAP}"):
            scrap.unlink()

    def keep(self, outcome: Outcome) -> None:
        """Write an outcome, which replaces the unit's former one; after the return it survives a power failure.

        Raises `ValueError` if the unit's id is no UUID.
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
        """Return a unit's outcome; None if there is none, or if its file does not match its digest.

        Raises `ValueError` if the unit's id is no UUID.
        """
        try:
            content = self._file(unit_id).read_bytes()
        except FileNotFoundError:
            return None
        return _read(unit_id, content)

    def drop(self, unit_id: str) -> None:
        """Remove a unit's outcome, if any. It may come back after a power failure; commits may be repeated."""
        with contextlib.suppress(FileNotFoundError):
            self._file(unit_id).unlink()

    def unit_ids(self) -> list[str]:
        """Return the ids of the units that have an outcome file, in order. Other files are ignored."""
        return sorted(path.name for path in self._path.iterdir() if is_unit_id(path.name) and path.is_file())

    def _file(self, unit_id: str) -> Path:
        # The id comes from a server. Parsing it as a UUID makes sure that it does not name a file elsewhere.
        return self._path / str(uuid.UUID(unit_id))

    def _flush(self) -> None:
        descriptor = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _read(unit_id: str, content: bytes) -> Outcome | None:
    """Parse a file; None if it does not match its digest."""
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
