"""The differences of two documents, as JSON pointers with both values."""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from tinkwell.core.release.preview.model import MAX_DIFFERENCES, Difference
from tinkwell.core.value import document, pointer
from tinkwell.core.value.document import JsonValue

MAX_SHOWN_BYTES = 1_000

_Parts: TypeAlias = tuple[str, ...]


class Found(NamedTuple):
    """A place that differs, with both values; a missing value is an empty tuple."""

    parts: _Parts
    before: tuple[JsonValue, ...]
    after: tuple[JsonValue, ...]


def differences(base: str, before: JsonValue, after: JsonValue) -> Iterator[Found]:
    """Yield the places below `base` where two documents differ, in the order of the first one's keys.

    Lists of different lengths differ as a whole.
    """
    return _differing((base,), before, after)


def shown(found: Iterable[Found], *, hidden: Collection[_Parts], cover: str) -> tuple[Difference, ...]:
    """Return differences as a plan shows them, at most `MAX_DIFFERENCES`.

    `hidden` are places, relative to each document, whose values are replaced by `cover` as a whole. For a value that is
    too long, its size is shown.
    """
    listed: list[Difference] = []
    for parts, before, after in found:
        if len(listed) == MAX_DIFFERENCES:
            break
        sides = [_shown(parts, side, hidden, cover) for side in (before, after)]
        listed.append(Difference(pointer=pointer.write_pointer(parts), before=sides[0], after=sides[1]))
    return tuple(listed)


def is_below(parts: _Parts, places: Collection[_Parts]) -> bool:
    """Return whether a place is one of these, or within one of them."""
    own = parts[1:]
    return any(own[: len(place)] == place for place in places)


def _differing(parts: _Parts, before: JsonValue, after: JsonValue) -> Iterator[Found]:
    match before, after:
        case dict(), dict():
            for key in [*before, *(key for key in after if key not in before)]:
                at = (*parts, key)
                if key in before and key in after:
                    yield from _differing(at, before[key], after[key])
                else:
                    yield Found(at, _there(before, key), _there(after, key))
        case list(), list() if len(before) == len(after):
            for index, (old, new) in enumerate(zip(before, after, strict=True)):
                yield from _differing((*parts, str(index)), old, new)
        case _:
            if not document.is_same(before, after):
                yield Found(parts, (before,), (after,))


def _there(given: dict[str, JsonValue], key: str) -> tuple[JsonValue, ...]:
    return (given[key],) if key in given else ()


def _shown(parts: _Parts, side: tuple[JsonValue, ...], hidden: Collection[_Parts], cover: str) -> str | None:
    if not side:
        return None
    text = document.dump_json(_covered(parts[1:], side[0], hidden, cover))
    size = len(text.encode())
    return text if size <= MAX_SHOWN_BYTES else document.dump_json(f"({size:,} bytes)")


def _covered(at: _Parts, value: JsonValue, hidden: Collection[_Parts], cover: str) -> JsonValue:
    """Return a value with its hidden parts replaced by `cover`."""
    if value is None or any(at[: len(place)] == place for place in hidden):
        return value if value is None else cover
    if not any(place[: len(at)] == at for place in hidden):
        return value
    match value:
        case dict():
            return {key: _covered((*at, key), item, hidden, cover) for key, item in value.items()}
        case list():
            return [_covered((*at, str(index)), item, hidden, cover) for index, item in enumerate(value)]
        case _:
            return value
