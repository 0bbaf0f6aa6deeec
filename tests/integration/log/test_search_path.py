"""What records a change runs as the schema's owner, and takes nothing from where its caller says."""

import json
import uuid

import asyncpg
import pytest

# Everything of PostgreSQL's own that a schema can hold again under the same name, and fails when somebody else uses it.
LOOKALIKES = """
    CREATE SCHEMA lookalike;
    CREATE FUNCTION lookalike.fail(what pg_catalog.text) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION '% was looked up where the caller said', what; END $$;
    DO $$
    DECLARE
        found record;
    BEGIN
        FOR found IN
            SELECT p.proname, pg_get_function_identity_arguments(p.oid) AS arguments,
                   pg_get_function_result(p.oid) AS result
              FROM pg_proc p
             WHERE p.pronamespace IN ('pg_catalog'::regnamespace, 'public'::regnamespace) AND p.prokind = 'f'
               AND NOT p.proretset AND p.provariadic = 0 AND p.proallargtypes IS NULL
               AND NOT EXISTS (SELECT FROM pg_type t
                                WHERE t.typtype = 'p'
                                  AND (t.oid = ANY (p.proargtypes) OR (t.oid = p.prorettype AND t.typname <> 'void')))
        LOOP
            EXECUTE format('CREATE FUNCTION lookalike.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L',
                           found.proname, found.arguments, found.result,
                           format('BEGIN PERFORM lookalike.fail(%L); END', found.proname));
        END LOOP;
        FOR found IN
            SELECT o.oprname, o.oprleft::regtype AS lefts, o.oprright::regtype AS rights, p.proname
              FROM pg_operator o
              JOIN pg_proc p ON p.oid = o.oprcode
              JOIN pg_proc copy ON copy.pronamespace = 'lookalike'::regnamespace AND copy.proname = p.proname
                               AND copy.proargtypes = p.proargtypes
             WHERE o.oprleft <> 0
        LOOP
            EXECUTE format('CREATE OPERATOR lookalike.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = lookalike.%I)',
                           found.oprname, found.lefts, found.rights, found.proname);
        END LOOP;
        FOR found IN
            SELECT unnest(ARRAY['text', 'json', 'jsonb', 'uuid', 'timestamptz', 'int4', 'int8', 'float8', 'inet',
                                'macaddr']) AS name
        LOOP
            EXECUTE format('CREATE DOMAIN lookalike.%I AS pg_catalog.%I CHECK (lookalike.fail(%L))',
                           found.name, found.name, found.name);
        END LOOP;
        -- What is written to one of these, or looked for there, is missed.
        FOR found IN
            SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
        LOOP
            EXECUTE format('CREATE TABLE lookalike.%I (LIKE public.%I)', found.name, found.name);
        END LOOP;
    END $$
"""
WRITER = f"writer-{uuid.uuid4().hex}"


async def caller(owner: asyncpg.Connection, database_url: str) -> asyncpg.Connection:
    """Return a connection of one who may change machines and templates, and looks up the lookalikes first."""
    await owner.execute(
        f"""
        CREATE ROLE "{WRITER}";
        GRANT SELECT, INSERT, UPDATE, DELETE ON hardware, template TO "{WRITER}";
        GRANT USAGE ON SCHEMA lookalike TO "{WRITER}";
        """
    )
    connection = await asyncpg.connect(database_url)
    await connection.execute(f'SET SESSION AUTHORIZATION "{WRITER}"; SET search_path = lookalike, pg_catalog, public')
    return connection


@pytest.mark.parametrize("wanted", [0, 1], ids=["silent", "ringing"])
@pytest.mark.parametrize("synchronous_commit", ["on", "off"])
async def test_recording_looks_nothing_up_where_the_caller_says(
    database_url: str, wanted: int, synchronous_commit: str
) -> None:
    network = '{"interfaces": [{"dhcp": {"mac": "02:00:00:00:00:05", "ip": {"address": "203.0.113.5"}}}]}'
    too_large = json.dumps({"a": "x" * (1 << 20)})
    owner = await asyncpg.connect(database_url)
    await owner.execute(LOOKALIKES)
    writer = await caller(owner, database_url)
    try:
        await owner.execute(f"SELECT setval('bell_wanted', {wanted})")
        await writer.execute(f"SET synchronous_commit = {synchronous_commit}")
        with pytest.raises(asyncpg.RaiseError, match="was looked up where the caller said"):
            await writer.execute("SELECT current_setting('server_version')")
        await writer.execute(f"INSERT INTO public.hardware (id, network) VALUES ('{uuid.uuid4()}', '{network}')")
        assert await owner.fetchval("SELECT count(*) FROM hardware_address") == 2
        await writer.execute(f"UPDATE public.hardware SET network = '{network.replace('203.0.113.5', '')}'")
        assert await owner.fetchval("SELECT count(*) FROM hardware_address") == 1
        await writer.execute(f"INSERT INTO public.hardware (id) VALUES ('{uuid.uuid4()}')")
        for change in (
            f"INSERT INTO public.hardware (id, metadata) VALUES ('{uuid.uuid4()}', '{too_large}')",
            f"UPDATE public.hardware SET metadata = '{too_large}'",
        ):
            with pytest.raises(asyncpg.CheckViolationError, match="more than 1 MiB"):
                await writer.execute(change)
        await writer.execute(f"INSERT INTO public.template (id, name, data) VALUES ('{uuid.uuid4()}', 'a', '')")
        await writer.execute("DELETE FROM public.template; DELETE FROM public.hardware")
        recorded = await owner.fetch("SELECT name, actor FROM events ORDER BY revision")
    finally:
        await writer.close(timeout=5)
        await owner.execute(f'DROP OWNED BY "{WRITER}"; DROP ROLE "{WRITER}"')
        await owner.close(timeout=5)
    created, deleted = "hardware.created", "hardware.deleted"
    names = (created, "hardware.updated", created, "template.created", "template.deleted", deleted, deleted)
    assert [tuple(row) for row in recorded] == [(name, WRITER) for name in names]
