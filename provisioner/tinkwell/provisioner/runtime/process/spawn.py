"""Starts a program as a child of a supervisor, which must have no threads, and turns signals into bytes."""

import contextlib
import ctypes
import os
import signal
from collections.abc import Callable, Mapping, Sequence

STDOUT, STDERR = 1, 2
CHUNK_BYTES = 64 * 1024
_PR_SET_PDEATHSIG = 1

# User id, group id and the ids of other groups. (It is no `TypeAlias`, since importing `typing` takes time.)
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
    """Start a program in its own process group, and return its pid once it runs.

    `stdin` is the file that it reads, opened before the change of account; `out` and `err` are descriptors that it
    writes to. `account` must be able to enter `directory`. A program that `is_bound` is killed when this process dies.
    `record` is called with its pid before it begins; if this process dies before that, the program never begins. Raises
    `OSError` and `ValueError` if it cannot be started.
    """
    reader, writer = os.pipe()  # The start of the program closes `writer`.
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
            for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these, and the program would inherit that.
                signal.signal(number, signal.SIG_DFL)
            _await_opening(gate)
            os.execvpe(argv[0], list(argv), environment)  # noqa: S606
        except (OSError, ValueError) as error:
            # The name of a program that was looked up in PATH is in bytes here.
            if isinstance(error, OSError) and isinstance(error.filename, bytes):
                error.filename = os.fsdecode(error.filename)
            os.write(writer, str(error).encode(errors="replace"))
        finally:
            os._exit(127)
    os.close(writer)
    os.close(gate)
    record(pid)
    with contextlib.suppress(BrokenPipeError):  # The child has failed before it waited here.
        os.write(opener, b"g")
    os.close(opener)
    message = b"".join(iter(lambda: os.read(reader, CHUNK_BYTES), b""))
    os.close(reader)
    if message:
        os.waitpid(pid, 0)
        raise OSError(message.decode())
    return pid


def catch_signals() -> int:
    """Turn SIGCHLD and SIGTERM into bytes, and return the descriptor to read them from."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    return reader


def _await_opening(gate: int) -> None:
    """Wait until the program may begin, and exit if the supervisor is dead."""
    if not os.read(gate, 1):
        os._exit(127)


def _become(account: Account | None) -> None:
    if account is not None:
        uid, gid, groups = account
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
