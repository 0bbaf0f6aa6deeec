"""Where the units of a machine keep their files, and its storages.

FOLDER/units/UNIT_ID/charm      the charm's files, in which its scripts begin
FOLDER/units/UNIT_ID/digest     of what was unpacked there, written last
FOLDER/units/UNIT_ID/process    the name of the process that runs for the unit, if one does; see `script`
FOLDER/units/UNIT_ID/state      what the charm's own file is held to, and `state.copy`; see `state.state_file`
FOLDER/storages/NAMESPACE/NAME  a storage instance, with a dash for the slash in its name
FOLDER/storages.history         which log of events has the storages; see `sweep`
FOLDER/outcomes                 see `outcome`
FOLDER/venvs                    Python environments of charms; see `dispatch.venv`
FOLDER/servers                  names of the processes of fork servers; see `warm.server`
FOLDER/tools, run/socket, lock  what programs call, and what keeps a second agent out

Programs may run as another account. It gets through the folders above to a unit's charm and to storages, which are its
own, and to nothing else.
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
# Whoever knows a name in such a folder gets to it, and nobody else lists it.
_PRIVATE, _PASSAGE = 0o700, 0o711


class UnitFolder:
    """The folder of one unit; it need not exist. `account` has the charm's files, None for the agent's own.

    All calls block, and raise `OSError`.
    """

    def __init__(self, path: Path, account: Account | None = None) -> None:
        self.path = path
        self._account = account

    @property
    def charm(self) -> Path:
        """Where the charm's files are."""
        return self.path / "charm"

    @property
    def record(self) -> Path:
        """The file that names the process which runs for the unit."""
        return self.path / "process"

    @property
    def state(self) -> StateFile:
        """The file in which the charm keeps its state, if it is one of ops."""
        return StateFile(self.path, self.charm)

    def has_charm(self, digest: str) -> bool:
        """Say whether the charm with this digest is unpacked, and no other one."""
        return self.digest == digest

    def new_package(self) -> BinaryIO:
        """Open a file for a package, which is gone when it is closed."""
        self._make()
        path = self._scrap()
        file = path.open("xb+")
        path.unlink()
        return file

    def unpack(self, file: BinaryIO, digest: str) -> None:
        """Put the charm of a package in the place of the one that is there. Raises `errors.CharmRefused`."""
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
        """Return the storages that the unit has had, each by its namespace and its name."""
        try:
            lines = (self.path / _STORAGES).read_text("ascii").splitlines()
        except FileNotFoundError:
            return []
        return [(namespace, name) for namespace, _, name in (line.partition(" ") for line in lines)]

    @property
    def history(self) -> str:
        """Which log of events has the unit; empty where that is not known."""
        try:
            return (self.path / _HISTORY).read_text("ascii")
        except FileNotFoundError:
            return ""

    def note_history(self, history_id: str) -> None:
        """Remember which log of events has the unit."""
        self._make()
        state_dir.write_file(self.path / _HISTORY, history_id)

    def sweep(self) -> None:
        """Remove what a dead agent has not finished."""
        for scrap in self.path.glob("*.scrap"):
            shutil.rmtree(scrap) if scrap.is_dir() else scrap.unlink()

    def remove(self) -> None:
        """Remove all of the unit's files; its storages are none of them."""
        shutil.rmtree(self.path, ignore_errors=True)

    @property
    def digest(self) -> str:
        """The digest of the charm that is unpacked; empty for none."""
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
        """Where outcome files are."""
        return self.path / "outcomes"

    @property
    def tools(self) -> Path:
        """Where scripts find tools."""
        return self.path / "tools"

    @property
    def socket(self) -> Path:
        """Where tools are answered."""
        return self.path / "run/socket"

    @property
    def venvs(self) -> Path:
        """Where Python environments of charms are."""
        return self.path / "venvs"

    @property
    def servers(self) -> Path:
        """Where the names of fork servers are."""
        return self.path / "servers"

    @property
    def home(self) -> Path:
        """The home folder of who runs programs."""
        return Path.home() if self.account is None else Path(pwd.getpwuid(self.account.uid).pw_dir)

    @property
    def lock(self) -> Path:
        """What the agent that uses the folders holds."""
        return self.path / "lock"

    def unit(self, unit_id: str) -> UnitFolder:
        """Return the folder of a unit; raises `ValueError` where its id is no UUID."""
        return UnitFolder(self._units / str(uuid.UUID(unit_id)), self.account)

    def unit_ids(self) -> list[str]:
        """Return the ids of the units that have a folder. What else is there is left alone."""
        return sorted(path.name for path in self._units.iterdir() if is_unit_id(path.name) and path.is_dir())

    def digests(self) -> set[str]:
        """Return the digests of the charms that are unpacked here."""
        return {self.unit(each).digest for each in self.unit_ids()} - {""}

    def give(self, storage: Path) -> None:
        """Give a new storage to who runs programs."""
        if self.account is not None:
            storage.parent.chmod(_PASSAGE)
            self.account.give(storage)

    def storage(self, namespace: str, name: str) -> Path:
        """Return the folder of a storage instance, such as `data/0`. Raises `state_dir.StateError` for no names."""
        instance = state_dir.checked(name.replace("/", "-"))
        return self.path / "storages" / state_dir.checked(namespace) / instance

    def storages(self) -> list[tuple[str, str]]:
        """Return the storage instances that have a folder, each by its namespace and its name."""
        found = ((path.parent.name, path.name.rpartition("-")) for path in self.path.glob("storages/*/*"))
        return sorted((namespace, f"{kind}/{number}") for namespace, (kind, _, number) in found)

    @property
    def history(self) -> str:
        """Which log of events has the storages; empty where nothing says so."""
        try:
            return self._history.read_text("ascii")
        except FileNotFoundError:
            return ""

    def note_history(self, history_id: str) -> None:
        """Remember which log of events has the storages, unless there are some already, of whichever log."""
        if not self.history or not self.storages():
            state_dir.write_file(self._history, history_id)

    def remove_storage(self, namespace: str, name: str) -> None:
        """Remove the folder of a storage instance with all that is in it; there need not be one."""
        shutil.rmtree(self.storage(namespace, name), ignore_errors=True)

    @property
    def _history(self) -> Path:
        return self.path / "storages.history"

    @property
    def _units(self) -> Path:
        return self.path / "units"


def _unpack(file: BinaryIO, folder: Path) -> None:
    """Write the files of a package, which names none outside of the folder, and see them on the disk."""
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
    """Give a folder that is not in its place yet to an account, with all that is in it."""
    for path, _, files in os.walk(folder):
        for each in (path, *(f"{path}/{name}" for name in files)):
            os.chown(each, account.uid, account.gid, follow_symlinks=False)


def _flush(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
