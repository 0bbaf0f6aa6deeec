"""Functions of the template language for texts, as sprig and Tinkerbell have them.

The text that they search comes last, so that it may be piped: `.disk | contains "nvme"`.
"""

import re
from collections.abc import Mapping

from tinkwell.core.template.gotemplate.fault import BadArgument
from tinkwell.core.template.gotemplate.function import argument
from tinkwell.core.template.gotemplate.function import format as gotemplate_format
from tinkwell.core.template.gotemplate.function.argument import ANY, Function, Value
from tinkwell.core.value import parse

MAX_INDENT = 100

# A POSIX character class, which Go knows, and which Python would read as a set of letters.
_OTHER_IN_GO = re.compile(r"\[:\^?[a-z]+:\]")

_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


class Enclosed(gotemplate_format.Quoted):
    """A text in quotes of another kind than Go's, together with the text within."""

    __slots__ = ()

    def __new__(cls, original: str, enclosed: str) -> "Enclosed":
        """Keep both forms of a text."""
        quoted = str.__new__(cls, enclosed)
        quoted.original = original
        return quoted


class Indented(str):
    """A text with indented lines, together with the original text."""

    __slots__ = ("original",)

    def __new__(cls, original: str, indented: str) -> "Indented":
        """Keep both forms of a text."""
        text = super().__new__(cls, indented)
        text.original = original
        return text

    original: str


def _contains(arguments: list[Value]) -> bool:
    part, whole = _texts("contains", arguments)
    return part in whole


def _has_prefix(arguments: list[Value]) -> bool:
    prefix, whole = _texts("hasPrefix", arguments)
    return whole.startswith(prefix)


def _has_suffix(arguments: list[Value]) -> bool:
    suffix, whole = _texts("hasSuffix", arguments)
    return whole.endswith(suffix)


def _trim_all(arguments: list[Value]) -> str:
    characters, whole = _texts("trimAll", arguments)
    # A look-up in a set takes constant time, in a text it does not.
    known = frozenset(characters)
    start, end = 0, len(whole)
    while start < end and whole[start] in known:
        start += 1
    while start < end and whole[end - 1] in known:
        end -= 1
    return whole[start:end]


def _trim_prefix(arguments: list[Value]) -> str:
    prefix, whole = _texts("trimPrefix", arguments)
    return whole.removeprefix(prefix)


def _trim_suffix(arguments: list[Value]) -> str:
    suffix, whole = _texts("trimSuffix", arguments)
    return whole.removesuffix(suffix)


def _trim(arguments: list[Value]) -> str:
    return argument.text("trim", arguments[0]).strip(_SPACE)


def _upper(arguments: list[Value]) -> str:
    # As in Go, each character becomes one character: ß stays as it is.
    text = argument.text("upper", arguments[0])
    return "".join(upper if len(upper := character.upper()) == 1 else character for character in text)


def _lower(arguments: list[Value]) -> str:
    return "".join(character.lower()[0] for character in argument.text("lower", arguments[0]))


def _replace(arguments: list[Value]) -> str:
    old, new, whole = _texts("replace", arguments)
    argument.check_length("replace", len(whole) + whole.count(old) * (len(new) - len(old)))
    return whole.replace(old, new)


def _repeat(arguments: list[Value]) -> str:
    count, text = argument.integer("repeat", arguments[0]), argument.text("repeat", arguments[1])
    if count < 0:
        raise BadArgument("repeat cannot repeat a text less than 0 times", is_value=True)
    argument.check_length("repeat", count * len(text))
    return text * (count if text else 0)


def _trunc(arguments: list[Value]) -> str:
    """Keep some bytes of the beginning, or of the end if the number is negative."""
    count, text = argument.integer("trunc", arguments[0]), argument.text("trunc", arguments[1])
    whole = text.encode()
    if abs(count) >= len(whole):
        return text
    return _decode("trunc", whole[count:] if count < 0 else whole[:count])


