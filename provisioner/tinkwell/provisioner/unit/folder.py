"""The folders of the units of a machine, and of their storages.

FOLDER/units/UNIT_ID/charm      the charm's files, in which its scripts begin
FOLDER/units/UNIT_ID/digest     the digest of the charm that is unpacked there, written last
FOLDER/units/UNIT_ID/process    the name of the process that runs for the unit, if one does; see `script`
FOLDER/units/UNIT_ID/state      which event the charm's state file belongs to, and `state.copy`; see `state.state_file`
FOLDER/storages/NAMESPACE/NAME  a storage instance, with a dash for the slash in its name
FOLDER/storages.history         the id of the event log that the storages belong to; see `sweep`
FOLDER/outcomes                 see `outcome`
FOLDER/venvs                    Python environments of charms; see `dispatch.venv`
FOLDER/servers                  names of the processes of fork servers; see `warm.server`
FOLDER/tools, run/socket, lock  the tools that programs call, their socket, and the lock that keeps a second agent out

Programs may run as another account. That account owns the charms and the storages, and can pass through the folders
above them; it has no access to anything else.
"""

import os
import pwd
import shutil
import uuid
from pathlib import Path
from typing import BinaryIO

from tinkwell.client.unit.agent.outcome import is_unit_id
from tinkwell.core.charm import package
from tinkwell.provisioner.runtime.process.account import Account
from tinkwell.provisioner.state_dir import state_dir
from tinkwell.provisioner.unit.state.state_file import StateFile

_STORAGES, _HISTORY = "storages", "history"
_EXECUTABLE, _PLAIN = 0o755, 0o644
# In a folder with `_PASSAGE`, other accounts can open entries whose names they know, but cannot list it.
_PRIVATE, _PASSAGE = 0o700, 0o711


class UnitFolder:
    """The folder of one unit, which need not exist. `account` owns the charm's files, None for the agent's own account.

    All calls block, and raise `OSError`.
    """

    def __init__(self, path: Path, account: Account | None = None) -> None:
        self.path = path
        self._account = account

    @property
    def charm(self) -> Path:
        """The folder of the charm's files."""
        return self.path / "charm"

    @property
    def record(self) -> Path:
        """The file that names the unit's running process."""
        return self.path / "process"

    @property
    def state(self) -> StateFile:
        """The state file of a charm of ops."""
        return StateFile(self.path, self.charm)

    def has_charm(self, digest: str) -> bool:
        """Return whether the charm with this digest is unpacked."""
        return self.digest == digest

    def new_package(self) -> BinaryIO:
        """Open a file for a package; it has no name, and is gone when it is closed."""
        self._make()
        path = self._scrap()
        file = path.open("xb+")
        path.unlink()
        return file

    def unpack(self, file: BinaryIO, digest: str) -> None:
        """Replace the unit's charm by the one in a package. Raises `errors.CharmRefused`."""
        new, old = self._scrap(), self._scrap()
        try:
            new.mkdir(mode=_EXECUTABLE)
            _unpack(file, new)
            if self._account is not None:
                _give(new, self._account)
            self.state.carry_over(new)
            self._digest.unlink(missing_ok=True)
            if self.charm.exists():
                self.charm.rename(old)
            new.rename(self.charm)
            _flush(self.path)
            state_dir.write_file(self._digest, digest)
        finally:
            for scrap in (new, old):
                shutil.rmtree(scrap, ignore_errors=True)

    def note_storage(self, namespace: str, name: str) -> None:
        """Remember a storage that the unit has."""
        noted = self.storages()
        if (namespace, name) not in noted:
            self._make()
            state_dir.write_file(self.path / _STORAGES, "".join(f"{a} {b}\n" for a, b in [*noted, (namespace, name)]))

    def storages(self) -> list[tuple[str, str]]:
        """Return the storages that the unit has or had, each by its namespace and its name."""
        try:
            lines = (self.path / _STORAGES).read_text("ascii").splitlines()
        except FileNotFoundError:
            return []
        return [(namespace, name) for namespace, _, name in (line.partition(" ") for line in lines)]

    @property
    def history(self) -> str:
        """The id of the event log that the unit belongs to; empty if it is not known."""
        try:
            return (self.path / _HISTORY).read_text("ascii")
        except FileNotFoundError:
            return ""

    def note_history(self, history_id: str) -> None:
        """Remember the id of the event log that the unit belongs to."""
        self._make()
        state_dir.write_file(self.path / _HISTORY, history_id)

    def sweep(self) -> None:
        """Remove files that a dead agent has left half done."""
        for scrap in self.path.glob("*.scrap"):
            shutil.rmtree(scrap) if scrap.is_dir() else scrap.unlink()

    def remove(self) -> None:
        """Remove all of the unit's files, but not its storages."""
        shutil.rmtree(self.path, ignore_errors=True)

    @property
    def digest(self) -> str:
        """The digest of the unpacked charm; empty if there is none."""
        try:
            return self._digest.read_text("ascii")
        except FileNotFoundError:
            return ""

    def _make(self) -> None:
        self.path.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        if self._account is not None:
            self.path.chmod(_PASSAGE)

    @property
    def _digest(self) -> Path:
        return self.path / "digest"

    def _scrap(self) -> Path:
        return self.path / f"{uuid.uuid4().hex}.scrap"


