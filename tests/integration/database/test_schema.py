"""How the schema moves from release to release: revisions, files of functions, and who may run on it meanwhile."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncpg
import pytest

import tinkwell.client
from support import server as servers
from tinkwell.server.database import readiness, schema
from tinkwell.server.database.schema import Release

NEXT = "99.0"
# This release's newest revision, and the one after it.
HEAD = schema.this_release().head
FOLLOWING = f"{int(HEAD) + 1:04}"
REVISION = f'''"""What a test wants."""

from tinkwell.migrations import script

revision = "{FOLLOWING}"
down_revision = "{HEAD}"
oldest_release = "{{oldest_release}}"


def upgrade() -> None:
    script.run("following")


def downgrade() -> None:
    script.run("following_down")
'''
NAMED = """
CREATE OR REPLACE FUNCTION event_name(resource_type text, event_type text) RETURNS text
LANGUAGE sql IMMUTABLE
AS $$
    SELECT 'renamed.' || lower(event_type)
$$;
"""
OLDER = "the schema's functions are older than this release needs: run `tinkwell db upgrade`"
NAMES = "SELECT array_agg(name ORDER BY revision) FROM events"
FUNCTIONS = "SELECT oid::regprocedure::text, xmin::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
# Everything that one can make in a schema, but for what belongs to something of it.
CONTENT = """
    SELECT 'relation', oid::regclass::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind <> 'i'
    UNION ALL
    SELECT 'function', oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL
    SELECT 'type', oid::regtype::text FROM pg_type WHERE typnamespace = 'public'::regnamespace
     AND typtype <> 'c' AND typelem = 0
