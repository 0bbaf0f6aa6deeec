"""What a runtime does: run this image, stream its output, give its exit code, and let itself be stopped.

A run is known by its key alone, not by who started it. It outlives the provisioner, and a fresh one and an adopted one
are the same object: its output can be read from the first line again, with the same numbers, and its exit is still
there. Nothing is forgotten until `remove`.

`tests/unit/provisioner/conformance.py` holds what every runtime must pass.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.runtime.output import OutputLine


class Reason(StrEnum):
    """Why a run could not begin, or why its end is not known."""

    IMAGE = "image"
    SPECIFICATION = "specification"
    ENTRY_POINT = "entry point"
    UNAVAILABLE = "runtime unavailable"
    LOST = "lost"


class RunError(Exception):
    """A run did not begin, or its end is not known; `reason` says why, the text says it to people."""

    def __init__(self, reason: Reason, message: str) -> None:
        self.reason = reason
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """Everything that is needed to run one attempt at one action, or a hook. `environment` holds KEY=value."""

    key: RunKey
    worker_id: str
    task_name: str
    action_name: str
    image: str
    command: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    pid: str = ""

    def environment_in(self, workflow_dir: str) -> dict[str, str]:
        """Give the environment: who runs, where its workflow's files are, and what the action says, which wins."""
        own = {
            **({"TINKWELL_HOOK": self.key.hook} if self.key.hook else {}),
            "WORKFLOW_DIR": workflow_dir,
            "TINKWELL_WORKFLOW_ID": self.key.owner,
            "TINKWELL_ACTION_ID": self.key.run,
            "TINKWELL_ATTEMPT": str(self.key.attempt),
            "TINKWELL_WORKER_ID": self.worker_id,
        }
        return own | {name: value for name, _, value in (entry.partition("=") for entry in self.environment)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """How a run ended. `seconds` is how long it took by the clock of where it ran, None where that is not known."""

    code: int
    seconds: float | None = None
    note: str = ""


class Run(Protocol):
    """One run, from its start until it is removed. `lines` and `wait` may be used side by side, each once at a time."""

    @property
    def key(self) -> RunKey:
        """Who it is."""

    def lines(self) -> AsyncGenerator[OutputLine, None]:
        """Yield the output from the first line on; ends soon after the run has ended and all of it was read."""

    async def wait(self) -> Exit:
        """Wait for the end; at once when it has ended. Raises `RunError` when the end cannot be known."""

    async def kill(self) -> None:
        """Kill it, and return when it is dead. Does nothing to a run that has ended."""

    async def remove(self) -> None:
        """Remove every trace of it; kills it where it still runs. Removing twice is fine."""


class Runtime(Protocol):
    """Runs actions. Every method raises `RunError`, and none waits for ever where the runtime does not answer."""

    @property
    def name(self) -> str:
        """What it is called on the command line."""

    @property
    def engine_id(self) -> str:
        """Which engine it is, where one runtime may have several; who has the same one finds the same runs there."""

    async def start(self, spec: RunSpec) -> Run:
        """Start a run, or return the run of this key that is already there, whether it runs or has ended.

        When it is cancelled, it returns only after nothing more can come into being, so that `find` then tells the
        truth.
        """

    async def find(self, key: RunKey) -> Run | None:
        """Find a run that was started by anybody here, also one that has ended and was not removed."""

    async def find_former(self, key: RunKey) -> list[Run]:
        """Find the runs of former attempts at the same on this engine, whoever started them, hooks included."""

    async def find_owned(self, kind: RunKind, owner: str) -> list[Run]:
        """Find all runs of a workflow or release on this engine, whoever started them, also those that have ended."""

    async def held(self, kind: RunKind) -> frozenset[RunKey]:
        """Return the keys of all runs of a kind that were started from this state directory and not removed."""

    async def close(self) -> None:
        """Let go of everything; runs go on."""
