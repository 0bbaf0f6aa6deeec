"""The examples of the documentation do what it says."""

from pathlib import Path
from typing import Any

import pytest
from unit.provisioner.release.lua.scripting import chart, loaded, request

from tinkwell.core.release.lifecycle_event import name as event_names
from tinkwell.core.release.lifecycle_event.name import Event
from tinkwell.provisioner.release.lua.scripts import HandlerFailed

DOCS = Path(__file__).parents[5] / "docs"
PAGE = (DOCS / "how-to" / "lua.md").read_text(encoding="utf-8")
FIRST, REFUSAL, LABELS, SYNTAX, OVERRIDE, STATE = (part.split("```")[0] for part in PAGE.split("```lua\n")[1:])


async def test_the_first_handler_sets_a_value() -> None:
    scripts, (handler,), _ = await loaded(chart("shop", FIRST))
    answer = await scripts.call(handler, request(Event.PRE_RENDER))
    assert (answer.values, answer.lines) == ({"myvalue": "My Value"}, ("got chart shop",))


async def test_a_handler_refuses_what_cannot_work() -> None:
    scripts, (handler,), _ = await loaded(chart("shop", REFUSAL))
    assert (await scripts.call(handler, request(Event.PRE_RENDER, {"replicas": 1, "storage": "local"}))).values is None
    with pytest.raises(HandlerFailed, match=r"values\.storage must not be local with more than one replica"):
        await scripts.call(handler, request(Event.PRE_RENDER, {"replicas": 2, "storage": "local"}))


async def test_a_handler_labels_what_was_rendered() -> None:
    scripts, (handler,), _ = await loaded(chart("shop", LABELS))
    manifest: Any = {"resources": {"shop:web": {"type": "acme/web", "config": {}}}}
    answer = await scripts.call(handler, request(Event.POST_RENDER, manifest=manifest))
    config = {"labels": {"release": "shop"}}
    assert answer.manifest == {"resources": {"shop:web": {"type": "acme/web", "config": config}}}


async def test_a_handler_makes_manifests_of_another_syntax() -> None:
    scripts, (handler,), _ = await loaded(chart("shop", SYNTAX))
    templates: Any = {"services.txt": "web acme/web:1\ndisk acme/disk\n"}
    answer = await scripts.call(handler, request(Event.PRE_RENDER, templates=templates))
    assert answer.templates is not None
    assert list(answer.templates) == ["services.yaml"]
    assert answer.templates["services.yaml"].splitlines()[:3] == ["resources:", "  disk:", "    config: {}"]


async def test_a_parent_overrides_a_function_of_its_subchart() -> None:
    bar = 'function greeting() return "hello" end function init(events) print(greeting()) end'
    _, _, lines = await loaded(chart("shop.bar", bar), chart("shop", OVERRIDE))
    assert lines == ["hello, from the parent"]


async def test_state_is_handed_from_event_to_event() -> None:
    scripts, (first, second), _ = await loaded(chart("shop", STATE))
    answer = await scripts.call(first, request(Event.PRE_RENDER))
    assert answer.state == {"rendered": 1}
    answer = await scripts.call(second, request(Event.READY, state=answer.state))
    assert answer.lines == ("handlers have run before: true",)


def test_the_page_has_every_event_that_scripts_may_hear() -> None:
    table = (DOCS / "reference" / "handler.md").read_text(encoding="utf-8").split("## Events")[1].split("## Order")[0]
    for event in Event:
        assert f"`{event}`" in table, event
    rows = [line for line in table.splitlines() if "`values`" in line]
    assert all(f"`{event}`" in row for event in event_names.CHANGES_SOURCES for row in rows)
