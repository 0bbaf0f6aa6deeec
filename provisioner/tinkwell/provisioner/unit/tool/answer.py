"""Writes what a tool answers: as JSON, as YAML, or as text that shell scripts take as it is."""

import json

from tinkwell.core.value.yaml import text as yaml_text


class Nothing:
    """What a tool answers that has no answer."""


NOTHING = Nothing()


def write(value: object, style: str) -> str:
    """Write a JSON value with a line end behind it; smart text has nothing for null, and for nothing."""
    if value is NOTHING:
        return ""
    match style:
        case "json":
            return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
        case "yaml":
            return yaml_text.dump(value) + "\n"
        case _:
            text = _smart(value)
            return text + "\n" if text else ""


def _smart(value: object) -> str:
    match value:
        case None:
            return ""
        case str() | bool() | int() | float():
            return str(value)
        case list():
            return "\n".join(_smart(each) for each in value)
        case dict() if not value:
            return ""
        case _:
            return yaml_text.dump(value)
