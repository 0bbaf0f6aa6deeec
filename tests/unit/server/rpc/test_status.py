"""Every error has its one status, and every status fits into what a client accepts."""

import inspect
import types
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.api.v1 import error_reason_pb2
from tinkwell.core import errors
from tinkwell.server.rpc import auth, status

_SAMPLES: dict[type[errors.TinkwellError], errors.TinkwellError] = {
    type(sample): sample
    for sample in (
        errors.InvalidField.of("data.id", "is not a UUID"),
        errors.NotFound("HARDWARE", "x"),
        errors.AlreadyExists("mac", "52:54:00:10:00:03", taken_by="y"),
        errors.IllegalTransition("workflow x", "it has ended"),
        errors.PlanStale("p", "operation o has changed its release since"),
        errors.MachineBusy("a", held_by="b"),
        errors.OperationActive("shop", operation_id="o"),
        errors.LeaseHeld("machine", "a"),
        errors.LeaseLost(7),
        errors.WrongWorker("a", "b"),
        errors.NotAllowed("no", role="reader"),
        errors.ChartInvalid.of("Chart.yaml.name", "is missing"),
        errors.ChartUnknown("sha256:a"),
        errors.CharmRefused.of("containers", "cannot be had"),
        errors.CommitRefused.of("bags[0]", "the unit does not lead"),
        errors.EndpointMismatch("relation web pg", "no pair of endpoints fits"),
        errors.NotLeader("web/1", leader="web/0"),
        errors.UnitInError("web/1", event="install"),
        errors.MachineHasUnits("a", units=["web/0"], advice="say with_units"),
        errors.SecretsDisabled(),
        errors.LostRace("another writer was faster"),
        errors.Compacted(3, 17),
        errors.OtherHistory("revision 9 is of another history", history_id="h"),
        errors.TooSlow("behind"),
        errors.LimitReached("too many watchers"),
        errors.Unavailable("the server is stopping"),
        auth.Unauthenticated("no token"),
    )
}


def leaves(module: types.ModuleType) -> set[type[errors.TinkwellError]]:
    found = {kind for _, kind in inspect.getmembers(module, inspect.isclass) if issubclass(kind, errors.TinkwellError)}
    return {kind for kind in found if not any(other is not kind and issubclass(other, kind) for other in found)}


def info(built: status_pb2.Status) -> error_details_pb2.ErrorInfo:
    found = error_details_pb2.ErrorInfo()
    assert built.details[0].Unpack(found)
    return found


def detail(built: status_pb2.Status, kind: Any) -> Any:
    found = kind()
    assert [packed.Unpack(found) for packed in built.details].count(True) == 1
    return found


def test_every_error_has_a_status_and_every_reason_an_error() -> None:
    inner = {errors.InvalidField, errors.IllegalTransition}
    assert set(status.CODES) == leaves(errors) | leaves(auth) | inner == set(_SAMPLES)
    used = {error_reason_pb2.ErrorReason.Name(reason) for _, reason in status.CODES.values()}
    assert used == set(error_reason_pb2.ErrorReason.keys()) - {"ERROR_REASON_UNSPECIFIED", "ERROR_REASON_INTERNAL"}


