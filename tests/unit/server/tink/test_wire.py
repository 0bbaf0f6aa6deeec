"""What Tinkerbell's binaries have compiled in: the names of its calls, and the numbers and types of its fields.

Written down once more, since every test of the calls themselves is made of the same protos as the server, and would
agree with a mistake in them.
"""

import pytest
from google.protobuf import descriptor

from tinkwell.api.tink import events_pb2, hardware_pb2, template_pb2, workflow_pb2

PACKAGE = "github.com.tinkerbell.tink.protos"
CALLS = """
hardware.HardwareService Push(PushRequest) Empty
hardware.HardwareService ByMAC(GetRequest) Hardware
hardware.HardwareService ByIP(GetRequest) Hardware
hardware.HardwareService ByID(GetRequest) Hardware
hardware.HardwareService All(Empty) stream Hardware
hardware.HardwareService DeprecatedWatch(GetRequest) stream Hardware
hardware.HardwareService Delete(DeleteRequest) Empty
template.TemplateService CreateTemplate(WorkflowTemplate) CreateResponse
template.TemplateService GetTemplate(GetRequest) WorkflowTemplate
template.TemplateService DeleteTemplate(GetRequest) Empty
template.TemplateService ListTemplates(ListRequest) stream WorkflowTemplate
template.TemplateService UpdateTemplate(WorkflowTemplate) Empty
workflow.WorkflowService CreateWorkflow(CreateRequest) CreateResponse
workflow.WorkflowService GetWorkflow(GetRequest) Workflow
workflow.WorkflowService DeleteWorkflow(GetRequest) Empty
workflow.WorkflowService ListWorkflows(Empty) stream Workflow
workflow.WorkflowService GetWorkflowContext(GetRequest) WorkflowContext
workflow.WorkflowService ShowWorkflowEvents(GetRequest) stream WorkflowActionStatus
workflow.WorkflowService GetWorkflowContextList(WorkflowContextRequest) WorkflowContextList
workflow.WorkflowService GetWorkflowContexts(WorkflowContextRequest) stream WorkflowContext
workflow.WorkflowService GetWorkflowActions(WorkflowActionsRequest) WorkflowActionList
workflow.WorkflowService ReportActionStatus(WorkflowActionStatus) Empty
workflow.WorkflowService GetWorkflowData(GetWorkflowDataRequest) GetWorkflowDataResponse
workflow.WorkflowService GetWorkflowMetadata(GetWorkflowDataRequest) GetWorkflowDataResponse
workflow.WorkflowService GetWorkflowDataVersion(GetWorkflowDataRequest) GetWorkflowDataResponse
workflow.WorkflowService UpdateWorkflowData(UpdateWorkflowDataRequest) Empty
events.EventsService Watch(WatchRequest) stream Event
"""
FIELDS = """
hardware.PushRequest 1 data Hardware
hardware.DeleteRequest 1 id string
hardware.GetRequest 1 mac string, 2 ip string, 3 id string
hardware.Hardware 6 network Network, 7 id string, 8 version int64, 9 metadata string
hardware.Hardware.Network 3 interfaces repeated Interface
hardware.Hardware.Network.Interface 1 dhcp DHCP, 2 netboot Netboot
hardware.Hardware.DHCP 1 mac string, 3 hostname string, 4 lease_time int64, 5 name_servers repeated string,\
 6 time_servers repeated string, 8 arch string, 9 uefi bool, 10 iface_name string, 11 ip IP
hardware.Hardware.DHCP.IP 1 address string, 2 netmask string, 3 gateway string, 4 family int64
hardware.Hardware.Netboot 1 allow_pxe bool, 2 allow_workflow bool, 3 ipxe IPXE, 5 osie Osie
hardware.Hardware.Netboot.IPXE 1 url string, 2 contents string
hardware.Hardware.Netboot.Osie 1 base_url string, 2 kernel string, 3 initrd string
template.WorkflowTemplate 1 id string, 2 name string, 4 created_at Timestamp, 5 updated_at Timestamp,\
 6 deleted_at Timestamp, 7 data string
template.CreateResponse 1 id string
template.GetRequest 1 id string, 2 name string
template.ListRequest 1 name string
workflow.Workflow 1 id string, 2 template string, 3 hardware string, 4 state State, 5 created_at Timestamp,\
 6 updated_at Timestamp, 7 deleted_at Timestamp, 8 data string
workflow.CreateRequest 1 template string, 2 hardware string
workflow.CreateResponse 1 id string
workflow.GetRequest 1 id string
workflow.WorkflowContext 1 workflow_id string, 2 current_worker string, 3 current_task string,\
 4 current_action string, 5 current_action_index int64, 6 current_action_state State, 7 total_number_of_actions int64
workflow.WorkflowActionStatus 1 workflow_id string, 2 task_name string, 3 action_name string, 4 action_status State,\
 5 seconds int64, 6 message string, 7 created_at Timestamp, 8 worker_id string
workflow.WorkflowContextRequest 1 worker_id string
workflow.WorkflowContextList 1 workflow_contexts repeated WorkflowContext
workflow.WorkflowActionsRequest 1 workflow_id string
workflow.WorkflowActionList 1 action_list repeated WorkflowAction
workflow.WorkflowAction 1 task_name string, 2 name string, 3 image string, 4 timeout int64, 5 command repeated string,\
 6 on_timeout repeated string, 7 on_failure repeated string, 8 worker_id string, 9 volumes repeated string,\
 10 environment repeated string, 11 pid string
workflow.GetWorkflowDataRequest 1 workflow_id string, 2 version int32
workflow.GetWorkflowDataResponse 1 data bytes, 2 version int32
workflow.UpdateWorkflowDataRequest 1 workflow_id string, 2 metadata bytes, 3 data bytes
events.Event 1 id string, 2 resource_id string, 3 resource_type ResourceType, 4 event_type EventType, 5 data bytes,\
 6 created_at Timestamp
events.WatchRequest 1 resource_id string, 2 event_types repeated EventType, 3 resource_types repeated ResourceType,\
 4 watch_events_from Timestamp
"""
NUMBERS = {
    (workflow_pb2, "State"): ["STATE_PENDING", "STATE_RUNNING", "STATE_FAILED", "STATE_TIMEOUT", "STATE_SUCCESS"],
    (events_pb2, "ResourceType"): [f"RESOURCE_TYPE_{name}" for name in ("UNKNOWN", "TEMPLATE", "HARDWARE", "WORKFLOW")],
    (events_pb2, "EventType"): [f"EVENT_TYPE_{name}" for name in ("UNKNOWN", "CREATED", "UPDATED", "DELETED")],
}
FILES = {
    module.DESCRIPTOR.package: module.DESCRIPTOR for module in (hardware_pb2, template_pb2, workflow_pb2, events_pb2)
}
_SCALARS = {
    descriptor.FieldDescriptor.TYPE_STRING: "string",
    descriptor.FieldDescriptor.TYPE_BYTES: "bytes",
    descriptor.FieldDescriptor.TYPE_BOOL: "bool",
    descriptor.FieldDescriptor.TYPE_INT64: "int64",
    descriptor.FieldDescriptor.TYPE_INT32: "int32",
}


