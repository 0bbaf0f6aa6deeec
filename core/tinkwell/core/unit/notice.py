"""The text form of an event in a notice: equal for equal events, whatever versions their attempts saw.

The revision of secret-changed counts as a version, and is left out.
"""

import json
from typing import Any

from tinkwell.core.unit.kinds import EventKind
from tinkwell.core.unit.unit_event import UnitEvent

_TEXTS = ("endpoint", "application", "unit", "departing_unit", "storage", "secret")
_FLAGS = ("is_mirrored", "is_echo")


def write(event: UnitEvent) -> str:
    """Return the event without its ordinal and versions as a JSON object."""
    said: dict[str, Any] = {"kind": event.kind.value}
    if event.relation:
        said["relation"] = event.relation
    said |= {name: text for name in _TEXTS if (text := getattr(event, name))}
    if event.kind.is_of_revision:
        said["revision"] = event.revision
    said |= dict.fromkeys((name for name in _FLAGS if getattr(event, name)), True)
    return json.dumps(said, separators=(",", ":"), sort_keys=True)


def read(text: str) -> UnitEvent:
    """Read what `write` returned. Raises ValueError for any other text, such as a kind from a newer release."""
    try:
        said = json.loads(text)
        facts: dict[str, Any] = {name: str(said.get(name, "")) for name in _TEXTS}
        facts |= {name: bool(said.get(name, False)) for name in _FLAGS}
        facts |= {name: int(said.get(name, 0)) for name in ("relation", "revision")}
        return UnitEvent(kind=EventKind(said["kind"]), **facts)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{text!r} is not a deferred event") from error
