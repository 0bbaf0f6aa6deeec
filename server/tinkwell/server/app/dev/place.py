"""Where an embedded cluster keeps its files, and who may touch them.

    STATE_DIR/                    belongs to this process's account; others may not write there
    STATE_DIR/postgres.lock       held by the process that runs the cluster; nobody else may read, and so hold, it
    STATE_DIR/postgres/           entered by anyone, written by this process's account alone
        data/  socket/            PostgreSQL's account alone
        programs/                 a copy, only where PostgreSQL's account cannot read the installed ones
        hba.conf  ident.conf      read by PostgreSQL
        server.log                statements that failed are in it, so it is for this process's account alone

A process that runs as root hands `data` and `socket` to another account, and never writes into them, since that account
could lead it elsewhere by a link. For the same reason it works in no folder that others own or may write to, and opens
no link as one of its own files. Where that account cannot reach STATE_DIR, as below a private directory of root,
`STATE_DIR/postgres` is a link to a directory in /var/lib/tinkwell, and everything else stays the same.
"""

import errno
import fcntl
import logging
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tinkwell.core.value import ownership
from tinkwell.server.app.dev import account
from tinkwell.server.app.dev.account import Account

logger = logging.getLogger(__name__)

_ELSEWHERE = Path("/var/lib/tinkwell")
_LONGEST_SOCKET_BYTES = 107
_SMALL_BYTES = 4096
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._+-]+")


class NotAvailable(Exception):
    """The state directory cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """The directory of one cluster, and the account that PostgreSQL runs as there."""

    root: Path
    socket: Path
    account: Account

    @property
    def data(self) -> Path:
        """The data directory. It does not exist until the cluster is created."""
        return self.root / "data"

    @property
    def log(self) -> Path:
        """The log of PostgreSQL. Each start begins a new one."""
        return self.root / "server.log"

    def new_log(self) -> IO[bytes]:
        """Begin a new log that only this process's account can read. Raises `NotAvailable`."""
        return open_own(self.log, mode=0o600)

    def private_directory(self, name: str) -> Path:
        """Make an empty directory that only PostgreSQL's account can use."""
        directory = self.root / name
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(mode=0o700)
        os.chown(directory, self.account.uid, self.account.gid)
        return directory


@contextmanager
def claim(state_dir: Path) -> Iterator[Place]:
    """Hold the cluster of the state directory for this process. Raises `NotAvailable`."""
    state_dir = state_dir.absolute()
    with ExitStack() as stack:
        try:
            _make_directory(state_dir)
            check_owner(state_dir)
            _look_above(state_dir.resolve())
            stack.enter_context(_locked(state_dir / "postgres.lock"))
            root, user = _root(state_dir / "postgres")
            socket = stack.enter_context(_socket_directory(root, user))
        except OSError as error:
            raise NotAvailable(f"{state_dir} cannot be used: {error}; choose another state directory") from error
        except LookupError as error:
            raise NotAvailable(f"PostgreSQL needs an account with a name: {error}") from error
        yield Place(root, socket, user)


@contextmanager
def temporary(parent: Path | None = None) -> Iterator[Path]:
    """Make a state directory that is deleted at the end, with its cluster."""
    state_dir = Path(tempfile.mkdtemp(prefix="tinkwell-", dir=parent))
    try:
        state_dir.chmod(_mode())
        yield state_dir
    finally:
        shutil.rmtree((state_dir / "postgres").resolve(), ignore_errors=True)
        shutil.rmtree(state_dir, ignore_errors=True)


def check_owner(folder: Path) -> None:
    """Raise `NotAvailable` for a folder that other accounts may change, or a link that others have made."""
    known = folder.lstat()
    fault = ""
    if stat.S_ISLNK(known.st_mode):
        fault = ownership.fault(owner=known.st_uid, mode=0, account=os.geteuid())
        known = folder.stat()
    fault = fault or ownership.fault(owner=known.st_uid, mode=known.st_mode, account=os.geteuid())
    if fault:
        raise NotAvailable(f"{folder} cannot be used to keep state in: {fault}")


