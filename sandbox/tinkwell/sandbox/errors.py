"""What can go wrong with a call of a child, as one tree.

SandboxError
├── Exceeded     the call needed more of something than it may have
├── Died         the child ended by itself, or somebody killed it
├── NotStarted   there is no child: it cannot be started, or it was closed
└── Failed       the module in the child raised an error: a defect of ours, and no matter of its input

After each of them the next call has a child that works.
"""


class SandboxError(Exception):
    """The root: `reason` says what happened, and `piece` is the piece of work at that time, or ""."""

    def __init__(self, reason: str, *, piece: str = "") -> None:
        self.reason = reason
        self.piece = piece
        super().__init__(f"{piece}: {reason}" if piece else reason)


class Exceeded(SandboxError):
    """The call needed more processor time, memory, wall time or space than its limits allow."""


class Died(SandboxError):
    """The child ended in the middle of the call."""


class NotStarted(SandboxError):
    """The child cannot be started, or was closed."""


class Failed(SandboxError):
    """The module in the child raised an error."""
