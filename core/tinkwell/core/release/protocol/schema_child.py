"""Compiles a schema and checks a document against it. It runs only in a child process, which has limits."""

from collections.abc import Callable
from typing import cast

from tinkwell.core import errors
from tinkwell.core.release.protocol.schema import Draft, Schema, WrongSchema
from tinkwell.core.value.document import JsonObject


def handle(request: object, begin: Callable[[str], None]) -> object:
    """Answer `{"path", "schema", "config"}` with `{"wrong_schema": why, "problems": [[path, description], …]}`.

    `wrong_schema` is "" for a valid schema. With a config of null only the schema is checked. `draft` counts for a
    schema that names none. With `"write_only": true` the answer has a member `write_only`: the JSON pointers into the
    config of the parts that are marked so; empty if there are problems.
    """
    given = cast(JsonObject, request)
    path = cast(str, given["path"])
    begin(path)
    try:
        draft = Draft(cast(str, given.get("draft", Draft.FOUR)))
        schema = Schema.compile(cast(JsonObject, given["schema"]), draft=draft)
        if given["config"] is not None:
            schema.check(path, given["config"])
        if given.get("write_only"):
            return {"wrong_schema": "", "problems": [], "write_only": schema.write_only(given["config"])}
    except WrongSchema as error:
        return {"wrong_schema": str(error), "problems": []}
    except errors.InvalidField as error:
        problems = [[violation.field, violation.description] for violation in error.violations]
        return {"wrong_schema": "", "problems": problems}
    return {"wrong_schema": "", "problems": []}
