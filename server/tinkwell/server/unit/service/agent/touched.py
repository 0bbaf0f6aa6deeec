"""Decides which units may have something due after an event of the log. It rather names too many units than too few.

A commit returns the next event of its unit, and a failed event is retried when its time has come, so neither of them
names its own unit.
"""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.core.event.selection import Selection
from tinkwell.core.unit.kinds import EventKind, Life
from tinkwell.server.unit.store.agent import wake

SELECTION = Selection(
    event_types=frozenset(
        {
            EventType.CREATED,
            EventType.UPDATED,
            EventType.DELETED,
            EventType.UNIT_EVENT_COMMITTED,
            EventType.UNIT_EVENT_SKIPPED,
            EventType.UNIT_EVENT_WITHDRAWN,
            EventType.UNIT_EVENT_ABANDONED,
            EventType.RELATION_CHANGED,
            EventType.TASK_TIMEOUT,
            EventType.TASK_CANCELLED,
            EventType.WORKFLOW_SUCCEEDED,
            EventType.WORKFLOW_FAILED,
            EventType.WORKFLOW_TIMEOUT,
            EventType.WORKFLOW_CANCELLED,
        }
    ),
    resource_types=frozenset(
        {
            ResourceType.APPLICATION,
            ResourceType.UNIT,
            ResourceType.UNIT_EVENT,
            ResourceType.RELATION,
            ResourceType.STORAGE,
            ResourceType.SECRET,
            ResourceType.TASK,
            ResourceType.WORKFLOW,
        }
    ),
)

# After these events other units see the unit, or the unit owes them nothing.
_ENTERS_OR_LEAVES = frozenset(
    {EventKind.RELATION_CREATED.value, EventKind.RELATION_DEPARTED.value, EventKind.RELATION_BROKEN.value}
)
_WORKFLOW_ENDS = frozenset(
    {
        EventType.WORKFLOW_SUCCEEDED,
        EventType.WORKFLOW_FAILED,
        EventType.WORKFLOW_TIMEOUT,
        EventType.WORKFLOW_CANCELLED,
        EventType.DELETED,
    }
)


@dataclasses.dataclass(slots=True)
class Touched:
    """The events that were received since units were last named; see `wake.Concerned` for the fields."""

    units: set[str] = dataclasses.field(default_factory=set)
    named: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    applications: set[str] = dataclasses.field(default_factory=set)
    related: set[str] = dataclasses.field(default_factory=set)
    in_relations: set[tuple[str, int]] = dataclasses.field(default_factory=set)
    relations: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    workflows: set[str] = dataclasses.field(default_factory=set)
    secrets: set[str] = dataclasses.field(default_factory=set)
    gone: set[str] = dataclasses.field(default_factory=set)
    """Units that are no more, which every agent is told, since nobody can say any more whose they were."""

    @property
    def is_empty(self) -> bool:
        """Whether there are no units to name."""
        return not any(getattr(self, field.name) for field in dataclasses.fields(self))

    def concerned(self) -> wake.Concerned:
        """Return what to look up in the database. Units that are gone are not included."""
        return wake.Concerned(
            units=self.units,
            named=self.named,
            applications=self.applications,
            related=self.related,
            in_relations=self.in_relations,
            relations=self.relations,
            workflows=self.workflows,
            secrets=self.secrets,
        )

    def hear(
        self, resource_type: ResourceType, event_type: EventType, *, resource_id: str, parent_id: str, data: str
    ) -> None:
        """Add the units that an event concerns."""
        match resource_type:
            case ResourceType.APPLICATION:
                self.applications.add(resource_id)
            case ResourceType.UNIT:
                self._hear_unit(event_type, resource_id, parent_id, json.loads(data))
            case ResourceType.STORAGE:
                if unit := json.loads(data).get("unit"):
                    self.named.add((parent_id, unit))
            case ResourceType.UNIT_EVENT:
                self._hear_unit_event(event_type, parent_id, json.loads(data))
            case ResourceType.RELATION:
                owner = json.loads(data)["owner"] if event_type is EventType.RELATION_CHANGED else ""
                self.relations.add((resource_id, owner.partition("/")[0]))
            case ResourceType.TASK:
                self.units.add(json.loads(data)["unit_id"])
            case _:
                self._hear_other(resource_type, event_type, resource_id)

    def _hear_other(self, resource_type: ResourceType, event_type: EventType, resource_id: str) -> None:
        if resource_type is ResourceType.SECRET:
            self.secrets.add(resource_id)
        elif resource_type is ResourceType.WORKFLOW and event_type in _WORKFLOW_ENDS:
            self.workflows.add(resource_id)

    def _hear_unit(self, event_type: EventType, unit_id: str, application_id: str, data: Mapping[str, Any]) -> None:
        if event_type is EventType.DELETED or data["life"] == Life.DEAD:
            self.gone.add(unit_id)
        else:
            self.units.add(unit_id)
        # A unit that is removed by force leaves its peers and all of its relations at once.
        if data["forced"]:
            self.related.add(application_id)

    def _hear_unit_event(self, event_type: EventType, application_id: str, data: Mapping[str, Any]) -> None:
        if event_type is not EventType.UNIT_EVENT_COMMITTED:
            self.units.add(data["unit_id"])
        if data["kind"] in _ENTERS_OR_LEAVES and data["relation"]:
            self.in_relations.add((application_id, data["relation"]["number"]))
