"""The configuration of an application: the options that a charm declares, and their values.

The server stores the values that were set; `effective` adds the defaults. A float is a `decimal.Decimal` with the
digits as written, or an int.
"""

import decimal
import re
from collections.abc import Mapping

from tinkwell.core import errors
from tinkwell.core.charm.record import Option, OptionType
from tinkwell.core.unit import secret
from tinkwell.core.value import check, document, parse
from tinkwell.core.value.closed_object import nearest
from tinkwell.core.value.document import JsonObject, JsonValue

MAX_CONFIG_BYTES = 1024 * 1024
MAX_INTEGER = 2**63 - 1

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_FLAGS = {"true": True, "false": False}
NEEDED = {
    OptionType.STRING: "text",
    OptionType.INT: "a whole number",
    OptionType.FLOAT: "a number",
    OptionType.BOOLEAN: "true or false",
    OptionType.SECRET: "the name of a secret, such as secret:9m4e2mr0ui3e8a215n4g",
}


def edit(
    options: Mapping[str, Option], current: Mapping[str, JsonValue], given: Mapping[str, JsonValue], *, field: str
) -> JsonObject:
    """Return the configuration with some options set, or reset to their default if the value is None.

    `field` is the path of `given`. A text for an option of another type is converted, such as "2" for an int. Raises
    `errors.InvalidField` with all faults.
    """
    checks = check.Checks(most=document.MAX_VIOLATIONS)
    edited = dict(current)
    for name, value in given.items():
        path = parse.child(field, name)
        if name not in options:
            checks.refuse(path, f"the charm has no such option; {nearest(name, [*options])}")
        elif value is None:
            edited.pop(name, None)
        else:
            try:
                edited[name] = parse_value(path, value, options[name])
            except errors.InvalidField as error:
                checks.note(error)
    checks.finish()
    parse.check_size(field, document.dump_json(edited), max_bytes=MAX_CONFIG_BYTES)
    return edited


def effective(options: Mapping[str, Option], current: Mapping[str, JsonValue]) -> JsonObject:
    """Return the value of each option that has one: the value that was set, or the default."""
    values = {name: current.get(name, option.default) for name, option in sorted(options.items())}
    return {name: value for name, value in values.items() if value is not None}


def kept(options: Mapping[str, Option], current: Mapping[str, JsonValue]) -> JsonObject:
    """Return the values that are valid for the options of another charm; all other options get its defaults."""
    return {name: value for name, value in current.items() if name in options and _fits(options[name], value)}


def parse_value(field: str, given: JsonValue, option: Option) -> JsonValue:
    """Return an option's value in its normal form; raises `errors.InvalidField`."""
    value = _from_text(given, option.type) if isinstance(given, str) else given
    if not _is_of_type(value, option.type):
        found = f"the text {parse.show(given)}" if isinstance(given, str) else document.describe(given)
        raise errors.InvalidField.of(field, f"must be {NEEDED[option.type]}, and not {found}")
    if option.type is OptionType.SECRET:
        return _secret(field, str(value))
    if isinstance(value, str):
        return parse.parse_text(field, value, max_bytes=MAX_CONFIG_BYTES, allow_empty=True, multiline=True)
    if isinstance(value, int) and not -MAX_INTEGER <= value <= MAX_INTEGER:
        raise errors.InvalidField.of(field, "does not fit in 64 bits; write a smaller number")
    _check_bounds(field, value, option)
    return value


def _secret(field: str, text: str) -> str:
    """Return the name of a secret as charms know it, or "" for none."""
    return secret.uri(secret.parse_uri(field, text)) if text else ""


def as_number(value: JsonValue) -> int | decimal.Decimal:
    """Return a value that is known to be a number."""
    assert isinstance(value, int | decimal.Decimal)
    return value


def _fits(option: Option, value: JsonValue) -> bool:
    try:
        return document.is_same(parse_value("", value, option), value)
    except errors.InvalidField:
        return False


def _from_text(text: str, type_: OptionType) -> JsonValue:
    """Return the value that a text stands for in a type; the text itself if there is none."""
    word = text.strip()
    match type_:
        case OptionType.INT if _INTEGER.fullmatch(word):
            return int(word)
        case OptionType.FLOAT if _NUMBER.fullmatch(word) and not document.is_too_long(word):
            return _number(word)
        case OptionType.BOOLEAN:
            return _FLAGS.get(word.lower(), text)
        case _:
            return text


def _number(word: str) -> JsonValue:
    """Return the number that a text stands for; the text itself if a double cannot hold it."""
    number = decimal.Decimal(word)
    try:
        return document.check_json("", number)
    except errors.InvalidField:
        return word


def _is_of_type(value: JsonValue, type_: OptionType) -> bool:
    match type_:
        case OptionType.STRING | OptionType.SECRET:
            return isinstance(value, str)
        case OptionType.BOOLEAN:
            return isinstance(value, bool)
        case OptionType.INT:
            return isinstance(value, int) and not isinstance(value, bool)
        case OptionType.FLOAT:
            return isinstance(value, int | decimal.Decimal) and not isinstance(value, bool)


def _check_bounds(field: str, value: JsonValue, option: Option) -> None:
    if option.minimum is not None and as_number(value) < as_number(option.minimum):
        raise errors.InvalidField.of(field, f"is {value}; it must be at least {option.minimum}")
    if option.maximum is not None and as_number(value) > as_number(option.maximum):
        raise errors.InvalidField.of(field, f"is {value}; it must be at most {option.maximum}")
