"""Events and rules, made for tests."""

import datetime
import uuid
from typing import Any

from tinkwell.client.watch.event import Event
from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.provisioner.automation.rule import file, model

BEGIN = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def event(
    revision: int,
    name: str = "workflow.timeout",
    *,
    resource: str = "one",
    seconds: float = 0.0,
    data: dict[str, Any] | None = None,
) -> Event:
    """Make an event of a workflow, made so many seconds after the beginning."""
    return Event(
        id=str(uuid.UUID(int=revision)),
        revision=revision,
        resource_type=ResourceType.WORKFLOW,
        event_type=EventType[name.replace(".", "_").upper()] if name.startswith("workflow.") else EventType.CUSTOM,
        name=name,
        resource_id=resource,
        version=1,
        created_at=BEGIN + datetime.timedelta(seconds=seconds),
        actor="test",
        data=data or {},
    )


def rules(text: str, **environment: str) -> model.RuleSet:
    """Read rules as from a file."""
    return file.parse(text, environment, source="rules.yaml")
