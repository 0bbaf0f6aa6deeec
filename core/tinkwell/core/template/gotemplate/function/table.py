"""The table of the template language's functions; those of Go's `text/template` are defined here.

Tinkerbell has the functions of the library sprig, and a few of its own. The table has those that occur in templates and
whose result depends only on their arguments; docs/reference/template-language.md lists them. Go compares and prints
JSON numbers as doubles, these functions use them exactly: 1000000 prints as 1000000. Printing a null, a list or an
object is an error.
"""

import decimal
import re
import urllib.parse
from collections.abc import Mapping, Sequence

from tinkwell.core.template.gotemplate.fault import BadArgument
from tinkwell.core.template.gotemplate.function import code as code_function
from tinkwell.core.template.gotemplate.function import format as gotemplate_format
from tinkwell.core.template.gotemplate.function import list as list_function
from tinkwell.core.template.gotemplate.function import machine as machine_function
from tinkwell.core.template.gotemplate.function import number as number_function
from tinkwell.core.template.gotemplate.function import text as text_function
from tinkwell.core.template.gotemplate.function.argument import ANY, Function, Value
from tinkwell.core.value import document

# By function: how many times longer than others it takes for each character or item.
_EXTRA_WORK = {"fromJson": 3, "js": 3, "toJson": 7, "toPrettyJson": 7, "toRawJson": 7, "toYaml": 7}
_JS_SPECIAL = re.compile(r"[\\'\"<>&=\x00-\x1f]|[^\x00-\x7f]")
# The time of a regular expression cannot be predicted, so its cost is above that of all templates that are rendered at
# once. Where such templates are rendered, the time is limited.
_REGEX_WORK = 64 * 1024
_HTML_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;", "\0": "\ufffd"})


def is_true(item: Value) -> bool:
    """Return whether a value counts as true: not false, zero, null or empty."""
    return bool(item)


def call(name: str, arguments: list[Value]) -> Value:
    """Call a function other than `and` and `or`, which do not evaluate all of their arguments. Raises BadArgument."""
    function, least, most = _FUNCTIONS[name]
    if not least <= len(arguments) <= most:
        wanted = f"{least}" if least == most else f"{least} or more" if most == ANY else f"{least} to {most}"
        raise BadArgument(f"{name} needs {wanted} arguments and has {len(arguments)}")
    return function(arguments)


def extra_work(name: str, arguments: list[Value], characters: int) -> int:
    """Return the extra cost of a call in characters, beside those of its arguments and result.

    The arguments have `characters` characters.
    """
    if name == "regexMatch":
        return _REGEX_WORK
    if name == "uniq":
        # Numbers can be chosen such that each is compared with all others.
        return sum(len(item) ** 2 for item in arguments if isinstance(item, list)) // 4
    return characters * _EXTRA_WORK.get(name, 0)


def _print(arguments: list[Value]) -> str:
    parts: list[str] = []
    for before, item in zip([None, *arguments], arguments, strict=False):
        # As in Go: two neighbours that are both not text get a space between them.
        if parts and not isinstance(before, str) and not isinstance(item, str):
            parts.append(" ")
        parts.append(gotemplate_format.text_of(item))
    return "".join(parts)


def _println(arguments: list[Value]) -> str:
    return " ".join(gotemplate_format.text_of(item) for item in arguments) + "\n"


def _printf(arguments: list[Value]) -> str:
    form, *rest = arguments
    if not isinstance(form, str):
        raise BadArgument(f"the format of printf must be text and is {document.describe(form)}")
    return gotemplate_format.printf(form, rest)


def _html(arguments: list[Value]) -> str:
    return _print(arguments).translate(_HTML_ESCAPES)


def _urlquery(arguments: list[Value]) -> str:
    return urllib.parse.quote_plus(_print(arguments))


def _js(arguments: list[Value]) -> str:
    return _JS_SPECIAL.sub(lambda found: _escape_js(found[0]), _print(arguments))


def _escape_js(character: str) -> str:
    if character in "\\'\"":
        return f"\\{character}"
    # As in Go, printable characters beyond ASCII stay as they are.
    is_kept = character.isprintable() and not character.isascii()
    return character if is_kept else f"\\u{ord(character):04X}"


def _len(arguments: list[Value]) -> int:
    match arguments[0]:
        case str() as text:
            return len(text.encode())
        case list() | dict() as items:
            return len(items)
        case other:
            raise BadArgument(f"{document.describe(other)} has no length", is_value=True)


def _not(arguments: list[Value]) -> bool:
    return not is_true(arguments[0])


def _index(arguments: list[Value]) -> Value:
    item, *keys = arguments
    for key in keys:
        item = _index_one(item, key)
    return item


