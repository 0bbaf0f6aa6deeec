"""That hostile input is the same for a seed, reaches everything, and that a fault is not passed over."""

import dataclasses
from typing import Any

import grpc
import pytest

from support.fuzz import caller, method, request, verdict
from support.fuzz.bystander import Account, Wait
from support.fuzz.case import Port, Source
from support.fuzz.value import Known
from support.fuzz.verdict import Record

METHODS = {Port.GUARDED: method.own(), Port.OPEN: method.own(), Port.TINKERBELL: method.tinkerbell()}
SOURCE = Source(7, METHODS, Known(), "token")
GOOD = Record([], [], {}, {"gRPC": Account(calls=9, worst_seconds=0.1)}, [])


def ended(code: grpc.StatusCode | None) -> caller.Ended:
    return caller.Ended(Port.OPEN, "/a/b", True, "case 3", 10.0, 2.0, code, "details")


def test_methods_are_those_of_all_services_on_the_port() -> None:
    paths = [each.path for each in method.own()]
    assert len(set(paths)) == len(paths) > 60
    for expected in (
        "/tinkwell.api.v1.WorkService/Acquire",
        "/tinkwell.api.v1.ReleaseService/SubmitPlan",
        "/grpc.health.v1.Health/Watch",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    ):
        assert expected in paths
    assert {each.path.split("/")[1].rpartition(".")[2] for each in method.tinkerbell()} == {
        *("EventsService", "HardwareService", "TemplateService", "WorkflowService")
    }


def test_a_seed_makes_the_same_calls_and_another_one_others() -> None:
    again = Source(7, METHODS, Known(), "token")
    assert [SOURCE.case(number) for number in range(60)] == [again.case(number) for number in range(60)]
    other = Source(8, METHODS, Known(), "token")
    assert [SOURCE.case(number) for number in range(60)] != [other.case(number) for number in range(60)]
    assert [request.draw(7, number) for number in range(60)] == [request.draw(7, number) for number in range(60)]


def test_calls_are_of_all_kinds() -> None:
    cases = [SOURCE.case(number) for number in range(400)]
    assert {each.port for each in cases} == set(Port)
    assert {each.has_token for each in cases} == {True, False}
    sizes = [sum(map(len, each.requests)) for each in cases]
    assert min(sizes) == 0
    assert max(sizes) > 1 << 22


def test_all_is_well_where_nothing_went_wrong() -> None:
    record = dataclasses.replace(GOOD, calls=[ended(None), *map(ended, verdict.EXPECTED)])
    assert verdict.judge(record, patience_seconds=1.0) == []


@pytest.mark.parametrize(
    "broken, said",
    [
        *(
            ({"calls": [ended(code)]}, f"{code.name} after 2.00 s: details")
            for code in grpc.StatusCode
            if code not in verdict.EXPECTED
        ),
        ({"requests": [request.Ended("request 1", 0.0, 0.1, 500)]}, "500 after 0.10 s"),
        ({"accounts": {"gRPC": Account(slow=[Wait(11.0, 1.1)])}}, "an ordinary client of gRPC waited 1.10 s"),
        ({"accounts": {"HTTP": Account(failures=["it was refused"])}}, "HTTP got no answer: it was refused"),
        ({"complaints": ["a server ended with -11"]}, "a server ended with -11"),
    ],
)
def test_what_must_not_happen_is_a_violation(broken: dict[str, Any], said: str) -> None:
    [violation] = verdict.judge(dataclasses.replace(GOOD, **broken), patience_seconds=1.0)
    assert said in violation


def test_a_wait_names_what_was_under_way() -> None:
    accounts = {"gRPC": Account(slow=[Wait(11.0, 3.0)])}
    record = dataclasses.replace(GOOD, accounts=accounts, calls=[ended(grpc.StatusCode.OK)])
    [violation] = verdict.judge(record, patience_seconds=1.0)
    assert "2.00 s of case 3" in violation
