"""The kinds of resources, events and states, named as everywhere outside protobuf: in tables, JSON and messages."""

from enum import StrEnum


class ResourceType(StrEnum):
    """What an event is about."""

    TEMPLATE = "TEMPLATE"
    HARDWARE = "HARDWARE"
    WORKFLOW = "WORKFLOW"
    ACTION = "ACTION"
    CHART = "CHART"
    RELEASE = "RELEASE"
    OPERATION = "OPERATION"
    NODE = "NODE"
    STEP = "STEP"
    LIFECYCLE = "LIFECYCLE"
    NAMESPACE = "NAMESPACE"
    CHARM = "CHARM"
    APPLICATION = "APPLICATION"
    UNIT = "UNIT"
    UNIT_EVENT = "UNIT_EVENT"
    RELATION = "RELATION"
    STORAGE = "STORAGE"
    CUSTOM = "CUSTOM"


# Kept for the resources that are to come, so that nobody's own events look like theirs.
_TO_COME = ("secret", "task", "tinkwell")
_OWN = frozenset({kind.lower() for kind in ResourceType if kind is not ResourceType.CUSTOM}.union(_TO_COME))


def is_own(name: str) -> bool:
    """Return whether events of this name are the server's own, which nobody else may publish."""
    return name.partition(".")[0] in _OWN


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
    RELEASE_DEPLOYED = "RELEASE_DEPLOYED"
    RELEASE_FAILED = "RELEASE_FAILED"
    RELEASE_UNINSTALLED = "RELEASE_UNINSTALLED"
    RELEASE_DRIFTED = "RELEASE_DRIFTED"
    OPERATION_STARTED = "OPERATION_STARTED"
    OPERATION_SUCCEEDED = "OPERATION_SUCCEEDED"
    OPERATION_FAILED = "OPERATION_FAILED"
    OPERATION_TIMEOUT = "OPERATION_TIMEOUT"
    OPERATION_CANCELLED = "OPERATION_CANCELLED"
    NODE_STARTED = "NODE_STARTED"
    NODE_READY = "NODE_READY"
    NODE_FAILED = "NODE_FAILED"
    NODE_SKIPPED = "NODE_SKIPPED"
    NODE_REMOVED = "NODE_REMOVED"
    NODE_LEFT = "NODE_LEFT"
    STEP_STARTED = "STEP_STARTED"
    STEP_RETRYING = "STEP_RETRYING"
    STEP_SUCCEEDED = "STEP_SUCCEEDED"
    STEP_FAILED = "STEP_FAILED"
    STEP_TIMEOUT = "STEP_TIMEOUT"
    STEP_CANCELLED = "STEP_CANCELLED"
    LIFECYCLE_EMITTED = "LIFECYCLE_EMITTED"
    UNIT_EVENT_STARTED = "UNIT_EVENT_STARTED"
    UNIT_EVENT_COMMITTED = "UNIT_EVENT_COMMITTED"
    UNIT_EVENT_FAILED = "UNIT_EVENT_FAILED"
    UNIT_EVENT_SKIPPED = "UNIT_EVENT_SKIPPED"
    UNIT_EVENT_WITHDRAWN = "UNIT_EVENT_WITHDRAWN"
    UNIT_EVENT_ABANDONED = "UNIT_EVENT_ABANDONED"
    UNIT_STATUS_CHANGED = "UNIT_STATUS_CHANGED"
    RELATION_CHANGED = "RELATION_CHANGED"
    CUSTOM = "CUSTOM"


class State(StrEnum):
    """The state of a workflow or an action, of an operation on a release or one of its steps."""

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
