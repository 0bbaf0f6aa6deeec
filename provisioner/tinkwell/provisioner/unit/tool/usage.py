"""Reads the arguments of a tool: flags in any order among the others, each with its value or with none."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tinkwell.core import errors
from tinkwell.core.value import check, document
from tinkwell.core.value.yaml import file as yaml_file

FORMATS = ("smart", "json", "yaml")
FORMAT = {"--format": "format"}
# Reading YAML takes a while for each character.
MAX_YAML_BYTES = 64 * 1024


class Misused(Exception):
    """A tool is called as it cannot be; the text says how and why."""


@dataclass(frozen=True, slots=True)
class Usage:
    """How a tool may be called. `flags` are those with a value, by each way to write them; `switches` have none.

    Names are what `Arguments` knows them by. `style` is the format of its answers where none is asked for.
    """

    flags: Mapping[str, str]
    switches: Mapping[str, str]
    least: int = 0
    most: int | None = None
    style: str = "smart"


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a call."""

    flags: Mapping[str, str]
    switches: frozenset[str]
    rest: Sequence[str]
    style: str = "smart"

    @property
    def format(self) -> str:
        """In which format to answer; raises `Misused` for one that is not known."""
        chosen = self.flags.get("format", self.style)
        if chosen not in FORMATS:
            raise Misused(f"--format: {chosen!r} is no format; use one of {', '.join(FORMATS)}")
        return chosen


def parse(usage: Usage, given: Sequence[str]) -> Arguments:
    """Read arguments; raises `Misused`."""
    flags, switches, rest = dict[str, str](), set[str](), list[str]()
    left = list(reversed(given))
    while left:
        argument = left.pop()
        if argument == "--":
            rest += reversed(left)
            break
        name, has_value, value = argument.partition("=")
        if argument == "-" or not argument.startswith("-"):
            rest.append(argument)
        elif name in usage.switches:
            if not has_value or _is_true(name, value):
                switches.add(usage.switches[name])
        elif name in usage.flags:
            if not has_value and not left:
                raise Misused(f"{name} needs a value")
            flags[usage.flags[name]] = value if has_value else left.pop()
        else:
            raise Misused(f"{name} is not known; known are {', '.join(sorted([*usage.flags, *usage.switches]))}")
    if len(rest) < usage.least or (usage.most is not None and len(rest) > usage.most):
        most = "or more" if usage.most is None else f"to {usage.most}"
        raise Misused(f"{len(rest)} arguments are given; {usage.least} {most} are expected")
    return Arguments(flags, frozenset(switches), rest, usage.style)


async def given_pairs(arguments: Arguments, content: bytes) -> dict[str, str]:
    """Read what `--file` held and the other arguments; of a key in both, the latter. Raises `Misused`."""
    # A file may take a while, and the loop has others to serve.
    found = await asyncio.to_thread(mapping, content) if content else {}
    return found | pairs(arguments.rest)


def pairs(arguments: Sequence[str]) -> dict[str, str]:
    """Read arguments such as `key=value`; raises `Misused`."""
    found = dict[str, str]()
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not key or not equals:
            raise Misused(f"{argument!r} is no key=value")
        found[key] = value
    return found


def mapping(content: bytes) -> dict[str, str]:
    """Read a file of strings by their keys, in JSON or YAML; null is an empty string. Raises `Misused`."""
    try:
        text = content.decode()
        found = _value(text)
    except (UnicodeDecodeError, errors.InvalidField) as error:
        raise Misused(f"--file: {error}") from error
    if not isinstance(found, dict):
        raise Misused("--file: it holds no mapping; write one of strings by their keys, as JSON or YAML")
    return {key: _string(key, value) for key, value in found.items()}


def _value(text: str) -> document.JsonValue:
    if not text.strip():
        return {}
    try:  # which is much faster, and what libraries write
        plain: document.JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        if len(text) > MAX_YAML_BYTES:
            raise Misused(f"--file: it is no JSON, and too large for YAML: at most {MAX_YAML_BYTES:,} bytes") from None
        checks = check.Checks()
        documents = list(yaml_file.documents(checks, "it", text))
        checks.finish()
        return documents[0].value if documents else {}
    return plain


def _string(key: str, value: document.JsonValue) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Misused(f"--file: {key!r} is no string; write it in quotes")
    return value


def _is_true(name: str, text: str) -> bool:
    lowered = text.lower()
    if lowered not in ("true", "false"):
        raise Misused(f"{name}: {text!r} is neither true nor false")
    return lowered == "true"
