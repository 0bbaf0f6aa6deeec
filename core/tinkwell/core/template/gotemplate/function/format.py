"""Conversion of values to text: plainly, and by `printf`."""

import decimal
import re
from collections.abc import Iterator

from tinkwell.core.template.gotemplate.fault import BadArgument
from tinkwell.core.template.gotemplate.syntax import node
from tinkwell.core.value import document

Value = node.Value

MAX_WIDTH = 100

_DIRECTIVE = re.compile(r"%([-+ 0]{0,4})([0-9]{0,4})(\.[0-9]{0,4})?(.?)", re.DOTALL)
_VERBS = "vsqdxXobctfFeE"
_QUOTED_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


class Quoted(str):
    """The result of `printf "%q"`, together with the text that it quotes.

    Authors quote a value so that YAML reads it as one text. A value is always one text here, so `Output.fill` can
    remove the quotes.
    """

    __slots__ = ("original",)

    def __new__(cls, original: str) -> "Quoted":
        """Quote a text."""
        quoted = super().__new__(cls, quote(original))
        quoted.original = original
        return quoted

    original: str


def text_of(item: Value) -> str:
    """Print a value: text as it is, numbers exactly; raises BadArgument for null, lists and objects."""
    match item:
        case str():
            return item
        case bool():
            return "true" if item else "false"
        case int():
            return str(item)
        case decimal.Decimal():
            return format(item, "f")
        case _:
            hint = "default gives another" if item is None else "range writes its items, and toJson makes text of it"
            raise BadArgument(f"the value is {document.describe(item)}, which is not printed; {hint}", is_value=True)


def quote(text: str) -> str:
    """Quote a text as a Go string constant."""
    return f'"{text.translate(_Escapes())}"'


class _Escapes(dict[int, str]):
    """Maps codes of characters to their quoted forms: each form is computed once, however long the text is."""

    def __missing__(self, code: int) -> str:
        escaped = self[code] = _quote_character(chr(code))
        return escaped


def _quote_character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    if escape := _QUOTED_ESCAPES.get(character):
        return escape
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def printf(form: str, arguments: list[Value]) -> str:
    """Format as Go's `printf` does; if Go prints a complaint such as `%!d(string=x)`, raise BadArgument."""
    if form == "%q" and len(arguments) == 1 and isinstance(arguments[0], str):
        return Quoted(arguments[0])
    remaining = iter(arguments)
    formatted = _DIRECTIVE.sub(lambda found: _format(found, remaining), form)
    if unused := sum(1 for _ in remaining):
        raise BadArgument(f"printf has {unused} more arguments than its format takes")
    return formatted


def _format(found: re.Match[str], remaining: Iterator[Value]) -> str:
    directive, flags, width, precision, verb = found[0], *found.groups(default="")
    if directive == "%%":
        return "%"
    if not verb or verb not in _VERBS:
        raise BadArgument(f"printf does not know {directive}; it knows {', '.join(f'%{known}' for known in _VERBS)}")
    if int(width or 0) > MAX_WIDTH or int(precision.lstrip(".") or 0) > MAX_WIDTH:
        raise BadArgument(f"printf pads to {MAX_WIDTH} characters at most")
    item = next(remaining, _NOTHING)
    if isinstance(item, _Nothing):
        raise BadArgument(f"printf has no argument for {directive}")
    if isinstance(item, str) or verb in "vtc":
        text = _format_text(verb, item, directive, int(precision[1:] or 0) if precision else None)
        return text.ljust(int(width or 0)) if "-" in flags else text.rjust(int(width or 0))
    return _format_number(verb, item, directive)


def _format_text(verb: str, item: Value, directive: str, limit: int | None) -> str:
    match verb, item:
        case "v", _:
            return text_of(item)
        case "s", str():
            return item[:limit]
        case "q", str():
            return quote(item[:limit])
        case "x" | "X", str():
            digits = item.encode().hex()
            return digits if verb == "x" else digits.upper()
        case "t", bool():
            return text_of(item)
        case "c", int() if not isinstance(item, bool) and item in range(0xD800):
            return chr(item)
    raise _mismatch(item, directive)


def _format_number(verb: str, item: Value, directive: str) -> str:
    match verb, item:
        case _, bool():
            pass
        case "d" | "o" | "x" | "X", int():
            return directive % item
        case "b", int():
            # As a number, so that it is padded like one.
            return directive.replace("b", "d") % int(format(item, "b"))
        case "e" | "E" | "f" | "F", int() | decimal.Decimal():
            return directive % float(item)
    raise _mismatch(item, directive)


def _mismatch(item: Value, directive: str) -> BadArgument:
    return BadArgument(f"printf cannot write {document.describe(item)} as {directive}; %v writes any", is_value=True)


class _Nothing:
    """Stands for a missing argument."""


_NOTHING = _Nothing()
