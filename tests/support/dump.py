"""All that is in a database, as text."""

import asyncio

from tinkwell.server.app.dev import binaries

_SECONDS = 60


async def dump(database_url: str) -> str:
    """Return what pg_dump writes of a database."""
    program = binaries.find(None).program("pg_dump")
    process = await asyncio.create_subprocess_exec(program, "--dbname", database_url, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(_SECONDS):
        output, _ = await process.communicate()
    assert process.returncode == 0
    return output.decode()
