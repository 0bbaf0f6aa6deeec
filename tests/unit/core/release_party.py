"""What takes part in a world of `unit.core.release_world`: an owner, containers, and what may happen to them."""

import datetime
from dataclasses import dataclass, replace
from typing import NamedTuple

from unit.core.release_model import OPERATION_ID, Store, StoredStep

from tinkwell.core.release.decision.view import Answer, OperationView, StepKey
from tinkwell.core.release.kinds import NodeKind, ResourceStatus
from tinkwell.core.release.plan import Plan
from tinkwell.core.release.record import Node, Step
from tinkwell.core.release.report import Call

ENGINES = ("a", "b")
ACTIONS = (Call(name="one"), Call(name="two"))
VALID = Answer(status=ResourceStatus.VALID, has_state=True)
STALE = Answer(status=ResourceStatus.STALE, has_state=True, actions=ACTIONS)
ABSENT = Answer(status=ResourceStatus.STALE, has_state=False, actions=ACTIONS[:1])
ANSWERS = {"valid": VALID, "stale": STALE, "absent": ABSENT}
NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


class Run(NamedTuple):
    """A container, by what it is an attempt at."""

    path: str
    ordinal: int
    attempt: int

    @property
    def step(self) -> StepKey:
        return StepKey(self.path, self.ordinal)


class Event(NamedTuple):
    """Something that may happen."""

    name: str
    run: Run | None = None
    how: str = ""


@dataclass(frozen=True)
class Container:
    """A container with effects; one that has ended has an exit code."""

    engine: str
    exit_code: int | None = None


@dataclass
class Owner:
    """Who carries the operation out. `waiting` are attempts whose container is not started yet."""

    engine: str
    view: OperationView
    running: frozenset[StepKey] = frozenset()
    waiting: frozenset[Run] = frozenset()

    def copy(self) -> "Owner":
        return replace(self)


def stored_nodes(plan: Plan, store: Store) -> list[tuple[Node, list[Step]]]:
    """Return each node that is stored with its steps, as an owner reads them."""
    return [(_node(plan, store, path), [_step(each) for each in store.steps[path]]) for path in store.nodes]


def _node(plan: Plan, store: Store, path: str) -> Node:
    stored = store.nodes[path]
    planned = next(each for each in plan.nodes if each.path == path)
    return Node(
        id=path,
        version=1,
        operation_id=OPERATION_ID,
        release_id="r",
        path=path,
        kind=NodeKind(planned.kind),
        task=planned.task,
        ordinal=0,
        batch=1,
        state=stored.row.state,
        changed=stored.changed,
        message=stored.message,
        created_at=NOW,
        updated_at=NOW,
        started_at=NOW if stored.is_started else None,
        finished_at=None,
    )


def _step(stored: StoredStep) -> Step:
    row, call = stored.row, stored.call
    return Step(
        id=f"{row.path}/{row.ordinal}",
        version=1,
        node_id=row.path,
        operation_id=OPERATION_ID,
        release_id="r",
        path=row.path,
        ordinal=row.ordinal,
        kind=row.kind,
        name=call.name,
        description=call.description,
        image=call.image,
        entrypoint=call.entrypoint,
        args=call.args,
        state=row.state,
        attempt=row.attempt,
        exit_code=stored.exit_code,
        message=stored.message,
        created_at=NOW,
        updated_at=NOW,
        started_at=None,
        finished_at=None,
    )
