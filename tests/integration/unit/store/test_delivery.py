"""What is stored of units takes them through their lives, whoever decides on it."""

import asyncpg
import pytest

from support.unit_rows import Rows, Turn
from tinkwell.core.unit.ledger import MemberLedger
from tinkwell.core.unit.resolver import change
from tinkwell.server.unit.store import delivery

NEWER = "sha256:" + "1" * 64


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


@pytest.mark.parametrize("profile", ["LITERAL", "JUJU"])
async def test_siblings_hear_of_each_other_in_the_order_in_which_they_enter(profile: str, rows: Rows) -> None:
    await rows.application("pg", profile=profile)
    await rows.application("web", profile=profile)
    pg, first = await rows.unit("pg"), await rows.unit("web")
    await rows.relate(("pg", "db"), ("web", "db"))
    await rows.settle(pg, first)
    second = await rows.unit("web")
    told = await rows.settle(pg, first, second)
    assert told[pg] == ["db-relation-joined web/1", "db-relation-changed web/1"]
    assert told[first] == (["db-relation-joined web/1", "db-relation-changed web/1"] if profile == "LITERAL" else [])
    assert told[second][-2:] == ["db-relation-joined pg/0", "db-relation-changed pg/0"]
    older = {"web/0": MemberLedger(is_older=True)} if profile == "LITERAL" else {}
    members = (await rows.load(second)).ledger.relations[1].members
    assert {unit: member for unit, member in members.items() if unit == "web/0"} == older


async def test_what_goes_before_it_is_referred_to_is_looked_for_again(rows: Rows, sql: asyncpg.Connection) -> None:
    await rows.application("pg")
    await rows.application("web")
    pg, web = await rows.unit("pg"), await rows.unit("web")
    number = await rows.relate(("pg", "db"), ("web", "db"))
    await rows.settle(pg)
    await sql.execute("DELETE FROM unit WHERE id = $1::text::uuid", web)

    async def refer(turn: Turn) -> None:
        await delivery.apply(turn.transaction, pg, [change.Refer(number, "web/0")])

    with pytest.raises(AssertionError, match="goes each time"):
        await rows.locked(pg, refer)


async def test_who_is_referred_to_stays(rows: Rows, sql: asyncpg.Connection) -> None:
    await rows.application("pg")
    await rows.application("web")
    pg, web = await rows.unit("pg"), await rows.unit("web")
    await rows.relate(("pg", "db"), ("web", "db"))
    await rows.settle(pg, web)
    await rows.locked(web, Turn.force)
    with pytest.raises(asyncpg.ForeignKeyViolationError):
        await sql.execute("DELETE FROM unit WHERE id = $1::text::uuid", web)
    told = await rows.settle(pg)
    assert told[pg] == ["db-relation-departed web/0"]
    await sql.execute("DELETE FROM unit WHERE id = $1::text::uuid", web)


async def test_what_only_a_newer_charm_declares_comes_into_sight_with_its_event(
    rows: Rows, sql: asyncpg.Connection
) -> None:
    await rows.application("web", profile="JUJU")
    unit = await rows.unit("web")
    await rows.settle(unit)
    await sql.execute(
        "INSERT INTO charm (digest, name, kind, manifest, endpoints, storages, size)"
        " VALUES ($1, 'any', 'SCRIPTS', '{}', '{db,cluster,new}', '{data,more}', 0)",
        NEWER,
    )
    await sql.execute("UPDATE application SET charm = $1", NEWER)
    number = await rows.relate(("web", "new"))
    await rows.storage(unit, "more")
    view = (await rows.load(unit)).view
    assert (view.relations, view.storages) == ({}, {})
    told = await rows.settle(unit)
    assert told[unit][:3] == ["upgrade-charm", "config-changed", "start"]
    assert sorted(told[unit][3:]) == ["more-storage-attached", "new-relation-created"]
    loaded = await rows.load(unit)
    assert set(loaded.view.relations) == {number}
    assert loaded.view.code == loaded.ledger.charm_seen == NEWER


async def test_a_unit_that_goes_lets_go_of_storage_that_it_has_never_seen(rows: Rows, sql: asyncpg.Connection) -> None:
    await rows.application("web")
    unit = await rows.unit("web")
    await rows.settle(unit)
    await rows.storage(unit, "unheard-of")
    await sql.execute("UPDATE unit SET life = 'DYING'")
    told = await rows.settle(unit)
    assert told[unit] == ["stop", "remove"]
    await sql.execute("DELETE FROM unit")
    assert await sql.fetchval("SELECT count(*) FROM storage") == 0


async def test_a_units_newest_events_are_kept_with_those_that_it_has_deferred(
    rows: Rows, sql: asyncpg.Connection
) -> None:
    await rows.application("web")
    unit = await rows.unit("web")
    await rows.settle(unit)
    await sql.execute(
        "INSERT INTO deferred_notice (unit_id, key, ordinal, event, handler)"
        " SELECT id, 'k', 2, '{}', 'on_start' FROM unit"
    )
    await sql.execute(
        "INSERT INTO unit_log (unit_id, ordinal, attempt, number, level, line)"
        " SELECT id, n, 1, 1, 'INFO', '' FROM unit, generate_series(2, 1000) n"
    )
    await sql.execute("UPDATE unit SET last_ordinal = 1099")
    await sql.execute("UPDATE application SET config = '{\"a\": 1}'")
    await rows.settle(unit)
    assert [row["ordinal"] for row in await sql.fetch("SELECT ordinal FROM unit_event ORDER BY 1")] == [2, 1100]
    assert await sql.fetchval("SELECT min(ordinal) FROM unit_log") == 101


@pytest.mark.parametrize(
    ("profile", "first", "second", "expected"),
    [
        # One is told of the relation and of each of the others twice, and each of those of the relation and it twice.
        ("JUJU", 1, 6, 5 * 6 + 1),
        # All are told of the relation; each of all on the other side twice, and of each younger sibling twice.
        ("LITERAL", 3, 3, 2 * 3 + 4 * 3 * 3 + 2 * 3 * 2),
    ],
)
async def test_many_units_meet_by_exactly_so_many_events(
    profile: str, first: int, second: int, expected: int, rows: Rows
) -> None:
    await rows.application("pg", profile=profile)
    await rows.application("web", profile=profile)
    units = [await rows.unit(name) for name, count in (("pg", first), ("web", second)) for _ in range(count)]
    await rows.settle(*units)
    await rows.relate(("pg", "db"), ("web", "db"))
    told = await rows.settle(*units)
    assert sum(map(len, told.values())) == expected
