"""The folder of an agent, with the data that must outlive its process.

FOLDER/lock         held by the agent that uses the folder
FOLDER/engine       the name under which the server knows the agent, also after a restart
FOLDER/outcomes     the effects of handlers, until the server has them (`client.unit.agent.outcome`)
FOLDER/storage      NAMESPACE/data/0: the content of storages
"""

import fcntl
import os
import shutil
import uuid
from pathlib import Path
from typing import Self

from tinkwell.charm import errors
from tinkwell.client.unit.agent.outcome import OutcomeFolder


class AgentFolder:
    """The folder, locked. Raises `OSError`."""

    def __init__(self, path: Path, lock: int, engine: str) -> None:
        self._path = path
        self._lock = lock
        self.engine = engine
        self.outcomes = OutcomeFolder(path / "outcomes")

    @classmethod
    def open(cls, path: Path) -> Self:
        """Create the folder if needed, and lock it. Raises `CharmError` if another agent uses it."""
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(lock)
            raise errors.CharmError(f"another agent uses {path}; give each its own --state-dir") from error
        except OSError:
            os.close(lock)
            raise
        return cls(path, lock, _engine(path / "engine"))

    def close(self) -> None:
        """Unlock the folder."""
        os.close(self._lock)

    def storage(self, namespace: str, name: str) -> Path:
        """Return the folder of a storage, such as `data/0`; it is created if needed."""
        kind, _, number = name.partition("/")
        if not all(each and each not in (".", "..") and "/" not in each for each in (namespace, kind, number)):
            raise errors.CharmError(f"{name!r} in {namespace!r} is no name of a storage")
        path = self._path / "storage" / namespace / kind / number
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    def storages(self, namespace: str) -> frozenset[str]:
        """Return the names of the storages in a namespace that have a folder."""
        parent = self._path / "storage" / namespace
        return frozenset(f"{path.parent.name}/{path.name}" for path in parent.glob("*/*"))

    def remove_storage(self, namespace: str, name: str) -> None:
        """Remove the folder of a storage with all that is in it."""
        shutil.rmtree(self.storage(namespace, name))


def _engine(path: Path) -> str:
    """Read the engine's name, which the first agent of the folder has chosen at random."""
    try:
        if engine := path.read_text().strip():
            return engine
    except FileNotFoundError:
        pass
    engine = f"charm:{uuid.uuid4()}"
    unfinished = path.with_suffix(".scrap")
    unfinished.write_text(engine)
    unfinished.replace(path)
    return engine
