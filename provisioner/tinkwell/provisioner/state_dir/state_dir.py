"""The state directory: what the provisioners of one machine keep between their lives, and share.

    STATE_DIR/
      lock, lock.1, …                     the slots; each is held by the one provisioner that lives in it, and names its
                                          runtime
      opening                             held for the moment in which somebody takes a slot, or asks who lives
      instance                            an id that marks the containers started from here
      claims/KIND@OWNER@RUN.ATTEMPT       which slot watches a run; see `run_claim`
      workflows/WORKFLOW/WORKER/          the files of a workflow on a worker; actions see them as $WORKFLOW_DIR
      workflows/WORKFLOW/WORKER/data      the document that a workflow's actions share, whoever runs them
      workflows/WORKFLOW/boot/ACTION.ATTEMPT    the boot in which an attempt began that reboots its machine
      units/                              what the agent for units keeps; see `unit.folder`
      releases/RELEASE/NAME/              what resources of a release keep, where a plug of its manifest says so
      runs/RUN.ATTEMPT[.HOOK]/            runs of the process runtime; RUN is the id of an action or step
      logs/RUN.ATTEMPT[.HOOK]             where the output of a run of the Docker runtime began
      fed/RUN.ATTEMPT[.HOOK]              that a run of the Docker runtime has got all of its input

A workflow's files stay until it has succeeded or is deleted, so that a failed one can be looked at.

It belongs to the account of its provisioners, and others may not write there: by a link they could lead a provisioner
elsewhere. Where runs have an account of their own, that passes through to its own folders, and reads no other.
"""

import contextlib
import fcntl
import logging
import os
import re
import shutil
import stat
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

from tinkwell.core.value import ownership
from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.state_dir import document

logger = logging.getLogger(__name__)

SLOTS = 64
# Another account can open a path in the folder if it knows the name, but cannot list the folder.
_PASSAGE = 0o711
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:-]*")


class StateError(Exception):
    """The state directory cannot be used; the text says why."""


