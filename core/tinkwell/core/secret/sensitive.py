"""Which places of a document are sensitive: what its author names by JSON pointers, and what a caller names by name."""

from collections.abc import Iterable, Mapping

from tinkwell.core import errors
from tinkwell.core.value import check, parse, pointer

MAX_POINTERS = 1_000


def parse_pointers(field: str, given: object) -> tuple[str, ...]:
    """Check a list of JSON pointers, such as the `sensitive` of a resource. Raises `errors.InvalidField`."""
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise errors.InvalidField.of(field, 'must be a list of JSON pointers, such as ["/users/0/password"]')
    if len(given) > MAX_POINTERS:
        raise errors.InvalidField.of(field, f"has {len(given):,} pointers; at most {MAX_POINTERS:,} are allowed")
    checks = check.Checks()
    for index, text in enumerate(given):
        checks.take(pointer.parse_pointer, parse.child(field, index), text)
    checks.finish()
    return tuple(given)


def within(parts: Iterable[str], pointers: Iterable[str]) -> tuple[str, ...]:
    """Return the pointers of a document as pointers of the one that has it at this place."""
    begin = pointer.write_pointer(parts)
    return tuple(begin + text for text in pointers)


def parse_names(field: str, names: Iterable[str], known: Mapping[str, object]) -> tuple[str, ...]:
    """Return the pointers of variables that a caller names as secret.

    Raises `errors.InvalidField` for a name that is not among the known ones: a misspelt one would leave its value bare.
    """
    checks = check.Checks()
    chosen = tuple(names)
    for index, name in enumerate(chosen):
        if name not in known:
            checks.refuse(parse.child(field, index), f"there is no variable {parse.show(name)} to keep secret")
    checks.finish()
    return tuple(pointer.write_pointer((name,)) for name in chosen)
