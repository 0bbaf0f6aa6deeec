"""The client library: services, Watch, Informer, errors.

    import tinkwell.client

    async with tinkwell.client.connect("localhost:50051") as client:
        async for event in client.workflows.watch(event_types=["WORKFLOW_TIMEOUT"]):
            print(event.resource_id)

Scripts without an event loop use `tinkwell.client.blocking`. Tests of your own automation use
`tinkwell.client.testing`.
"""

from tinkwell.client import environment as environment  # isort: skip  # before anything imports gRPC
from tinkwell.client import errors
from tinkwell.client.channel import TLS
from tinkwell.client.client import Client, connect
from tinkwell.client.event.client import EventClient
from tinkwell.client.event.model import Position, Published
from tinkwell.client.hardware.client import HardwareClient
from tinkwell.client.hardware.model import Hardware
from tinkwell.client.hardware.push import BulkChange, Conditional
from tinkwell.client.lease.client import WorkClient
from tinkwell.client.lease.model import Lease, Renewed
from tinkwell.client.release.client import ReleaseClient
from tinkwell.client.release.explanation import (
    DependencyExplanation,
    EdgeExplanation,
    Explanation,
    NodeExplanation,
    ValueExplanation,
)
from tinkwell.client.release.handle import OperationHandle, ReleaseFailed
from tinkwell.client.release.model import (
    Chart,
    LifecycleRun,
    Node,
    Operation,
    OperationOptions,
    Release,
    Resource,
    Revision,
    Step,
    StepLogLine,
)
from tinkwell.client.template.client import TemplateClient
from tinkwell.client.template.model import Template
from tinkwell.client.unit.agent.grant import (
    Grant,
    GrantedRelation,
    GrantedSecret,
    Leadership,
    NoEvent,
    NoEventReason,
    SecretContent,
    SecretReader,
)
from tinkwell.client.unit.agent.worker import UnitClient
from tinkwell.client.unit.client import ApplicationClient
from tinkwell.client.unit.event import EventRelation, EventSecret, EventSeen, UnitEvent
from tinkwell.client.unit.explanation import UnitCause, UnitExplanation
from tinkwell.client.unit.model import (
    Application,
    Bag,
    Charm,
    CharmAction,
    CharmEndpoint,
    CharmOption,
    CharmStorage,
    Namespace,
    OpenPort,
    Relation,
    RelationEnd,
    Storage,
    Unit,
    UnitLogLine,
    UnitStatus,
)
from tinkwell.client.unit.namespaces import NamespaceClient
from tinkwell.client.unit.notice import DeferredNotice
from tinkwell.client.unit.secret.client import SecretClient
from tinkwell.client.unit.secret.model import RevealedSecret, Secret, SecretGranted, SecretRevision
from tinkwell.client.unit.task import Task
from tinkwell.client.value.change import Change, Created
from tinkwell.client.watch.event import Event
from tinkwell.client.watch.informer import Informer
from tinkwell.client.watch.watch import Watch
from tinkwell.client.workflow.client import WorkflowClient
from tinkwell.client.workflow.model import (
    Action,
    ActionStatus,
    Document,
    Expired,
    LogLine,
    LogStream,
    MachineHold,
    Pruned,
    Report,
    Reported,
    Unfinished,
    Workflow,
    WorkflowContext,
)
from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.release.kinds import (
    NodeKind,
    NodeState,
    NodeTask,
    OnFailure,
    OperationKind,
    ReleaseState,
    ResourceStatus,
    RevisionState,
    StepKind,
    Wait,
)
from tinkwell.core.release.kinds import Phase as OperationPhase
from tinkwell.core.release.lifecycle_event.run import HandlerRun
from tinkwell.core.release.lifecycle_event.run import Outcome as HandlerOutcome
from tinkwell.core.release.record import Options
from tinkwell.core.unit.effect import (
    BagEdit,
    Effects,
    Notice,
    Port,
    SecretAdd,
    SecretGrant,
    SecretRemove,
    SecretRevoke,
    SecretSet,
    SecretTrack,
    StorageRequest,
    TaskOutcome,
)
from tinkwell.core.unit.kinds import (
    CharmKind,
    EventKind,
    EventState,
    Life,
    Owner,
    Profile,
    Rotation,
    TaskKind,
    TaskState,
)
from tinkwell.core.unit.kinds import Phase as UnitPhase

__all__ = [
    "TLS",
    "Action",
    "ActionStatus",
    "Application",
    "ApplicationClient",
    "Bag",
    "BagEdit",
    "BulkChange",
    "Change",
    "Charm",
    "CharmAction",
    "CharmEndpoint",
    "CharmKind",
    "CharmOption",
    "CharmStorage",
    "Chart",
    "Client",
    "Conditional",
    "Created",
    "DeferredNotice",
    "DependencyExplanation",
    "Document",
    "EdgeExplanation",
    "Effects",
    "Event",
    "EventClient",
    "EventKind",
    "EventRelation",
    "EventSecret",
    "EventSeen",
    "EventState",
    "EventType",
    "Expired",
    "Explanation",
    "Grant",
    "GrantedRelation",
    "GrantedSecret",
    "HandlerOutcome",
    "HandlerRun",
    "Hardware",
    "HardwareClient",
    "Informer",
    "Leadership",
    "Lease",
    "Life",
    "LifecycleRun",
    "LogLine",
    "LogStream",
    "MachineHold",
    "Namespace",
    "NamespaceClient",
    "NoEvent",
    "NoEventReason",
    "Node",
    "NodeExplanation",
    "NodeKind",
    "NodeState",
    "NodeTask",
    "Notice",
    "OnFailure",
    "OpenPort",
    "Operation",
    "OperationHandle",
    "OperationKind",
    "OperationOptions",
    "OperationPhase",
    "Options",
    "Owner",
    "Port",
    "Position",
    "Profile",
    "Pruned",
    "Published",
    "Relation",
    "RelationEnd",
    "Release",
    "ReleaseClient",
    "ReleaseFailed",
    "ReleaseState",
    "Renewed",
    "Report",
    "Reported",
    "Resource",
    "ResourceStatus",
    "ResourceType",
    "RevealedSecret",
    "Revision",
    "RevisionState",
    "Rotation",
    "Secret",
    "SecretAdd",
    "SecretClient",
    "SecretContent",
    "SecretGrant",
    "SecretGranted",
    "SecretReader",
    "SecretRemove",
    "SecretRevision",
    "SecretRevoke",
    "SecretSet",
    "SecretTrack",
    "State",
    "Step",
    "StepKind",
    "StepLogLine",
    "Storage",
    "StorageRequest",
    "Task",
    "TaskKind",
    "TaskOutcome",
    "TaskState",
    "Template",
    "TemplateClient",
    "Unfinished",
    "Unit",
    "UnitCause",
    "UnitClient",
    "UnitEvent",
    "UnitExplanation",
    "UnitLogLine",
    "UnitPhase",
    "UnitStatus",
    "ValueExplanation",
    "Wait",
    "Watch",
    "WorkClient",
    "Workflow",
    "WorkflowClient",
    "WorkflowContext",
    "connect",
    "errors",
]
