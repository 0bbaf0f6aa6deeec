"""Deferred events, as lists have them."""

import pytest

from tinkwell.client import errors
from tinkwell.client.unit.notice import DeferredNotice
from tinkwell.core.unit import notice
from tinkwell.core.unit.kinds import EventKind
from tinkwell.core.unit.unit_event import UnitEvent


def test_a_notice_says_what_its_handler_is_to_hear() -> None:
    event = UnitEvent(kind=EventKind.RELATION_CHANGED, relation=3, endpoint="db", application="pg", unit="pg/0")
    assert DeferredNotice(7, "database", notice.write(event)).told == event


def test_what_this_release_does_not_know_is_an_error() -> None:
    with pytest.raises(errors.Error, match="newer release"):
        _ = DeferredNotice(7, "database", '{"kind":"unheard-of"}').told
