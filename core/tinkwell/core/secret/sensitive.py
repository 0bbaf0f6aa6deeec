"""Which places of a document are sensitive, as JSON pointers: those of a part of it, and those that are named."""

from collections.abc import Iterable, Mapping

from tinkwell.core.value import check, parse, pointer


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
