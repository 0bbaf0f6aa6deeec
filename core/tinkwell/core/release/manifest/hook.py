"""The hooks of a chart: resources that run at an event of the chart, and are not part of the release.

    "hook": {"events": ["pre-install", "pre-upgrade"], "weight": 10}

Hooks of an event run one after the other, those of smaller weights first and then by name. A weight may be negative, or
have a fraction; the default is 0. No resource depends on a hook, and a hook on no resource, because a hook does not
last. So its whole config is evaluated when the manifest is rendered.
"""

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from tinkwell.core.value import check, closed_object, parse
from tinkwell.core.value.document import JsonObject, JsonValue

MAX_WEIGHT = 1_000_000
# Names that every expression may use, and that have a value only once other charts are installed.
WIRED = frozenset({"inputs", "subcharts"})

_FIELDS = ("events", "weight")


class HookEvent(StrEnum):
    PRE_INSTALL = "pre-install"
    POST_INSTALL = "post-install"
    PRE_UPGRADE = "pre-upgrade"
    POST_UPGRADE = "post-upgrade"
    PRE_ROLLBACK = "pre-rollback"
    POST_ROLLBACK = "post-rollback"
    PRE_DELETE = "pre-delete"
    POST_DELETE = "post-delete"
    TEST = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """The events at which a hook runs, and its place among the hooks of the same event."""

    events: tuple[HookEvent, ...]
    weight: float = 0.0

    def as_json(self) -> JsonObject:
        """Return the JSON form."""
        given: JsonObject = {"events": [event.value for event in self.events]}
        if self.weight:
            given["weight"] = int(self.weight) if self.weight.is_integer() else Decimal(str(self.weight))
        return given

    @classmethod
    def read(cls, checks: check.Checks, path: str, value: JsonValue) -> "Hook":
        """Read the JSON form; faults are noted in the checks."""
        members = closed_object.ClosedObject(checks, path, value, _FIELDS)
        if members.is_object and not members.value("events"):
            checks.refuse(members.path("events"), f"must name at least one of {', '.join(HookEvent)}")
        return cls(events=_events(members), weight=_weight(members))


def read_member(members: closed_object.ClosedObject) -> Hook | None:
    """Read the member `hook` of a resource; None if it has none."""
    return Hook.read(members.checks, members.path("hook"), members.value("hook")) if "hook" in members else None


def why_not_late(path: str, names: Collection[str], known: Collection[str]) -> str:
    """Return why a text of a hook that uses these names cannot be evaluated."""
    late = sorted(root for root in names if root in WIRED or root not in known)
    return (
        f"{path} is a hook, whose config is evaluated before anything is installed, so it cannot name "
        f"{', '.join(late) or 'what is not known yet'}; "
        "give it a value"
    )


def refuse_dependency(checks: check.Checks, at: str, path: str, target: str, *, hooks: Collection[str]) -> bool:
    """Note a dependency of a hook, or on a hook; return False if it is neither."""
    if path in hooks:
        checks.refuse(at, f"{path} is a hook, which depends on nothing, so it cannot depend on {target}; leave it out")
    elif target in hooks:
        sentence = f"{path} depends on {target}, which is a hook, and no part of the release"
        checks.refuse(at, f"{sentence}; leave out the dependency, or `hook` of {target}")
    return path in hooks or target in hooks


def in_order(hooks: Iterable[tuple[str, Hook]], event: str) -> list[str]:
    """Return the paths of the hooks of an event in the order in which they run: by weight, then by name."""
    return [path for _, path in sorted((hook.weight, path) for path, hook in hooks if event in hook.events)]


def _events(members: closed_object.ClosedObject) -> tuple[HookEvent, ...]:
    found: list[HookEvent] = []
    for path, item in members.items("events", most=len(HookEvent)):
        if not isinstance(item, str) or item not in set(HookEvent):
            members.checks.refuse(path, f"{_shown(item)} is no event of hooks; {_nearest(item)}")
        elif HookEvent(item) in found:
            members.checks.refuse(path, f"{parse.show(item)} occurs twice")
        else:
            found.append(HookEvent(item))
    return tuple(found)


def _shown(item: JsonValue) -> str:
    return parse.show(item) if isinstance(item, str) else "this"


def _nearest(item: JsonValue) -> str:
    return closed_object.nearest(item if isinstance(item, str) else "", [event.value for event in HookEvent])


def _weight(members: closed_object.ClosedObject) -> float:
    given = members.value("weight", default=0)
    number = float(given) if isinstance(given, int | Decimal) and not isinstance(given, bool) else math.nan
    if abs(number) <= MAX_WEIGHT:
        return number
    needed = f"a number from -{MAX_WEIGHT:,} to {MAX_WEIGHT:,}"
    members.refuse(members.path("weight"), needed, given, if_text="write it without quotes")
    return 0.0