def _look_above(state_dir: Path) -> None:
    """Log a warning if others may replace the state directory by another folder. That is safe by itself."""
    for above in state_dir.parents:
        known = above.stat()
        # With the sticky bit, as on /tmp, users cannot replace each other's files.
        mode = 0 if known.st_mode & stat.S_ISVTX else known.st_mode & stat.S_IWOTH
        if ownership.fault(owner=known.st_uid, mode=mode, account=os.geteuid()):
            logger.warning(
                "other accounts may replace the state directory, since a folder above it is theirs to change",
                extra={"state_dir": state_dir, "folder": above},
            )
            return


def open_own(path: Path, *, mode: int, is_new: bool = True) -> IO[bytes]:
    """Open one of this account's own files to write, and make it empty if `is_new`. Raises `NotAvailable`.

    The file gets the mode, whatever it had before. A link is not followed.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags | (os.O_TRUNC if is_new else 0), mode)
        os.fchmod(descriptor, mode)
    except OSError as error:
        reason = "it is a link: remove it" if error.errno == errno.ELOOP else error.strerror
        raise NotAvailable(f"{path} cannot be written: {reason}") from error
    return os.fdopen(descriptor, "r+b")


def read_foreign(path: Path) -> str:
    """Read the beginning of a small text file of PostgreSQL's account. Raises `OSError`.

    That account may have replaced the file: a link is not followed, and reading never blocks.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_SMALL_BYTES).decode(errors="replace")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with open_own(path, mode=0o600, is_new=False) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = lock.read().decode(errors="replace").strip() or "unknown"
            raise NotAvailable(f"{path.parent} is in use by another tinkwell (process {holder})") from error
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n".encode())
        lock.flush()
        yield


def _root(home: Path) -> tuple[Path, Account]:
    if home.is_symlink() and not home.exists():
        home.unlink()
    if not home.exists():
        _make_directory(home)
    check_owner(home)
    root = home.resolve()
    data = root / "data"
    owner = _owner_of_data(data)
    if owner is not None and os.geteuid() not in (0, owner):
        raise NotAvailable(f"{data} belongs to another account: choose another state directory")
    user = account.unprivileged(owner=owner)
    if user.can_enter(root):
        return root, user
    if owner is not None:
        raise NotAvailable(f"the account {user.name}, which runs PostgreSQL, cannot reach {root}")
    home.rmdir()
    home.symlink_to(_elsewhere(), target_is_directory=True)
    return home.resolve(), user


def _owner_of_data(data: Path) -> int | None:
    try:
        known = data.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISDIR(known.st_mode):
        raise NotAvailable(f"{data} is no folder, or a link to one: remove it, or choose another state directory")
    return known.st_uid


def _elsewhere() -> Path:
    _make_directory(_ELSEWHERE)
    check_owner(_ELSEWHERE)
    directory = Path(tempfile.mkdtemp(prefix="dev-", dir=_ELSEWHERE))
    directory.chmod(_mode())
    return directory


def _make_directory(path: Path) -> None:
    if not path.is_dir():
        path.mkdir(parents=True)
        path.chmod(_mode())


def _mode() -> int:
    # For root, another account runs PostgreSQL, and has to reach its own part.
    return 0o711 if os.geteuid() == 0 else 0o700


@contextmanager
def _socket_directory(root: Path, user: Account) -> Iterator[Path]:
    # A path that is too long for a socket, or needs escaping in a URL, is replaced by a short one.
    wanted = root / "socket"
    name = str(wanted / ".s.PGSQL.5432")
    is_usable = len(os.fsencode(name)) <= _LONGEST_SOCKET_BYTES and _PLAIN_PATH.fullmatch(name)
    directory = wanted if is_usable else Path(tempfile.mkdtemp(prefix="tinkwell-", dir="/tmp"))
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        os.chown(directory, user.uid, user.gid, follow_symlinks=False)
        yield directory
    finally:
        if directory != wanted:
            shutil.rmtree(directory, ignore_errors=True)
