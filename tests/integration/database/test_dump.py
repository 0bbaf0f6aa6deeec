"""What contributors read as the schema is the schema."""

import os

import pytest

from support import schema_dump

IS_ANOTHER = bool(os.environ.get("PG_BIN") or os.environ.get("TEST_DATABASE_URL"))


@pytest.mark.skipif(IS_ANOTHER, reason="another PostgreSQL than the embedded one tells the schema differently")
async def test_the_schema_that_is_read_is_the_schema_that_is_made(database_url: str) -> None:
    # `make schema` writes it.
    assert await schema_dump.dump(database_url) == schema_dump.committed().read_text(encoding="utf-8")
