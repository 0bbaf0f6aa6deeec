"""What grants, commits and ends change beside the ledger."""

from typing import Any

import pytest
from unit.core.unit_life import ALIVE, DYING, V1, V2, view

from tinkwell.core.unit.kinds import EventKind, Phase
from tinkwell.core.unit.resolver import change
from tinkwell.core.unit.resolver.change import committed, ended, granted, withdrawn
from tinkwell.core.unit.unit_event import Seen, UnitEvent
from tinkwell.core.unit.view import View


def of(kind: EventKind, *, relation: int = 0, unit: str = "", storage: str = "", charm: str = V1) -> UnitEvent:
    return UnitEvent(kind=kind, relation=relation, unit=unit, storage=storage, seen=Seen(charm=charm, term=4))


SETUP: dict[str, Any] = {"phase": Phase.SETUP}
OPERATION: dict[str, Any] = {"phase": Phase.OPERATION}
TEARDOWN: dict[str, Any] = {"phase": Phase.TEARDOWN}


@pytest.mark.parametrize(
    ("event", "seen", "expected"),
    [
        (of(EventKind.INSTALL), view(code=""), [change.RunCode(V1), change.EnterPhase(Phase.SETUP)]),
        (of(EventKind.STORAGE_ATTACHED, storage="data/0"), view(), [change.EnterPhase(Phase.SETUP)]),
        (of(EventKind.INSTALL), view(**SETUP), []),
        (of(EventKind.UPGRADE_CHARM, charm=V2), view(**OPERATION), [change.RunCode(V2)]),
        (of(EventKind.RELATION_CREATED, relation=3), view(**SETUP), [change.BeginEntering(3)]),
        (of(EventKind.RELATION_JOINED, relation=3, unit="pg/0"), view(**OPERATION), [change.Refer(3, "pg/0")]),
        (of(EventKind.RELATION_BROKEN, relation=3), view(**OPERATION), []),
        (of(EventKind.STOP), view(life=DYING, **OPERATION), [change.EnterPhase(Phase.TEARDOWN)]),
        (
            of(EventKind.RELATION_DEPARTED, relation=3),
            view(life=DYING, leader="web/0", term=4, **OPERATION),
            [change.EnterPhase(Phase.TEARDOWN), change.Resign(4)],
        ),
        (of(EventKind.REMOVE), view(life=DYING, leader="web/1", **TEARDOWN), []),
        (of(EventKind.RELATION_CHANGED, relation=3, unit="pg/0"), view(life=DYING, leader="web/0", **OPERATION), []),
    ],
)
def test_a_grant_changes(event: UnitEvent, seen: View, expected: list[change.Change]) -> None:
    assert list(granted(event, seen)) == expected


@pytest.mark.parametrize(
    ("event", "seen", "expected"),
    [
        (of(EventKind.RELATION_CREATED, relation=3), view(), [change.Enter(3)]),
        (of(EventKind.RELATION_BROKEN, relation=3), view(), [change.Leave(3)]),
        (of(EventKind.RELATION_DEPARTED, relation=3, unit="pg/0"), view(), []),
        (of(EventKind.LEADER_ELECTED), view(), [change.Announce(4)]),
        (of(EventKind.START), view(**SETUP), [change.EnterPhase(Phase.OPERATION)]),
        (of(EventKind.START), view(**OPERATION), []),
        (of(EventKind.STORAGE_DETACHING, storage="data/0"), view(), [change.Detach("data/0")]),
        (of(EventKind.REMOVE), view(**TEARDOWN), [change.Leave(), change.Die()]),
    ],
)
def test_a_commit_changes(event: UnitEvent, seen: View, expected: list[change.Change]) -> None:
    assert list(committed(event, seen)) == expected


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (of(EventKind.RELATION_CREATED, relation=3), [change.Leave(3)]),
        (of(EventKind.RELATION_JOINED, relation=3, unit="pg/0"), [change.LetGo(3, "pg/0")]),
        (of(EventKind.STORAGE_ATTACHED, storage="data/0"), [change.Detach("data/0")]),
        (of(EventKind.CONFIG_CHANGED), []),
    ],
)
def test_what_is_withdrawn_takes_its_grant_back(event: UnitEvent, expected: list[change.Change]) -> None:
    assert list(withdrawn(event)) == expected


def test_the_end_of_a_unit_lets_go_of_all_that_it_has() -> None:
    seen = view(leader="web/0", term=2, storages={"data/10": ALIVE, "data/9": DYING})
    assert list(ended(seen)) == [
        change.Resign(2),
        change.Detach("data/9"),
        change.Detach("data/10"),
        change.Leave(),
        change.Die(),
    ]
