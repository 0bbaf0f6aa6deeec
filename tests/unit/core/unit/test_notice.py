"""What a deferred event says, and that it is read as it was written."""

import pytest

from tinkwell.core.unit import notice
from tinkwell.core.unit.kinds import EventKind
from tinkwell.core.unit.unit_event import Seen, UnitEvent

EVENTS = [
    UnitEvent(kind=EventKind.CONFIG_CHANGED),
    UnitEvent(kind=EventKind.STORAGE_ATTACHED, storage="data/3"),
    UnitEvent(
        kind=EventKind.RELATION_CHANGED, relation=3, endpoint="db", application="web", unit="web/0", is_echo=True
    ),
    UnitEvent(
        kind=EventKind.RELATION_DEPARTED,
        relation=3,
        endpoint="db",
        application="pg",
        unit="pg/0",
        departing_unit="pg/0",
        is_mirrored=True,
    ),
    UnitEvent(kind=EventKind.SECRET_ROTATE, secret="s1"),
    UnitEvent(kind=EventKind.SECRET_REMOVE, secret="s1", revision=2),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_an_event_is_read_as_it_was_written(event: UnitEvent) -> None:
    assert notice.read(notice.write(event)) == event


def test_the_same_event_gives_the_same_text_whatever_it_has_seen() -> None:
    seen = UnitEvent(kind=EventKind.CONFIG_CHANGED, seen=Seen(config=7))
    assert notice.write(seen) == notice.write(EVENTS[0]) == '{"kind":"config-changed"}'


def test_a_changed_secret_is_the_same_event_for_each_revision() -> None:
    said = {
        notice.write(UnitEvent(kind=EventKind.SECRET_CHANGED, secret="s1", revision=revision)) for revision in (2, 3)
    }
    assert said == {'{"kind":"secret-changed","secret":"s1"}'}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind":"unheard-of"}', '{"kind":"start","relation":[]}'])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"deferred|valid|Expecting"):
        notice.read(text)
