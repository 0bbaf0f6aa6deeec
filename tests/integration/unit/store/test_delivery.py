"""What is stored of units takes them through their lives, whoever decides on it."""

import asyncpg

from support.unit_rows import Rows


async def test_a_unit_without_relations_is_set_up_and_torn_down(rows: Rows, sql: asyncpg.Connection) -> None:
    await rows.application("web")
    unit = await rows.unit("web")
    storage = await rows.storage(unit)
    told = await rows.settle(unit)
    assert told[unit] == ["data-storage-attached", "install", "config-changed", "start"]
    assert (await rows.load(unit)).ledger.attached == {storage}
    await sql.execute("UPDATE unit SET life = 'DYING'")
    told = await rows.settle(unit)
    assert told[unit] == ["data-storage-detaching", "stop", "remove"]
    assert await sql.fetchrow("SELECT life, phase, last_ordinal FROM unit") == ("DEAD", "TEARDOWN", 7)
    assert await sql.fetchval("SELECT count(*) FROM storage") == 0


async def test_two_applications_meet_and_part(rows: Rows, sql: asyncpg.Connection) -> None:
    await rows.application("pg")
    await rows.application("web")
    pg, web = await rows.unit("pg"), await rows.unit("web")
    number = await rows.relate(("pg", "db"), ("web", "db"))
    told = await rows.settle(pg, web)
    setup = ["install", "db-relation-created", "config-changed", "start"]
    assert told[pg] == [*setup, "db-relation-joined web/0", "db-relation-changed web/0"]
    assert told[web] == [*setup, "db-relation-joined pg/0", "db-relation-changed pg/0"]
    await sql.execute("UPDATE application SET config = '{\"a\": 1}' WHERE name = 'pg'")
    told_first = await rows.step(pg, {number: {"dsn": "here", "user": "me"}})
    assert told_first is not None
    assert told_first.name == "config-changed"
    told = await rows.settle(pg, web)
    assert told == {pg: ["db-relation-changed pg/0"], web: ["db-relation-changed pg/0"]}
    await sql.execute("UPDATE relation SET life = 'DYING'")
    told = await rows.settle(pg, web)
    assert told[pg] == ["db-relation-departed web/0", "db-relation-broken"]
    assert told[web] == ["db-relation-departed pg/0", "db-relation-broken"]
    assert await sql.fetchval("SELECT count(*) FROM unit_member") == 0
    assert {row["membership"] for row in await sql.fetch("SELECT membership FROM relation_member")} == {"LEFT"}
