"""What an event says, as it stands in a notice: the same text for the same event, whatever versions it has seen.

Which revision secret-changed has told of is such a version.
"""

import json
from typing import Any

from tinkwell.core.unit.kinds import EventKind
from tinkwell.core.unit.unit_event import UnitEvent

_TEXTS = ("endpoint", "application", "unit", "departing_unit", "storage", "secret")
_FLAGS = ("is_mirrored", "is_echo")


def write(event: UnitEvent) -> str:
    """Write what an event says, as a JSON object."""
    said: dict[str, Any] = {"kind": event.kind.value}
    if event.relation:
        said["relation"] = event.relation
    said |= {name: text for name in _TEXTS if (text := getattr(event, name))}
    if event.kind.is_of_revision:
        said["revision"] = event.revision
    said |= dict.fromkeys((name for name in _FLAGS if getattr(event, name)), True)
    return json.dumps(said, separators=(",", ":"), sort_keys=True)


def read(text: str) -> UnitEvent:
    """Read what `write` has written. Raises ValueError for anything else, such as the kind of a newer release."""
    try:
        said = json.loads(text)
        facts: dict[str, Any] = {name: str(said.get(name, "")) for name in _TEXTS}
        facts |= {name: bool(said.get(name, False)) for name in _FLAGS}
        facts |= {name: int(said.get(name, 0)) for name in ("relation", "revision")}
        return UnitEvent(kind=EventKind(said["kind"]), **facts)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{text!r} is no deferred event") from error
