"""The secret texts of sensitive values, and the forms in which programs write them.

A sensitive value is any JSON value. Its texts are its strings and numbers, without white space around them. Each line
of a text with several lines is also searched for, because such a text is often indented, or printed line by line.
"""

import base64
import html
import json
import math
import urllib.parse
from collections.abc import Iterable, Iterator

from tinkwell.core import errors
from tinkwell.core.value import document, parse
from tinkwell.core.value.document import JsonValue

# A shorter text would be found in ordinary words.
MIN_BYTES = 6
MAX_TEXTS = 1_000
# Of all texts together: the automaton takes memory for each of their characters in each form.
MAX_BYTES = 32 * 1024

# The characters that URL libraries of several languages leave unescaped.
_SAFE = ("", "/", "!'()*", "!'()*/", ";,/?:@&=+$!'()*#")


def texts_of(values: Iterable[tuple[str, JsonValue]]) -> frozenset[str]:
    """Return the texts of sensitive values, each given with the path of its field.

    Null, empty strings, booleans and white space have none. Raises `errors.InvalidField` for a text that is too short,
    and for too many or too long ones; no message contains a text.
    """
    found: set[str] = set()
    violations: dict[str, errors.Violation] = {}
    for field, value in values:
        for text in filter(None, (text.strip() for text in _scalars(value))):
            size = len(text.encode())
            if size < MIN_BYTES:
                violations[field] = errors.Violation(field, _too_short(value, size))
            found.add(text)
    if violations:
        raise errors.InvalidField(violations.values())
    _check_limits(found)
    return frozenset(found)


def forms(texts: Iterable[str]) -> frozenset[str]:
    """Return all patterns: the texts and their lines, as they are and in the forms in which programs write them."""
    found: set[str] = set()
    for text in texts:
        found |= {*_written(text), *_in_base64(text.encode())}
        found.update(form for line in _lines(text) for form in _written(line))
    return frozenset(found)


def _check_limits(texts: Iterable[str]) -> None:
    sizes = [len(text.encode()) for text in texts]
    if len(sizes) > MAX_TEXTS:
        raise errors.InvalidField.of("", f"there are {len(sizes):,} secret texts; at most {MAX_TEXTS:,} are allowed")
    if sum(sizes) > MAX_BYTES:
        raise errors.InvalidField.of(
            "", f"secret texts have {sum(sizes):,} bytes together; at most {MAX_BYTES:,} are allowed"
        )


def _too_short(value: JsonValue, size: int) -> str:
    rule = f"at least {MIN_BYTES} are needed, because a shorter text cannot be told from ordinary text"
    if isinstance(value, dict | list):
        return f"a sensitive value in it has {size} bytes, and {rule}; name the values in it that are secret"
    return f"a sensitive value has {size} bytes, and {rule}"


def _scalars(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case None | bool():
            return
        case dict():
            for item in value.values():
                yield from _scalars(item)
        case list():
            for item in value:
                yield from _scalars(item)
        case _:
            yield document.dump_json(value)


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text with several lines, without those that are too short to be told from ordinary text."""
    lines = [line.strip() for line in text.splitlines()]
    if len(lines) > 1:
        yield from (line for line in lines if len(line.encode()) >= MIN_BYTES)


def _written(text: str) -> Iterator[str]:
    """Yield a text as it is, and as escaped by JSON (once and twice), Python, HTML, URLs and Tinkwell's messages."""
    yield text
    yield parse.escape(text)
    yield parse.escape(text).replace('"', '\\"')
    yield text.replace("\r\n", "\n")
    yield repr(text)[1:-1]
    yield html.escape(text)
    for escaped in _in_json(text):
        yield escaped
        yield from _in_json(escaped)
    yield from _in_url(text)


def _in_json(text: str) -> Iterator[str]:
    for is_ascii in (True, False):
        escaped = json.dumps(text, ensure_ascii=is_ascii)[1:-1]
        yield escaped
        # The form of PHP and Go.
        yield escaped.replace("/", "\\/")
        yield escaped.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _in_url(text: str) -> Iterator[str]:
    for quoted in (urllib.parse.quote_plus(text), *(urllib.parse.quote(text, safe=safe) for safe in _SAFE)):
        yield quoted
        yield "%".join(
            part if number == 0 else part[:2].lower() + part[2:] for number, part in enumerate(quoted.split("%"))
        )


def _in_base64(secret: bytes) -> Iterator[str]:
    """Yield the Base64 text of a secret at each offset in a group of three bytes, whatever is around it."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for before in range(3):
            first, end = math.ceil(before * 8 / 6), (before + len(secret)) * 8 // 6
            encoded = encode(bytes(before) + secret).decode()
            yield encoded[first:end]
            # At the end of the data, the character with the secret's last bits is known, too.
            yield encoded[first:]
            yield encoded[first:].rstrip("=")
