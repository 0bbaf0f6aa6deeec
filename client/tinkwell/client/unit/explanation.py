"""Why a unit is as it is."""

from dataclasses import dataclass

from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.client.unit import message
from tinkwell.client.unit.model import Unit
from tinkwell.client.unit.notice import DeferredNotice
from tinkwell.client.value.shaped import Shaped


@dataclass(frozen=True, slots=True)
class UnitCause(Shaped):
    """What has made an event due, and the revision of the log's event that tells of it, 0 where that is gone."""

    sentence: str
    revision: int = 0


@dataclass(frozen=True, slots=True)
class UnitExplanation(Shaped):
    """What a unit does, or why it does nothing. `causes` begin with the nearest one.

    `behind` are the names of the events that are due after the one that runs or has failed, in their order, as far as
    that can be told. `deferred` are the notices that wait, and `advice` is what may be done, empty for nothing.
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
