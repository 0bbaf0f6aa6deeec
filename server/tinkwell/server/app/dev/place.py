"""Where an embedded cluster keeps its files, and who may touch them.

    STATE_DIR/postgres.lock       held by the process that runs the cluster
    STATE_DIR/postgres/           entered by anyone, written by this process's account alone
        data/  socket/            PostgreSQL's account alone
        programs/                 a copy, only where PostgreSQL's account cannot read the installed ones
        hba.conf  ident.conf      read by PostgreSQL
        server.log

A process that runs as root hands `data` and `socket` to another account, and never writes into them, since that account
could lead it elsewhere by a link. Where that account cannot reach STATE_DIR, as below a private directory of root,
`STATE_DIR/postgres` is a link to a directory in /var/lib/tinkwell, and everything else stays the same.
"""

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tinkwell.server.app.dev import account
from tinkwell.server.app.dev.account import Account

_ELSEWHERE = Path("/var/lib/tinkwell")
_LONGEST_SOCKET_BYTES = 107
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
        """The data directory; absent until the cluster was created."""
        return self.root / "data"

    @property
    def log(self) -> Path:
        """What PostgreSQL writes; begun anew by each start."""
        return self.root / "server.log"

    def private_directory(self, name: str) -> Path:
        """Make an empty directory that PostgreSQL's account alone can use."""
        directory = self.root / name
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(mode=0o700)
        os.chown(directory, self.account.uid, self.account.gid)
        return directory


@contextmanager
def claim(state_dir: Path) -> Iterator[Place]:
    """Hold the state directory's cluster for this process. Raises `NotAvailable`."""
    state_dir = state_dir.absolute()
    with ExitStack() as stack:
        try:
            _make_directory(state_dir)
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
    """Make a state directory that is deleted in the end with everything in it, its cluster included."""
    state_dir = Path(tempfile.mkdtemp(prefix="tinkwell-", dir=parent))
    try:
        state_dir.chmod(_mode())
        yield state_dir
    finally:
        shutil.rmtree((state_dir / "postgres").resolve(), ignore_errors=True)
        shutil.rmtree(state_dir, ignore_errors=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            raise NotAvailable(f"{path.parent} is in use by another tinkwell (process {holder})") from error
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def _root(home: Path) -> tuple[Path, Account]:
    if home.is_symlink() and not home.exists():
        home.unlink()
    if not home.exists():
        _make_directory(home)
    root = home.resolve()
    data = root / "data"
    owner = data.stat().st_uid if data.exists() else None
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


def _elsewhere() -> Path:
    _make_directory(_ELSEWHERE)
    directory = Path(tempfile.mkdtemp(prefix="dev-", dir=_ELSEWHERE))
    directory.chmod(_mode())
    return directory


def _make_directory(path: Path) -> None:
    if not path.is_dir():
        path.mkdir(parents=True)
        path.chmod(_mode())


def _mode() -> int:
    # Another account runs PostgreSQL for root, and has to get to its own part.
    return 0o711 if os.geteuid() == 0 else 0o700


@contextmanager
def _socket_directory(root: Path, user: Account) -> Iterator[Path]:
    # A path that is too long for a socket, or that a connection URL would have to escape, is replaced by a short one.
    wanted = root / "socket"
    name = str(wanted / ".s.PGSQL.5432")
    is_usable = len(os.fsencode(name)) <= _LONGEST_SOCKET_BYTES and _PLAIN_PATH.fullmatch(name)
    directory = wanted if is_usable else Path(tempfile.mkdtemp(prefix="tinkwell-", dir="/tmp"))
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        os.chown(directory, user.uid, user.gid)
        yield directory
    finally:
        if directory != wanted:
            shutil.rmtree(directory, ignore_errors=True)
