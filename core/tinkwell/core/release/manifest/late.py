"""The texts of a document that are evaluated late, just before it is used, and the meanings of their names.

They are stored beside the document, so that data can never be taken for an expression.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tinkwell.core import errors
from tinkwell.core.release.manifest import name
from tinkwell.core.release.manifest.model import without_defaults
from tinkwell.core.value import check, closed_object, parse
from tinkwell.core.value.document import JsonObject, JsonValue

Target: TypeAlias = str | tuple[str, ...]

MAX_LATE = 100_000

_INPUTS = re.compile(r"\binputs\b")
# A quoted name ends at the next quote, so a text full of unclosed quotes takes one pass.
_SUBCHART = re.compile(r"""\bsubcharts\s*+(?:\.\s*+(\w++)|\[\s*+(?:"([^"\n]*+)"|'([^'\n]*+)')\s*+\])""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """The texts of a document that are evaluated late, by JSON pointers, and the meanings of their names.

    `each` is {"key", "value"} if `for_each` made the resource and the texts use it.
    """

    pointers: tuple[str, ...] = ()
    names: Mapping[str, Target] = field(default_factory=dict)
    each: JsonObject | None = None

    def as_json(self) -> JsonObject:
        """Return the JSON form."""
        given = without_defaults(pointers=list(self.pointers), names=targets_as_json(self.names))
        return given if self.each is None else {**given, "each": self.each}

    @classmethod
    def read(cls, checks: check.Checks, path: str, value: JsonValue, document: JsonValue) -> "Late":
        """Read the JSON form; the pointers must lead to texts of the document."""
        members = closed_object.ClosedObject(checks, path, value, ("pointers", "names", "each"))
        return cls(
            pointers=_read_pointers(members, document),
            names=read_targets(members, "names", _parse_root),
            each=members.object("each") if "each" in members else None,
        )


NONE_LATE = Late()


def names_inputs(text: str) -> bool:
    """Return whether an expression may use `inputs`; a use is never missed."""
    return _INPUTS.search(text) is not None


def named_subcharts(text: str) -> frozenset[str]:
    """Return the names after `subcharts` in an expression: `subcharts.NAME` and `subcharts["NAME"]`.

    Other spellings are not found, and must not be used.
    """
    return frozenset(found[1] or found[2] or found[3] or "" for found in _SUBCHART.finditer(text))


def paths_of(target: Target) -> tuple[str, ...]:
    """Return the paths that a target means."""
    return (target,) if isinstance(target, str) else target


def targets_as_json(targets: Mapping[str, Target]) -> JsonObject:
    """Return the JSON form of targets."""
    return {key: target if isinstance(target, str) else list(target) for key, target in targets.items()}


def read_targets(
    members: closed_object.ClosedObject, member: str, parse_member: closed_object.Parse
) -> dict[str, Target]:
    """Read an object of targets; faults are noted, and nothing is raised."""
    found: dict[str, Target] = {}
    for path, key, value in members.members(member, parse_member):
        given = value if isinstance(value, list) else [value]
        paths = tuple(members.checks.take(name.parse_path, path, item) for item in given if isinstance(item, str))
        if len(paths) < len(given):
            members.refuse(path, "the path of a resource, or a list of them", value)
        else:
            found[key] = paths if isinstance(value, list) else paths[0]
    return found


def _read_pointers(members: closed_object.ClosedObject, document: JsonValue) -> tuple[str, ...]:
    """Read the pointers to late texts; each must lead to a text of the document."""
    pointers = members.texts("pointers", _parse_any, most=MAX_LATE)
    for pointer in pointers:
        try:
            _, found = name.locate(members.path("pointers"), document, pointer)
        except errors.InvalidField as error:
            members.checks.note(error)
        else:
            if not isinstance(found, str):
                members.checks.refuse(members.path("pointers"), f"{parse.show(pointer)} leads to no text")
    return pointers


def _parse_any(_path: str, text: str) -> str:
    return text


def _parse_root(path: str, text: str) -> str:
    if not text.isidentifier():
        raise errors.InvalidField.of(path, f"{parse.show(text)} is not a name in an expression")
    return text
