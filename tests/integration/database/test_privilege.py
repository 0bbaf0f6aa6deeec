"""Nobody but those who were granted it calls the schema's functions, of which many run as the owner."""

import uuid
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tinkwell.server.database import schema

ROLE = f"nobody_{uuid.uuid4().hex}"
# A row of the attacker's own that passes for a machine, by code of the attacker's own.
ATTACK = """
    CREATE TEMPORARY TABLE seen (role name);
    CREATE TEMPORARY TABLE trap (
        id uuid, version bigint, metadata jsonb, network jsonb, created_at timestamptz, updated_at timestamptz,
        deleted_at timestamptz
    );
    CREATE FUNCTION pg_temp.disguise(trap pg_temp.trap) RETURNS public.hardware LANGUAGE plpgsql AS $$
    DECLARE
        machine public.hardware;
    BEGIN
        INSERT INTO pg_temp.seen VALUES (current_user);
        machine.id := trap.id;
        machine.version := trap.version;
        machine.metadata := trap.metadata;
        machine.network := trap.network;
        machine.created_at := trap.created_at;
        RETURN machine;
    END $$;
    CREATE CAST (pg_temp.trap AS public.hardware) WITH FUNCTION pg_temp.disguise(pg_temp.trap) AS IMPLICIT;
"""
SPRING = """
    CREATE TRIGGER trap AFTER INSERT ON pg_temp.trap FOR EACH ROW EXECUTE FUNCTION write_hardware_event();
    INSERT INTO pg_temp.trap VALUES (gen_random_uuid(), 1, '{}', '{}', now(), now());
"""
OURS = """
    SELECT p.oid::regprocedure::text AS signature, p.prosecdef
      FROM pg_proc p
     WHERE p.pronamespace = 'public'::regnamespace
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
"""


@pytest.fixture
async def owner(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close(timeout=5)


@pytest.fixture
async def nobody(owner: asyncpg.Connection, database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection of a role that was granted nothing."""
    await owner.execute(f"CREATE ROLE {ROLE}")
    connection = await asyncpg.connect(database_url)
    await connection.execute(f"SET SESSION AUTHORIZATION {ROLE}")
    yield connection
    await connection.close(timeout=5)
    await owner.execute(f"DROP OWNED BY {ROLE}; DROP ROLE {ROLE}")


async def test_no_function_or_procedure_is_executable_by_public(owner: asyncpg.Connection) -> None:
    ours = [row["signature"] for row in await owner.fetch(OURS)]
    assert len(ours) > 20
    executable = "SELECT has_function_privilege('public', $1::regprocedure, 'EXECUTE')"
    assert [signature for signature in ours if await owner.fetchval(executable, signature)] == []


async def test_a_role_without_grants_has_no_code_run_as_the_owner_by_a_trigger_of_ours(
    owner: asyncpg.Connection, nobody: asyncpg.Connection
) -> None:
    await nobody.execute(ATTACK)
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="permission denied for function write_hardware_event"):
        await nobody.execute(SPRING)
    assert await nobody.fetch("SELECT * FROM pg_temp.seen") == []
    # The trap works where the function may be called: what is refused is what would have sprung it.
    await owner.execute("GRANT EXECUTE ON FUNCTION write_hardware_event TO PUBLIC")
    await nobody.execute(SPRING)
    assert await nobody.fetchval("SELECT min(role) FROM pg_temp.seen") == await owner.fetchval("SELECT current_user")


async def test_a_role_without_grants_puts_no_trigger_of_ours_on_its_own_table(
    owner: asyncpg.Connection, nobody: asyncpg.Connection
) -> None:
    await nobody.execute(ATTACK)
    triggers = await owner.fetch(f"{OURS} AND p.prorettype = 'trigger'::regtype")
    assert len(triggers) > 10
    for row in triggers:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await nobody.execute(f"CREATE TRIGGER t AFTER INSERT ON pg_temp.trap EXECUTE FUNCTION {row['signature']}")


async def test_nobody_creates_anything_in_a_schema_that_everybody_could_create_in_before(
    empty_database_url: str,
) -> None:
    connection = await asyncpg.connect(empty_database_url)
    try:
        await connection.execute(f"GRANT CREATE ON SCHEMA public TO PUBLIC; CREATE ROLE {ROLE}")
        await schema.upgrade(empty_database_url)
        assert not await connection.fetchval("SELECT has_schema_privilege($1, 'public', 'CREATE')", ROLE)
    finally:
        await connection.execute(f"DROP ROLE {ROLE}")
        await connection.close(timeout=5)
