"""Evaluates all texts of a JSON value, and notes what is wrong with them. It runs in the child alone."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tinkwell.core.release.manifest import name
from tinkwell.core.value import check, closed_object, document, parse
from tinkwell.provisioner.release.expression import language, naming
from tinkwell.provisioner.release.expression.fault import Fault, Unknown
from tinkwell.provisioner.release.expression.plain import Json

Begin: TypeAlias = Callable[[str], None]
JsonObject: TypeAlias = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands: its path for messages, its JSON pointer, and how many lists and objects it stands in."""

    field: str
    depth: int
    pointer: str = ""

    def child(self, part: str | int) -> "Place":
        """Return the place of an item."""
        return Place(parse.child(self.field, part), self.depth + 1, name.pointer_child(self.pointer, part))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What expressions of a place may name: `now` has values, which are known already.

    Where a text may wait, it does so if it names one of `aliases`, which stand before `now`, or something that is not
    known now; what it can do without counts only if it is one of `resources`. Such a text is left as it is, and `late`
    has by its JSON pointer what it names. Elsewhere these names are errors. So it is with `wired`, by which a chart is
    given what others say.
    """

    now: Mapping[str, object]
    wired: Collection[str] = ()
    aliases: Collection[str] = ()
    resources: Collection[str] = ()
    may_wait: bool = False
    late: JsonObject = field(default_factory=dict)


class Evaluator:
    """Evaluates, and goes on after what is wrong, so that its author hears of all of it."""

    def __init__(self, begin: Begin) -> None:
        self._begin = begin
        self.checks = check.Checks(most=document.MAX_VIOLATIONS)
        # How many texts were wrong.
        self.refused = 0

    def value(self, value: Json, place: Place, scope: Scope) -> Json:
        """Evaluate every text of a value, keys aside. What is wrong becomes null; so does all after too much of it."""
        match value:
            case str():
                return value if language.is_plain(value) else self._text(value, place, scope)
            case dict():
                return {key: self.value(item, place.child(key), scope) for key, item in value.items()}
            case list():
                return [self.value(item, place.child(index), scope) for index, item in enumerate(value)]
            case _:
                return value

    def _text(self, text: str, place: Place, scope: Scope) -> Json:
        if self.checks.is_full:
            return None
        # If this is the end of the process, the parent tells both.
        self._begin(f"{place.field}\n{parse.excerpt(text)}")
        try:
            return _value(text, language.compile_text(text), place, scope)
        except Unknown as fault:
            reason = _explain(fault.name, text, scope)
        except Fault as fault:
            reason = fault.reason
        self.refused += 1
        self.checks.refuse(place.field, f"`{parse.excerpt(text.rstrip())}`: {reason}")
        return None


def _value(text: str, compiled: language.Text, place: Place, scope: Scope) -> Json:
    waiting = {*scope.aliases, *scope.wired}
    roots = compiled.roots.difference(language.GLOBALS) | compiled.roots.intersection(waiting)
    unknown = roots.difference(scope.now, waiting)
    needed = unknown - compiled.optional | unknown.intersection(scope.resources)
    if not scope.may_wait or not (needed or roots.intersection(waiting)):
        return compiled.evaluate(scope.now, depth=place.depth)
    for root in sorted(needed.difference(scope.resources)):
        if reason := _unwritable(root, text, scope):
            raise Fault(reason)
    if naming.SUBCHARTS in scope.wired and compiled.subcharts is None:
        raise Fault("subcharts must be followed by the name of one, so that it is known which: write subcharts.NAME")
    scope.late[place.pointer] = {
        "names": [*sorted(roots)],
        "optional": [*sorted(roots & compiled.optional)],
        "subcharts": [*sorted(compiled.subcharts or ())],
    }
    return text


def _explain(unknown: str, text: str, scope: Scope) -> str:
    if unknown in scope.aliases or unknown in scope.resources:
        return f"{unknown} is known only when it has settled; config and outputs alone can name it"
    if unknown in scope.wired:
        return f"{unknown} is known only when others have settled; config, outputs and inputs alone can name it"
    if unknown == "each":
        return "each is known only where for_each is given"
    nearest = closed_object.nearest(unknown, [*scope.now])
    return _unwritable(unknown, text, scope) or f"there is no {unknown} here; {nearest}"


def _unwritable(unknown: str, text: str, scope: Scope) -> str:
    """Say why something cannot be named at all; nothing if it can."""
    if unknown in language.REMOVED_GLOBALS:
        return f"{unknown} is not available in expressions"
    for known in (*scope.aliases, *scope.now, *scope.resources):
        if known.startswith(f"{unknown}-") and known in text:
            return f"there is no {unknown} here; the - of {known} reads as minus, so give it an alias or another name"
    return ""
