"""The protocol of a runtime, which runs an image, streams its output, returns its exit code and kills it on demand.

A run is identified by its key, whoever started it, and outlives the provisioner. An adopted run behaves like a new one:
its output can be read again from the first line, with the same numbers, and its exit is kept. Nothing is forgotten
until `remove`.

A run may get input on stdin, and may be asked for an answer, which is its stdout. The answer and the lines of such a
run are kept only for the process that started it; if that process dies, its successor must kill the run and start it
again. Input may end early if that process dies; `was_fed` tells whether a run has got all of it.

Every runtime must pass the tests of `tests/unit/provisioner/conformance.py`.
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
    """A run did not begin, or its end or answer is not known; `reason` and the text say why."""

    def __init__(self, reason: Reason, message: str) -> None:
        self.reason = reason
        super().__init__(message)


def always() -> bool:
    """Permit a run to begin: the default of `may_begin`."""
    return True


def forbidden() -> RunError:
    """Make the error for a run that `may_begin` has forbidden."""
    return RunError(Reason.FORBIDDEN, "it may not begin any more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A folder or file of this machine, by its absolute path, and the path at which a run sees it.

    With `may_create` a missing source is created as an empty folder; without it, a run whose source is missing fails.
    """

    source: str
    target: str
    read_only: bool = False
    may_create: bool = False

    def provide(self) -> None:
        """Create the folder if it is missing and may be created; raises `OSError`."""
        if self.may_create:
            Path(self.source).mkdir(parents=True, exist_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """Everything that is needed to run one attempt at something.

    `entrypoint` is the program and `command` its arguments; each defaults to the image's own, but with an `entrypoint`
    the image's arguments are not used. `environment` holds KEY=value; the last entry of a name counts. `volumes` are
    bind mounts in Docker's syntax. `labels` have no prefix, and do not contain the key.

    `files` maps paths in the workspace to contents, for a run that begins there. With `stdin` the run gets these bytes,
    then end of file. Only a run with `stdin` may have files: if the process dies before they are written, `was_fed` is
    False and the successor kills the run. With `answer_bytes` above 0 the stdout is the run's answer, of at most this
    many bytes; a run that writes more is killed.
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
    """How a run ended. `seconds` is how long it took by the clock of its machine, None if that is not known."""

    code: int
    seconds: float | None = None
    note: str = ""


class Run(Protocol):
    """One run, from its start until it is removed. `lines` and `wait` may be used side by side, each once at a time."""

    @property
    def key(self) -> RunKey:
        """The identity of the run."""

    @property
    def image_id(self) -> str:
        """The digest of the image's content; empty if it is not known, which may be so before `wait`."""

    def lines(self) -> AsyncGenerator[OutputLine, None]:
        """Yield the output from the first line on, until the run has ended and all output was read.

        For a run that is asked for an answer these are the lines of stderr, and none if another process has asked.
        """

    async def wait(self) -> Exit:
        """Wait for the end, if the run has not ended yet. Raises `RunError` if the end cannot be known."""

    async def answer(self) -> bytes:
        """Return the answer of a run that was asked for one and has ended, also if it failed.

        Raises `RunError` with the reason ANSWER if it was too long, and LOST if a part of it is missing.
        """

    async def was_fed(self) -> bool:
        """Return whether the run has got all of its input, which is so for a run without input.

        A process that finds a run without all of its input must kill it, because nobody gives it the rest. Such a run
        may not have begun; once it is removed it does not begin.
        """

    async def kill(self) -> None:
        """Kill the run, and return when it is dead. Does nothing if it has ended."""

    async def remove(self) -> None:
        """Remove every trace of the run, and kill it if it still runs. Removing twice is fine."""


class Runtime(Protocol):
    """Runs images. Every method may raise `RunError`; none waits for ever if the runtime does not answer."""

    @property
    def name(self) -> str:
        """The name of the runtime on the command line."""

    @property
    def engine_id(self) -> str:
        """The id of the engine, empty if there is none. Provisioners with the same engine see the same runs."""

    @property
    def is_local(self) -> bool:
        """Whether runs are on this machine, so that mounts are paths of this machine."""

    def seen_at(self, mount: Mount) -> str:
        """Return the path at which a run sees a mount: its target, or its source if the runtime mounts nothing."""

    def workspace(self, key: RunKey) -> str:
        """Return the path of the run's workspace as the run sees it; the folder exists if it is the run's `workdir`.

        At first it holds only the run's `files`. It is removed with the run.
        """

    async def image_id(self, image: str) -> str:
        """Return the digest of an image's content; the image is pulled first if the pull policy says so."""

    async def start(self, spec: RunSpec, may_begin: Callable[[], bool] = always) -> Run:
        """Start a run, or return the run of this key if there is one, running or ended.

        `may_begin` is called right before the run begins, when `find` finds it already, and possibly in a thread. If it
        returns False, the run is removed and a `RunError` with FORBIDDEN is raised. So if a caller first forbids a run
        and then does not find it, the run never begins.

        A cancelled call returns only when no run can appear any more, so that a later `find` is right.
        """

    async def find(self, key: RunKey) -> Run | None:
        """Find a run, whoever started it, also if it has ended; None if it was removed or never started."""

    async def find_former(self, key: RunKey) -> list[Run]:
        """Find the runs of earlier attempts on this engine, whoever started them, with those of their hooks."""

    async def find_owned(self, kind: RunKind, owner: str) -> list[Run]:
        """Find all runs of a workflow or release on this engine, whoever started them, also if they have ended."""

    async def held(self, kind: RunKind) -> frozenset[RunKey]:
        """Return the keys of the runs of a kind that were started with this state directory and not removed."""

    async def close(self) -> None:
        """Close connections and threads; runs go on."""
