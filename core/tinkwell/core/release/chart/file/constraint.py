"""Versions of charts (SemVer 2), and the ranges of versions that dependencies ask for, as Helm spells both.

    >=1.2 <2      ^1.2.3      ~1.2      1.x      1.2 - 1.4      >=1.2, !=1.3.1 || 3

A range is alternatives joined by `||`, of which each is comparators that must all hold. This is the grammar alone, and
needs no library; `version` says which versions lie in a range.
"""

import re
from dataclasses import dataclass

from tinkwell.core import errors
from tinkwell.core.value import parse

MAX_BYTES = 256

_NUMBER = r"(?:0|[1-9][0-9]*)"
_PRERELEASE = rf"(?:{_NUMBER}|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_LABELS = rf"(?:-(?P<prerelease>{_PRERELEASE}(?:\.{_PRERELEASE})*))?(?:\+(?P<build>[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?"
_VERSION = re.compile(rf"v?(?P<release>{_NUMBER}\.{_NUMBER}\.{_NUMBER}){_LABELS}", re.ASCII)
_PART = rf"(?:{_NUMBER}|[xX*])"
_PARTIAL = rf"v?(?P<release>{_PART}(?:\.{_PART}){{0,2}}){_LABELS}"
_COMPARATOR = re.compile(rf"(?P<operator>=|!=|>=|=>|<=|=<|>|<|~>|~|\^|)\s*{_PARTIAL}(?=[\s,]|$)[\s,]*", re.ASCII)
_HYPHEN = re.compile(r"(\S+)\s+-\s+(\S+)")
_OPERATORS = {"": "=", "=>": ">=", "=<": "<=", "~>": "~"}
_WILDCARDS = frozenset("xX*")
_PARTS = 3


@dataclass(frozen=True, slots=True)
class Comparator:
    """One condition of a range. `operator` is one of `= != > >= < <= ~ ^`; `release` may be partial (`1`, `1.2`).

    An empty `release` means any version. `prerelease` is without its dash, and only given if all three numbers are.
    """

    operator: str
    release: str
    prerelease: str = ""


def parse_version(field: str, text: str) -> str:
    """Check a version; a leading `v` is allowed."""
    parse.parse_text(field, text, max_bytes=MAX_BYTES)
    if not _VERSION.fullmatch(text):
        raise errors.InvalidField.of(
            field, f"{parse.show(text)} is not a version of SemVer 2; write three numbers, such as 1.0.0 or 1.0.0-rc.1"
        )
    return text


def parse_range(field: str, text: str) -> str:
    """Check a range of versions; "" is the range of all versions."""
    parse.parse_text(field, text, max_bytes=MAX_BYTES, allow_empty=True)
    read_range(field, text)
    return text


def read_range(field: str, text: str) -> tuple[tuple[Comparator, ...], ...]:
    """Split a range into alternatives, each with comparators that must all hold."""
    return tuple(_alternative(field, text, part.strip()) for part in text.split("||"))


def _alternative(field: str, text: str, part: str) -> tuple[Comparator, ...]:
    if hyphen := _HYPHEN.fullmatch(part):
        part = f">={hyphen[1]} <={hyphen[2]}"
    found: list[Comparator] = []
    at = 0
    while at < len(part):
        comparator = _COMPARATOR.match(part, at)
        if not comparator or (read := _comparator(comparator)) is None:
            raise errors.InvalidField.of(
                field,
                f"{parse.show(text)} is not a range of versions, because of {parse.show(part[at:])}; "
                "write it as ^1.2.0, ~1.2, 1.x or >=1.2 <3",
            )
        found.append(read)
        at = comparator.end()
    return tuple(found)


def _comparator(found: re.Match[str]) -> Comparator | None:
    """Return a comparator; None if a number follows a wildcard, or a prerelease follows a partial version."""
    parts: list[str] = found["release"].split(".")
    numbers = [part for part in parts if part not in _WILDCARDS]
    has_gap = numbers != parts[: len(numbers)]
    if has_gap or (len(numbers) < _PARTS and (found["prerelease"] or found["build"])):
        return None
    operator = _OPERATORS.get(found["operator"], found["operator"])
    return Comparator(operator, ".".join(numbers), found["prerelease"] or "")
