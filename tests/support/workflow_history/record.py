"""Records of a run of workflows: what was meant, what was stored, and what the actions themselves wrote down.

They are plain data, so that judging them needs nothing that was running. Actions are told apart by their ids, workers
by the ids of their machines. Moments are in seconds since the epoch, by the one clock of the machine.
"""

import dataclasses
import enum
from collections.abc import Sequence

from tinkwell.core.event.kinds import EventType, ResourceType, State


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """What is meant to become of a workflow: `workers` of its actions in order, and how it may end.

    Where it ends as FAILED or TIMEOUT, the action of the index `culprit` must be why.
    """

    workflow_id: str
    workers: tuple[str, ...]
    ends: frozenset[State]
    culprit: int | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event about a workflow or an action, with what its data says; `parent_id` is an action's workflow.

    `index`, `worker_id` and `attempt` are an action's, `completed`, `total` and `blamed` (the id of the action that the
    cause names, or nothing) a workflow's.
    """

    revision: int
    resource_type: ResourceType
    resource_id: str
    parent_id: str
    event_type: EventType
    version: int
    state: State
    index: int = 0
    worker_id: str = ""
    attempt: int = 0
    completed: int = 0
    total: int = 0
    blamed: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Status:
    """An entry of the journal that the server keeps of each workflow, in its order."""

    workflow_id: str
    action_id: str
    worker_id: str
    state: State
    attempt: int
    exit_code: int | None
    at: float


class Mark(enum.StrEnum):
    """What a run writes down about itself."""

    BEGIN = "begin"
    END = "end"
    # It began while another run of the same action was alive, or any other run on the same machine.
    SAME_ACTION = "same action"
    SAME_MACHINE = "same machine"


@dataclasses.dataclass(frozen=True, slots=True)
class Effect:
    """A line of the journal that all runs write to, in the order in which they wrote; one that is killed has no END."""

    mark: Mark
    workflow_id: str
    action_id: str
    attempt: int
    worker_id: str
    at: float
    exit_code: int | None = None


@dataclasses.dataclass(slots=True)
class History:
    """Everything that is known in the end. `leftovers` tells what should not be there any more, a sentence each."""

    plans: Sequence[Plan]
    events: Sequence[Event]
    statuses: Sequence[Status]
    effects: Sequence[Effect]
    leftovers: Sequence[str] = ()
