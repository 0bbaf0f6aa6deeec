"""The Lua interpreter, which runs the scripts of one operation. It runs only in the child process.

The Lua files beside this module define every name that scripts see; scripts get no object or function of Python.
Documents go in and out as JSON texts.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, cast

from lupa import lua54

from tinkwell.core import errors
from tinkwell.core.value import check, document
from tinkwell.core.value.yaml import file as yaml_file
from tinkwell.core.value.yaml import text as yaml_text

MAX_INSTRUCTIONS = 10_000_000
MAX_MEMORY_BYTES = 32 * 1024 * 1024

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
JsonObject: TypeAlias = dict[str, Json]

_FOLDER = Path(__file__).parent
# Read while the process may still open files.
_TEXTS = {name: (_FOLDER / f"{name}.lua").read_bytes() for name in ("codec", "guard", "host", "environment", "runtime")}


class OutOfMemoryError(Exception):
    """The interpreter has no memory left for documents or for its own variables."""


class Engine:
    """One interpreter. After it has raised an error, it must not be used again."""

    def __init__(self) -> None:
        self._lua = lua54.LuaRuntime(
            encoding=None,
            register_eval=False,
            register_builtins=False,
            unpack_returned_tuples=True,
            attribute_filter=_deny,
            max_memory=MAX_MEMORY_BYTES,
        )
        codec = self._run("codec")
        guard = self._run("guard", MAX_INSTRUCTIONS, codec)
        host = self._run("host", _yaml)
        environment = self._run("environment", codec, host)
        self._calls = self._run("runtime", codec, guard, environment, host)

    def call(self, name: str, *arguments: str | int | None) -> JsonObject:
        """Call one of the functions of `runtime.lua`; raises `OutOfMemoryError`."""
        function = cast("Callable[..., bytes]", self._calls[name.encode()])
        given = (argument.encode() if isinstance(argument, str) else argument for argument in arguments)
        try:
            return cast(JsonObject, json.loads(function(*given)))
        except lua54.LuaMemoryError:
            raise OutOfMemoryError from None

    def _run(self, name: str, *arguments: object) -> Any:
        compiled = self._lua.compile(_TEXTS[name], name=f"={name}".encode(), mode=b"t")
        return compiled(*arguments)


def _deny(_: object, name: object, is_setting: bool) -> str:
    raise AttributeError("nothing of Python can be reached")


def _yaml(operation: bytes, text: bytes) -> tuple[bool, bytes]:
    """Convert YAML to JSON, or JSON to YAML. Return True and the result, or False and the reason why it failed."""
    try:
        found = _read_yaml(text.decode()) if operation == b"decode" else yaml_text.dump(json.loads(text))
    except UnicodeDecodeError:
        return False, b"the text is not UTF-8"
    except errors.InvalidField as error:
        violation = error.violations[0]
        return False, f"{violation.field}: {violation.description}".encode(errors="replace")
    return True, found.encode()


def _read_yaml(text: str) -> str:
    checks = check.Checks()
    values = [each.value for each in yaml_file.documents(checks, "the text", text)]
    checks.finish()
    if len(values) > 1:
        raise errors.InvalidField.of("the text", f"holds {len(values)} documents, and not one")
    return document.dump_json(values[0] if values else None)
