"""Checks the values of charts against their schemas, in a limited child process, because schemas are not trusted."""

import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from tinkwell.core import errors
from tinkwell.core.value import check, document
from tinkwell.core.value.document import MAX_VIOLATIONS, JsonObject
from tinkwell.sandbox import errors as sandbox
from tinkwell.sandbox import import_path
from tinkwell.sandbox.child import Child
from tinkwell.sandbox.room import Room

_MODULE = "tinkwell.core.release.protocol.schema_child"
# The number of children at once. Each may use a whole processor and 256 MiB.
_CHILDREN = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The values of one chart with its schema. `file` is the path of the schema, and `field` the path of the values."""

    file: str
    schema: JsonObject
    field: str
    values: JsonObject


class ValueSchemas:
    """Checks values, for a few requests at a time. Each request has its own child process."""

    def __init__(self) -> None:
        self._room = Room(_CHILDREN)

    async def check(self, slices: Iterable[Slice]) -> Mapping[str, tuple[str, ...]]:
        """Return, by the `field` of a slice, the JSON pointers to the values that the schema marks as `writeOnly`.

        Raises `errors.InvalidField` for values that do not match, `errors.ChartInvalid` for a schema that is invalid or
        takes too many resources, and `errors.Unavailable` if no child process can check values.
        """
        found = list(slices)
        if not found:
            return {}
        checks = check.Checks(most=MAX_VIOLATIONS)
        marked: dict[str, tuple[str, ...]] = {}
        async with self._child() as child:
            for each in found:
                try:
                    marked[each.field] = await _check(child, each)
                except errors.ChartInvalid:
                    raise
                except errors.InvalidField as error:
                    checks.note(error)
        checks.finish()
        return marked

    @contextlib.asynccontextmanager
    async def _child(self) -> AsyncIterator[Child]:
        async with Child(_MODULE, import_path.of("jsonschema_rs", extra="server"), room=self._room) as child:
            yield child


async def _check(child: Child, given: Slice) -> tuple[str, ...]:
    request: JsonObject = {
        "path": given.field,
        "schema": given.schema,
        "config": given.values,
        "draft": "7",
        "write_only": True,
    }
    try:
        answer = await child.call(document.dump_json(request).encode())
    except sandbox.Exceeded as error:
        raise errors.ChartInvalid.of(given.file, f"cannot be used: to check values by it {error.reason}") from error
    except sandbox.Died as error:
        why = f"cannot be used: {error.reason}, most likely since to check values by it takes all memory; simplify it"
        raise errors.ChartInvalid.of(given.file, why) from error
    except sandbox.SandboxError as error:
        raise errors.Unavailable(f"values cannot be checked by their schemas: {error.reason}") from error
    found = document.parse_json_object(given.file, answer, max_bytes=len(answer))
    if why := cast(str, found["wrong_schema"]):
        raise errors.ChartInvalid.of(given.file, f"is no JSON Schema: {why}")
    if problems := cast("list[tuple[str, str]]", found["problems"]):
        raise errors.InvalidField(errors.Violation(field, description) for field, description in problems)
    return tuple(cast("list[str]", found["write_only"]))
