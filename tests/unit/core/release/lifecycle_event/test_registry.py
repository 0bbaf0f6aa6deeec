"""Who carries out core events, and who hears the others."""

from collections.abc import Callable

import pytest

from tinkwell.core.release.lifecycle_event.name import CoreEvent, Event
from tinkwell.core.release.lifecycle_event.registry import Registry, WrongRegistry


class Read:
    def read(self) -> str:
        return "read"


class Other:
    def read(self) -> str:
        return "other"


class Two:
    def read(self) -> None: ...
    def write(self) -> None: ...


def registry() -> Registry[Callable[..., object]]:
    return Registry([CoreEvent.READ_CHART, CoreEvent.RENDER])


def fill(found: Registry[Callable[..., object]], given: list[tuple[str, object]]) -> None:
    for event, implementation in given:
        found.implement(event, implementation)
    found.check()


def test_a_core_event_is_carried_out_by_the_one_object_that_was_given_for_it() -> None:
    found = registry()
    found.implement("read-chart", Read())
    found.implement("render", Other())
    found.check()
    assert found.find(CoreEvent.READ_CHART, Read).read() == "read"
    with pytest.raises(WrongRegistry, match="render is to be carried out by Read, and not by Other"):
        found.find(CoreEvent.RENDER, Read)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([("read-chart", Read()), ("read-chart", Other())], "read-chart has two implementations, Read and Other"),
        ([("read-chart", Read())], "render has no implementation in this process; each must have one"),
        ([], "read-chart and render have no implementation in this process"),
        ([("pre-render", Read())], '"pre-render" is not a core event; did you mean render'),
        ([("read-chart", object())], "object, which is to carry out read-chart, has no method; it must have one"),
        ([("read-chart", Two())], "has 2 methods: read, write; it must have one"),
    ],
    ids=["second", "missing", "all missing", "unknown", "no method", "two methods"],
)
def test_what_is_wrong_with_core_events_is_told_in_one_sentence(given: list[tuple[str, object]], sentence: str) -> None:
    found = registry()
    with pytest.raises(WrongRegistry) as told:
        fill(found, given)
    assert sentence in str(told.value)


def test_functions_are_known_by_their_entry_point_and_line() -> None:
    def hear(request: object) -> None: ...

    found = registry()
    found.on("pre-render", 0.5, hear, origin="acme")
    found.on("watch", 1, hear, origin="acme")
    first, second = found.listeners
    assert (first.event, first.weight, first.file, first.ordinal) == (Event.PRE_RENDER, 0.5, "acme", 0)
    assert (second.event, second.ordinal, first.origin) == (Event.WAIT, 1, "")
    assert first.line == hear.__code__.co_firstlineno


@pytest.mark.parametrize(
    ("event", "weight", "sentence"),
    [
        ("pre-rendr", 0.5, 'the entry point acme: "pre-rendr" is no event that handlers hear; did you mean'),
        ("render", 0.5, "Tinkwell does that itself."),
        ("pre-render", 2, "the weight must be a number from 0, first, to 1, last, and not 2"),
        ("bar:ready", 0, "names a subchart, which a function of no chart has not"),
    ],
)
def test_a_function_that_cannot_be_registered_names_its_entry_point(event: str, weight: float, sentence: str) -> None:
    with pytest.raises(WrongRegistry) as told:
        registry().on(event, weight, print, origin="acme")
    assert sentence in str(told.value)
