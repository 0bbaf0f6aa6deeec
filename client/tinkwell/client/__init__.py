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
from tinkwell.client.hardware.client import HardwareClient
from tinkwell.client.hardware.push import BulkChange, Conditional
from tinkwell.client.lease.client import WorkClient
from tinkwell.client.template.client import TemplateClient
from tinkwell.client.value.model import (
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
from tinkwell.client.watch.informer import Informer
from tinkwell.client.watch.watch import Watch
from tinkwell.client.workflow.client import WorkflowClient
from tinkwell.core.event.kinds import EventType, ResourceType, State

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
