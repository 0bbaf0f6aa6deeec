"""Evaluates all texts of a JSON value, and collects the violations. It runs only in the child process."""

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
    """The place of a value: its path for messages, its JSON pointer, and how many lists and objects contain it."""

    field: str
    depth: int
    pointer: str = ""

    def child(self, part: str | int) -> "Place":
        """Return the place of an item."""
        return Place(parse.child(self.field, part), self.depth + 1, name.pointer_child(self.pointer, part))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The names that expressions of a place may use: `now` has the names whose values are known already.

    With `may_wait`, a text waits if it uses a name in `aliases`, which hide names in `now`, or in `wired`, the names
    for values of other charts, or a name that is not known yet. An unknown name for which the text has a default counts
    only if it is in `resources`. A waiting text is not evaluated, and `late` has the names that it uses, by its JSON
    pointer. Without `may_wait` these names are errors.
    """

    now: Mapping[str, object]
    wired: Collection[str] = ()
    aliases: Collection[str] = ()
    resources: Collection[str] = ()
    may_wait: bool = False
    late: JsonObject = field(default_factory=dict)


class Evaluator:
    """Evaluates texts, and goes on after an error, so that the author sees all errors at once."""

    def __init__(self, begin: Begin) -> None:
        self._begin = begin
        self.checks = check.Checks(most=document.MAX_VIOLATIONS)
        # The number of texts with errors.
        self.refused = 0

    def value(self, value: Json, place: Place, scope: Scope) -> Json:
        """Evaluate every text of a value, but no keys.

        A text with an error becomes null, and so does every text after too many errors.
        """
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
        # If this text ends the process, the parent reports both its path and the text.
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
    """Return why an unknown name cannot be used anywhere; empty if it may be known later."""
    if unknown in language.REMOVED_GLOBALS:
        return f"{unknown} is not available in expressions"
    for known in (*scope.aliases, *scope.now, *scope.resources):
        if known.startswith(f"{unknown}-") and known in text:
            return f"there is no {unknown} here; the - of {known} reads as minus, so give it an alias or another name"
    return ""
