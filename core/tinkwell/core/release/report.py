"""What a provisioner reports about an operation that it carries out.

Reports go in groups, each of which is taken whole or not at all, in its order. `transition.progress` judges them.
"""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeState, Phase, ResourceStatus, StepKind
from tinkwell.core.release.lifecycle_event.run import HandlerRun, Outcome

MAX_MESSAGE = 1_000
# How the message of a step, or of its node, begins of which nobody can tell how it ended; see `is_lost`.
STEP_LOST = "STEP_LOST"
# How the message of a step, and of its node, begins that cannot be done with its config; see `is_wrong_config`.
_WRONG_CONFIG = "its config is not what"
# What the message of a step, and of its node, says that lacks a plug of its manifest; see `is_wrong_plug`.
_WRONG_PLUG = re.compile(r"(?:^|: |; )plugs\S*: is needed by \S+ \(.+\), but ")
_DRIFT = re.compile(r"[0-9a-f]{0,128}")


def fitting(message: str) -> str:
    """Return a message as it can be stored: no longer than it may be, and without NUL.

    One that is cut ends with an ellipsis, so that whoever masks it knows that a secret may be cut there as well.
    """
    message = message.replace("\0", "\\0")
    return message if len(message) <= MAX_MESSAGE else f"{message[: MAX_MESSAGE - 1]}…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of the resource protocol. An empty `image` is the resource's own; `args` None leaves the image's own."""

    name: str
    description: str = ""
    image: str = ""
    entrypoint: str = ""
    args: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class PhaseReport:
    """The operation is in this phase."""

    phase: Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReport:
    """A node is in this state; `changed` says that an action has run."""

    path: str
    state: NodeState
    changed: bool = False
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """A step is in this state; the first report about it inserts it.

    `ordinal` counts the steps of a node from 1, and `attempt` from 1. An action is inserted PENDING with attempt 0;
    PENDING with another attempt says that this one has ended without success, and that another is left.
    """

    path: str
    ordinal: int
    kind: StepKind
    state: State
    attempt: int
    call: Call = field(default_factory=lambda: Call(name=""))
    exit_code: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceReport:
    """What is known of a resource from now on; what is None stays. `init`, `config` and `state` are JSON text.

    `sensitive` are JSON pointers into config and state, whose secrets the server keeps from sight. So it does with
    `secrets`, texts which are not in these documents.
    """

    path: str
    type: str
    status: ResourceStatus
    image_id: str | None = None
    init: str | None = None
    config: str | None = None
    state: str | None = None
    owned: bool | None = None
    sensitive: tuple[str, ...] = ()
    secrets: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class RemovedReport:
    """The resource of a node that removes it is no more."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleReport:
    """An event was emitted; `chart` is the path of the one whose event it is, empty without charts.

    It is kept once for each event of a chart: another report of it, which comes when an operation is prepared anew,
    takes the place of the former one.
    """

    event: str
    chart: str = ""
    handlers: tuple[HandlerRun, ...] = ()
    outcome: Outcome = Outcome.SUCCEEDED
    message: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishReport:
    """The operation ends, as SUCCEEDED, FAILED, TIMEOUT or CANCELLED; `cause` is JSON text, empty after a success.

    `result` is what a PLAN or a TEST came to, or of what was brought about its member `outputs`: a JSON object as text,
    empty for nothing. `drift` is its member of that name: whoever takes the report reads it there (`drift_of`).
    """

    state: State
    cause: str = ""
    result: str = field(default="", repr=False)
    drift: str = ""


Report: TypeAlias = (
    PhaseReport | NodeReport | StepReport | ResourceReport | RemovedReport | LifecycleReport | FinishReport
)


def drift_of(result: Mapping[str, object]) -> str:
    """Return what the result of a plan says of drift: a digest of what differs, empty for nothing.

    Raises `errors.InvalidField` for anything but up to 128 hexadecimal digits.
    """
    drift = result.get("drift", "")
    if not isinstance(drift, str) or not _DRIFT.fullmatch(drift):
        raise errors.InvalidField.of("result.drift", "is no digest; give at most 128 hexadecimal digits in lower case")
    return drift


def step_id(operation_id: str, path: str, ordinal: int) -> str:
    """Return the id of a step: whoever carries the operation out finds the same one."""
    return str(uuid.uuid5(uuid.UUID(operation_id), f"{path}/{ordinal}"))


def is_lost(*, state: State | NodeState, message: str) -> bool:
    """Return whether nobody can tell how a step ended, since its owner died and its engine is another one's.

    Also whether a node failed by that, for which the message of the node says so as well.
    """
    return state in (State.FAILED, NodeState.FAILED) and message.startswith(STEP_LOST)


def wrong_config(type_: str, problems: str) -> str:
    """Say that a config does not match the schema of the image of this type."""
    return f"{_WRONG_CONFIG} {type_} takes: {problems}"


def is_wrong_config(message: str) -> bool:
    """Return whether a step or a node failed by a config that is not what its image takes: no other try helps."""
    return message.startswith(_WRONG_CONFIG)


def wrong_plug(path: str, type_: str, problem: str) -> str:
    """Say that a resource of this type needs a plug, and what the manifest has in its place."""
    return f"is needed by {path} ({type_}), but {problem}"


def is_wrong_plug(message: str) -> bool:
    """Return whether a step or a node failed by plugs that its manifest does not give: no other try helps."""
    return _WRONG_PLUG.search(message) is not None
