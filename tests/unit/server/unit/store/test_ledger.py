"""Plans and queues are read as they were written."""

import json

import pytest

from tinkwell.core.unit.kinds import EventKind, StepKind
from tinkwell.core.unit.ledger import SetupStep
from tinkwell.core.unit.unit_event import Seen, UnitEvent
from tinkwell.server.unit.store import ledger

CHANGED = UnitEvent(
    kind=EventKind.RELATION_CHANGED,
    relation=3,
    endpoint="db",
    application="pg",
    unit="pg/0",
    departing_unit="pg/1",
    storage="data/0",
    is_mirrored=True,
    is_echo=True,
    seen=Seen(config=1, charm="sha256:0", term=2, bag=3),
)


@pytest.mark.parametrize(
    "queue",
    [(), (CHANGED,), (UnitEvent(kind=EventKind.CONFIG_CHANGED), UnitEvent(kind=EventKind.START))],
)
def test_a_queue_is_read_as_it_was_written(queue: tuple[UnitEvent, ...]) -> None:
    assert ledger.load_queue(ledger.dump_queue(queue)) == queue


def test_a_plan_is_read_as_it_was_written() -> None:
    plan = (SetupStep(StepKind.RELATION_CREATED, 7), *(SetupStep(kind) for kind in StepKind))
    assert ledger.load_plan(ledger.dump_plan(plan)) == plan


def test_what_has_its_default_is_left_out() -> None:
    (written,) = json.loads(ledger.dump_queue((UnitEvent(kind=EventKind.START),)))
    assert written == {"kind": "start"}
