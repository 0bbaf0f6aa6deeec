"""Takes what is secret out of documents, and puts it back.

A document without its secrets has null in their places, and nothing that marks them. The places are kept beside it, as
JSON pointers with their values, so that nothing in a document can pass for a secret, and a null stays a null.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tinkwell.core.secret import text as secret_text
from tinkwell.core.secret.mask import Masker
from tinkwell.core.value import document as json_document
from tinkwell.core.value import parse, pointer
from tinkwell.core.value.document import JsonValue

# A pointer is a part of a key in the database, which has a limit. What has a longer one is taken out with what is
# around it.
MAX_POINTER_BYTES = 1_000
# A document that has more secret places is taken out as a whole.
MAX_PLACES = 1_000


@dataclass(frozen=True, slots=True)
class Extracted:
    """A document without its secrets, and each of these with its pointer, in order; none is within another one."""

    document: JsonValue
    values: tuple[tuple[str, JsonValue], ...]


def extract(document: JsonValue, *, pointers: Iterable[str] = (), masker: Masker | None = None) -> Extracted:
    """Take out what stands at the pointers, and each string and number in which the masker finds a secret, whole.

    An object that has a secret in a key is taken out whole, too. Pointers to nothing and to null mean nothing. Raises
    `errors.InvalidField` for a text that is no pointer.
    """
    extraction = _Extraction(frozenset(pointer.parse_pointer("sensitive", text) for text in pointers), masker)
    rest = extraction.without(document, (), 0)
    if len(extraction.values) > MAX_PLACES:
        return Extracted(None, (("", document),))
    return Extracted(rest, tuple(extraction.values))


def texts_at(field: str, document: JsonValue, pointers: Iterable[str]) -> frozenset[str]:
    """Return the secret texts of a document, whose path is `field`: those of what stands at the pointers.

    Raises what `extract` and `core.secret.text.texts_of` raise, with paths below `field`.
    """
    values = extract(document, pointers=pointers).values
    return secret_text.texts_of((_path(field, place), value) for place, value in values)


def restore(document: JsonValue, values: Iterable[tuple[str, JsonValue]]) -> JsonValue:
    """Put values back into their places, each of which must be there and null; the document given stays as it is.

    Raises `ValueError` where they do not fit.
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
    """What is to be taken out has too long a pointer."""


class _Extraction:
    """Walks through one document, and collects what it takes out."""

    def __init__(self, places: frozenset[tuple[str, ...]], masker: Masker | None) -> None:
        self.values: list[tuple[str, JsonValue]] = []
        self._places = places
        self._masker = masker

    def without(self, value: JsonValue, parts: tuple[str, ...], size: int) -> JsonValue:
        """Return a value without secrets; `size` is that of its pointer in bytes."""
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
    """Walks to the places of one document that are to be filled; `values` has those that are not filled yet."""

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
