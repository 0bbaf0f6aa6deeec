"""The constants of a Go template: numbers, quoted texts and characters."""

import decimal
import math
import re

from tinkwell.core.template.gotemplate import fault
from tinkwell.core.template.gotemplate.syntax import lexer
from tinkwell.core.template.gotemplate.syntax.lexer import Kind
from tinkwell.core.value import parse as value

MAX_NUMBER_CHARACTERS = 64

_INTEGER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|[0-9][0-9_]*)")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_ESCAPE = re.compile(
    rb"\\(?:([abfnrtv\\'\"])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL
)
_SIMPLE_ESCAPES = dict(zip("abfnrtv\\'\"", "\a\b\f\n\r\t\v\\'\"", strict=True))


def constant(token: lexer.Token) -> str | int | decimal.Decimal:
    """Return the value of a token; raises Fault."""
    if token.kind == Kind.NUMBER:
        return _number(token)
    if token.text[0] == "`":
        return token.text[1:-1].replace("\r", "")
    text = _unquote(token)
    if token.kind == Kind.TEXT:
        return text
    if len(text) != 1:
        raise fault.Fault("between single quotes there must be one character", offset=token.offset)
    return ord(text)


def _number(token: lexer.Token) -> int | decimal.Decimal:
    if len(token.text) <= MAX_NUMBER_CHARACTERS:
        try:
            if _INTEGER.fullmatch(token.text):
                # A leading zero means octal, in a notation that Python does not read.
                return int(token.text, 8 if re.fullmatch(r"[+-]?0[0-7_]+", token.text) else 0)
            # As in Go and JSON, a number that a double cannot hold is not a number.
            if _DECIMAL.fullmatch(token.text) and math.isfinite(float(token.text)):
                return decimal.Decimal(token.text)
        except ValueError:
            pass
    raise fault.Fault(f"{value.show(token.text)} is not a number", offset=token.offset)


def _unquote(token: lexer.Token) -> str:
    """Resolve the escapes of a quoted text; `\\x` and octal ones are bytes of UTF-8."""

    def resolve(found: re.Match[bytes]) -> bytes:
        simple, byte, short, long, octal, _ = (group.decode() if group else "" for group in found.groups())
        if simple:
            return _SIMPLE_ESCAPES[simple].encode()
        if short or long:
            return chr(int(short or long, 16)).encode()
        if byte or octal:
            return bytes([int(byte, 16) if byte else int(octal, 8)])
        raise ValueError(found[0])

    try:
        return _ESCAPE.sub(resolve, token.text[1:-1].encode()).decode()
    except ValueError as exc:
        raise fault.Fault("the quoted text has an unknown escape, or is not UTF-8", offset=token.offset) from exc
