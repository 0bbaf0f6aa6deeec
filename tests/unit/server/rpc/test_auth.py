"""Who a caller is taken for."""

import pytest

from tinkwell.core import errors
from tinkwell.core.access import Caller, Role
from tinkwell.server.rpc import auth

PUSH = "/tinkwell.api.v1.HardwareService/Push"
OPEN = auth.Authenticator({})
CLOSED = auth.Authenticator({"ci": "first", "operator": "second ü"}, {"operator": Role.READER})


@pytest.mark.parametrize(
    "metadata, actor",
    [
        ([], "anonymous"),
        ([("x-tinkwell-actor", "")], "anonymous"),
        ([("x-tinkwell-actor", "ci/42 Jörg")], "ci/42 Jörg"),
        ([("x-tinkwell-actor", b"ci")], "ci"),
        ([("x-tinkwell-actor", "x" * 100)], "x" * 100),
        ([("authorization", "Bearer whatever"), ("user-agent", "a")], "anonymous"),
    ],
)
def test_without_tokens_callers_name_themselves(metadata: list[tuple[str, str | bytes]], actor: str) -> None:
    assert OPEN.authenticate(PUSH, metadata) == Caller(actor, Role.ADMIN)


@pytest.mark.parametrize("actor", ["x" * 101, "a\nb", "a\x00", "\x7f", "a\u2028b"])
def test_a_name_that_does_harm_in_a_log_is_refused(actor: str) -> None:
    with pytest.raises(errors.InvalidField, match="x-tinkwell-actor"):
        OPEN.authenticate(PUSH, [("x-tinkwell-actor", actor)])


@pytest.mark.parametrize(
    "authorization, actor",
    [("Bearer first", "ci"), ("bearer first", "ci"), ("BEARER  second ü ", "operator")],
)
def test_a_token_tells_who_calls_whatever_the_caller_says(authorization: str, actor: str) -> None:
    metadata: list[tuple[str, str | bytes]] = [("authorization", authorization), ("x-tinkwell-actor", "root\n")]
    assert CLOSED.authenticate(PUSH, metadata).name == actor


@pytest.mark.parametrize(("token", "role"), [("first", Role.ADMIN), ("second ü", Role.READER)])
def test_who_is_given_no_role_is_an_admin(token: str, role: Role) -> None:
    assert CLOSED.authenticate(PUSH, [("authorization", f"Bearer {token}")]).role is role


@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Bearer ", "Bearer firs", "Bearer first2", "Basic first"]
)
def test_other_tokens_are_refused(authorization: str | None) -> None:
    with pytest.raises(auth.Unauthenticated):
        CLOSED.authenticate(PUSH, [("authorization", authorization)] if authorization is not None else [])


@pytest.mark.parametrize("authenticator, key", [(OPEN, "x-tinkwell-actor"), (CLOSED, "authorization")])
def test_two_answers_to_one_question_are_refused(authenticator: auth.Authenticator, key: str) -> None:
    with pytest.raises(errors.InvalidField, match=f"{key}: the metadata occurs twice"):
        authenticator.authenticate(PUSH, [(key, "Bearer first"), (key, "Bearer first")])


REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"


@pytest.mark.parametrize("method", ["/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"])
def test_health_checks_need_no_token(method: str) -> None:
    assert CLOSED.authenticate(method, []) == Caller("anonymous", Role.READER)


def test_reflection_needs_a_token_where_there_are_tokens() -> None:
    with pytest.raises(auth.Unauthenticated):
        CLOSED.authenticate(REFLECTION, [])
    assert CLOSED.authenticate(REFLECTION, [("authorization", "Bearer first")]).name == "ci"
    assert OPEN.authenticate(REFLECTION, []).name == "anonymous"


@pytest.mark.parametrize("method", ["/tinkwell.grpc.health.v1/Push", "/grpc.healthy/Push", "/grpc/health./Push"])
def test_nothing_else_is_open(method: str) -> None:
    with pytest.raises(auth.Unauthenticated):
        CLOSED.authenticate(method, [])
