"""Which places of a manifest are sensitive, and which of these hold secrets.

A resource's config is sensitive at the JSON pointers that its manifest names, and at those that its image names. A text
there may still have to be evaluated. Such a text is masked too, but its value is not a secret, so other texts are not
searched for it. Values that handlers have changed are sensitive at the pointers stored beside them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tinkwell.core.release.manifest import name
from tinkwell.core.secret import sensitive
from tinkwell.core.value import pointer
from tinkwell.core.value.document import JsonObject, JsonValue

_Parts: TypeAlias = tuple[str, ...]
# Returns whether a text is still to be evaluated, from the path of its resource, its place in the config, and the text.
_IsOpen: TypeAlias = Callable[[str, _Parts, str], bool]


@dataclass(frozen=True, slots=True)
class Places:
    """JSON pointers into a manifest: `secret` to values that are masked wherever they occur, `hidden` to the others."""

    secret: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


def is_named(manifest: JsonObject) -> bool:
    """Return whether a manifest, in either form, names anything as sensitive."""
    parts = [*_object(manifest.get("resources")).values(), *_object(manifest.get("charts")).values()]
    return any(_object(part).get("sensitive") for part in parts)


def of_written(manifest: JsonObject) -> Places:
    """Return the sensitive places of a manifest in the JSON form of `manifest.model`, before it is evaluated."""
    return _places(manifest, {}, lambda _path, _parts, text: name.has_expression(text))


def of_rendered(manifest: JsonObject, late: JsonObject, declared: Mapping[str, Iterable[str]]) -> Places:
    """Return the sensitive places of a manifest in the JSON form of `manifest.rendered`, with its late texts.

    `declared` maps the paths of resources to the pointers that their images name.
    """
    waiting = {
        path: {pointer.parse_pointer("late", text) for text in _texts(_object(beside).get("pointers"))}
        for path, beside in _object(late.get("resources")).items()
    }
    return _places(manifest, declared, lambda path, parts, _text: parts in waiting.get(path, ()))


def _places(manifest: JsonObject, declared: Mapping[str, Iterable[str]], is_open: _IsOpen) -> Places:
    secret: list[str] = []
    hidden: list[str] = []
    for path, resource in _object(manifest.get("resources")).items():
        config, base = _object(resource).get("config"), ("resources", path, "config")
        for text in sorted({*_texts(_object(resource).get("sensitive")), *declared.get(path, ())}):
            parts = pointer.parse_pointer("sensitive", text)
            leaves = list(_leaves(_follow(config, parts), parts))
            closed = [at for at, value in leaves if not (isinstance(value, str) and is_open(path, at, value))]
            if len(closed) == len(leaves):
                secret += sensitive.within(base, [text])
            else:
                hidden += sensitive.within(base, [text])
                secret += sensitive.within(base, map(pointer.write_pointer, closed))
    for path, chart in _object(manifest.get("charts")).items():
        secret += sensitive.within(("charts", path, "values"), _texts(_object(chart).get("sensitive")))
    return Places(tuple(secret), tuple(hidden))


def _follow(document: JsonValue, parts: _Parts) -> JsonValue:
    """Return the value at a place; None if there is none."""
    for part in parts:
        match document:
            case dict():
                document = document.get(part)
            case list() if part.isdecimal() and part.isascii() and str(int(part)) == part and int(part) < len(document):
                document = document[int(part)]
            case _:
                return None
    return document


def _leaves(value: JsonValue, parts: _Parts) -> Iterator[tuple[_Parts, JsonValue]]:
    match value:
        case dict():
            for key, item in value.items():
                yield from _leaves(item, (*parts, key))
        case list():
            for index, item in enumerate(value):
                yield from _leaves(item, (*parts, str(index)))
        case _:
            yield parts, value


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _texts(value: JsonValue) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
