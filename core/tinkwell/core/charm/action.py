"""The actions of a charm: their declaration, and the parameters of a task.

An action is declared as in Juju: `params` maps names to JSON schemas, with `required` and `additionalProperties` beside
it. Only the schema keywords in `CHECKED` are checked; all others are documentation.
"""

import decimal
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from tinkwell.core import errors
from tinkwell.core.charm.record import Action
from tinkwell.core.value import check, document, parse
from tinkwell.core.value.closed_object import ClosedObject, nearest
from tinkwell.core.value.document import JsonObject, JsonValue

MAX_PARAMETERS = 200
MAX_PARAMETER_BYTES = 1024 * 1024
MAX_SCHEMA_DEPTH = 16
MAX_TEXT_BYTES = 65_536
FIELDS = ("description", "params", "required", "additionalProperties", "parallel", "execution-group")
CHECKED = ("type", "enum", "default", "properties", "required", "additionalProperties", "items", "minimum", "maximum")
NEEDED: Mapping[str, str] = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}

_NAME = re.compile(r"[A-Za-z_][\w.-]{0,99}", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,3})?")
_FLAGS = {"true": True, "false": False}
_text = functools.partial(parse.parse_text, max_bytes=MAX_TEXT_BYTES, allow_empty=True, multiline=True)


def read(members: ClosedObject, name: str) -> Action:
    """Read a manifest's declaration of an action; faults are noted in the checks of `members`."""
    properties = {
        each: given
        for path, each, given in members.members("params", _parse_parameter)
        if _is_schema(members, path, given, 1)
    }
    if len(properties) > MAX_PARAMETERS:
        members.checks.refuse(
            members.path("params"),
            f"has {len(properties):,} parameters; at most {MAX_PARAMETERS:,} are allowed",
        )
    return Action(
        name=name,
        description=members.text("description", _text),
        parameters=properties,
        required=members.texts("required", _parse_parameter, most=MAX_PARAMETERS),
        is_open=members.boolean("additionalProperties", default=True),
    )


def schema(action: Action) -> JsonObject:
    """Return the JSON schema of an action's parameters, of type object; an empty object if it has none."""
    if not action.parameters and action.is_open:
        return {}
    return {
        "type": "object",
        "properties": dict(action.parameters),
        "required": [*action.required],
        "additionalProperties": action.is_open,
    }


def complete(action: Action, given: Mapping[str, JsonValue], *, field: str) -> JsonObject:
    """Return the parameters of a task: the given ones, and the defaults of the others.

    A text for a parameter of another type is converted, such as "2" for an integer. `field` is the path of `given`.
    Raises `errors.InvalidField` with all faults.
    """
    checks = check.Checks(most=document.MAX_VIOLATIONS)
    found = _object(checks, field, schema(action), given)
    checks.finish()
    parse.check_size(field, document.dump_json(found), max_bytes=MAX_PARAMETER_BYTES)
    return found


def find(actions: Mapping[str, Action], name: str, *, field: str) -> Action:
    """Return an action of a charm; raises `errors.InvalidField` if the charm does not have it."""
    if name not in actions:
        raise errors.InvalidField.of(field, f"the charm has no such action; {nearest(name, [*actions])}")
    return actions[name]


def _parse_parameter(field: str, text: str) -> str:
    if not _NAME.fullmatch(text):
        sentence = "use letters, digits, _, . and -, a letter at first, at most 100 characters"
        raise errors.InvalidField.of(field, f"{parse.show(text)} is not the name of a parameter; {sentence}")
    return text


def _is_schema(members: ClosedObject, path: str, value: JsonValue, depth: int) -> bool:
    """Check the keywords of a schema that are in `CHECKED`; faults are noted."""
    if not isinstance(value, dict):
        members.refuse(path, "an object such as {type: string}", value)
        return False
    if depth > MAX_SCHEMA_DEPTH:
        members.checks.refuse(path, f"lies in more than {MAX_SCHEMA_DEPTH} schemas; make it plainer")
        return False
    if "$ref" in value:
        members.checks.refuse(parse.child(path, "$ref"), "is not followed; write the schema itself in its place")
        return False
    wrong = [*_wrong_words(members, path, value)]
    inner = [_is_schema(members, where, each, depth + 1) for where, each in _inner(path, value)]
    return not wrong and all(inner) and _fits(members, path, value)


def _wrong_words(members: ClosedObject, path: str, value: JsonObject) -> Iterator[str]:
    """Note each keyword of a schema whose value has the wrong type, and yield these keywords."""
    expected: Mapping[str, tuple[Callable[[JsonValue], bool], str]] = {
        "type": (_is_type, f"one of {', '.join(NEEDED)}, or a list of these"),
        "enum": (lambda each: isinstance(each, list) and bool(each), "a list of values"),
        "properties": (lambda each: isinstance(each, dict), "an object"),
        "required": (
            lambda each: isinstance(each, list) and all(isinstance(name, str) for name in each),
            "a list of names",
        ),
        "additionalProperties": (lambda each: isinstance(each, bool | dict), "true or false"),
        "items": (lambda each: isinstance(each, dict), "an object"),
        "minimum": (_is_number, "a number"),
        "maximum": (_is_number, "a number"),
    }
    for word, (is_right, needed) in expected.items():
        if word in value and not is_right(value[word]):
            members.refuse(parse.child(path, word), needed, value[word])
            yield word