class StateDir:
    """A state directory in use. So many provisioners as there are slots may have it open, each in a slot of its own.

    Who comes back takes the first free slot, which after a death is the dead one's or an older one.
    """

    def __init__(self, path: Path, lock: int, *, slot: int, instance: str) -> None:
        self.path = path
        self.slot = slot
        self.instance = instance
        self._lock = lock
        self._has_passage = False

    @classmethod
    def open(cls, path: Path) -> Self:
        """Create the directory where it is missing and take a slot of it; raises `StateError`."""
        path = path.absolute()
        try:
            for name in ("", "workflows", "runs", "logs", "fed", "claims"):
                (path / name).mkdir(mode=0o700, parents=True, exist_ok=True)
                _check_owner(path / name, may_be_link=not name)
            with _opening(path):
                slot, lock = _take_slot(path)
                try:
                    if not any(_is_held(path, other) for other in range(SLOTS) if other != slot):
                        _sweep(path)  # what is unfinished belongs to nobody
                    return cls(path, lock, slot=slot, instance=_read_instance(path / "instance"))
                except OSError:
                    os.close(lock)
                    raise
        except OSError as error:
            raise StateError(f"the state directory {path} cannot be used: {error.strerror}") from error

    def note_runtime(self, name: str) -> None:
        """Say which runtime is used from here. Raises `StateError` where others who live here have another one.

        They would take each other's runs over, and could do nothing with them.
        """
        with _opening(self.path):
            for slot in range(SLOTS):
                if slot == self.slot or not _is_held(self.path, slot):
                    continue
                # Who has only just begun has said nothing yet, and finds what is said here.
                other = self.lock_file(slot).read_text("ascii")
                if other not in ("", name):
                    raise StateError(
                        f"another provisioner uses the state directory {self.path} with the runtime {other}, and this "
                        f"one has {name}: give it the same --runtime, or another --state-dir"
                    )
            os.truncate(self._lock, 0)
            os.pwrite(self._lock, name.encode("ascii"), 0)

    @property
    def owner(self) -> str:
        """Who this is to the server: the same for whoever lives in this slot, one after the other."""
        return f"{self.instance}/{self.slot}"

    def lock_file(self, slot: int) -> Path:
        """Return the file that who lives in a slot has locked."""
        return _lock_file(self.path, slot)

    def lock_inodes(self) -> dict[int, int]:
        """Return the slots that there are, by the inodes of their lock files."""
        found: dict[int, int] = {}
        for slot in range(SLOTS):
            with contextlib.suppress(FileNotFoundError):
                found[self.lock_file(slot).stat().st_ino] = slot
        return found

    def live_slots(self) -> frozenset[int]:
        """Return the slots in which others live."""
        with _opening(self.path):
            return frozenset(slot for slot in range(SLOTS) if slot != self.slot and _is_held(self.path, slot))

    def workflow_dir(self, workflow_id: str, worker_id: str) -> Path:
        """Return where a workflow's files on a worker are; it need not exist."""
        return self.path / f"workflows/{checked(workflow_id)}/{checked(worker_id)}"

    def bring_document(self, workflow_id: str, worker_id: str, *, content: bytes | None) -> None:
        """Write the document that a workflow's actions share; with None see that there is one. Raises `OSError`."""
        folder = self.workflow_dir(workflow_id, worker_id)
        if content is None:
            document.provide(folder)
        else:
            document.write(folder, content)

    def document_size(self, workflow_id: str, worker_id: str) -> int | None:
        """Return how large the document is, None where nothing has its name; raises `OSError`."""
        return document.size(self.workflow_dir(workflow_id, worker_id))

    def read_document(self, workflow_id: str, worker_id: str, *, max_bytes: int) -> bytes | None:
        """Return the document, None for none; of a larger one a byte more than `max_bytes`. Raises `OSError`."""
        return document.read(self.workflow_dir(workflow_id, worker_id), max_bytes=max_bytes)

    @property
    def release_dir(self) -> Path:
        """Where the folders of releases are by their ids; it need not exist."""
        return self.path / "releases"

    @property
    def unit_dir(self) -> Path:
        """Where the agent for units keeps all of its files; it need not exist."""
        return self.path / "units"

    def workflows(self) -> list[str]:
        """Return the ids of all workflows that have files here."""
        return sorted(entry.name for entry in (self.path / "workflows").iterdir() if _is_uuid(entry.name))

    def forget_workflow(self, workflow_id: str) -> None:
        """Remove a workflow's files; there need not be any."""
        path = self.path / "workflows" / checked(workflow_id)
        shutil.rmtree(path, ignore_errors=True)
        if path.exists():  # such as files that a container wrote as another user
            logger.warning("files of a workflow cannot be removed: path=%s", path)

    def note_boot(self, key: RunKey, boot_id: str) -> None:
        """Keep the boot of the machine in which an attempt begins; what was kept before stays."""
        path = self._boot_file(key)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, boot_id)
            # What reboots a machine may do it at once, without a word to the file system.
            for each in (path, path.parent, path.parent.parent, self.path / "workflows"):
                _flush(each)

    def noted_boot(self, key: RunKey) -> str:
        """Return the boot that was kept for an attempt, empty for none."""
        try:
            return self._boot_file(key).read_text("ascii", errors="replace")
        except FileNotFoundError:
            return ""

    def _boot_file(self, key: RunKey) -> Path:
        return self.path / "workflows" / checked(key.owner) / "boot" / run_name(key)

    def run_dir(self, key: RunKey) -> Path:
        """Return where the process runtime keeps a run; it need not exist."""
        return self.path / "runs" / run_name(key)

    def run_dirs(self) -> list[Path]:
        """Return where the process runtime keeps all its runs."""
        return sorted(path for path in (self.path / "runs").iterdir() if not is_scrap(path))

    def let_through(self) -> None:
        """Let other accounts pass through to what is theirs; they can list and read nothing that is ours."""
        for name in ("", "workflows", "runs", "releases"):
            (self.path / name).mkdir(exist_ok=True)
            (self.path / name).chmod(_PASSAGE)
        self._has_passage = True

    def clear_way(self, folder: Path) -> bool:
        """Let other accounts pass through to the folder of a workflow or release; False for any other folder."""
        above = list(folder.parents)
        for kept in (self.path / "workflows", self.release_dir):
            if kept in above:
                for each in above[: above.index(kept)]:
                    each.chmod(_PASSAGE)
                return True
        return False

    def create_run(self, key: RunKey, files: Mapping[str, bytes]) -> bool:
        """Create the folder of a run with these files, by their paths in it; False when it is there already.

        It comes complete or not at all.
        """
        path = self.run_dir(key)
        unfinished = _scrap(path)
        unfinished.mkdir(mode=0o700)
        for name, content in files.items():
            (unfinished / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(unfinished / name, content)
        if self._has_passage:
            unfinished.chmod(_PASSAGE)
        try:
            unfinished.rename(path)
        except OSError:
            shutil.rmtree(unfinished)
            if not path.exists():
                raise
            return False
        return True

    def close(self) -> None:
        """Free the slot for another provisioner."""
        os.close(self._lock)


def remove_run(path: Path) -> None:
    """Remove the folder of a run, completely or not at all as far as anyone sees; it need not be there."""
    if (scrap := take_run(path)) is not None:
        shutil.rmtree(scrap)


def take_run(path: Path) -> Path | None:
    """Take the folder of a run from where it is found, for removing; None where it is not there."""
    scrap = _scrap(path)
    try:
        path.rename(scrap)
    except FileNotFoundError:
        return None
    return scrap


def write_private(path: Path, content: bytes) -> None:
    """Write a new file that only we may read; it is not complete at once."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


def write_file(path: Path, text: str) -> None:
    """Write a file in ASCII that others see complete or not at all, however many write it at once."""
    unfinished = _scrap(path)
    write_private(unfinished, text.encode("ascii"))
    unfinished.replace(path)


def run_name(key: RunKey) -> str:
    """Return the name that files of a run have, and those of no other run."""
    name = f"{checked(key.run)}.{key.attempt}"
    return f"{name}.{checked(key.hook)}" if key.hook else name


def is_scrap(path: Path) -> bool:
    """Say whether this is what somebody has not finished, or removes."""
    return path.suffix == ".scrap"


def checked(name: str) -> str:
    """Return an id that names a file, having made sure that it names none elsewhere."""
    if not _NAME.fullmatch(name):
        raise StateError(f"{name!r} is not an id")
    return name


def _is_uuid(name: str) -> bool:
    try:
        return str(uuid.UUID(name)) == name
    except ValueError:
        return False


def _flush(path: Path) -> None:
    """Bring a file, or the entries of a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _scrap(path: Path) -> Path:
    """Return a name for what is not there yet, or not any more; the next provisioner sweeps what is left under it."""
    return path.with_name(f"{path.name}.{uuid.uuid4().hex}.scrap")


def _check_owner(path: Path, *, may_be_link: bool) -> None:
    """Raise `StateError` for a folder that others may change, or have put in the place of ours."""
    known = path.lstat()
    fault = ""
    if stat.S_ISLNK(known.st_mode) and may_be_link:
        fault = ownership.fault(owner=known.st_uid, mode=0, account=os.geteuid())
        known = path.stat()
    if not stat.S_ISDIR(known.st_mode):
        fault = "it is no folder, or a link to one: remove it"
    fault = fault or ownership.fault(owner=known.st_uid, mode=known.st_mode, account=os.geteuid())
    if fault:
        raise StateError(f"{path} cannot be used to keep state in: {fault}")


@contextlib.contextmanager
def _opening(path: Path) -> Iterator[None]:
    """Keep others from taking a slot and from asking who lives; each of them does so for a moment only."""
    handle = os.open(path / "opening", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _take_slot(path: Path) -> tuple[int, int]:
    """Return the first free slot and the handle that holds it."""
    for slot in range(SLOTS):
        lock = os.open(_lock_file(path, slot), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(lock)
            if not isinstance(error, BlockingIOError):
                raise
        else:
            os.truncate(lock, 0)
            return slot, lock
    raise StateError(f"{SLOTS} provisioners use the state directory {path}, and no more can; give this one its own")


def _is_held(path: Path, slot: int) -> bool:
    """Say whether somebody lives in a slot; only for who keeps others from taking one."""
    try:
        lock = os.open(_lock_file(path, slot), os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _lock_file(path: Path, slot: int) -> Path:
    return path / (f"lock.{slot}" if slot else "lock")


def _sweep(path: Path) -> None:
    for scrap in (path / "runs").glob("*.scrap"):
        shutil.rmtree(scrap)
    for folder in ("logs", "claims"):
        for scrap in (path / folder).glob("*.scrap"):
            scrap.unlink()


def _read_instance(path: Path) -> str:
    """Return the directory's id, drawn at its first use."""
    if path.exists():
        return path.read_text("ascii").strip()
    instance = uuid.uuid4().hex
    write_file(path, instance)
    return instance
