"""Explanations of the state of a unit."""

from dataclasses import dataclass

from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.client.unit import message
from tinkwell.client.unit.model import Unit
from tinkwell.client.unit.notice import DeferredNotice
from tinkwell.client.value.shaped import Shaped


@dataclass(frozen=True, slots=True)
class UnitCause(Shaped):
    """A change that made an event due, and the revision of the change in the log, 0 if the log no longer has it."""

    sentence: str
    revision: int = 0


@dataclass(frozen=True, slots=True)
class UnitExplanation(Shaped):
    """What a unit does, or why it is idle.

    `causes` begin with the direct one. `behind` are the names of the known events that follow the one that runs or has
    failed, in order. `deferred` are the waiting notices, and `advice` says what the user may do, empty for nothing.
    """

    unit: Unit
    sentence: str
    causes: tuple[UnitCause, ...] = ()
    behind: tuple[str, ...] = ()
    deferred: tuple[DeferredNotice, ...] = ()
    advice: str = ""


def explanation(source: pb.ExplainUnitResponse) -> UnitExplanation:
    """Read an explanation."""
    return UnitExplanation(
        unit=message.unit(source.unit),
        sentence=source.sentence,
        causes=tuple(UnitCause(each.sentence, each.revision) for each in source.causes),
        behind=tuple(source.behind),
        deferred=tuple(message.notice(each) for each in source.deferred),
        advice=source.advice,
    )
