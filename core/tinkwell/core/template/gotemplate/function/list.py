"""Functions of the template language for lists and objects, and those that choose between values.

None of them changes its arguments. Functions that return null for a missing value in sprig do so here.
"""

from collections.abc import Mapping

from tinkwell.core.template.gotemplate.fault import BadArgument
from tinkwell.core.template.gotemplate.function import argument
from tinkwell.core.template.gotemplate.function import format as gotemplate_format
from tinkwell.core.template.gotemplate.function.argument import ANY, Function, Value
from tinkwell.core.value import document, parse

MAX_FAIL_CHARACTERS = 300


def _default(arguments: list[Value]) -> Value:
    fallback, *given = arguments
    return given[0] if given and given[0] else fallback


def _empty(arguments: list[Value]) -> bool:
    return not arguments[0]


def _coalesce(arguments: list[Value]) -> Value:
    return next((item for item in arguments if item), None)


def _ternary(arguments: list[Value]) -> Value:
    if_true, if_false, condition = arguments
    if not isinstance(condition, bool):
        raise BadArgument(f"ternary needs true or false in place of {document.describe(condition)}", is_value=True)
    return if_true if condition else if_false


def _fail(arguments: list[Value]) -> Value:
    text = argument.text("fail", arguments[0])
    shown = parse.escape(text[:MAX_FAIL_CHARACTERS])
    raise BadArgument(f"{shown}…" if len(text) > MAX_FAIL_CHARACTERS else shown, is_value=True)


def _list(arguments: list[Value]) -> list[Value]:
    return argument.check_items("list", arguments)


def _append(arguments: list[Value]) -> list[Value]:
    return argument.check_items("append", [*argument.items("append", arguments[0]), arguments[1]])


def _prepend(arguments: list[Value]) -> list[Value]:
    return argument.check_items("prepend", [arguments[1], *argument.items("prepend", arguments[0])])


def _concat(arguments: list[Value]) -> list[Value]:
    joined: list[Value] = []
    for item in arguments:
        joined += argument.items("concat", item)
        if len(joined) > argument.MAX_RESULT_ITEMS:
            break
    return argument.check_items("concat", joined)


def _first(arguments: list[Value]) -> Value:
    return next(iter(argument.items("first", arguments[0])), None)


def _last(arguments: list[Value]) -> Value:
    return next(reversed(argument.items("last", arguments[0])), None)


def _rest(arguments: list[Value]) -> list[Value]:
    return argument.items("rest", arguments[0])[1:]


def _initial(arguments: list[Value]) -> list[Value]:
    return argument.items("initial", arguments[0])[:-1]


def _reverse(arguments: list[Value]) -> list[Value]:
    return argument.items("reverse", arguments[0])[::-1]


def _compact(arguments: list[Value]) -> list[Value]:
    return [item for item in argument.items("compact", arguments[0]) if item]


def _has(arguments: list[Value]) -> bool:
    wanted = _plain("has", arguments[0])
    return any(_plain("has", item) == wanted for item in argument.items("has", arguments[1]))


def _uniq(arguments: list[Value]) -> list[Value]:
    found: dict[tuple[bool, Value], Value] = {}
    for item in argument.items("uniq", arguments[0]):
        found.setdefault(_plain("uniq", item), item)
    return [*found.values()]


def _plain(name: str, item: Value) -> tuple[bool, Value]:
    """Return a comparable form of a value: true is not 1, and lists and objects are refused."""
    if isinstance(item, list | dict):
        raise BadArgument(f"{name} cannot compare {document.describe(item)}", is_value=True)
    return isinstance(item, bool), item


def _sort_alpha(arguments: list[Value]) -> list[Value]:
    # By code points, which is the order of Go's UTF-8 bytes.
    return [*sorted(_strings("sortAlpha", arguments[0]))]


def _join(arguments: list[Value]) -> str:
    separator, texts = argument.text("join", arguments[0]), _strings("join", arguments[1])
    argument.check_length("join", sum(map(len, texts)) + len(separator) * max(0, len(texts) - 1))
    return separator.join(texts)


def _strings(name: str, item: Value) -> list[str]:
    """Return a list of printable values, without its nulls; a single value counts as a list of one."""
    found = argument.items(name, item) if isinstance(item, list | dict) else [item]
    return [gotemplate_format.text_of(one) for one in found if one is not None]


def _split_list(arguments: list[Value]) -> list[Value]:
    return _split("splitList", arguments)


def _split_dict(arguments: list[Value]) -> dict[str, Value]:
    return {f"_{at}": part for at, part in enumerate(_split("split", arguments))}


def _split(name: str, arguments: list[Value]) -> list[Value]:
    separator, text = argument.text(name, arguments[0]), argument.text(name, arguments[1])
    # The text after the last allowed part is not split, so that little is made before the result is refused.
    parts = text.split(separator, argument.MAX_RESULT_ITEMS) if separator else list(text)
    return argument.check_items(name, parts)


def _dict(arguments: list[Value]) -> dict[str, Value]:
    keys = [argument.text("dict", key) for key in arguments[::2]]
    values: list[Value] = [*arguments[1::2]]
    if len(values) < len(keys):
        values.append("")
    argument.check_items("dict", keys)
    return dict(zip(keys, values, strict=True))


def _get(arguments: list[Value]) -> Value:
    return argument.mapping("get", arguments[0]).get(argument.text("get", arguments[1]), "")


def _has_key(arguments: list[Value]) -> bool:
    return argument.text("hasKey", arguments[1]) in argument.mapping("hasKey", arguments[0])


def _keys(arguments: list[Value]) -> list[Value]:
    # Go returns keys in any order; here the same template always gives the same text.
    return argument.check_items("keys", [key for item in arguments for key in sorted(argument.mapping("keys", item))])


def _values(arguments: list[Value]) -> list[Value]:
    found = argument.mapping("values", arguments[0])
    return [found[key] for key in sorted(found)]


def _dig(arguments: list[Value]) -> Value:
    *names, fallback, item = arguments
    for name in names:
        found = argument.mapping("dig", item)
        key = argument.text("dig", name)
        if key not in found:
            return fallback
        item = found[key]
    return item


FUNCTIONS: Mapping[str, Function] = {
    "append": Function(_append, 2, 2),
    "coalesce": Function(_coalesce, 0, ANY),
    "compact": Function(_compact, 1, 1),
    "concat": Function(_concat, 0, ANY),
    "default": Function(_default, 1, 2),
    "dict": Function(_dict, 0, ANY),
    "dig": Function(_dig, 3, ANY),
    "empty": Function(_empty, 1, 1),
    "fail": Function(_fail, 1, 1),
    "first": Function(_first, 1, 1),
    "get": Function(_get, 2, 2),
    "has": Function(_has, 2, 2),
    "hasKey": Function(_has_key, 2, 2),
    "initial": Function(_initial, 1, 1),
    "join": Function(_join, 2, 2),
    "keys": Function(_keys, 1, ANY),
    "last": Function(_last, 1, 1),
    "list": Function(_list, 0, ANY),
    "prepend": Function(_prepend, 2, 2),
    "rest": Function(_rest, 1, 1),
    "reverse": Function(_reverse, 1, 1),
    "sortAlpha": Function(_sort_alpha, 1, 1),
    "split": Function(_split_dict, 2, 2),
    "splitList": Function(_split_list, 2, 2),
    "ternary": Function(_ternary, 3, 3),
    "uniq": Function(_uniq, 1, 1),
    "values": Function(_values, 1, 1),
}
