"""`tinkwell server` and `tinkwell db` as an operator runs them."""

import re
import signal
from pathlib import Path

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
    head = schema.head()
    assert await run(tmp_path, "db", "current", **environment) == (
        0,
        f"The schema is at nothing; the newest revision is {head}.\n",
    )
    for _ in range(2):
        assert await run(tmp_path, "db", "upgrade", **environment) == (0, f"The schema is at {head}.\n")
    assert await run(tmp_path, "db", "current", **environment) == (
        0,
        f"The schema is at {head}; the newest revision is {head}.\n",
    )
    assert await run(tmp_path, "db", "downgrade", "base", "--yes", **environment) == (0, "The schema is at base.\n")
    assert await schema.current(empty_database_url) is None
    await schema.upgrade(empty_database_url)
    assert await schema.current(empty_database_url) == head


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://tinkwell@/absent?host=/nowhere", "No such file or directory"),
        ("postgresql://nobody:x@127.0.0.1:1/absent", "Connect call failed"),
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


async def test_a_server_serves_until_it_is_told_to_stop(tmp_path: Path, database_url: str) -> None:
    arguments = ("server", "--port", "0", "--http-port", "0", "--log-format", "json")
    environment = {URL: database_url, **UNSAFE}
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
