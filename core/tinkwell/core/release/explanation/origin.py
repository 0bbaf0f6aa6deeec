"""Where values are from and what decided about subcharts, in the form that every reader may see."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tinkwell.core import errors
from tinkwell.core.release.chart.process import Unit
from tinkwell.core.release.chart.value import origin, set_value
from tinkwell.core.release.chart.value.given import Given
from tinkwell.core.release.chart.value.value import Path
from tinkwell.core.value import closed_object, document, parse
from tinkwell.core.value.document import JsonObject, JsonValue

# The user's values are stored as one object, whatever files and flags they came from.
GIVEN = "the values that were given"
HANDLERS = "handlers of the charts"
MAX_VALUES = 1_000
_SHOWN_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A value, as JSON text that may be cut, "" if it is secret; `source` won over the sources in `before`."""

    key: str
    value: str
    is_secret: bool
    source: str
    before: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """Why a subchart is enabled or not, and which subcharts it comes after, with the places that say so."""

    path: str
    is_enabled: bool
    why: str
    sources: tuple[str, ...]
    edges: tuple[tuple[str, tuple[str, ...]], ...]

    def is_at(self, path: str) -> bool:
        """Return whether a path names it, with or without the root's name."""
        return path in (self.path, self.path.partition(".")[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    """All origins of a revision."""

    values: Sequence[Value]
    dependencies: Sequence[Dependency]


def of_unit(unit: Unit, user_values: JsonObject, shown: JsonValue, changed: JsonValue = None) -> Origins:
    """Trace the values of a release; `shown` are all values with null for each secret one.

    `changed` are, in the same form, the values that handlers have changed; None if there are none.
    """
    given = [Given(name=GIVEN, values=user_values)]
    values = {each.key: each for each in _values(unit, given, shown)}
    if isinstance(changed, dict):
        values = _over(values, dict(_leaves((), changed)))
    return Origins(values=list(values.values()), dependencies=list(_dependencies(unit, given)))


def values_below(values: Iterable[Value], key: str) -> tuple[Sequence[Value], int]:
    """Return the value of a key and those below it, or all values for "", and the number of values left out.

    Raises `errors.InvalidField` if the key has no value.
    """
    known = list(values)
    found = [each for each in known if not key or each.key == key or each.key.startswith((f"{key}.", f"{key}["))]
    if not found and key:
        hint = closed_object.nearest(key, [each.key for each in known])
        raise errors.InvalidField.of("path", f"there is no value {parse.show(key)}; {hint}")
    return found[:MAX_VALUES], max(len(found) - MAX_VALUES, 0)


def _values(unit: Unit, given: Sequence[Given], shown: JsonValue) -> Iterator[Value]:
    for each in origin.values(unit, given):
        seen = _at(shown, each.path)
        # A list may contain secrets: then the list is taken from the masked values.
        is_secret = seen is None and each.value is not None
        text = "" if is_secret else _text(seen)
        *former, last = map(str, each.sources) if each.sources else ("",)
        yield Value(key=each.key, value=text, is_secret=is_secret, source=last, before=tuple(reversed(former)))


def _over(values: Mapping[str, Value], changed: Mapping[str, str]) -> dict[str, Value]:
    """Put the values that handlers changed over the others; values that they removed are left out."""
    found: dict[str, Value] = {}
    for key, text in changed.items():
        former = values.get(key)
        if former is not None and (former.is_secret or former.value == text):
            found[key] = former
        else:
            before = (former.source, *former.before) if former is not None else ()
            found[key] = Value(key=key, value=text, is_secret=False, source=HANDLERS, before=before)
    return found


def _leaves(path: Path, values: JsonObject) -> Iterator[tuple[str, str]]:
    for part, found in values.items():
        if isinstance(found, dict) and found:
            yield from _leaves((*path, part), found)
        else:
            yield set_value.write_path((*path, part)), _text(found)


def _text(found: JsonValue) -> str:
    text = document.dump_json(found)
    return f"{text[:_SHOWN_CHARACTERS]}…" if len(text) > _SHOWN_CHARACTERS else text


def _dependencies(unit: Unit, given: Sequence[Given]) -> Iterator[Dependency]:
    for each in origin.dependencies(unit, given):
        sources = tuple(str(source) for source in reversed(each.sources))
        edges = tuple((edge.before, edge.origins) for edge in each.edges)
        decision = each.decision
        yield Dependency(path=each.path, is_enabled=decision.is_enabled, why=decision.why, sources=sources, edges=edges)


def _at(shown: JsonValue, path: Path) -> JsonValue:
    for part in path:
        if not isinstance(shown, dict):
            return None
        shown = shown.get(part)
    return shown
