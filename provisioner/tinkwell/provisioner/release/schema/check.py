"""The provisioner's side of schemas: each check is one request to a limited child process.

The author of an image is not trusted. Even a short schema can refer to itself so often that a check never ends or uses
all memory.
"""

from collections.abc import Callable
from typing import Literal, cast

from tinkwell.core import errors
from tinkwell.core.value import document
from tinkwell.core.value.document import JsonObject
from tinkwell.sandbox import errors as sandbox
from tinkwell.sandbox import import_path
from tinkwell.sandbox.child import Child
from tinkwell.sandbox.room import Room

_MODULE = "tinkwell.core.release.protocol.schema_child"


class WrongConfig(errors.InvalidField):
    """A config does not match its schema."""


class Schemas:
    """Checks configs, one at a time, in a child process that starts with the first check.

    Raises `WrongConfig`; `errors.InvalidField` if the schema is no JSON Schema or the check takes too long; and
    `tinkwell.sandbox.errors.SandboxError` if the schema is not at fault.
    """

    def __init__(self, *, room: Room | None = None, make_child: Callable[..., Child] = Child) -> None:
        self._child = make_child(_MODULE, import_path.of("jsonschema_rs", extra="provisioner"), room=room)

    async def check(
        self, path: str, schema: JsonObject, config: JsonObject | None, *, draft: Literal["4", "7"] = "4"
    ) -> None:
        """Check the config at `path` against a schema; without a config, check only the schema.

        `draft` is the draft of JSON Schema for a schema that names none.
        """
        await self._ask(path, {"path": path, "schema": schema, "config": config, "draft": draft})

    async def write_only(self, path: str, schema: JsonObject, values: JsonObject) -> tuple[str, ...]:
        """Check values of a chart, and return the JSON pointers to the values that the schema marks as `writeOnly`."""
        asked: JsonObject = {"path": path, "schema": schema, "config": values, "draft": "7", "write_only": True}
        return tuple(cast("list[str]", (await self._ask(path, asked))["write_only"]))

    async def _ask(self, path: str, asked: JsonObject) -> JsonObject:
        try:
            answer = await self._child.call(document.dump_json(asked).encode())
        except sandbox.Exceeded as error:
            raise errors.InvalidField.of(path, f"cannot be checked: its schema {error.reason}") from error
        except sandbox.Died as error:
            # The library that checks schemas ends the process when it gets no memory.
            message = (
                f"cannot be checked: {error.reason}, most likely since its schema takes all memory; "
                "let the image's author write a simpler one"
            )
            raise errors.InvalidField.of(path, message) from error
        found = document.parse_json_object(path, answer, max_bytes=len(answer))
        if why := cast(str, found["wrong_schema"]):
            raise errors.InvalidField.of("config_schema", f"is no JSON Schema: {why}")
        if problems := cast("list[tuple[str, str]]", found["problems"]):
            raise WrongConfig(errors.Violation(field, description) for field, description in problems)
        return found

    async def close(self) -> None:
        """End the child."""
        await self._child.close()
