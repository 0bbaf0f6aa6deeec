"""The paths at which a found value differs from the wanted one; messages show no values."""

from collections.abc import Iterator

from tinkwell.core.value import parse
from tinkwell.core.value.document import JsonValue


def difference(desired: JsonValue, found: JsonValue) -> list[str]:
    """Return the paths of differences, such as `disks[0].size`; "" is the whole value.

    Additional members that were found are ignored. Lists of different lengths differ as a whole.
    """
    return list(_differing("", desired, found))


def _differing(path: str, desired: JsonValue, found: JsonValue) -> Iterator[str]:
    match desired, found:
        case dict(), dict():
            for key, value in desired.items():
                at = parse.child(path, key)
                if key not in found:
                    yield at
                else:
                    yield from _differing(at, value, found[key])
        case list(), list() if len(desired) == len(found):
            for index, (wanted, there) in enumerate(zip(desired, found, strict=True)):
                yield from _differing(parse.child(path, index), wanted, there)
        case _:
            # In Python True equals 1.
            if isinstance(desired, bool) is not isinstance(found, bool) or desired != found:
                yield path
