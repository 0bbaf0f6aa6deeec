"""Values of charts are held against their schemas, and what these mark as secret is named."""

import json
from collections.abc import AsyncIterator

import pytest
from unit.provisioner.release.chart.releasing import charts

from support.same_process import same_process
from tinkwell.core import errors
from tinkwell.core.release.chart.process import Unit
from tinkwell.core.value.document import JsonObject
from tinkwell.provisioner.release.schema.check import Schemas
from tinkwell.provisioner.release.schema.values import check_values

SCHEMA = {"properties": {"password": {"type": "string", "writeOnly": True}, "size": {"maximum": 3}}}


@pytest.fixture
async def schemas() -> AsyncIterator[Schemas]:
    found = Schemas(make_child=same_process)
    yield found
    await found.close()


def root(values: JsonObject, schema: object = SCHEMA) -> Unit:
    text = json.dumps(schema)
    files: dict[str, str | bytes] = {
        "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies: [{name: store}]\n",
        "values.schema.json": text,
        "charts/store/Chart.yaml": "apiVersion: v2\nname: store\nversion: 1.0.0\n",
        "charts/store/values.schema.json": text,
    }
    return charts(files, values).root


async def test_what_is_write_only_is_named_by_its_place_in_the_values_of_the_root(schemas: Schemas) -> None:
    given: JsonObject = {"password": "a", "store": {"password": "b", "size": 2}}
    assert await check_values(root(given), schemas) == ("/password", "/store/password")
    assert await check_values(root(given), schemas, of=["shop.store"]) == ("/store/password",)


async def test_all_that_is_wrong_is_told_with_its_place(schemas: Schemas) -> None:
    with pytest.raises(errors.InvalidField) as raised:
        await check_values(root({"size": 4, "store": {"size": 5}}), schemas)
    assert [each.field for each in raised.value.violations] == ["values.size", "values.store.size"]


async def test_a_schema_that_is_none_is_a_fault_of_the_chart(schemas: Schemas) -> None:
    with pytest.raises(errors.ChartInvalid) as raised:
        await check_values(root({}, {"type": "nothing"}), schemas)
    assert raised.value.violations[0].field == "values.schema.json"
