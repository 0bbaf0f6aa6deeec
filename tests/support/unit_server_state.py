"""What the server of one unit knows, and what an attempt leaves of it; see `unit_server`."""

import dataclasses
from dataclasses import dataclass, field

from tinkwell.api.v1 import unit_service_pb2 as pb
from tinkwell.client.unit.event import EventRelation, EventSecret, UnitEvent
from tinkwell.client.unit.task import Task
from tinkwell.core.unit.effect import TaskOutcome
from tinkwell.core.unit.kinds import CharmKind, EventKind

UNIT_ID = "5b0d8a0e-8f0c-4b60-9f0b-6a4c2f0d9f11"
NAMES = {kind.value: kind for kind in EventKind}


@dataclass
class State:
    """All that the server knows. `in_flight` has the number, attempt and token of an event, and whether it failed."""

    packages: dict[str, bytes] = field(default_factory=dict)
    charm: str = ""
    names: list[str] = field(default_factory=list)
    done: int = 0
    in_flight: tuple[int, int, int, bool] | None = None
    token: int = 0
    is_gone: bool = False
    bag: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    # Name and attempt of what was committed, and why attempts have failed.
    committed: list[tuple[str, int]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    lost: int = 0
    statuses: list[str] = field(default_factory=list)
    lines: dict[tuple[int, int, int], tuple[str, str]] = field(default_factory=dict)
    kind: CharmKind = CharmKind.SCRIPTS
    # Tasks that wait; the one that runs, and under which token; and how each has ended, with all lines until then.
    asked: list[Task] = field(default_factory=list)
    running: tuple[Task, int] | None = None
    ended: dict[str, tuple[TaskOutcome, list[str]]] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    notices: list[tuple[int, str, str]] = field(default_factory=list)
    # What was done to secrets, and what those hold that the unit may read, by their revisions.
    secret_edits: list[str] = field(default_factory=list)
    secrets: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    ports: list[str] = field(default_factory=list)
    version: str = ""
    application_status: str = ""


def apply(state: State, effects: pb.Effects) -> None:
    """Do what an attempt has left."""
    for bag in effects.bags:
        for edit in bag.edits:
            key = f"app.{edit.key}" if bag.is_application else edit.key
            _edit(state.bag, key, edit.value if edit.HasField("value") else None)
    for edit in effects.state:
        _edit(state.kept, edit.key, edit.value if edit.HasField("value") else None)
    gone = {each.handler for each in effects.consumed}
    state.notices = [each for each in state.notices if each[1] not in gone]
    state.notices += [(each.ordinal, each.handler, each.event) for each in effects.deferred]
    state.secret_edits += [f"{each.WhichOneof('edit')} {each.id}" for each in effects.secrets]
    state.ports += [f"{each.number}/{each.protocol}" for each in effects.opened]


def event(number: int, attempt: int, name: str, secret: str = "") -> UnitEvent:
    """Make an event of its name, such as `db-relation-changed`."""
    kind = next(kind for text, kind in sorted(NAMES.items(), key=lambda each: -len(each[0])) if name.endswith(text))
    event = UnitEvent(str(number), kind=kind, ordinal=number + 1, attempt=attempt, unit="web/0", unit_id=UNIT_ID)
    if kind.is_relation:
        event = dataclasses.replace(event, relation=EventRelation(7, "db", application="pg", unit="pg/0"))
    if kind.is_secret:
        event = dataclasses.replace(event, secret=EventSecret(secret, revision=1))
    if kind.is_storage:
        event = dataclasses.replace(event, storage="data/0")
    return event


def _edit(content: dict[str, str], key: str, value: str | None) -> None:
    if value is None:
        content.pop(key, None)
    else:
        content[key] = value
