"""The client library: services, Watch, Informer, errors.

    import tinkwell.client

    async with tinkwell.client.connect("localhost:50051") as client:
        async for event in client.workflows.watch(event_types=["WORKFLOW_TIMEOUT"]):
            print(event.resource_id)

Scripts without an event loop use `tinkwell.client.blocking`, tests of one's own automation `tinkwell.client.testing`.
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
from tinkwell.client.release.explanation import Explanation
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
from tinkwell.client.unit.client import ApplicationClient
from tinkwell.client.unit.event import EventRelation, EventSecret, EventSeen, UnitEvent
from tinkwell.client.unit.explanation import UnitCause, UnitExplanation
from tinkwell.client.unit.grant import (
    Grant,
    GrantedRelation,
    GrantedSecret,
    Leadership,
    NoEvent,
    NoEventReason,
    SecretContent,
)
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
from tinkwell.client.unit.secret import SecretClient
from tinkwell.client.unit.secret_model import RevealedSecret, Secret, SecretGranted, SecretRevision
from tinkwell.client.unit.task import Task
from tinkwell.client.unit.worker import UnitClient
from tinkwell.client.value.change import Change, Created
from tinkwell.client.watch.event import Event
from tinkwell.client.watch.informer import Informer
from tinkwell.client.watch.watch import Watch
from tinkwell.client.workflow.client import WorkflowClient
from tinkwell.client.workflow.model import (
    Action,
    ActionStatus,
    Document,
    LogLine,
    LogStream,
    MachineHold,
    Pruned,
    Reported,
    Workflow,
    WorkflowContext,
)
from tinkwell.core.event.kinds import EventType, ResourceType, State

__all__ = [
    "TLS",
    "Action",
    "ActionStatus",
    "Application",
    "ApplicationClient",
    "Bag",
    "BulkChange",
    "Change",
    "Charm",
    "CharmAction",
    "CharmEndpoint",
    "CharmOption",
    "CharmStorage",
    "Chart",
    "Client",
    "Conditional",
    "Created",
    "DeferredNotice",
    "Document",
    "Event",
    "EventClient",
    "EventRelation",
    "EventSecret",
    "EventSeen",
    "EventType",
    "Explanation",
    "Grant",
    "GrantedRelation",
    "GrantedSecret",
    "Hardware",
    "HardwareClient",
    "Informer",
    "Leadership",
    "Lease",
    "LifecycleRun",
    "LogLine",
    "LogStream",
    "MachineHold",
    "Namespace",
    "NamespaceClient",
    "NoEvent",
    "NoEventReason",
    "Node",
    "OpenPort",
    "Operation",
    "OperationHandle",
    "OperationOptions",
    "Position",
    "Pruned",
    "Published",
    "Relation",
    "RelationEnd",
    "Release",
    "ReleaseClient",
    "ReleaseFailed",
    "Renewed",
    "Reported",
    "Resource",
    "ResourceType",
    "RevealedSecret",
    "Revision",
    "Secret",
    "SecretClient",
    "SecretContent",
    "SecretGranted",
    "SecretRevision",
    "State",
    "Step",
    "StepLogLine",
    "Storage",
    "Task",
    "Template",
    "TemplateClient",
    "Unit",
    "UnitCause",
    "UnitClient",
    "UnitEvent",
    "UnitExplanation",
    "UnitLogLine",
    "UnitStatus",
    "Watch",
    "WorkClient",
    "Workflow",
    "WorkflowClient",
    "WorkflowContext",
    "connect",
    "errors",
]