def _inner(path: str, value: JsonObject) -> Iterator[tuple[str, JsonValue]]:
    properties = value.get("properties")
    if isinstance(properties, dict):
        for name, each in properties.items():
            yield parse.child(parse.child(path, "properties"), name), each
    for word in ("items", "additionalProperties"):
        if isinstance(value.get(word), dict):
            yield parse.child(path, word), value[word]


def _fits(members: ClosedObject, path: str, value: JsonObject) -> bool:
    """Note a default that its own schema does not allow."""
    if value.get("default") is None:
        return True
    checks = check.Checks(most=1)
    _value(checks, parse.child(path, "default"), value, value["default"], is_text_read=False)
    try:
        checks.finish()
    except errors.InvalidField as error:
        members.checks.note(error)
        return False
    return True


def _is_type(value: JsonValue) -> bool:
    return bool(_types({"type": value})) and all(each in NEEDED for each in _types({"type": value}))


def _types(value: JsonObject) -> Sequence[str]:
    given = value.get("type")
    if isinstance(given, list):
        return [str(each) for each in given]
    return [str(given)] if given is not None else []


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | decimal.Decimal) and not isinstance(value, bool)


def _value(
    checks: check.Checks, path: str, schema: JsonObject, given: JsonValue, *, is_text_read: bool = True
) -> JsonValue:
    """Return a value converted to its schema's type; faults are noted."""
    types = _types(schema)
    value = _read_text(given, types) if is_text_read and isinstance(given, str) else given
    if types and not any(_is_of(value, each) for each in types):
        needed = " or ".join(NEEDED[each] for each in types)
        found = f"the text {parse.show(given)}" if isinstance(given, str) else document.describe(given)
        checks.refuse(path, f"must be {needed}, and not {found}")
        return value
    enum = schema.get("enum")
    if isinstance(enum, list) and not any(document.is_same(value, each) for each in enum):
        listed = ", ".join(parse.excerpt(document.dump_json(each)) for each in enum[:10])
        checks.refuse(path, f"must be one of {listed}{' and more' if len(enum) > 10 else ''}")
    _check_bounds(checks, path, schema, value)
    if isinstance(value, dict):
        return _object(checks, path, schema, value)
    items = schema.get("items")
    if isinstance(value, list) and isinstance(items, dict):
        return [_value(checks, parse.child(path, index), items, each) for index, each in enumerate(value)]
    return value


def _object(checks: check.Checks, path: str, schema: JsonObject, given: Mapping[str, JsonValue]) -> JsonObject:
    properties, others = schema.get("properties"), schema.get("additionalProperties", True)
    known: JsonObject = properties if isinstance(properties, dict) else {}
    found: JsonObject = {}
    for name, value in given.items():
        where, inner = parse.child(path, name), known.get(name, others)
        if isinstance(inner, dict):
            found[name] = _value(checks, where, inner, value)
        elif inner is False:
            checks.refuse(where, f"there is no such parameter; {nearest(name, [*known])}")
        else:
            found[name] = value
    for name, inner in known.items():
        if name not in given and isinstance(inner, dict) and inner.get("default") is not None:
            found[name] = inner["default"]
    required = schema.get("required")
    for each in required if isinstance(required, list) else ():
        if isinstance(each, str) and each not in found and each not in given:
            checks.refuse(parse.child(path, each), "must be given")
    return found


def _check_bounds(checks: check.Checks, path: str, schema: JsonObject, value: JsonValue) -> None:
    if isinstance(value, bool) or not isinstance(value, int | decimal.Decimal):
        return
    low, high = schema.get("minimum"), schema.get("maximum")
    if isinstance(low, int | decimal.Decimal) and value < low:
        checks.refuse(path, f"is {value}; it must be at least {low}")
    if isinstance(high, int | decimal.Decimal) and value > high:
        checks.refuse(path, f"is {value}; it must be at most {high}")


def _is_of(value: JsonValue, type_: str) -> bool:
    match type_:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return _is_number(value)
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case _:
            return value is None


def _read_text(text: str, types: Sequence[str]) -> JsonValue:
    """Return the value that a text stands for in one of the types; the text itself if there is none.

    If the types allow text, the text is returned as it is.
    """
    word = text.strip()
    if not types or "string" in types:
        return text
    if _INTEGER.fullmatch(word) and not {"integer", "number"}.isdisjoint(types):
        return int(word)
    if _NUMBER.fullmatch(word) and "number" in types:
        return decimal.Decimal(word)
    if "boolean" in types and word.lower() in _FLAGS:
        return _FLAGS[word.lower()]
    return text
