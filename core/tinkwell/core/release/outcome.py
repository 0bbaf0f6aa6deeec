"""How the view of an operation goes on with what happens, and what of it is reported."""

from dataclasses import dataclass

from tinkwell.core.event.kinds import State
from tinkwell.core.release.command import MoveNode, StartStep
from tinkwell.core.release.report import Report
from tinkwell.core.release.view import Answer, InitFacts, OperationView, StepKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an attempt at a step ended: SUCCEEDED, FAILED, TIMEOUT or CANCELLED.

    A call whose answer breaks the protocol has FAILED, and so has an `init` of which something does not fit the
    manifest. `answer` is that of a `state` or re-check that SUCCEEDED, `init` that of an `init`. For a re-check that
    says STALE `message` is the difference. `image_id`, `init_text`, `config` and `resource_state` are what is stored
    with the resource, None for what stays.
    """

    state: State
    exit_code: int | None = None
    message: str = ""
    answer: Answer | None = None
    init: InitFacts | None = None
    image_id: str | None = None
    init_text: str | None = None
    config: str | None = None
    resource_state: str | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """The view from now on, and the reports that tell it, which belong in one group."""

    view: OperationView
    reports: tuple[Report, ...]


def start(view: OperationView, command: StartStep) -> Settled:
    """Say what it changes that an attempt begins."""


def end(view: OperationView, key: StepKey, outcome: Outcome) -> Settled:
    """Say what the end of a step's attempt changes; of a StopStep, too."""


def move(view: OperationView, command: MoveNode) -> Settled:
    """Say what the move of a node changes."""
