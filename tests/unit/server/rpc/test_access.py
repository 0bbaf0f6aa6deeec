"""Which role may call which method."""

import re
from pathlib import Path

import pytest

from support.fuzz import method
from tinkwell.api.v1 import application_service_pb2, event_service_pb2
from tinkwell.core import access as core
from tinkwell.core import errors
from tinkwell.core.access import Caller, Role
from tinkwell.server.rpc import access

_PAGE = Path(__file__).parents[4] / "docs" / "reference" / "access.md"
_UNIT = "/tinkwell.api.v1.UnitService/"
# What of all methods begins like a reading one, and is not for readers.
_HIDDEN = {
    "ReleaseService/GetWork",
    "ApplicationService/GetTask",
    "ApplicationService/ListTasks",
    "UnitService/WatchUnits",
}
_READS = re.compile(r"(Get|List|Watch|Explain|History|Show|By|All$|Logs)")


def test_every_method_of_every_service_has_its_roles() -> None:
    assert set(access.METHODS) == {each.path for each in method.own()}


def test_admins_may_call_all_methods_and_nobody_else() -> None:
    assert all(Role.ADMIN in roles for roles in access.METHODS.values())
    for role in set(Role) - {Role.ADMIN}:
        assert any(role not in roles for roles in access.METHODS.values())
    access.check("/tinkwell.api.v1.HardwareService/Unheard", Caller("root"))
    with pytest.raises(errors.NotAllowed, match=r"HardwareService\.Unheard needs the role admin, and bob has"):
        access.check("/tinkwell.api.v1.HardwareService/Unheard", Caller("bob", Role.OPERATOR))


def test_readers_may_call_what_reads_and_nothing_else() -> None:
    for path, roles in access.METHODS.items():
        service, name = path.removeprefix("/tinkwell.api.v1.").lstrip("/").split("/")
        if not service.startswith("grpc."):
            reads = bool(_READS.match(name)) and f"{service}/{name}" not in _HIDDEN
            assert (Role.READER in roles) == reads, path


def test_operators_may_do_what_readers_may_and_never_what_agents_alone_do() -> None:
    for path, roles in access.METHODS.items():
        assert Role.READER not in roles or Role.OPERATOR in roles, path
        assert not path.startswith(_UNIT) or roles == core.AGENTS, path
    assert access.METHODS["/tinkwell.api.v1.SecretService/RevealSecret"] == core.ADMINS


def test_a_refusal_names_the_role_and_those_that_are_needed() -> None:
    with pytest.raises(errors.NotAllowed) as refused:
        access.check("/tinkwell.api.v1.ReleaseService/Install", Caller("bob", Role.READER))
    assert str(refused.value) == (
        "ReleaseService.Install needs the role admin or operator, and bob has the role reader: "
        "call with another token, or have TINKWELL_ROLES changed"
    )
    assert refused.value.role == "reader"


@pytest.mark.parametrize(
    ("path", "request_", "takers"),
    [
        (
            "ApplicationService/GetRelation",
            application_service_pb2.GetRelationRequest(with_bags=True),
            "admin or operator",
        ),
        ("EventService/GetPosition", event_service_pb2.GetPositionRequest(claim=True), "admin or operator or agent"),
    ],
)
def test_a_field_that_shows_or_changes_more_needs_a_role_of_its_own(path: str, request_: object, takers: str) -> None:
    path = f"/tinkwell.api.v1.{path}"
    reader = Caller("bob", Role.READER)
    access.check(path, reader)
    access.check_request(path, reader, type(request_)())
    access.check_request(path, Caller("ann", Role.OPERATOR), request_)
    with pytest.raises(errors.NotAllowed, match=f" with {access.OPTIONS[path].field} needs the role {takers}, and bob"):
        access.check_request(path, reader, request_)


def test_commands_are_for_admins() -> None:
    path = "/tinkwell.api.v1.ApplicationService/RunTask"
    operator = Caller("ann", Role.OPERATOR)
    access.check_request(path, operator, application_service_pb2.RunTaskRequest(unit="web/0", action="backup"))
    command = application_service_pb2.RunTaskRequest(unit="web/0", arguments=["id"])
    access.check_request(path, Caller("root"), command)
    with pytest.raises(errors.NotAllowed, match=r"RunTask with arguments needs the role admin, and ann has"):
        access.check_request(path, operator, command)


def test_every_field_with_roles_of_its_own_is_one() -> None:
    inputs = {each.path: each.input_type for each in method.own() if not each.sends_many}
    for path, option in access.OPTIONS.items():
        assert option.field in inputs[path].fields_by_name
        assert option.roles < access.METHODS[path]


def test_the_page_has_the_table() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", _PAGE.read_text(), re.MULTILINE
    )
    groups = [core.READERS, core.EVERYBODY, core.OPERATORS, core.OPERATORS | core.AGENTS, core.AGENTS]
    told = {
        f"/tinkwell.api.v1.{service}/{name}": roles
        for service, *cells in rows
        for roles, cell in zip(groups, cells, strict=True)
        for name in re.findall(r"`(\w+)`", cell)
    }
    own = {path: roles for path, roles in access.METHODS.items() if "/grpc." not in path}
    assert told == {path: roles for path, roles in own.items() if roles != core.ADMINS}
