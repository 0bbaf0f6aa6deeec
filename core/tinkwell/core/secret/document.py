"""Extracts secrets from documents, and restores them.

A document without its secrets has null in their places, and no marks. The places are stored beside it, as JSON pointers
with their values. So no value in a document can be taken for a secret, and a null stays a null.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tinkwell.core.secret import text as secret_text
from tinkwell.core.secret.mask import Masker
from tinkwell.core.value import document as json_document
from tinkwell.core.value import parse, pointer
from tinkwell.core.value.document import JsonValue

# A pointer is part of a key in the database, which has a limit. A place with a longer pointer is extracted together
# with the object or list around it.
MAX_POINTER_BYTES = 1_000
# A document with more secret places is extracted as a whole.
MAX_PLACES = 1_000


@dataclass(frozen=True, slots=True)
class Extracted:
    """A document without its secrets, and each secret with its pointer, in order; no secret is within another one."""

    document: JsonValue
    values: tuple[tuple[str, JsonValue], ...]


def extract(document: JsonValue, *, pointers: Iterable[str] = (), masker: Masker | None = None) -> Extracted:
    """Extract the values at the pointers, and each string and number in which the masker finds a secret, as a whole.

    An object with a secret in a key is extracted as a whole, too. Pointers to nothing and to null are ignored. Raises
    `errors.InvalidField` for a text that is not a pointer.
    """
    extraction = _Extraction(frozenset(pointer.parse_pointer("sensitive", text) for text in pointers), masker)
    rest = extraction.without(document, (), 0)
    if len(extraction.values) > MAX_PLACES:
        return Extracted(None, (("", document),))
    return Extracted(rest, tuple(extraction.values))


def texts_at(field: str, document: JsonValue, pointers: Iterable[str]) -> frozenset[str]:
    """Return the secret texts of a document, whose path is `field`: those of the values at the pointers.

    Raises the errors of `extract` and `core.secret.text.texts_of`, with paths below `field`.
    """
    values = extract(document, pointers=pointers).values
    return secret_text.texts_of((_path(field, place), value) for place, value in values)


def restore(document: JsonValue, values: Iterable[tuple[str, JsonValue]]) -> JsonValue:
    """Return the document with the values put back; each place must be there and null, and the argument is not changed.

    Raises `ValueError` if the values do not fit.
    """
    restoration = _Restoration(values)
    restored = restoration.restored(document, ())
    if restoration.values:
        raise ValueError(f"the document has no place for {len(restoration.values)} of its secrets")
    return restored


def _path(field: str, place: str) -> str:
    for part in pointer.parse_pointer(field, place):
        field = parse.child(field, part)
    return field


class _NoPointer(Exception):
    """A place to extract has too long a pointer."""


class _Extraction:
    """Walks through one document, and collects the extracted values."""

    def __init__(self, places: frozenset[tuple[str, ...]], masker: Masker | None) -> None:
        self.values: list[tuple[str, JsonValue]] = []
        self._places = places
        self._masker = masker

    def without(self, value: JsonValue, parts: tuple[str, ...], size: int) -> JsonValue:
        """Return a value without secrets; `size` is the size of its pointer in bytes."""
        if self._is_secret(value, parts):
            self._take(value, parts, size)
            return None
        before = len(self.values)
        try:
            match value:
                case dict():
                    return {key: self._child(item, parts, key, size) for key, item in value.items()}
                case list():
                    return [self._child(item, parts, str(index), size) for index, item in enumerate(value)]
                case _:
                    return value
        except _NoPointer:
            del self.values[before:]
            self._take(value, parts, size)
            return None

    def _child(self, value: JsonValue, parts: tuple[str, ...], part: str, size: int) -> JsonValue:
        return self.without(value, (*parts, part), size + len(pointer.write_pointer((part,)).encode()))

    def _take(self, value: JsonValue, parts: tuple[str, ...], size: int) -> None:
        if size > MAX_POINTER_BYTES:
            raise _NoPointer
        self.values.append((pointer.write_pointer(parts), value))

    def _is_secret(self, value: JsonValue, parts: tuple[str, ...]) -> bool:
        if value is None:
            return False
        if parts in self._places:
            return True
        if self._masker is None:
            return False
        match value:
            case bool() | list():
                return False
            case str():
                return self._masker.finds(value)
            case dict():
                return any(map(self._masker.finds, value))
            case _:
                return self._masker.finds(json_document.dump_json(value))


class _Restoration:
    """Walks to the places of one document; `values` has those that are not filled yet."""

    def __init__(self, values: Iterable[tuple[str, JsonValue]]) -> None:
        self.values = {pointer.parse_pointer("pointer", text): value for text, value in values}
        self._on_the_way = {parts[:length] for parts in self.values for length in range(len(parts))}

    def restored(self, value: JsonValue, parts: tuple[str, ...]) -> JsonValue:
        if value is None and parts in self.values:
            return self.values.pop(parts)
        if parts not in self._on_the_way:
            return value
        match value:
            case dict():
                return {key: self.restored(item, (*parts, key)) for key, item in value.items()}
            case list():
                return [self.restored(item, (*parts, str(index))) for index, item in enumerate(value)]
            case _:
                return value
