"""Starts one program as a child of a supervisor, which has no threads, and tells a supervisor what happens to it."""

import contextlib
import ctypes
import os
import signal
from collections.abc import Callable, Mapping, Sequence

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
    record: Callable[[int], None] = lambda _: None,
) -> int:
    """Start a program in a group of its own, and return its pid once it runs.

    `stdin` is a file that it reads, and `out` and `err` are what it writes to. As another account it may begin only
    where that may go; the file is opened before. One that `is_bound` is killed when this process dies. `record` is told
    its pid before it begins; where this process dies until then, it never begins. Raises `OSError` and `ValueError`
    where it does not run.
    """
    reader, writer = os.pipe()  # which is closed by the start of the program
    gate, opener = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(opener)
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
            _await_opening(gate)
            os.execvpe(argv[0], list(argv), environment)  # noqa: S606
        except (OSError, ValueError) as error:
            # A program that is looked for along PATH is told in bytes.
            if isinstance(error, OSError) and isinstance(error.filename, bytes):
                error.filename = os.fsdecode(error.filename)
            os.write(writer, str(error).encode(errors="replace"))
        finally:
            os._exit(127)
    os.close(writer)
    os.close(gate)
    record(pid)
    with contextlib.suppress(BrokenPipeError):  # it has failed before it got there
        os.write(opener, b"g")
    os.close(opener)
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


def _await_opening(gate: int) -> None:
    """Wait until a program may begin, and end where its supervisor is dead."""
    if not os.read(gate, 1):
        os._exit(127)


def _become(account: Account | None) -> None:
    if account is not None:
        uid, gid, groups = account
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
