"""Configs are checked against schemas in a process that has limits."""

from collections.abc import AsyncIterator

import pytest

from tinkwell.core import errors
from tinkwell.core.value.document import JsonObject
from tinkwell.provisioner.release.schema.check import Schemas, WrongConfig

SCHEMA: JsonObject = {"type": "object", "properties": {"size": {"type": "integer"}}, "additionalProperties": False}


@pytest.fixture
async def schemas() -> AsyncIterator[Schemas]:
    found = Schemas()
    yield found
    await found.close()


async def test_a_config_that_fits_passes_and_another_one_is_refused_by_its_path(schemas: Schemas) -> None:
    await schemas.check("web.config", SCHEMA, {"size": 3})
    with pytest.raises(WrongConfig) as caught:
        await schemas.check("web.config", SCHEMA, {"size": "3"})
    assert [violation.field for violation in caught.value.violations] == ["web.config.size"]


async def test_what_is_no_schema_is_said_to_be_none_though_there_is_no_config_yet(schemas: Schemas) -> None:
    with pytest.raises(errors.InvalidField, match="config_schema: is no JSON Schema"):
        await schemas.check("web.config", {"type": 7}, None)
    await schemas.check("web.config", SCHEMA, None)


async def test_a_schema_that_takes_all_memory_ends_the_child_and_that_is_said(schemas: Schemas) -> None:
    wide: JsonObject = {"type": "string"}
    for width in (30, 30, 30, 3):
        wide = {"anyOf": [wide] * width}
    wrong: JsonObject = {"text": ["y" * 100_000]}
    with pytest.raises(
        errors.InvalidField, match=r"web\.config: cannot be checked: (the child process|its schema needs)"
    ):
        await schemas.check("web.config", {"properties": {"text": wide}}, wrong)
    await schemas.check("web.config", SCHEMA, {"size": 3})


async def test_a_schema_that_takes_for_ever_is_stopped_and_the_next_check_is_made(schemas: Schemas) -> None:
    depth = 40
    definitions: JsonObject = {
        f"d{n}": {"allOf": [{"$ref": f"#/definitions/d{n + 1}"}, {"$ref": f"#/definitions/d{n + 1}"}]}
        for n in range(depth)
    }
    greedy: JsonObject = {"definitions": {**definitions, f"d{depth}": {}}, "$ref": "#/definitions/d0"}
    with pytest.raises(
        errors.InvalidField, match=r"web\.config: cannot be checked: its schema (needs more|takes longer) than"
    ):
        await schemas.check("web.config", greedy, {})
    await schemas.check("web.config", SCHEMA, {"size": 3})