@pytest.mark.parametrize(
    "kind, code, reason, metadata",
    [
        (errors.InvalidField, "INVALID_ARGUMENT", "INVALID_FIELD", {}),
        (errors.NotFound, "NOT_FOUND", "NOT_FOUND", {"resource_type": "HARDWARE", "resource_id": "x"}),
        (
            errors.AlreadyExists,
            "ALREADY_EXISTS",
            "ALREADY_EXISTS",
            {"what": "mac", "value": "52:54:00:10:00:03", "taken_by": "y"},
        ),
        (errors.IllegalTransition, "FAILED_PRECONDITION", "ILLEGAL_TRANSITION", {"subject": "workflow x"}),
        (
            errors.MachineBusy,
            "FAILED_PRECONDITION",
            "MACHINE_BUSY",
            {"subject": "machine a", "worker_id": "a", "workflow_id": "b"},
        ),
        (errors.PlanStale, "FAILED_PRECONDITION", "PLAN_STALE", {"subject": "plan p"}),
        (errors.OperationActive, "ABORTED", "OPERATION_ACTIVE", {"subject": "release shop", "operation_id": "o"}),
        (errors.LeaseHeld, "FAILED_PRECONDITION", "LEASE_HELD", {"subject": "machine a", "worker_id": "a"}),
        (errors.LeaseLost, "FAILED_PRECONDITION", "LEASE_LOST", {"subject": "lease 7"}),
        (errors.WrongWorker, "PERMISSION_DENIED", "WRONG_WORKER", {"worker_id": "a", "expected": "b"}),
        (errors.NotAllowed, "PERMISSION_DENIED", "NOT_ALLOWED", {"role": "reader"}),
        (errors.ChartInvalid, "INVALID_ARGUMENT", "CHART_INVALID", {}),
        (
            errors.ChartUnknown,
            "FAILED_PRECONDITION",
            "CHART_UNKNOWN",
            {"subject": "chart sha256:a"},
        ),
        (errors.CharmRefused, "INVALID_ARGUMENT", "CHARM_REFUSED", {}),
        (errors.CommitRefused, "INVALID_ARGUMENT", "COMMIT_REFUSED", {}),
        (errors.EndpointMismatch, "FAILED_PRECONDITION", "ENDPOINT_MISMATCH", {"subject": "relation web pg"}),
        (errors.NotLeader, "FAILED_PRECONDITION", "NOT_LEADER", {"subject": "unit web/1"}),
        (errors.UnitInError, "FAILED_PRECONDITION", "UNIT_IN_ERROR", {"subject": "unit web/1"}),
        (
            errors.MachineHasUnits,
            "FAILED_PRECONDITION",
            "MACHINE_HAS_UNITS",
            {"subject": "machine a", "worker_id": "a"},
        ),
        (errors.SecretsDisabled, "FAILED_PRECONDITION", "SECRETS_DISABLED", {"subject": "secrets"}),
        (errors.LostRace, "ABORTED", "LOST_RACE", {}),
        (errors.Compacted, "OUT_OF_RANGE", "COMPACTED", {"revision": "3", "oldest_revision": "17"}),
        (errors.OtherHistory, "OUT_OF_RANGE", "OTHER_HISTORY", {"history_id": "h"}),
        (errors.TooSlow, "RESOURCE_EXHAUSTED", "TOO_SLOW", {}),
        (errors.LimitReached, "RESOURCE_EXHAUSTED", "LIMIT_REACHED", {}),
        (errors.Unavailable, "UNAVAILABLE", "UNAVAILABLE", {}),
        (auth.Unauthenticated, "UNAUTHENTICATED", "UNAUTHENTICATED", {}),
    ],
)
def test_an_error_has_the_code_the_reason_and_the_fields_that_clients_rely_on(
    kind: type[errors.TinkwellError], code: str, reason: str, metadata: dict[str, str]
) -> None:
    built = status.of_error(_SAMPLES[kind])
    assert built.code == grpc.StatusCode[code].value[0]
    assert built.message == str(_SAMPLES[kind])
    assert (info(built).reason, info(built).domain, dict(info(built).metadata)) == (reason, "tinkwell", metadata)


def test_details_say_which_field_which_resource_which_state_and_when_to_try_again() -> None:
    bad = detail(status.of_error(_SAMPLES[errors.InvalidField]), error_details_pb2.BadRequest)
    assert [(found.field, found.description) for found in bad.field_violations] == [("data.id", "is not a UUID")]
    resource = detail(status.of_error(_SAMPLES[errors.NotFound]), error_details_pb2.ResourceInfo)
    assert (resource.resource_type, resource.resource_name) == ("HARDWARE", "x")
    failure = detail(status.of_error(_SAMPLES[errors.IllegalTransition]), error_details_pb2.PreconditionFailure)
    [violation] = failure.violations
    assert (violation.type, violation.subject, violation.description) == ("STATE", "workflow x", "it has ended")
    for kind, milliseconds in ((errors.LostRace, 100), (errors.Unavailable, 1_000)):
        retry = detail(status.of_error(_SAMPLES[kind]), error_details_pb2.RetryInfo)
        assert retry.retry_delay.ToMilliseconds() == milliseconds


def test_a_subclass_has_the_status_of_its_class() -> None:
    class Narrower(errors.LostRace):
        pass

    assert info(status.of_error(Narrower("again"))).reason == "LOST_RACE"


def test_a_fault_tells_its_reference_only() -> None:
    built = status.of_fault("r-1")
    assert built.code == grpc.StatusCode.INTERNAL.value[0]
    assert dict(info(built).metadata) == {"reference": "r-1"}
    assert "r-1" in built.message


_TEXT = st.text(st.characters(codec=None), max_size=3_000)


@given(st.lists(st.builds(errors.Violation, _TEXT, _TEXT), min_size=1, max_size=40))
def test_any_number_of_long_violations_fits(violations: list[errors.Violation]) -> None:
    built = status.of_error(errors.InvalidField(violations))
    # Clients accept eight kilobytes; the message goes along twice, once of them with each byte written as three.
    assert len(built.SerializeToString()) * 4 / 3 + len(built.message.encode()) * 3 < 7_500
    assert detail(built, error_details_pb2.BadRequest).field_violations
    assert rpc_status.to_status(built).details == built.message


@given(_TEXT, _TEXT, _TEXT)
def test_any_long_value_fits(what: str, value: str, owner: str) -> None:
    for error in (
        errors.AlreadyExists(what, value, taken_by=owner),
        errors.NotFound(what, value),
        errors.IllegalTransition(what, value),
        errors.WrongWorker(what, value),
        errors.OtherHistory(what, history_id=value),
    ):
        built = status.of_error(error)
        assert len(built.SerializeToString()) * 4 / 3 + len(built.message.encode()) * 3 < 7_500