class Folders:
    """The folders of all units of a machine, and of its storages. Raises `OSError`."""

    def __init__(self, path: Path, account: Account | None = None) -> None:
        self.path = path
        self.account = account
        for folder in (path, self._units, self.venvs, path / "storages"):
            folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            folder.chmod(_PRIVATE if account is None else _PASSAGE)

    @property
    def outcomes(self) -> Path:
        """The folder of outcomes."""
        return self.path / "outcomes"

    @property
    def tools(self) -> Path:
        """The folder of the tools that programs call."""
        return self.path / "tools"

    @property
    def socket(self) -> Path:
        """The socket that tools connect to."""
        return self.path / "run/socket"

    @property
    def venvs(self) -> Path:
        """The folder of the Python environments of charms."""
        return self.path / "venvs"

    @property
    def servers(self) -> Path:
        """The folder with the process names of fork servers."""
        return self.path / "servers"

    @property
    def home(self) -> Path:
        """The home folder of the account that programs run as."""
        return Path.home() if self.account is None else Path(pwd.getpwuid(self.account.uid).pw_dir)

    @property
    def lock(self) -> Path:
        """The file that the agent locks."""
        return self.path / "lock"

    def unit(self, unit_id: str) -> UnitFolder:
        """Return the folder of a unit; raises `ValueError` if its id is no UUID."""
        return UnitFolder(self._units / str(uuid.UUID(unit_id)), self.account)

    def unit_ids(self) -> list[str]:
        """Return the ids of the units that have a folder; other entries are ignored."""
        return sorted(path.name for path in self._units.iterdir() if is_unit_id(path.name) and path.is_dir())

    def digests(self) -> set[str]:
        """Return the digests of the charms that are unpacked here."""
        return {self.unit(each).digest for each in self.unit_ids()} - {""}

    def give(self, storage: Path) -> None:
        """Make the account that programs run as the owner of a new storage."""
        if self.account is not None:
            storage.parent.chmod(_PASSAGE)
            self.account.give(storage)

    def storage(self, namespace: str, name: str) -> Path:
        """Return the folder of a storage instance, such as `data/0`; raises `state_dir.StateError`."""
        instance = state_dir.checked(name.replace("/", "-"))
        return self.path / "storages" / state_dir.checked(namespace) / instance

    def storages(self) -> list[tuple[str, str]]:
        """Return the storage instances that have a folder, each by its namespace and its name."""
        found = ((path.parent.name, path.name.rpartition("-")) for path in self.path.glob("storages/*/*"))
        return sorted((namespace, f"{kind}/{number}") for namespace, (kind, _, number) in found)

    @property
    def history(self) -> str:
        """The id of the event log that the storages belong to; empty if it is not known."""
        try:
            return self._history.read_text("ascii")
        except FileNotFoundError:
            return ""

    def note_history(self, history_id: str) -> None:
        """Remember the id of the event log that the storages belong to, unless there are storages of a known log."""
        if not self.history or not self.storages():
            state_dir.write_file(self._history, history_id)

    def remove_storage(self, namespace: str, name: str) -> None:
        """Remove the folder of a storage instance with its content, if it exists."""
        shutil.rmtree(self.storage(namespace, name), ignore_errors=True)

    @property
    def _history(self) -> Path:
        return self.path / "storages.history"

    @property
    def _units(self) -> Path:
        return self.path / "units"


def _unpack(file: BinaryIO, folder: Path) -> None:
    """Write the files of a package to a folder, and flush them to the disk. A package has no paths outside of it."""
    opened = package.open_package(file)
    for each in opened.files:
        path = folder / each.path
        path.parent.mkdir(mode=_EXECUTABLE, parents=True, exist_ok=True)
        with path.open("xb") as target:
            for piece in opened.read(each.path):
                target.write(piece)
            target.flush()
            os.fsync(target.fileno())
        path.chmod(_EXECUTABLE if each.is_executable else _PLAIN)
    opened.close()


def _give(folder: Path, account: Account) -> None:
    """Make an account the owner of a folder and its content. The account must not have access to it yet."""
    for path, _, files in os.walk(folder):
        for each in (path, *(f"{path}/{name}" for name in files)):
            os.chown(each, account.uid, account.gid, follow_symlinks=False)


def _flush(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