def calls_of(service: descriptor.ServiceDescriptor) -> list[str]:
    """Write a service as above."""
    name = service.full_name.removeprefix(f"{PACKAGE}.")
    written = []
    for method in service.methods:
        assert not method.client_streaming
        kind = "stream " * method.server_streaming + method.output_type.name
        written.append(f"{name} {method.name}({method.input_type.name}) {kind}")
    return written


def fields_of(message: descriptor.Descriptor) -> list[str]:
    """Write a message, and those within it, as above; without fields there is nothing to write."""
    written = []
    for field in message.fields:
        of = field.message_type or field.enum_type
        kind = "repeated " * field.is_repeated + (of.name if of else _SCALARS[field.type])
        written.append(f"{field.number} {field.name} {kind}")
    inner = [line for nested in message.nested_types for line in fields_of(nested)]
    if not written:
        return inner
    return [f"{message.full_name.removeprefix(f'{PACKAGE}.')} {', '.join(written)}", *inner]


def test_every_call_has_the_name_and_the_kinds_that_the_tools_know() -> None:
    written = [
        line for file in FILES.values() for service in file.services_by_name.values() for line in calls_of(service)
    ]
    assert sorted(written) == sorted(CALLS.strip().splitlines())


def test_every_field_has_the_number_and_the_type_that_the_tools_know() -> None:
    messages = [message for file in FILES.values() for message in file.message_types_by_name.values()]
    assert sorted(line for message in messages for line in fields_of(message)) == sorted(FIELDS.strip().splitlines())


@pytest.mark.parametrize(("of", "names"), NUMBERS.items(), ids=[name for _, name in NUMBERS])
def test_every_state_and_kind_has_the_number_that_the_tools_know(of: tuple[object, str], names: list[str]) -> None:
    module, name = of
    assert getattr(module, name).items() == [(each, number) for number, each in enumerate(names)]
