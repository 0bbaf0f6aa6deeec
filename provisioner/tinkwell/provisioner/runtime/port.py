"""What a runtime does: run this image, stream its output, give its exit code, and let itself be stopped.

A run is known by its key alone, not by who started it. It outlives the provisioner, and a fresh one and an adopted one
are the same object: its output can be read from the first line again, with the same numbers, and its exit is still
there. Nothing is forgotten until `remove`.

A run may be given input, and may be asked for an answer, which is what it writes to stdout. A run that is asked belongs
to who asks: its answer and its lines are kept for that one alone, and where that one dies the run is to be killed, and
asked again. Input may end with who gives it; whether a run has all of it is what `was_fed` tells.

`tests/unit/provisioner/conformance.py` holds what every runtime must pass.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.runtime.output import OutputLine


class Reason(StrEnum):
    """Why a run could not begin, or why its end or its answer is not known."""

    IMAGE = "image"
    SPECIFICATION = "specification"
    ENTRY_POINT = "entry point"
    UNAVAILABLE = "runtime unavailable"
    LOST = "lost"
    FORBIDDEN = "forbidden"
    ANSWER = "answer"


class RunError(Exception):
    """A run did not begin, or its end or answer is not known; `reason` says why, the text says it to people."""

    def __init__(self, reason: Reason, message: str) -> None:
        self.reason = reason
        super().__init__(message)


def always() -> bool:
    """Permit a run to begin."""
    return True


def forbidden() -> RunError:
    """Return the error of a run that may not begin any more."""
    return RunError(Reason.FORBIDDEN, "it may not begin any more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A folder or file of this machine, by its absolute path, and where a run has it.

    One that `may_create` becomes an empty folder where it is missing; a run with any other that is missing does not
    begin.
    """

    source: str
    target: str
    read_only: bool = False
    may_create: bool = False

    def provide(self) -> None:
        """Create it where it is missing and may be created; raises `OSError`."""
        if self.may_create:
            Path(self.source).mkdir(parents=True, exist_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """Everything that is needed to run one attempt at something.

    `command` is the arguments, and `entrypoint` what they are for; without one of them it is the image's own, but an
    `entrypoint` does without the image's arguments. `environment` holds KEY=value, of which the last one counts.
    `volumes` are bind mounts in Docker's own words. `labels` are without prefix, and say nothing about the key.

    `files` are in the workspace of a run that begins there, by their paths in it. With `stdin` the run gets these
    bytes, then end of file; only such a run has files, so that who finds one that lacks them kills it. With
    `answer_bytes` above 0 its stdout is its answer, which is kept up to so many bytes; a run that writes more is
    killed.
    """

    key: RunKey
    image: str
    entrypoint: str = ""
    command: tuple[str, ...] | None = None
    environment: tuple[str, ...] = ()
    mounts: tuple[Mount, ...] = ()
    volumes: tuple[str, ...] = ()
    workdir: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    pid: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    stdin: bytes | None = field(default=None, repr=False)
    answer_bytes: int = 0

    def variables(self) -> dict[str, str]:
        """Return the environment by name."""
        return {name: value for name, _, value in (entry.partition("=") for entry in self.environment)}


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

    @property
    def image_id(self) -> str:
        """Return what names the content of its image; empty where that is not known, as it may be before `wait`."""

    def lines(self) -> AsyncGenerator[OutputLine, None]:
        """Yield the output from the first line on; ends soon after the run has ended and all of it was read.

        Of a run that is asked for an answer that is its stderr, and nothing where somebody else has asked.
        """

    async def wait(self) -> Exit:
        """Wait for the end; at once when it has ended. Raises `RunError` when the end cannot be known."""

    async def answer(self) -> bytes:
        """Return the answer of a run that was asked for one and has ended, however it ended.

        Raises `RunError` with the reason ANSWER where it was too long, and LOST where not all of it is here.
        """

    async def was_fed(self) -> bool:
        """Say whether it has got all of its input; so has one that was to get none.

        Who finds a run that has not kills it: nobody gives it the rest. It may not have begun; it does not once it is
        removed.
        """

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

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine, so that what is mounted is surely this machine's."""

    def seen_at(self, mount: Mount) -> str:
        """Return the path by which a run knows a mount: its target, or its source where nothing is mounted."""

    def workspace(self, key: RunKey) -> str:
        """Return the path of a folder as a run knows it, which is there if it is the run's `workdir`.

        Nothing is in it but the run's `files`, and what is written there goes with the run.
        """

    async def image_id(self, image: str) -> str:
        """Return what names the content of an image, which is fetched as the pull policy says."""

    async def start(self, spec: RunSpec, may_begin: Callable[[], bool] = always) -> Run:
        """Start a run, or return the run of this key that is already there, whether it runs or has ended.

        `may_begin` is asked, maybe in a thread, once `find` finds the new run, right before it begins. Where it says
        no, the run is removed, and a `RunError` says FORBIDDEN. So a run that is forbidden, and then not found, never
        begins.

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
