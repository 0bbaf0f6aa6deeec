"""The kinds of events, and what stands about them for people."""

from tinkwell.core.unit.kinds import MEANINGS, EventKind, Phase
from tinkwell.core.unit.unit_event import UnitEvent


def test_every_kind_has_its_meaning() -> None:
    assert list(MEANINGS) == list(EventKind)


def test_what_tears_down_comes_in_the_teardown_and_nothing_else_does() -> None:
    for kind, meaning in MEANINGS.items():
        assert kind.is_teardown == (Phase.TEARDOWN in meaning.phases)


def test_a_name_has_that_of_the_endpoint_or_the_storage_before_it() -> None:
    joined = UnitEvent(kind=EventKind.RELATION_JOINED, relation=1, endpoint="db", unit="pg/0")
    assert joined.kind.is_relation
    assert joined.name == "db-relation-joined"
    attached = UnitEvent(kind=EventKind.STORAGE_ATTACHED, storage="my-data/3")
    assert attached.kind.is_storage
    assert attached.name == "my-data-storage-attached"
    assert UnitEvent(kind=EventKind.START).name == "start"
