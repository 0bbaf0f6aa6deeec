"""The kinds of resources, events and states, named as everywhere outside protobuf: in tables, JSON and messages."""

from enum import StrEnum


class ResourceType(StrEnum):
    """What an event is about."""

    TEMPLATE = "TEMPLATE"
    HARDWARE = "HARDWARE"
    WORKFLOW = "WORKFLOW"
    ACTION = "ACTION"
    CUSTOM = "CUSTOM"


class EventType(StrEnum):
    """What happened. A specific type replaces UPDATED."""

    CREATED = "CREATED"
    UPDATED = "UPDATED"
    DELETED = "DELETED"
    WORKFLOW_STARTED = "WORKFLOW_STARTED"
    WORKFLOW_INPROGRESS = "WORKFLOW_INPROGRESS"
    WORKFLOW_SUCCEEDED = "WORKFLOW_SUCCEEDED"
    WORKFLOW_FAILED = "WORKFLOW_FAILED"
    WORKFLOW_TIMEOUT = "WORKFLOW_TIMEOUT"
    WORKFLOW_CANCELLED = "WORKFLOW_CANCELLED"
    ACTION_STARTED = "ACTION_STARTED"
    ACTION_RETRYING = "ACTION_RETRYING"
    ACTION_SUCCEEDED = "ACTION_SUCCEEDED"
    ACTION_FAILED = "ACTION_FAILED"
    ACTION_TIMEOUT = "ACTION_TIMEOUT"
    ACTION_CANCELLED = "ACTION_CANCELLED"
    HARDWARE_PHONE_HOME = "HARDWARE_PHONE_HOME"
    CUSTOM = "CUSTOM"


class State(StrEnum):
    """The state of a workflow or of an action."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    CANCELLED = "CANCELLED"

    @property
    def is_final(self) -> bool:
        """Whether nothing may change this state any more."""
        return self not in (State.PENDING, State.RUNNING)
