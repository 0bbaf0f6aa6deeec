"""What a child may use, and how it binds itself to that before it sees its first request."""

import ctypes
import json
import os
import resource
import signal
from dataclasses import asdict, dataclass

_MIB = 1024 * 1024
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
# Standard input, output and error are open, and nothing else can be.
_OPEN_FILES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one call may use. Only `memory_bytes` counts for the child's whole life, its interpreter included.

    `cpu_seconds` of processor time are for each piece of a call (see `runner`), `wall_seconds` of the parent's clock
    for the whole. Requests and answers are JSON texts.
    """

    memory_bytes: int = 256 * _MIB
    cpu_seconds: float = 1.0
    wall_seconds: float = 10.0
    request_bytes: int = 8 * _MIB
    answer_bytes: int = 16 * _MIB

    def dump(self) -> str:
        """Write them as JSON, for the child's command line."""
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> "Limits":
        """Read what `dump` wrote."""
        return cls(**json.loads(text))


def leave_network() -> str:
    """Move this process to a network of its own, in which there is nothing; return why it stays, or an empty text."""
    libc = ctypes.CDLL(None, use_errno=True)
    # Whoever may not do so by right may do so in a user namespace of its own, where the system allows these.
    for flags in (_CLONE_NEWNET, _CLONE_NEWUSER | _CLONE_NEWNET):
        if libc.unshare(flags) == 0:
            return ""
    return os.strerror(ctypes.get_errno())


def silence() -> None:
    """Send standard error nowhere: what the interpreter prints when it fails may quote what it worked on."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def set_limits(limits: Limits) -> None:
    """Bind this process for the rest of its life. Nothing can be imported any more."""
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, 0)
    _lower(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _lower(resource.RLIMIT_AS, limits.memory_bytes)
    # The kernel's own action ends the process also in the middle of a loop in C, where no handler would run.
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)


def arm(seconds: float) -> None:
    """End this process after so many more seconds of processor time; 0 is never."""
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)


def _lower(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))
