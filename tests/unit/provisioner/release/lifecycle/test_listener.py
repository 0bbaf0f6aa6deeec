"""Functions in Python that hear the events of releases."""

import threading
from typing import Any

import pytest
from unit.provisioner.release.chart.releasing import files
from unit.provisioner.release.stage import Stage

from tinkwell.core.event.kinds import State
from tinkwell.core.release.chart.file import archive
from tinkwell.core.release.lifecycle_event.name import CoreEvent, Event
from tinkwell.core.release.lifecycle_event.registry import Registry, WrongRegistry
from tinkwell.provisioner.release.lifecycle import listener
from tinkwell.provisioner.release.lifecycle.listener import Function, ListenerRequest, Registration
from tinkwell.provisioner.release.lua.scripts import Answer, HandlerFailed, Request

CHART = {
    "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
    "templates/web.yaml": "resources: {web: {type: acme/web, config: {text: '{{ values.text }}'}}}\n",
    "values.yaml": "text: own\n",
}


def request(event: Event = Event.PRE_RENDER, **others: Any) -> Request:
    given: dict[str, Any] = {
        "chart": "shop",
        "name": "shop",
        "namespace": "default",
        "metadata": {"name": "shop"},
        "values": {"a": 1},
        "manifest": None,
        "context": {"release": {"name": "shop"}, "config": {}, "state": {"n": 1}, "files": {}, "templates": {}},
    }
    return Request(event=event, **{**given, **others})


async def call(function: Function, given: Request | None = None, *, seconds: float = 10.0) -> Answer:
    registry: Registry[Function] = Registry(())
    registry.on("pre-render", 0, function, origin="acme")
    return await listener.call(registry.listeners[0], given or request(), seconds=seconds)


async def test_a_function_changes_a_copy_of_what_it_is_given() -> None:
    def change(given: ListenerRequest) -> None:
        given.values["b"] = [1, None]
        given.context["templates"] = {"a.yaml": "{}"}
        state = given.context["state"]
        assert isinstance(state, dict)
        state["n"] = 2

    given = request()
    answer = await call(change, given)
    assert (answer.values, answer.templates) == ({"a": 1, "b": [1, None]}, {"a.yaml": "{}"})
    assert (answer.state, answer.manifest, answer.warnings) == ({"n": 2}, None, ())
    assert given.values == {"a": 1}


async def test_what_it_may_not_change_is_dropped_with_a_warning() -> None:
    def change(given: ListenerRequest) -> None:
        given.values["b"] = 1
        given.manifest = {"resources": {}}

    answer = await call(change, request(Event.PRE_INSTALL))
    assert (answer.values, answer.manifest) == (None, None)
    assert answer.dropped == ("values", "manifest")


async def test_it_runs_in_a_thread_of_its_own_and_tells_what_it_raises() -> None:
    seen: list[threading.Thread] = []

    def fail(_: ListenerRequest) -> None:
        seen.append(threading.current_thread())
        raise RuntimeError("no region")

    with pytest.raises(HandlerFailed) as told:
        await call(fail)
    assert seen[0] is not threading.main_thread()
    assert (told.value.file, told.value.message) == ("acme", "RuntimeError: no region")
    assert told.value.line == fail.__code__.co_firstlineno
    assert "in fail" in told.value.traceback


@pytest.mark.parametrize("given", [object(), {1, 2}, "text"])
async def test_what_is_no_json_is_an_error(given: Any) -> None:
    def change(request: ListenerRequest) -> None:
        request.values = given

    with pytest.raises(HandlerFailed, match="acme"):
        await call(change)


async def test_one_that_takes_too_long_is_not_waited_for() -> None:
    go = threading.Event()

    def wait(_: ListenerRequest) -> None:
        go.wait()

    with pytest.raises(HandlerFailed, match=r"takes longer than 0\.05 s"):
        await call(wait, seconds=0.05)
    go.set()


class Point:
    def __init__(self, name: str, register: Any) -> None:
        self.name = name
        self._register = register

    def load(self) -> Any:
        if isinstance(self._register, Exception):
            raise self._register
        return self._register


def installed(monkeypatch: pytest.MonkeyPatch, *points: Point) -> None:
    def entry_points(group: str) -> tuple[Point, ...]:
        return points if group == listener.GROUP else ()

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)


def test_entry_points_register_in_the_order_of_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def register(events: Registration) -> None:
        events.on("pre-render", 0.5, lambda _: None)

    installed(monkeypatch, Point("b", register), Point("a", register))
    registry: Registry[Function] = Registry([CoreEvent.READ_CHART])
    listener.load(registry)
    assert [each.file for each in registry.listeners] == ["a", "b"]
    assert listener.are_installed()


@pytest.mark.parametrize(
    ("register", "words"),
    [
        (ImportError("no module acme"), "the entry point acme of tinkwell.lifecycle cannot be loaded: no module acme"),
        (lambda events: events.on("nothing", 0, print), 'the entry point acme: "nothing" is no event that handlers'),
        (lambda events: events.on("ready", 3, print), "the weight must be a number from 0"),
    ],
)
def test_an_entry_point_that_is_wrong_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, register: Any, words: str
) -> None:
    installed(monkeypatch, Point("acme", register))
    with pytest.raises(WrongRegistry) as told:
        listener.load(Registry(()))
    assert words in str(told.value)


async def test_a_release_is_heard_by_functions_after_the_scripts_of_its_charts(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []

    def render(given: ListenerRequest) -> None:
        given.values["text"] = f"{given.values['text']} and {given.chart['name']} in {given.namespace}"

    def hear(given: ListenerRequest) -> None:
        heard.append(given.event)

    def register(events: Registration) -> None:
        events.on("pre-render", 0.5, render)
        for event in ("post-install", "pre-delete", "ready"):
            events.on(event, 0, hear)

    installed(monkeypatch, Point("acme", register))
    script = "function init(e) e.on('pre-render', 0.5, function (_, _, _, v) v.text = 'lua' end) end"
    async with stage.provisioner():
        begun = await stage.operator.install("shop", archive.pack("shop", files(CHART | {"ext/lua/a.lua": script})))
        await stage.ends(begun.id)
        told = {each.event: each.handlers async for each in stage.operator.lifecycle(begun.id)}
        manifest = (await stage.operator.revision("shop")).manifest
        await stage.ends((await stage.operator.uninstall("shop")).id)
    assert manifest is not None
    assert manifest["resources"]["shop:web"]["config"] == {"text": "lua and shop in default"}
    assert [(each.chart, each.file) for each in told["pre-render"]] == [("shop", "ext/lua/a.lua"), ("", "acme")]
    assert heard == ["post-install", "ready", "pre-delete"]


async def test_a_release_without_a_chart_is_heard_as_well(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def change(given: ListenerRequest) -> None:
        assert given.manifest is not None
        given.manifest["resources"]["web"]["config"] = {"text": "changed"}  # type: ignore[index, call-overload]

    installed(monkeypatch, Point("acme", lambda events: events.on("post-render", 0, change)))
    async with stage.provisioner():
        operation_id = await stage.apply("resources: {web: {type: acme/web, config: {text: x}}}")
        await stage.ends(operation_id, State.SUCCEEDED)
        told = [(each.event, each.chart) async for each in stage.operator.lifecycle(operation_id)]
    assert stage.images.told[-1]["config"] == {"text": "changed"}
    assert told == [("post-render", "")]
