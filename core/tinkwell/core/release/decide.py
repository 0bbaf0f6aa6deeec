"""What is to be done about an operation, here and now: a pure rule from what is known to commands."""

from collections.abc import Collection, Sequence

from tinkwell.core.release.command import Command
from tinkwell.core.release.view import OperationView, StepKey


def decide(view: OperationView, running: Collection[StepKey]) -> Sequence[Command]:
    """Return what is to be done; `running` are the steps that the caller starts, runs, adopts or stops at present."""
