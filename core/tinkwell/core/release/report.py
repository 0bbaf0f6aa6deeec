"""The reports of a provisioner about an operation that it carries out.

Reports come in groups. A group is accepted as a whole or not at all, in its order. `transition.progress` judges them.
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
# The beginning of the message of a step and of its node if the step's result was lost; see `is_lost`.
STEP_LOST = "STEP_LOST"
# The beginning of the message of a step and of its node if the step cannot use its config; see `is_wrong_config`.
_WRONG_CONFIG = "its config is not what"
# In the message of a step and of its node if a plug is missing in the manifest; see `is_wrong_plug`.
_WRONG_PLUG = re.compile(r"(?:^|: |; )plugs\S*: is needed by \S+ \(.+\), but ")
_DRIFT = re.compile(r"[0-9a-f]{0,128}")


def fitting(message: str) -> str:
    """Return a message as it can be stored: within the limit, and without NUL.

    A message that was cut ends with an ellipsis, so that masking knows that a secret may be cut there, too.
    """
    message = message.replace("\0", "\\0")
    return message if len(message) <= MAX_MESSAGE else f"{message[: MAX_MESSAGE - 1]}…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of the resource protocol. `image` is "" for the resource's own; `args` None means the image's own."""

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
    """A node is in this state; `changed`: an action has run."""

    path: str
    state: NodeState
    changed: bool = False
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """A step is in this state; the first report about it inserts it.

    `ordinal` counts the steps of a node from 1, and `attempt` from 1. An action is inserted PENDING with attempt 0.
    PENDING with another attempt says that this attempt has ended without success, and that another one follows.
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
    """The new knowledge about a resource; None keeps a stored field.

    `init`, `config` and `state` are JSON text. `sensitive` are JSON pointers into config and state, whose values the
    server masks. It also masks the texts in `secrets`, which are not in these documents.
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
    """The resource of a removal's node no longer exists."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleReport:
    """An event was emitted; `chart` is the path of its chart, "" without charts.

    Each event of a chart is stored once: a further report of it, which comes when an operation is prepared again,
    replaces the former.
    """

    event: str
    chart: str = ""
    handlers: tuple[HandlerRun, ...] = ()
    outcome: Outcome = Outcome.SUCCEEDED
    message: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishReport:
    """The operation ends, as SUCCEEDED, FAILED, TIMEOUT or CANCELLED; `cause` is JSON text, "" after a success.

    `result` is a JSON object as text, "" for none: the document of a PLAN or a TEST, or an object with the `outputs` of
    an installation. `drift` is the result's member of that name: the receiver of the report reads it there
    (`drift_of`).
    """

    state: State
    cause: str = ""
    result: str = field(default="", repr=False)
    drift: str = ""


Report: TypeAlias = (
    PhaseReport | NodeReport | StepReport | ResourceReport | RemovedReport | LifecycleReport | FinishReport
)


def drift_of(result: Mapping[str, object]) -> str:
    """Return the drift in the result of a plan: a digest of the differences, "" for none.

    Raises `errors.InvalidField` for anything but up to 128 hexadecimal digits.
    """
    drift = result.get("drift", "")
    if not isinstance(drift, str) or not _DRIFT.fullmatch(drift):
        raise errors.InvalidField.of("result.drift", "is no digest; give at most 128 hexadecimal digits in lower case")
    return drift


def step_id(operation_id: str, path: str, ordinal: int) -> str:
    """Return the id of a step; it is always the same for the same arguments."""
    return str(uuid.uuid5(uuid.UUID(operation_id), f"{path}/{ordinal}"))


def is_lost(*, state: State | NodeState, message: str) -> bool:
    """Return whether a step's result was lost: its owner died, and the new owner uses another engine.

    Also returns whether a node failed by that, whose message then has the same beginning.
    """
    return state in (State.FAILED, NodeState.FAILED) and message.startswith(STEP_LOST)


def wrong_config(type_: str, problems: str) -> str:
    """Return that a config does not match the schema of the image of this type."""
    return f"{_WRONG_CONFIG} {type_} takes: {problems}"


def is_wrong_config(message: str) -> bool:
    """Return whether a step or a node failed because its image does not accept its config: a retry cannot help."""
    return message.startswith(_WRONG_CONFIG)


def wrong_plug(path: str, type_: str, problem: str) -> str:
    """Return that a resource of this type needs a plug, and what the manifest has instead."""
    return f"is needed by {path} ({type_}), but {problem}"


def is_wrong_plug(message: str) -> bool:
    """Return whether a step or a node failed by plugs that its manifest does not give: a retry cannot help."""
    return _WRONG_PLUG.search(message) is not None