"""
FORMER = "CREATE TABLE alembic_version (version_num varchar(32) PRIMARY KEY); INSERT INTO alembic_version VALUES ('{}')"


@pytest.fixture
async def owner(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close(timeout=5)


@pytest.fixture
def following(tmp_path: Path) -> Release:
    """A release after this one that has the same revisions and files, for tests to change."""
    return Release(NEXT, Path(shutil.copytree(schema.this_release().location, tmp_path / "migrations")))


def add_to(release: Release, file: str, text: str) -> None:
    path = release.location / "sql" / file
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def add_revision(release: Release, up: str, down: str = "", oldest_release: str | None = None) -> None:
    """Give the release a second revision of its own."""
    text = REVISION.format(oldest_release=oldest_release or schema.this_release().version)
    (release.location / "versions" / f"{FOLLOWING}_test.py").write_text(text, encoding="utf-8")
    (release.location / "sql" / "following.sql").write_text(up, encoding="utf-8")
    (release.location / "sql" / "following_down.sql").write_text(down, encoding="utf-8")


async def is_refused(database_url: str, reason: str) -> None:
    with pytest.raises(readiness.NotUsable, match=reason) as refused:
        await readiness.wait(database_url, allow_unsafe=True)
    assert "\n" not in str(refused.value)


async def rows(connection: asyncpg.Connection, query: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in await connection.fetch(query))


async def test_a_changed_function_is_noticed_and_replaced_with_its_file_alone(
    database_url: str, owner: asyncpg.Connection, following: Release
) -> None:
    before = dict(await rows(owner, FUNCTIONS))
    add_to(following, "event/function.sql", NAMED)
    # The same number, as in a working copy: then only the text tells that functions are older than they should be.
    following = replace(following, version=schema.this_release().version)
    assert schema.refusal(await schema.current(database_url), following) == OLDER
    state = await schema.upgrade(database_url, release=following)
    assert schema.refusal(state, following) is None
    await owner.execute("UPDATE template SET name = name; INSERT INTO template VALUES (gen_random_uuid(), 1, 'a', '')")
    assert await owner.fetchval(NAMES) == ["renamed.created"]
    after = dict(await rows(owner, FUNCTIONS))
    changed = {signature for signature in before if before[signature] != after[signature]}
    assert {"event_name(text,text)", "bell_channel()"} <= changed
    assert changed.isdisjoint(
        {"hardware_shape(hardware)", "write_hardware_event()", "time_member(text,timestamp with time zone)"}
    )


async def test_what_has_not_changed_is_not_run_again(database_url: str, owner: asyncpg.Connection) -> None:
    before = await rows(owner, FUNCTIONS)
    assert await schema.upgrade(database_url) == await schema.current(database_url)
    assert await rows(owner, FUNCTIONS) == before


async def test_a_failed_upgrade_leaves_nothing(
    database_url: str, empty_database_url: str, owner: asyncpg.Connection, following: Release
) -> None:
    add_revision(following, "CREATE TABLE extra (id int); UPDATE event_history SET oldest_revision = 2")
    add_to(following, "workflow/function.sql", "SELECT 1 / 0;")
    content, functions = await rows(owner, CONTENT), await rows(owner, FUNCTIONS)
    state = await schema.current(database_url)
    for url in (database_url, empty_database_url):
        with pytest.raises(Exception, match="division by zero"):
            await schema.upgrade(url, release=following)
    assert (await rows(owner, CONTENT), await rows(owner, FUNCTIONS)) == (content, functions)
    assert await schema.current(database_url) == state
    assert await owner.fetchval("SELECT oldest_revision FROM event_history") == 1
    await readiness.wait(database_url, allow_unsafe=True)
    empty = await asyncpg.connect(empty_database_url)
    assert await empty.fetch(CONTENT) == []
    await empty.close(timeout=5)


async def test_this_release_runs_on_a_later_schema_that_allows_it_and_leaves_it_alone(
    database_url: str, owner: asyncpg.Connection, following: Release
) -> None:
    add_revision(following, "ALTER TABLE hardware ADD extra text")
    add_to(following, "event/function.sql", NAMED)
    state = await schema.upgrade(database_url, release=following)
    assert (state.revision, state.release, state.oldest_release) == (FOLLOWING, NEXT, schema.this_release().version)
    functions = await rows(owner, FUNCTIONS)
    assert await schema.upgrade(database_url) == state
    assert await rows(owner, FUNCTIONS) == functions
    async with (
        servers.running(database_url) as server,
        tinkwell.client.connect(server.address) as client,
        client.events.watch(from_revision=1) as watch,
    ):
        await client.hardware.push({"id": "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a01", "metadata": {}})
        assert (await anext(watch)).event_type == "CREATED"


async def test_this_release_runs_on_later_functions_of_the_same_revision(
    database_url: str, owner: asyncpg.Connection, following: Release
) -> None:
    add_to(following, "event/function.sql", NAMED)
    state = await schema.upgrade(database_url, release=following)
    await readiness.wait(database_url, allow_unsafe=True)
    assert await schema.upgrade(database_url) == state


async def test_this_release_refuses_a_later_schema_that_does_not_allow_it(
    database_url: str, following: Release
) -> None:
    add_revision(following, "ALTER TABLE hardware ADD extra text", oldest_release="98.7")
    await schema.upgrade(database_url, release=following)
    version = schema.this_release().version
    reason = (
        f"the schema is at {FOLLOWING}, on which release 98.7 and later ones may run, and this is {version}: upgrade"
    )
    await is_refused(database_url, reason)
    with pytest.raises(schema.Refused, match=reason):
        await schema.upgrade(database_url)


async def test_after_a_downgrade_the_earlier_release_brings_its_own_functions_back(
    database_url: str, owner: asyncpg.Connection, following: Release
) -> None:
    before = await schema.current(database_url)
    add_revision(following, "ALTER TABLE hardware ADD extra text", "ALTER TABLE hardware DROP extra")
    add_to(following, "event/function.sql", NAMED)
    await schema.upgrade(database_url, release=following)
    await schema.downgrade(database_url, HEAD, release=following)
    await is_refused(
        database_url, "the schema's functions are older than this release needs: run `tinkwell db upgrade`"
    )
    assert await schema.upgrade(database_url) == before
    await owner.execute("INSERT INTO template VALUES (gen_random_uuid(), 1, 'a', '')")
    assert await owner.fetchval(NAMES) == ["template.created"]


async def test_a_downgrade_to_base_removes_everything(database_url: str, owner: asyncpg.Connection) -> None:
    await owner.execute("CREATE TABLE events_detached (); INSERT INTO event_discard VALUES ('events_detached')")
    await owner.execute("INSERT INTO hardware (id) VALUES (gen_random_uuid())")
    await schema.downgrade(database_url, "base")
    assert await rows(owner, CONTENT) == [("relation", "alembic_version")]
    assert await schema.current(database_url) == schema.State()
    await is_refused(database_url, f"the schema is at nothing, not at {HEAD}: run `tinkwell db upgrade`")
    await schema.upgrade(database_url)
    await readiness.wait(database_url, allow_unsafe=True)


async def test_two_upgrades_at_once_take_turns(empty_database_url: str, following: Release) -> None:
    states = await asyncio.gather(*(schema.upgrade(empty_database_url) for _ in range(3)))
    assert states == [await schema.current(empty_database_url)] * 3
    add_revision(following, "CREATE TABLE extra (id int)")
    add_to(following, "event/function.sql", NAMED)
    states = await asyncio.gather(*(schema.upgrade(empty_database_url, release=following) for _ in range(3)))
    assert [state.revision for state in states] == [FOLLOWING] * 3


async def test_what_a_revision_changes_is_recorded_by_the_functions_as_they_were(
    database_url: str, owner: asyncpg.Connection, following: Release
) -> None:
    await owner.execute("INSERT INTO template VALUES (gen_random_uuid(), 1, 'a', '')")
    add_revision(following, "UPDATE template SET name = 'b'")
    add_to(following, "event/function.sql", NAMED)
    await schema.upgrade(database_url, release=following)
    await owner.execute("UPDATE template SET name = 'c'")
    assert await owner.fetchval(NAMES) == ["template.created", "template.updated", "renamed.updated"]


@pytest.mark.parametrize("is_defined", [True, False])
async def test_a_revision_may_make_a_trigger_whose_function_comes_with_the_files(
    empty_database_url: str, following: Release, is_defined: bool
) -> None:
    add_revision(
        following,
        "CREATE TABLE extra (id int);"
        "CREATE TRIGGER extra BEFORE INSERT ON extra FOR EACH ROW EXECUTE FUNCTION double_extra();",
    )
    if is_defined:
        add_to(
            following,
            "workflow/function.sql",
            "CREATE OR REPLACE FUNCTION double_extra() RETURNS trigger LANGUAGE plpgsql AS $$"
            " BEGIN NEW.id := 2 * NEW.id; RETURN NEW; END $$;",
        )
    await schema.upgrade(empty_database_url, release=following)
    connection = await asyncpg.connect(empty_database_url)
    insert = "INSERT INTO extra VALUES (21) RETURNING id"
    if is_defined:
        assert await connection.fetchval(insert) == 42
    else:
        with pytest.raises(asyncpg.RaiseError, match="no file defines the function double_extra"):
            await connection.fetchval(insert)
    await connection.close(timeout=5)


@pytest.mark.parametrize("revision", ["0001", "0019"])
async def test_a_database_from_before_the_first_release_is_refused_in_one_sentence(
    empty_database_url: str, revision: str
) -> None:
    connection = await asyncpg.connect(empty_database_url)
    await connection.execute(FORMER.format(revision))
    content = await rows(connection, CONTENT)
    reason = "the database was made before the first release, .* since nothing has been released: make a new one"
    await is_refused(empty_database_url, reason)
    for step in (
        schema.current(empty_database_url),
        schema.upgrade(empty_database_url),
        schema.downgrade(empty_database_url, "base"),
    ):
        with pytest.raises(schema.Refused, match=reason):
            await step
    assert await rows(connection, CONTENT) == content
    await connection.close(timeout=5)


async def test_a_role_that_may_not_read_the_state_is_told_what_to_do(
    database_url: str, owner: asyncpg.Connection
) -> None:
    role, database = f"reader_{owner.get_server_pid()}", await owner.fetchval("SELECT current_database()")
    await owner.execute(f"CREATE ROLE {role}; ALTER DATABASE {database} SET role = {role}")
    await is_refused(database_url, "let its owner run `tinkwell db upgrade --server-role ROLE`")
    await owner.execute(f"ALTER DATABASE {database} RESET role; DROP ROLE {role}")


def test_revisions_name_releases_in_order_and_none_that_is_still_to_come() -> None:
    this = schema.this_release()
    named = [revision.module.oldest_release for revision in this.revisions()]
    assert named
    for earlier, later in zip(named, [*named[1:], this.version], strict=True):
        assert not schema.is_later(earlier, later)
