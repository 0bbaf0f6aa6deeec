"""Explains the state of a unit of the fake server."""

from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.client.testing.unit import answer
from tinkwell.client.testing.unit.book import Room
from tinkwell.core.unit.kinds import EventState
from tinkwell.core.unit.resolver import explanation
from tinkwell.core.unit.resolver.advance import advance
from tinkwell.core.unit.world import Unit as WorldUnit

_MOST = 20


def explain(room: Room, unit: WorldUnit, told: pb.Unit) -> pb.ExplainUnitResponse:
    """Explain what a unit does, or which of its events failed, and which events are due after that."""
    view, running = room.world.view(unit.name), unit.running
    ledger = unit.ledger if running is None else advance(unit.ledger, running.event, view)
    behind = [each.name for each in explanation.upcoming(ledger, view, most=_MOST)]
    advice = ""
    if running is None:
        sentence = f"{unit.name} {f'is about to run {behind[0]}' if behind else 'has handled all its events'}"
        hindered = _hindrance(room, unit, told)
        if behind and hindered is not None:
            sentence, advice = f"{unit.name} {hindered.text}", hindered.advice
    else:
        event = f"#{running.ordinal} {running.event.name}"
        sentence = f"{unit.name} runs {event}, attempt {running.attempt}"
        if running.state is EventState.ERROR:
            times = "once" if running.attempt == 1 else f"{running.attempt} times"
            sentence = f"{unit.name} {event} failed {times}: {running.message}"
            advice = f"tinkwell unit resolve {unit.name} retries the event; add --skip to skip it"
    return pb.ExplainUnitResponse(
        unit=told, sentence=sentence, behind=behind, deferred=answer.notices(room, unit), advice=advice
    )


def _hindrance(room: Room, unit: WorldUnit, told: pb.Unit) -> explanation.Hindrance | None:
    return explanation.hindrance(
        unit.name,
        room.world.applications[unit.application].charm.kind,
        phase=unit.phase,
        machine=unit.machine,
        is_anywhere=told.is_anywhere,
        is_agent_alive=told.is_agent_alive,
    )
