"""The kinds and states of releases, operations, their nodes and their steps, named as everywhere outside protobuf."""

from enum import StrEnum


class ReleaseState(StrEnum):
    """The state of a release. A PLANNED one is no more than a name, of which there are plans."""

    PLANNED = "PLANNED"
    PENDING_INSTALL = "PENDING_INSTALL"
    PENDING_UPGRADE = "PENDING_UPGRADE"
    PENDING_ROLLBACK = "PENDING_ROLLBACK"
    DEPLOYED = "DEPLOYED"
    FAILED = "FAILED"
    UNINSTALLING = "UNINSTALLING"
    UNINSTALLED = "UNINSTALLED"


class RevisionState(StrEnum):
    """The state of one revision of a release; at most one of them is DEPLOYED."""

    PENDING = "PENDING"
    DEPLOYED = "DEPLOYED"
    FAILED = "FAILED"
    SUPERSEDED = "SUPERSEDED"
    UNINSTALLED = "UNINSTALLED"


class OperationKind(StrEnum):
    """What an operation does to its release. The state of an operation is an `event.kinds.State`."""

    INSTALL = "INSTALL"
    UPGRADE = "UPGRADE"
    ROLLBACK = "ROLLBACK"
    UNINSTALL = "UNINSTALL"
    # Runs the tests of what is installed.
    TEST = "TEST"
    # Asks what another operation would do, or how what is there differs from what was installed.
    PLAN = "PLAN"

    @property
    def changes_release(self) -> bool:
        """Whether it changes its release; the others leave the release, and its revisions, as they are."""
        return self not in (OperationKind.TEST, OperationKind.PLAN)


class Phase(StrEnum):
    """How far a running operation is. Until SubmitPlan, which ends VALIDATE, it has changed nothing."""

    LOAD = "LOAD"
    RENDER = "RENDER"
    VALIDATE = "VALIDATE"
    APPLY = "APPLY"
    CLEANUP = "CLEANUP"


class NodeKind(StrEnum):
    """What a node of an operation stands for: a resource, a chart with all that is in it, or a moment of its life."""

    RESOURCE = "RESOURCE"
    CHART = "CHART"
    # A resource that is brought about at an event of its chart, and is no part of the release.
    HOOK = "HOOK"
    # An event of a chart, heard by its handlers.
    EVENT = "EVENT"


class PlanKind(StrEnum):
    """What a node of a plan is: one of the operation, or only a place where others wait for others."""

    RESOURCE = "RESOURCE"
    CHART = "CHART"
    HOOK = "HOOK"
    EVENT = "EVENT"
    # Passed when all are done that it comes after; never, if one of them never is.
    GATE = "GATE"
    # Passed when all have ended that it comes after, however they did.
    BARRIER = "BARRIER"


class NodeTask(StrEnum):
    """What an operation does with a node."""

    INSTALL = "INSTALL"
    REMOVE = "REMOVE"


class NodeState(StrEnum):
    """The state of a node within its operation."""

    PENDING = "PENDING"
    INSTALLING = "INSTALLING"
    REMOVING = "REMOVING"
    READY = "READY"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    REMOVED = "REMOVED"
    LEFT = "LEFT"

    @property
    def is_final(self) -> bool:
        """Whether nothing may change this state any more within its operation."""
        return self not in (NodeState.PENDING, NodeState.INSTALLING, NodeState.REMOVING)


class StepKind(StrEnum):
    """Which call of the resource protocol a step is. The state of a step is an `event.kinds.State`."""

    INIT = "INIT"
    STATE = "STATE"
    ACTION = "ACTION"
    RECHECK = "RECHECK"
    DESTROY = "DESTROY"

    @property
    def has_effects(self) -> bool:
        """Whether the call may change something, so that it is told in events, adopted, and never run twice at once."""
        return self in (StepKind.ACTION, StepKind.DESTROY)


class ResourceStatus(StrEnum):
    """What is known of a resource of a release since its last call."""

    UNKNOWN = "UNKNOWN"
    VALID = "VALID"
    STALE = "STALE"
    ABSENT = "ABSENT"
    LEFT = "LEFT"


class OnFailure(StrEnum):
    """What an operation does when a node has failed: start nothing more, or finish what does not depend on it."""

    STOP = "stop"
    CONTINUE = "continue"


class Wait(StrEnum):
    """What of a chart waits for what: batch after batch, each subchart for its own prerequisites alone, or none."""

    ORDERED = "ordered"
    EAGER = "eager"
    NONE = "none"
