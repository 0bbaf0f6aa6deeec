"""The kinds and states of releases, operations, nodes and steps, with the names that all layers use."""

from enum import StrEnum


class ReleaseState(StrEnum):
    """The state of a release. A PLANNED release is only a name, for which there are plans."""

    PLANNED = "PLANNED"
    PENDING_INSTALL = "PENDING_INSTALL"
    PENDING_UPGRADE = "PENDING_UPGRADE"
    PENDING_ROLLBACK = "PENDING_ROLLBACK"
    DEPLOYED = "DEPLOYED"
    FAILED = "FAILED"
    UNINSTALLING = "UNINSTALLING"
    UNINSTALLED = "UNINSTALLED"


class RevisionState(StrEnum):
    """The state of a revision of a release; at most one revision is DEPLOYED."""

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
    # Runs the tests of the installed revision.
    TEST = "TEST"
    # Shows what another operation would do, or how the resources differ from the installed revision.
    PLAN = "PLAN"

    @property
    def changes_release(self) -> bool:
        """Whether it changes its release; other operations leave the release and its revisions as they are."""
        return self not in (OperationKind.TEST, OperationKind.PLAN)


class Phase(StrEnum):
    """How far a running operation is. Until SubmitPlan, which ends VALIDATE, it has changed nothing."""

    LOAD = "LOAD"
    RENDER = "RENDER"
    VALIDATE = "VALIDATE"
    APPLY = "APPLY"
    CLEANUP = "CLEANUP"


class NodeKind(StrEnum):
    """What a node of an operation stands for."""

    RESOURCE = "RESOURCE"
    CHART = "CHART"
    # A resource that runs at an event of its chart, and is not part of the release.
    HOOK = "HOOK"
    # An event of a chart, which its handlers hear.
    EVENT = "EVENT"


class PlanKind(StrEnum):
    """The kind of a node in a plan: a node of the operation, or a place where nodes wait for others."""

    RESOURCE = "RESOURCE"
    CHART = "CHART"
    HOOK = "HOOK"
    EVENT = "EVENT"
    # Passed when all nodes before it are done; never, if one of them never is.
    GATE = "GATE"
    # Passed when all nodes before it have ended, in any state.
    BARRIER = "BARRIER"


class NodeTask(StrEnum):
    """What an operation does with a node."""

    INSTALL = "INSTALL"
    REMOVE = "REMOVE"


class NodeState(StrEnum):
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
        """Whether the state never changes again within its operation."""
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
        """Whether the call may change something, so that it has events, is adopted, and never runs twice at once."""
        return self in (StepKind.ACTION, StepKind.DESTROY)


class ResourceStatus(StrEnum):
    """The status of a release's resource since its last call."""

    UNKNOWN = "UNKNOWN"
    VALID = "VALID"
    STALE = "STALE"
    ABSENT = "ABSENT"
    LEFT = "LEFT"


class OnFailure(StrEnum):
    """What an operation does when a node has failed: start no further node, or finish the independent ones."""

    STOP = "stop"
    CONTINUE = "continue"


class Wait(StrEnum):
    """Which parts of a chart wait for which: batch by batch, each subchart for its own prerequisites only, or none."""

    ORDERED = "ordered"
    EAGER = "eager"
    NONE = "none"
