"""The sensitive places of a document, as JSON pointers: those within a part of it, and those that a caller names."""

from collections.abc import Iterable, Mapping

from tinkwell.core import errors
from tinkwell.core.secret import document as secret_document
from tinkwell.core.value import check, parse, pointer
from tinkwell.core.value.document import JsonValue


def within(parts: Iterable[str], pointers: Iterable[str]) -> tuple[str, ...]:
    """Return pointers into a part as pointers into the document, which has the part at `parts`."""
    begin = pointer.write_pointer(parts)
    return tuple(begin + text for text in pointers)


def parse_names(field: str, names: Iterable[str], known: Mapping[str, object]) -> tuple[str, ...]:
    """Return the pointers of variables that a caller names as secret.

    Raises `errors.InvalidField` for an unknown name: a misspelt one would leave its value unmasked.
    """
    checks = check.Checks()
    chosen = tuple(names)
    for index, name in enumerate(chosen):
        if name not in known:
            checks.refuse(parse.child(field, index), f"there is no variable {parse.show(name)} to keep secret")
    checks.finish()
    return tuple(pointer.write_pointer((name,)) for name in chosen)


def parse_pointers(field: str, pointers: Iterable[str], document: JsonValue) -> tuple[str, ...]:
    """Return the JSON pointers into a document that a caller names as secret.

    Raises `errors.InvalidField` for a pointer to nothing: a misspelt one would leave its value unmasked.
    """
    checks = check.Checks()
    chosen = tuple(pointers)
    for index, text in enumerate(chosen):
        path = parse.child(field, index)
        try:
            parts = pointer.parse_pointer(path, text)
        except errors.InvalidField as error:
            checks.note(error)
            continue
        if not secret_document.extract(document, pointers=[pointer.write_pointer(parts)]).values:
            checks.refuse(path, f"there is no value at {parse.show(text)} to keep secret")
    checks.finish()
    return chosen
