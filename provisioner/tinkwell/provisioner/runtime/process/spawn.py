"""Starts one program as a child of a supervisor, which has no threads, and tells a supervisor what happens to it."""

import ctypes
import os
import signal
from collections.abc import Mapping, Sequence

STDOUT, STDERR = 1, 2
CHUNK_BYTES = 64 * 1024
_PR_SET_PDEATHSIG = 1

# Numbers of the account, of its group, and of its other groups. (An alias that says so would load `typing`.)
Account = tuple[int, int, list[int]]


def spawn(
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    out: int,
    err: int,
    stdin: str | None = None,
    directory: str | None = None,
    account: Account | None = None,
    is_bound: bool = False,
) -> int:
    """Start a program in a group of its own, and return its pid once it runs.

    `stdin` is a file that it reads, and `out` and `err` are what it writes to. As another account it may begin only
    where that may go; the file is opened before. One that `is_bound` is killed when this process dies. Raises `OSError`
    and `ValueError` where it does not run.
    """
    reader, writer = os.pipe()  # which is closed by the start of the program
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            if stdin is not None:
                os.dup2(os.open(stdin, os.O_RDONLY), 0)
            os.dup2(out, STDOUT)
            os.dup2(err, STDERR)
            _become(account)
            if is_bound:
                ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if directory is not None:
                os.chdir(directory)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these, and a child would inherit that
                signal.signal(number, signal.SIG_DFL)
            os.execvpe(argv[0], list(argv), environment)  # noqa: S606
        except (OSError, ValueError) as error:
            # A program that is looked for along PATH is told in bytes.
            if isinstance(error, OSError) and isinstance(error.filename, bytes):
                error.filename = os.fsdecode(error.filename)
            os.write(writer, str(error).encode(errors="replace"))
        finally:
            os._exit(127)
    os.close(writer)
    message = b"".join(iter(lambda: os.read(reader, CHUNK_BYTES), b""))
    os.close(reader)
    if message:
        os.waitpid(pid, 0)
        raise OSError(message.decode())
    return pid


def catch_signals() -> int:
    """Turn SIGCHLD and SIGTERM into bytes, and return where they can be read."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    return reader


def _become(account: Account | None) -> None:
    if account is not None:
        uid, gid, groups = account
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
