"""`tinkwell server` and `tinkwell db` as an operator runs them."""

import re
import signal
import uuid
from pathlib import Path

import asyncpg
import pytest

import tinkwell.client
from support import process
from tinkwell.server.database import schema

URL = "TINKWELL_DATABASE_URL"
UNSAFE = {"TINKWELL_THROWAWAY_DATABASE": "true"}


async def run(tmp_path: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    async with process.running(*arguments, log=tmp_path / "command.log", environment=environment) as command:
        return await command.wait(deadline_seconds=60), command.output


async def test_the_schema_goes_up_and_down(tmp_path: Path, empty_database_url: str) -> None:
    environment = {URL: empty_database_url}
    head, version = schema.this_release().head, schema.this_release().version
    nothing = f"The schema is at nothing. The newest revision is {head}.\n"
    brought = f"The schema is at {head}, by release {version}; 0.1.0 and later may run on it."
    assert await run(tmp_path, "db", "current", **environment) == (0, nothing)
    for _ in range(2):
        assert await run(tmp_path, "db", "upgrade", **environment) == (0, f"{brought}\n")
    code, output = await run(tmp_path, "db", "current", **environment)
    first, *others = output.splitlines()
    assert (code, first) == (0, f"{brought} The newest revision is {head}.")
    assert others == [f"{sha256}  {name}" for name, sha256 in sorted(schema.this_release().files.items())]
    assert await run(tmp_path, "db", "downgrade", "base", "--yes", **environment) == (0, "The schema is at base.\n")
    assert await run(tmp_path, "db", "current", **environment) == (0, nothing)
    await schema.upgrade(empty_database_url)
    assert (await schema.current(empty_database_url)).revision == head


async def test_functions_of_another_text_are_told_and_brought_up_to_date(tmp_path: Path, database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    await connection.execute("DELETE FROM schema_file WHERE name = 'event/shape.sql'")
    await connection.execute("UPDATE schema_file SET sha256 = repeat('0', 64) WHERE name = 'event/function.sql'")
    _, output = await run(tmp_path, "db", "current", **{URL: database_url})
    assert f"{'0' * 64}  event/function.sql  (this release has another one)\n" in output
    assert f"{'missing':64}  event/shape.sql  (this release has another one)\n" in output
    assert output.count("another") == 2
    code, output = await run(tmp_path, "server", "--port", "0", "--http-port", "0", **{URL: database_url, **UNSAFE})
    assert code == 1
    assert re.search("^Error: the schema's functions are older .*: run `tinkwell db upgrade`", output, re.MULTILINE)
    assert (await run(tmp_path, "db", "upgrade", **{URL: database_url}))[0] == 0
    assert "another" not in (await run(tmp_path, "db", "current", **{URL: database_url}))[1]
    await connection.close(timeout=5)


async def test_a_schema_that_a_later_release_has_brought_further_is_left_alone(
    tmp_path: Path, database_url: str
) -> None:
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE alembic_version SET version_num = '0042'")
    await connection.execute("UPDATE schema_release SET release = '0.9'")
    told = "The schema is at 0042, by release 0.9; 0.1.0 and later may run on it.\n"
    expected = f"Nothing was done: a later release has upgraded the schema.\n{told}"
    assert await run(tmp_path, "db", "upgrade", **{URL: database_url}) == (0, expected)
    await connection.close(timeout=5)


async def test_an_upgrade_grants_a_role_what_a_server_needs(tmp_path: Path, database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    granted = (
        "SELECT has_table_privilege($1, 'lease', 'DELETE'), has_function_privilege($1, 'request_bell()', 'EXECUTE')"
    )
    name = f"server {uuid.uuid4().hex}"
    upgrade = ("db", "upgrade", "--server-role", name)
    sentence = f"Error: there is no role '{name}': create it, or name the one that servers connect as\n"
    assert await run(tmp_path, *upgrade, **{URL: database_url}) == (1, sentence)
    await connection.execute(f'CREATE ROLE "{name}"')
    assert tuple(await connection.fetchrow(granted, name)) == (False, False)
    assert (await run(tmp_path, *upgrade, **{URL: database_url}))[0] == 0
    assert tuple(await connection.fetchrow(granted, name)) == (True, True)
    await connection.execute("UPDATE schema_release SET release = '0.9'")
    sentence = "Error: a later release has upgraded the schema: grant with that release what its servers need\n"
    assert await run(tmp_path, *upgrade, **{URL: database_url}) == (1, sentence)
    await connection.execute(f'DROP OWNED BY "{name}"; DROP ROLE "{name}"')
    await connection.close(timeout=5)


@pytest.mark.parametrize("command", ["current", "upgrade", "downgrade"])
async def test_a_database_from_before_the_first_release_is_refused_in_one_sentence(
    tmp_path: Path, database_url: str, command: str
) -> None:
    connection = await asyncpg.connect(database_url)
    await connection.execute("DROP TABLE schema_file, schema_release")
    arguments = ("base", "--yes") if command == "downgrade" else ()
    code, output = await run(tmp_path, "db", command, *arguments, **{URL: database_url})
    assert code == 1
    assert re.fullmatch("Error: the database was made before the first release, .*: make a new one\n", output)
    await connection.close(timeout=5)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "postgresql://tinkwell@/absent?host=/nowhere",
            "TINKWELL_DATABASE_URL: no PostgreSQL listens at the socket /nowhere/.s.PGSQL.5432",
        ),
        ("postgresql://nobody:x@127.0.0.1:1/absent", "TINKWELL_DATABASE_URL: no PostgreSQL listens at 127.0.0.1:1"),
        ("sqlite://", "TINKWELL_DATABASE_URL: it must look like postgresql://"),
    ],
)
async def test_a_database_that_cannot_be_reached_is_reported_in_one_sentence(
    tmp_path: Path, url: str, message: str
) -> None:
    code, output = await run(tmp_path, "db", "upgrade", **{URL: url})
    assert code == 1
    assert re.search(f"^Error: .*{message}", output, re.MULTILINE)
    assert "Traceback" not in output


async def test_an_unknown_revision_is_reported_in_one_sentence(tmp_path: Path, database_url: str) -> None:
    code, output = await run(tmp_path, "db", "downgrade", "nonsense", "--yes", **{URL: database_url})
    assert (code, output) == (1, "Error: Can't locate revision identified by 'nonsense'\n")


async def test_a_server_serves_until_it_is_told_to_stop(tmp_path: Path, server_url: str) -> None:
    arguments = ("server", "--port", "0", "--http-port", "0", "--log-format", "json")
    environment = {URL: server_url, **UNSAFE}
    async with process.running(*arguments, log=tmp_path / "server.log", environment=environment) as command:
        address = (await command.line(r"^gRPC +(\S+)$")).group(1)
        async with tinkwell.client.connect(address) as client:
            assert [item async for item in client.hardware.all()] == []
        assert await command.stop(signal.SIGTERM) == 0


async def test_a_server_refuses_a_database_without_its_schema(tmp_path: Path, empty_database_url: str) -> None:
    arguments = ("server", "--port", "0", "--http-port", "0")
    code, output = await run(tmp_path, *arguments, **{URL: empty_database_url, **UNSAFE})
    assert code == 1
    assert re.search(r"^Error: the schema is at nothing, .*: run `tinkwell db upgrade`", output, re.MULTILINE)
