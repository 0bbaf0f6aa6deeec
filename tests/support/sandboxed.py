"""What the child process of the sandbox's tests runs: it does what a request says, well or badly."""

import ctypes
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

_MIB = 1024 * 1024
_LIBC = ctypes.CDLL(None)
_PR_GET_DUMPABLE = 3


def handle(request: Any, begin: Callable[[str], None]) -> object:
    name, *arguments = request
    return _DOES[name](begin, *arguments)


def _echo(_: object, value: object) -> object:
    return value


def _facts(_: object) -> object:
    limits = ("AS", "NOFILE", "FSIZE", "CORE")
    return {
        "environment": dict(os.environ),
        "descriptors": sorted(int(name) for name in _descriptors()),
        "limits": {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in limits},
        "session": os.getsid(0) == os.getpid(),
        "group": os.getpgid(0) == os.getpid(),
        "modules": sorted(sys.modules),
        "site": sys.flags.no_site,
        "isolated": sys.flags.isolated,
        "dumpable": _LIBC.prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0),
    }


def _descriptors() -> list[str]:
    # No folder can be opened here to list them.
    found = []
    for number in range(64):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(str(number))
    return found


def _work(begin: Callable[[str], None], pieces: int, seconds: float) -> object:
    for number in range(pieces):
        begin(f"piece {number}")
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass
    return "done"


def _loop_in_c(begin: Callable[[str], None]) -> object:
    begin("a loop in C")
    return sum(range(10**12))


def _remember(begin: Callable[[str], None], size: int) -> object:
    begin("much memory")
    return len(bytearray(size * _MIB))


def _wait(begin: Callable[[str], None]) -> object:
    begin("a long wait")
    time.sleep(3600)
    return "done"


def _die(begin: Callable[[str], None], number: int) -> object:
    begin("death")
    os.kill(os.getpid(), number)
    return "done"


def _end(_: object, code: int) -> object:
    os._exit(code)


def _answer(_: object, size: int) -> object:
    return "x" * size


def _fail(_: object) -> object:
    raise ValueError("the secret is 123456")


def _no_json(_: object) -> object:
    return {1, 2}


def _open(_: object, path: str) -> object:
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError as error:
        return error.strerror
    return "opened"


def _connect(_: object, descriptor: int, port: int) -> object:
    """Connect by a socket in the place of standard error, since there is no room for another descriptor."""
    os.close(descriptor)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            return "connected"
    except OSError as error:
        return error.strerror
    finally:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)


_DOES: dict[str, Callable[..., object]] = {
    "echo": _echo,
    "facts": _facts,
    "work": _work,
    "loop in C": _loop_in_c,
    "remember": _remember,
    "wait": _wait,
    "die": _die,
    "end": _end,
    "answer": _answer,
    "fail": _fail,
    "no json": _no_json,
    "open": _open,
    "connect": _connect,
}
