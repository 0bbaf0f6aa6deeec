"""Functions of the template language that encode or decode values."""

import base64
import binascii
import hashlib
import posixpath
from collections.abc import Mapping

from tinkwell.core import errors
from tinkwell.core.template.gotemplate.fault import BadArgument
from tinkwell.core.template.gotemplate.function import argument, notation
from tinkwell.core.template.gotemplate.function.argument import Function, Value
from tinkwell.core.template.gotemplate.function.text import Enclosed
from tinkwell.core.value import document


def _to_json(arguments: list[Value]) -> str:
    return _json("toJson", arguments[0], is_escaped=True)


def _to_raw_json(arguments: list[Value]) -> str:
    return _json("toRawJson", arguments[0], is_escaped=False)


def _to_pretty_json(arguments: list[Value]) -> str:
    return notation.json_text("toPrettyJson", arguments[0], is_escaped=True, is_pretty=True)


def _json(name: str, item: Value, *, is_escaped: bool) -> str:
    written = notation.json_text(name, item, is_escaped=is_escaped)
    # YAML removes the quotes of a whole text, as it does for `quote`.
    return Enclosed(item, written) if isinstance(item, str) else written


def _from_json(arguments: list[Value]) -> Value:
    text = argument.text("fromJson", arguments[0])
    try:
        return document.parse_json("", text, max_bytes=argument.MAX_RESULT_CHARACTERS)
    except errors.InvalidField as exc:
        raise BadArgument(f"fromJson: {exc.violations[0].description}", is_value=True) from exc


def _to_yaml(arguments: list[Value]) -> str:
    return notation.yaml_text("toYaml", arguments[0])


def _b64enc(arguments: list[Value]) -> str:
    return base64.b64encode(argument.text("b64enc", arguments[0]).encode()).decode()


def _b64dec(arguments: list[Value]) -> str:
    text = argument.text("b64dec", arguments[0])
    try:
        return base64.b64decode(text.replace("\r", "").replace("\n", "").encode(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as exc:
        raise BadArgument("b64dec is given what is not text in base64", is_value=True) from exc


def _sha256sum(arguments: list[Value]) -> str:
    return hashlib.sha256(argument.text("sha256sum", arguments[0]).encode()).hexdigest()


def _base(arguments: list[Value]) -> str:
    path = argument.text("base", arguments[0])
    return posixpath.basename(path.rstrip("/")) or ("/" if path else ".")


def _dir(arguments: list[Value]) -> str:
    path = posixpath.normpath(posixpath.dirname(argument.text("dir", arguments[0])))
    # In POSIX two leading slashes have a meaning of their own, in Go they do not.
    return "/" + path.lstrip("/") if path.startswith("/") else path


FUNCTIONS: Mapping[str, Function] = {
    "b64dec": Function(_b64dec, 1, 1),
    "b64enc": Function(_b64enc, 1, 1),
    "base": Function(_base, 1, 1),
    "dir": Function(_dir, 1, 1),
    "fromJson": Function(_from_json, 1, 1),
    "sha256sum": Function(_sha256sum, 1, 1),
    "toJson": Function(_to_json, 1, 1),
    "toPrettyJson": Function(_to_pretty_json, 1, 1),
    "toRawJson": Function(_to_raw_json, 1, 1),
    "toYaml": Function(_to_yaml, 1, 1),
}
