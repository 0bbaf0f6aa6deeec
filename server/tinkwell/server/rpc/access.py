"""The one table of methods and the roles that may call them, for all services on a server's gRPC port.

A method that is missing from it is for admins alone; `test_every_method_of_every_service_has_its_roles` fails then.
Some methods change or show more when a field of the request asks for it. These fields have roles of their own: a
caller without them is refused, and not answered with less than it asked for. `docs/reference/access.md` has the same
table for readers.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass

from tinkwell.core import access
from tinkwell.core.access import Caller, Role

_PACKAGE = "tinkwell.api.v1."

# Reads by people, and reads by people and agents.
_READ = access.READERS
_FOLLOW = access.EVERYBODY
# Other calls by operators, and those by operators and agents.
_ASK = access.OPERATORS
_KEEP = access.OPERATORS | access.AGENTS
# Calls by agents. Admins may make every call.
_WORK = access.AGENTS
_REVEAL = access.ADMINS

_SERVICES: Mapping[str, Mapping[Set[Role], str]] = {
    f"{_PACKAGE}HardwareService": {
        _FOLLOW: "ByMAC ByIP ByID All Watch",
        _ASK: "Push PushMany Delete PhoneHome",
    },
    f"{_PACKAGE}TemplateService": {
        _READ: "GetTemplate ListTemplates Watch",
        _ASK: "CreateTemplate UpdateTemplate DeleteTemplate",
    },
    f"{_PACKAGE}WorkflowService": {
        _READ: "GetWorkflow ListWorkflows ShowWorkflowEvents WatchLogs",
        _FOLLOW: "ListUnfinishedWorkflows GetWorkflowContext GetWorkflowContextList GetWorkflowContexts "
        "GetWorkflowActions GetWorkflowData GetWorkflowMetadata GetWorkflowDataVersion Watch",
        _ASK: "CreateWorkflow DeleteWorkflow CancelWorkflow PruneWorkflows",
        _WORK: "ExpireWorkflow ReportActionStatus ReportActionStatuses UpdateWorkflowData AppendLogs",
    },
    f"{_PACKAGE}ReleaseService": {
        _READ: "ListCharts GetRelease ListReleases History GetRevision ListOperations ListResources ListLifecycle "
        "Explain WatchLogs",
        _FOLLOW: "GetChart GetOperation ListNodes ListUnfinished Watch",
        _ASK: "UploadChart Install Upgrade Apply Rollback Uninstall Resume Test Plan ApplyPlan Cancel",
        _WORK: "AcquireOperation GetWork SubmitPlan ReportOperation AppendLogs",
    },
    f"{_PACKAGE}ApplicationService": {
        _READ: "GetCharm ListCharms ListApplications GetUnit GetRelation ListRelations Explain ListEvents "
        "ListDeferred Logs",
        _FOLLOW: "GetApplication ListUnits ListStorages Watch",
        # What a task was given and what it answers may be confidential, and so readers have neither.
        _ASK: "UploadCharm Deploy SetConfig AddUnits RemoveUnit Refresh Remove Relate Unrelate Resolve Request Attach "
        "Detach RemoveStorage RunTask CancelTask GetTask ListTasks",
    },
    f"{_PACKAGE}NamespaceService": {
        _READ: "GetNamespace ListNamespaces Watch",
        _ASK: "SetNamespace",
    },
    f"{_PACKAGE}SecretService": {
        _READ: "GetSecret ListSecrets Watch",
        _ASK: "CreateSecret UpdateSecret RemoveSecret GrantSecret RevokeSecret",
        _REVEAL: "RevealSecret",
    },
    f"{_PACKAGE}UnitService": {
        _WORK: "WatchUnits NextEvent CommitEvent FailEvent ReadBag ReadSecret AppendTaskLog SetStatus AppendLogs "
        "FetchCharm",
    },
    f"{_PACKAGE}WorkService": {
        _WORK: "Acquire Renew Release",
    },
    f"{_PACKAGE}EventService": {
        _FOLLOW: "Watch GetPosition",
        _ASK: "Publish",
        _KEEP: "CommitPosition",
    },
    # For every caller with a token; `auth` lets health through without one.
    "grpc.health.v1.Health": {_FOLLOW: "Check List Watch"},
    "grpc.reflection.v1alpha.ServerReflection": {_FOLLOW: "ServerReflectionInfo"},
}


@dataclass(frozen=True, slots=True)
class Option:
    """A field of a request that needs a role when it is set."""

    field: str
    roles: Set[Role]


METHODS: Mapping[str, Set[Role]] = {
    f"/{service}/{name}": roles
    for service, groups in _SERVICES.items()
    for roles, names in groups.items()
    for name in names.split()
}
OPTIONS: Mapping[str, Option] = {
    f"/{_PACKAGE}ApplicationService/GetRelation": Option("with_bags", access.OPERATORS),
    # With `arguments` a task runs any command, not an action of the charm.
    f"/{_PACKAGE}ApplicationService/RunTask": Option("arguments", access.ADMINS),
    f"/{_PACKAGE}EventService/GetPosition": Option("claim", _KEEP),
}


def check(method: str, caller: Caller) -> None:
    """Refuse a caller whose role may not call the method, such as `/tinkwell.api.v1.HardwareService/Push`.

    Raises `errors.NotAllowed`.
    """
    caller.require(METHODS.get(method, access.ADMINS), _shown(method))


def check_request(method: str, caller: Caller, request: object) -> None:
    """Refuse a request that sets a field which needs another role. Raises `errors.NotAllowed`."""
    option = OPTIONS.get(method)
    if option is not None and getattr(request, option.field):
        caller.require(option.roles, f"{_shown(method)} with {option.field}")


def _shown(method: str) -> str:
    return method.lstrip("/").removeprefix(_PACKAGE).replace("/", ".")
