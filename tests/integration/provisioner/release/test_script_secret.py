"""What scripts make that is secret: at what schemas mark, and at what types and manifests name as such."""

import json
from typing import Any

import asyncpg

from support.chart_stage import chart, packed, thing
from support.release_stage import Stage
from tinkwell.core.event.kinds import State

SECRET = "a-word-that-nobody-is-to-see"
SCHEMA = json.dumps({"properties": {"password": {"type": "string", "writeOnly": True}}})
# The word is put together, since the text of a script is no secret.
MAKES = """
local made = ("a-word-that-nobody"):lower() .. "-is-to-see"
function init(events)
  events.on("pre-render", 0, function (name, namespace, chart, values)
    values.store.password = made
    print("the password is " .. made)
    log.warning("it is " .. made)
  end)
  events.on("post-install", 0, function (name, namespace, chart, values)
    print("still " .. values.store.password)
    fail("with " .. values.store.password)
  end)
end
"""
REPLACES = """
local made = ("a-word-that-nobody"):lower() .. "-is-to-see"
function init(events)
  events.on("post-render", 0, function (name, namespace, chart, values, manifest)
    manifest.resources.disk.config.text = made
  end)
end
"""


async def stored(url: str) -> str:
    """Return all rows of all tables as text."""
    connection = await asyncpg.connect(url)
    try:
        tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        found = [str(await connection.fetch(f'SELECT t::text FROM "{name}" t')) for (name,) in tables]
    finally:
        await connection.close()
    return "\n".join(found)


async def install(stage: Stage, files: dict[str, str], state: State = State.SUCCEEDED) -> Any:
    values = {"global": {"folder": str(stage.folder)}}
    begun = await stage.client.releases.install("shop", packed(files), values=values)
    return await stage.ends(begun.id, state)


async def nothing_is_shown(stage: Stage, url: str) -> None:
    written = (stage.path / "stderr").read_text()
    assert [line for line in written.splitlines() if SECRET in line] == []
    assert [line for line in (await stored(url)).splitlines() if SECRET in line] == []


async def test_what_a_script_makes_where_a_schema_says_write_only_is_secret_from_then_on(
    stage: Stage, database_url: str
) -> None:
    store = chart("store", {"disk": thing("disk", "<{{ values.password }}>")})
    store |= {"values.yaml": json.dumps({"password": ""}), "values.schema.json": SCHEMA}
    shop = chart("shop", {}, subcharts={"store": store}) | {"ext/lua/init.lua": MAKES}
    async with stage.provisioner():
        ended = await install(stage, shop, State.FAILED)
        assert stage.content("disk") == f"<{SECRET}>"
        revision = await stage.client.releases.revision("shop", 1, with_all_values=True)
        told = {run.event: run.message async for run in stage.client.releases.lifecycle(ended.id)}
        # What is brought about once more knows the word again.
        await stage.ends((await stage.client.releases.resume("shop")).id, State.FAILED)
    await nothing_is_shown(stage, database_url)
    assert revision.all_values is not None
    assert revision.all_values["store"] == {"global": {"folder": str(stage.folder)}, "password": None}
    assert told["pre-render"].splitlines() == [
        "the password is •••",
        "the handler of pre-render warns: it is •••",
    ]
    assert "with •••" in told["post-install"]
    assert told["post-install"].splitlines()[-1] == "still •••"
    assert "with •••" in str(ended.cause)


async def test_what_a_script_makes_where_a_manifest_says_sensitive_is_secret(stage: Stage, database_url: str) -> None:
    disk = {**thing("disk"), "sensitive": ["/text"]}
    async with stage.provisioner():
        await install(stage, chart("shop", {"disk": disk}) | {"ext/lua/init.lua": REPLACES})
    assert stage.content("disk") == SECRET
    await nothing_is_shown(stage, database_url)