def _substr(arguments: list[Value]) -> str:
    start, end = (argument.integer("substr", bound) for bound in arguments[:2])
    whole = argument.text("substr", arguments[2]).encode()
    if start < 0:
        start = 0
        if end < 0:
            raise BadArgument("substr needs a start or an end from 0 on", is_value=True)
    if not 0 <= end <= len(whole):
        end = len(whole)
    if start > end:
        raise BadArgument(f"substr starts at {start} and ends at {end}", is_value=True)
    return _decode("substr", whole[start:end])


def _decode(name: str, part: bytes) -> str:
    try:
        return part.decode()
    except UnicodeDecodeError as exc:
        raise BadArgument(f"{name} cuts a character in two", is_value=True) from exc


def _quote(arguments: list[Value]) -> str:
    texts = [gotemplate_format.text_of(item) for item in arguments if item is not None]
    if len(texts) == 1:
        return gotemplate_format.Quoted(texts[0])
    return " ".join(gotemplate_format.quote(text) for text in texts)


def _squote(arguments: list[Value]) -> str:
    texts = [gotemplate_format.text_of(item) for item in arguments if item is not None]
    if len(texts) == 1:
        return Enclosed(texts[0], f"'{texts[0]}'")
    return " ".join(f"'{text}'" for text in texts)


def _cat(arguments: list[Value]) -> str:
    return " ".join(gotemplate_format.text_of(item) for item in arguments if item is not None)


def _to_string(arguments: list[Value]) -> str:
    return str(gotemplate_format.text_of(arguments[0]))


def _indent(arguments: list[Value]) -> str:
    return _indented("indent", arguments, first="")


def _nindent(arguments: list[Value]) -> str:
    return _indented("nindent", arguments, first="\n")


def _indented(name: str, arguments: list[Value], *, first: str) -> Indented:
    width, text = argument.integer(name, arguments[0]), argument.text(name, arguments[1])
    if not 0 <= width <= MAX_INDENT:
        raise BadArgument(f"{name} indents by 0 to {MAX_INDENT} spaces", is_value=True)
    argument.check_length(name, len(text) + (text.count("\n") + 1) * width)
    indent = " " * width
    return Indented(str(text), first + indent + text.replace("\n", "\n" + indent))


def _regex_match(arguments: list[Value]) -> bool:
    expression, text = _texts("regexMatch", arguments)
    problem = f"regexMatch: {parse.show(expression)} is no regular expression that is known here"
    if _OTHER_IN_GO.search(expression):
        raise BadArgument(f"{problem}: write [a-zA-Z] in place of [[:alpha:]], and the like")
    try:
        return re.search(expression, text, re.ASCII) is not None
    except (re.error, RecursionError, OverflowError, ValueError) as error:
        raise BadArgument(f"{problem}: {error}") from None


def _texts(name: str, arguments: list[Value]) -> list[str]:
    return [argument.text(name, item) for item in arguments]


FUNCTIONS: Mapping[str, Function] = {
    "cat": Function(_cat, 0, ANY),
    "contains": Function(_contains, 2, 2),
    "hasPrefix": Function(_has_prefix, 2, 2),
    "hasSuffix": Function(_has_suffix, 2, 2),
    "indent": Function(_indent, 2, 2),
    "lower": Function(_lower, 1, 1),
    "nindent": Function(_nindent, 2, 2),
    "quote": Function(_quote, 0, ANY),
    "regexMatch": Function(_regex_match, 2, 2),
    "repeat": Function(_repeat, 2, 2),
    "replace": Function(_replace, 3, 3),
    "squote": Function(_squote, 0, ANY),
    "substr": Function(_substr, 3, 3),
    "toString": Function(_to_string, 1, 1),
    "trim": Function(_trim, 1, 1),
    "trimAll": Function(_trim_all, 2, 2),
    "trimPrefix": Function(_trim_prefix, 2, 2),
    "trimSuffix": Function(_trim_suffix, 2, 2),
    "trunc": Function(_trunc, 2, 2),
    "upper": Function(_upper, 1, 1),
}
