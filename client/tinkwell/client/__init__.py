"""The client library: services, Watch, Informer, errors.

    import tinkwell.client

    async with tinkwell.client.connect("localhost:50051") as client:
        async for event in client.workflows.watch(event_types=["WORKFLOW_TIMEOUT"]):
            print(event.resource_id)

Scripts without an event loop use `tinkwell.client.blocking`, tests of one's own automation `tinkwell.client.testing`.
"""

from tinkwell.client import environment as environment  # isort: skip  # before anything imports gRPC
from tinkwell.client import errors
from tinkwell.client.bulk import BulkChange, Conditional
from tinkwell.client.channel import TLS
from tinkwell.client.client import Client, connect
from tinkwell.client.event import EventClient
from tinkwell.client.hardware import HardwareClient
from tinkwell.client.informer import Informer
from tinkwell.client.model import (
    Action,
    ActionStatus,
    Change,
    Created,
    Document,
    Event,
    Hardware,
    Lease,
    LogLine,
    LogStream,
    MachineHold,
    Position,
    Published,
    Renewed,
    Reported,
    Template,
    Workflow,
    WorkflowContext,
)
from tinkwell.client.template import TemplateClient
from tinkwell.client.watch import Watch
from tinkwell.client.work import WorkClient
from tinkwell.client.workflow import WorkflowClient
from tinkwell.core.kind import EventType, ResourceType, State

__all__ = [
    "TLS",
    "Action",
    "ActionStatus",
    "BulkChange",
    "Change",
    "Client",
    "Conditional",
    "Created",
    "Document",
    "Event",
    "EventClient",
    "EventType",
    "Hardware",
    "HardwareClient",
    "Informer",
    "Lease",
    "LogLine",
    "LogStream",
    "MachineHold",
    "Position",
    "Published",
    "Renewed",
    "Reported",
    "ResourceType",
    "State",
    "Template",
    "TemplateClient",
    "Watch",
    "WorkClient",
    "Workflow",
    "WorkflowClient",
    "WorkflowContext",
    "connect",
    "errors",
]
