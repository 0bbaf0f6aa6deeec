"""Which events a unit would get if nothing else happened, what has made them due, and what keeps it from them."""

import pytest
from unit.core.unit_life import STARTED, V2, view

from tinkwell.core.unit.kinds import CharmKind, EventKind, Phase
from tinkwell.core.unit.resolver.explanation import cause, hindrance, upcoming
from tinkwell.core.unit.unit_event import Seen, UnitEvent


def test_what_comes_is_told_in_order_up_to_a_bound() -> None:
    seen = view(charm=V2, is_tick_due=True, leader="web/0", term=1)
    names = [event.name for event in upcoming(STARTED, seen, most=10)]
    assert names == ["leader-elected", "upgrade-charm", "config-changed", "start", "update-status"]
    assert [event.name for event in upcoming(STARTED, seen, most=2)] == names[:2]
    assert upcoming(STARTED, view(), most=2) == ()


@pytest.mark.parametrize("kind", [EventKind.CONFIG_CHANGED, EventKind.START])
def test_what_follows_an_upgrade_is_caused_by_the_charm(kind: EventKind) -> None:
    event = UnitEvent(kind=kind, seen=Seen(config=3, charm="sha256:2"))
    told = cause(event, unit="web/0", application_id="a", is_of_upgrade=True, actor="")
    assert told == {"type": "CHARM", "id": "sha256:2"}


def test_another_configuration_is_its_own_cause() -> None:
    event = UnitEvent(kind=EventKind.CONFIG_CHANGED, seen=Seen(config=3, charm="sha256:2"))
    told = cause(event, unit="web/0", application_id="a", is_of_upgrade=False, actor="ann")
    assert told == {"type": "APPLICATION", "id": "a", "version": 3, "actor": "ann"}


def test_what_is_served_is_not_hindered_and_what_waits_says_for_what() -> None:
    def said(
        *, machine: str = "", is_anywhere: bool = False, alive: bool = False, phase: Phase = Phase.WAITING
    ) -> str | None:
        found = hindrance(
            "web/0",
            CharmKind.NATIVE,
            phase=phase,
            machine=machine,
            is_anywhere=is_anywhere,
            is_agent_alive=alive,
            event="#3 start" if phase is Phase.SETUP else "",
        )
        return found.text if found is not None else None

    assert said(machine="rack1", alive=True) is None
    assert said() == "waits for a machine: no agent that is alive takes native charms"
    assert said(machine="rack1") == "waits for an agent of machine rack1"
    assert said(is_anywhere=True) == "waits for an agent that takes native charms anywhere"
    assert said(machine="rack1", phase=Phase.SETUP) == "waits with #3 start: its agent of machine rack1 is not alive"
