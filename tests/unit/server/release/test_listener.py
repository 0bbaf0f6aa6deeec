"""Functions in Python that hear the listing of releases: how they are loaded, called, and what is said of faults."""

import importlib.metadata
import time
from collections.abc import Callable
from typing import Any

import pytest

from tinkwell.core.release.lifecycle_event.name import CoreEvent, Event
from tinkwell.core.release.lifecycle_event.registry import Registry, WrongRegistry
from tinkwell.server.release.service import listener
from tinkwell.server.release.service.listener import Function, ListRequest, Registration

Register = Callable[[Registration], object]


class Point:
    """An entry point of what is installed beside the server."""

    def __init__(self, name: str, register: Register | Exception) -> None:
        self.name = name
        self._register = register

    def load(self) -> Register:
        if isinstance(self._register, Exception):
            raise self._register
        return self._register


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[Point]:
    found: list[Point] = []

    def entry_points(*, group: str) -> list[Point]:
        assert group == "tinkwell.lifecycle"
        return found

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    return found


def ask(request: ListRequest) -> None:
    request.namespace = "asked"


def request(event: str = "pre-list") -> ListRequest:
    return ListRequest(event=event, namespace="", states=[])


async def called(function: Function, **more: Any) -> ListRequest:
    registry: Registry[Function] = Registry([CoreEvent.LIST])
    registry.on("pre-list", 0.5, function, origin="teams")
    (heard,) = listener.hearing(registry, Event.PRE_LIST)
    given = request()
    await listener.call(heard, given, **more)
    return given


def test_entry_points_register_by_name_and_are_heard_by_weight(installed: list[Point]) -> None:
    order: list[str] = []

    def first(events: Registration) -> None:
        order.append("a")
        events.on("pre-list", 0.9, print)
        events.on("ready", 0, print)

    def second(events: Registration) -> None:
        order.append("b")
        events.on("pre-list", 0.1, ask)

    installed += [Point("b", second), Point("a", first)]
    registry = listener.load()
    assert order == ["a", "b"]
    heard = listener.hearing(registry, Event.PRE_LIST)
    assert [(each.function, each.weight) for each in heard] == [(ask, 0.1), (print, 0.9)]
    assert listener.hearing(registry, Event.POST_LIST) == []


@pytest.mark.parametrize(
    ("register", "message"),
    [
        (ImportError("no module acme"), "the entry point acme of tinkwell.lifecycle cannot be loaded: no module acme"),
        (lambda events: events.nothing, "the entry point acme of tinkwell.lifecycle cannot be loaded: .*nothing"),
        (lambda events: events.on("pre-lisst", 0.5, ask), "pre-lisst"),
        (lambda events: events.on("pre-list", 2.0, ask), "2"),
    ],
)
def test_what_cannot_be_loaded_stops_the_program_in_one_sentence(
    installed: list[Point], register: Register | Exception, message: str
) -> None:
    installed.append(Point("acme", register))
    with pytest.raises(WrongRegistry, match=message) as raised:
        listener.load()
    assert "\n" not in str(raised.value)


async def test_a_function_changes_the_request_that_it_is_given() -> None:
    assert (await called(ask)).namespace == "asked"


async def test_a_function_that_fails_or_takes_too_long_is_told_by_its_place() -> None:
    def fail(_: ListRequest) -> None:
        raise ValueError("not today")

    def stop(_: ListRequest) -> None:
        raise StopIteration("no more")

    with pytest.raises(listener.HandlerFailed, match=r"teams \(line \d+\) of pre-list failed: ValueError: not"):
        await called(fail)
    with pytest.raises(listener.HandlerFailed, match="RuntimeError: StopIteration: no more"):
        await called(stop)
    with pytest.raises(listener.HandlerFailed, match=r"takes longer than 0\.01 s"):
        await called(lambda _: time.sleep(0.2), seconds=0.01)
