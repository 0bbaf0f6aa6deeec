"""What `status` says of a unit, by what is known of it."""

import pytest

from tinkwell.client import OpenPort, Unit, UnitEvent, UnitStatus
from tinkwell.client.unit.event import EventRelation
from tinkwell.core.unit.kinds import CharmKind, EventKind, EventState, Life, Phase
from tinkwell.juju.status import unit as units

READY = UnitStatus("active", "ready")
RELATION = EventRelation(2, endpoint="db", application="pg", unit="pg/0")
JOINED = UnitEvent("e", kind=EventKind.RELATION_JOINED, relation=RELATION, state=EventState.RUNNING)
FAILED = UnitEvent("e", kind=EventKind.INSTALL, state=EventState.ERROR, message="exit 1")


def unit(
    phase: Phase = Phase.OPERATION,
    *,
    said: UnitStatus = READY,
    event: UnitEvent | None = None,
    has_agent: bool = True,
    settled: bool = True,
) -> Unit:
    return Unit(
        "u", name="web/0", phase=phase, status=said, event=event, has_agent=has_agent, settled=settled, anywhere=True
    )


@pytest.mark.parametrize(
    ("found", "workload", "agent"),
    [
        (unit(), ("active", "ready"), ("idle", None)),
        (unit(settled=False), ("active", "ready"), ("executing", None)),
        (unit(event=JOINED), ("active", "ready"), ("executing", "running db-relation-joined hook for pg/0")),
        (unit(event=FAILED), ("error", 'hook failed: "install"'), ("idle", None)),
        (
            unit(Phase.SETUP, said=UnitStatus("waiting"), settled=False),
            ("maintenance", "installing charm software"),
            ("executing", None),
        ),
        (unit(Phase.SETUP, said=UnitStatus("waiting", "for apt")), ("waiting", "for apt"), ("idle", None)),
        (unit(Phase.WAITING, said=UnitStatus("waiting")), ("waiting", "installing agent"), ("allocating", None)),
        (
            unit(has_agent=False),
            ("unknown", "agent lost, see 'tinkwell unit explain web/0'"),
            ("lost", "agent is not communicating with the server"),
        ),
        (
            unit(event=FAILED, has_agent=False),
            ("error", 'hook failed: "install"'),
            ("lost", "agent is not communicating with the server"),
        ),
    ],
)
def test_a_unit_is_told_of_in_jujus_words(
    found: Unit, workload: tuple[str, str | None], agent: tuple[str, str | None]
) -> None:
    shown = units.workload(found, CharmKind.OPS, "")
    assert (shown["current"], shown.get("message")) == workload
    shown = units.agent(found)
    assert (shown["current"], shown.get("message")) == agent


def test_a_unit_that_goes_says_so() -> None:
    assert units.agent(Unit("u", name="web/0", life=Life.DYING))["life"] == "dying"
    assert "life" not in units.agent(unit())


@pytest.mark.parametrize(
    ("found", "text"), [(OpenPort("tcp", 80), "80/tcp"), (OpenPort("udp", 53), "53/udp"), (OpenPort("icmp"), "icmp")]
)
def test_ports_are_written_as_juju_does(found: OpenPort, text: str) -> None:
    assert units.port(found) == text
