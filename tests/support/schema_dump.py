"""The schema as pg_dump tells it, made readable: `python -m support.schema_dump` writes it beside the migrations."""

import asyncio
import re
from pathlib import Path

from tinkwell.server.app.dev import binaries, place, postgres
from tinkwell.server.database import schema

_HEAD = """\
-- The schema as it is after `tinkwell db upgrade`, for reading. Nothing runs this file: `make schema` writes it.
-- It leaves out owners, privileges, and the partitions of `events`.
"""
# Lines that say how to restore it, or when and where it was dumped.
_NOISE = re.compile(r"^(--.*|SET .*;|SELECT pg_catalog\.set_config.*;|\\(un)?restrict .*)\n", re.MULTILINE)
_DUMP_SECONDS = 60


def committed() -> Path:
    """Where the text stands in the repository."""
    return schema.this_release().location / "schema.sql"


async def dump(database_url: str) -> str:
    """Return the schema of a database of the embedded PostgreSQL."""
    process = await asyncio.create_subprocess_exec(
        binaries.find(None).program("pg_dump"),
        *("--schema-only", "--no-owner", "--no-privileges", "--exclude-table=events_0*", "--dbname", database_url),
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(_DUMP_SECONDS):
        output, _ = await process.communicate()
    assert process.returncode == 0
    text = re.sub(r"\n{3,}", "\n\n", _NOISE.sub("", output.decode()))
    return f"{_HEAD}\n{text.strip()}\n"


async def _write() -> None:
    with place.temporary() as state_dir:
        async with postgres.embedded(state_dir, durable=False) as cluster:
            await schema.upgrade(cluster.url)
            committed().write_text(await dump(cluster.url), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(_write())