def _index_one(item: Value, key: Value) -> Value:
    match item:
        case dict():
            if not isinstance(key, str):
                raise BadArgument(f"an object is indexed by text and not by {document.describe(key)}")
            # As in Go, a missing key gives null, so that a template can test for it.
            return item.get(key)
        case list() | str():
            items: Sequence[Value] = item.encode() if isinstance(item, str) else item
            if not isinstance(key, int) or isinstance(key, bool):
                raise BadArgument(f"{document.describe(item)} is indexed by an integer")
            if not 0 <= key < len(items):
                raise BadArgument(f"the index {key} is out of range; there are {len(items)}", is_value=True)
            return items[key]
        case _:
            raise BadArgument(f"{document.describe(item)} cannot be indexed", is_value=True)


def _slice(arguments: list[Value]) -> Value:
    item, *bounds = arguments
    if not isinstance(item, str | list):
        raise BadArgument(f"{document.describe(item)} cannot be sliced", is_value=True)
    items = item.encode() if isinstance(item, str) else item
    start = bounds[0] if bounds else 0
    end = bounds[1] if len(bounds) > 1 else len(items)
    if not isinstance(start, int) or not isinstance(end, int) or not 0 <= start <= end <= len(items):
        raise BadArgument(f"the slice is out of range; there are {len(items)}", is_value=True)
    part = items[start:end]
    if isinstance(part, list):
        return part
    try:
        return part.decode()
    except UnicodeDecodeError as exc:
        raise BadArgument("the slice cuts a character in two", is_value=True) from exc


def _comparable(item: Value) -> tuple[str, bool | int | decimal.Decimal | str | None]:
    match item:
        case bool():
            return "true or false", item
        case int() | decimal.Decimal():
            return "a number", item
        case str():
            return "text", item
        case None:
            return "null", item
        case _:
            raise BadArgument(f"{document.describe(item)} cannot be compared", is_value=True)


def _is_equal(first: Value, second: Value) -> bool:
    first_kind, first_plain = _comparable(first)
    second_kind, second_plain = _comparable(second)
    if first_kind != second_kind and "null" not in (first_kind, second_kind):
        raise BadArgument(f"{first_kind} cannot be compared with {second_kind}", is_value=True)
    return first_kind == second_kind and first_plain == second_plain


def _eq(arguments: list[Value]) -> bool:
    first, *others = arguments
    return any(_is_equal(first, other) for other in others)


def _ne(arguments: list[Value]) -> bool:
    return not _is_equal(*arguments)


def _is_less(first: Value, second: Value) -> bool:
    match first, second:
        case bool(), _:
            pass
        case _, bool():
            pass
        case ((int() | decimal.Decimal()), (int() | decimal.Decimal())):
            return first < second
        case str(), str():
            return first < second
    kinds = f"{_comparable(first)[0]} and {_comparable(second)[0]}"
    raise BadArgument(f"{kinds} have no order", is_value=True)


_FUNCTIONS: Mapping[str, Function] = {
    "eq": Function(_eq, 2, ANY),
    "ge": Function(lambda pair: not _is_less(*pair), 2, 2),
    "gt": Function(lambda pair: _is_less(pair[1], pair[0]), 2, 2),
    "html": Function(_html, 1, ANY),
    "index": Function(_index, 1, ANY),
    "js": Function(_js, 1, ANY),
    "le": Function(lambda pair: not _is_less(pair[1], pair[0]), 2, 2),
    "len": Function(_len, 1, 1),
    "lt": Function(lambda pair: _is_less(*pair), 2, 2),
    "ne": Function(_ne, 2, 2),
    "not": Function(_not, 1, 1),
    "print": Function(_print, 0, ANY),
    "printf": Function(_printf, 1, ANY),
    "println": Function(_println, 0, ANY),
    "slice": Function(_slice, 1, 3),
    "urlquery": Function(_urlquery, 1, ANY),
    **code_function.FUNCTIONS,
    **list_function.FUNCTIONS,
    **machine_function.FUNCTIONS,
    **number_function.FUNCTIONS,
    **text_function.FUNCTIONS,
}

NAMES = frozenset(_FUNCTIONS) | {"and", "or"}
# Functions that may be called as an argument without parentheses, because they need no argument.
WITHOUT_ARGUMENTS = frozenset(name for name, function in _FUNCTIONS.items() if not function.least)
# Functions that take constant time for lists and objects, because they look at none of the contents.
SHALLOW = frozenset(
    [
        *("and", "coalesce", "default", "dig", "empty", "first", "get", "hasKey"),
        *("index", "last", "len", "not", "or", "ternary"),
    ]
)
