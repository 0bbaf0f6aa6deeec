"""Deferred events as they travel: the same text for the same event, and the event back from it."""

import dataclasses

import pytest

from tinkwell.client import errors
from tinkwell.client.unit import notice
from tinkwell.core.unit.kinds import EventKind
from tinkwell.core.unit.unit_event import Seen, UnitEvent

EVENTS = [
    UnitEvent(kind=EventKind.CONFIG_CHANGED),
    UnitEvent(kind=EventKind.STORAGE_ATTACHED, storage="data/3"),
    UnitEvent(kind=EventKind.RELATION_CHANGED, relation=3, endpoint="db", application="pg", unit="pg/0"),
    UnitEvent(
        kind=EventKind.RELATION_DEPARTED,
        relation=3,
        endpoint="db",
        application="web",
        unit="web/1",
        departing_unit="web/1",
        is_mirrored=True,
    ),
    UnitEvent(
        kind=EventKind.RELATION_CHANGED, relation=3, endpoint="db", application="web", unit="web/0", is_echo=True
    ),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_an_event_comes_back_as_it_was_written(event: UnitEvent) -> None:
    assert notice.read(notice.write(event)) == event


def test_what_an_event_has_seen_makes_no_difference() -> None:
    event = EVENTS[2]
    assert notice.write(dataclasses.replace(event, seen=Seen(config=7, bag=9))) == notice.write(event)
    assert len({notice.write(each) for each in EVENTS}) == len(EVENTS)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "{}", '{"kind": "reboot"}', '{"kind": "start", "relation": "x"}'])
def test_what_is_no_deferred_event_is_an_error_that_says_so(text: str) -> None:
    with pytest.raises(errors.Error, match="a deferred event cannot be read"):
        notice.read(text)
