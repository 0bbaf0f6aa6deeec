"""Reads the content of a secret from the command line and from files."""

import base64
import binascii
from collections.abc import Iterable
from pathlib import Path

from tinkwell.core.unit import limit
from tinkwell.juju.shell import failure

_FILE, _BASE64 = "#file", "#base64"
# Values in a file may be in BASE64 and in quotes, so the file may be larger than the secret.
_MAX_FILE_BYTES = 2 * limit.SECRET_BYTES


def read(pairs: Iterable[str], file: str | None) -> dict[str, str]:
    """Return the content of a YAML file, overridden by KEY=VALUE, KEY#base64=VALUE and KEY#file=PATH.

    Raises `Failure`.
    """
    found = _of_file(file) if file is not None else {}
    for each in pairs:
        name, equals, value = each.partition("=")
        if not name.removesuffix(_FILE).removesuffix(_BASE64) or not equals:
            raise failure.Usage(f'expected "key=value", "key#file=path" or "key#base64=value", got "{each}"')
        if name.endswith(_FILE):
            found[name.removesuffix(_FILE)] = _text(Path(value), limit.SECRET_BYTES)
        else:
            found |= _plain(name, value)
    return found


def _of_file(file: str) -> dict[str, str]:
    """Read the keys and values of a YAML file. Each value is the text as it is written, as for Juju."""
    from ruamel.yaml.nodes import MappingNode, ScalarNode  # it costs start-up time, see main

    from tinkwell.core.value.yaml import node, position

    path = Path("/dev/stdin" if file == "-" else file)
    try:
        documents = list(node.documents(_text(path, _MAX_FILE_BYTES)))
    except position.Malformed as error:
        place = f"line {error.position.line}, column {error.position.column}"
        raise failure.Failure(f"{file}: {place}: {error.description}") from error
    if len(documents) != 1 or not isinstance(documents[0], MappingNode):
        raise failure.Failure(f"{file}: must hold one mapping of keys to values")
    found: dict[str, str] = {}
    for key, value in documents[0].value:
        if not isinstance(key, ScalarNode) or not isinstance(value, ScalarNode):
            raise failure.Failure(f"{file}: line {key.start_mark.line + 1}: a key and its value must be text")
        # `1e3` and `on` may be passwords, so they are read as texts, not as a number or a boolean.
        found |= _plain(str(key.value), str(value.value))
    return found


def _plain(name: str, value: str) -> dict[str, str]:
    if not name.endswith(_BASE64):
        return {name: value}
    name = name.removesuffix(_BASE64)
    try:
        return {name: base64.b64decode(value, validate=True).decode()}
    except (binascii.Error, UnicodeDecodeError) as error:
        raise failure.Failure(f"{name}: is not a text in BASE64") from error


def _text(path: Path, most: int) -> str:
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise failure.Failure(f"{path}: is larger than {most:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise failure.Failure(f"{path}: is not UTF-8; a secret holds texts") from error
