"""The limits of a child, and how it sets them for itself before it reads its first request."""

import ctypes
import json
import os
import resource
import signal
from dataclasses import asdict, dataclass

_MIB = 1024 * 1024
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
# Standard input, output and error are open, and no other file can be opened.
_OPEN_FILES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one call. Only `memory_bytes` counts for the child's whole life, its interpreter included.

    `cpu_seconds` of processor time are for each piece of a call (see `runner`), `wall_seconds` of the parent's clock
    for the whole call. Requests and answers are JSON texts.
    """

    memory_bytes: int = 256 * _MIB
    cpu_seconds: float = 1.0
    wall_seconds: float = 10.0
    request_bytes: int = 8 * _MIB
    answer_bytes: int = 16 * _MIB

    def dump(self) -> str:
        """Return the limits as JSON, for the child's command line."""
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> "Limits":
        """Read what `dump` returned."""
        return cls(**json.loads(text))


def leave_network() -> str:
    """Move this process to a new, empty network; return why it cannot, or ""."""
    libc = ctypes.CDLL(None, use_errno=True)
    # Without the right to do so, a process may do it in a user namespace, if the system allows these.
    for flags in (_CLONE_NEWNET, _CLONE_NEWUSER | _CLONE_NEWNET):
        if libc.unshare(flags) == 0:
            return ""
    return os.strerror(ctypes.get_errno())


def silence() -> None:
    """Discard standard error: the interpreter's messages at a failure may quote the input."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def set_limits(limits: Limits) -> None:
    """Set the limits for the rest of this process's life. No further imports are possible."""
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, 0)
    _lower(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _lower(resource.RLIMIT_AS, limits.memory_bytes)
    # The kernel's default action ends the process even in a loop in C, where no handler would run.
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)


def arm(seconds: float) -> None:
    """End this process after this many more seconds of processor time; 0 means never."""
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)


def _lower(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))
