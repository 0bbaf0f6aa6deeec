"""The state of the schema: reads it and moves it by Alembic. Two servers that upgrade at once take turns."""

import asyncio
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import sqlalchemy
from alembic import command, config, script
from alembic.runtime import migration
from sqlalchemy.engine import Connection

from tinkwell.server.database import engine

# Any number will do, as long as every release takes the same.
_UPGRADE_LOCK = 7_436_019_255
_TIMEOUT_SECONDS = 300


async def upgrade(database_url: str, revision: str = "head") -> None:
    """Bring the database at the URL to the revision."""
    await _run(database_url, lambda settings: command.upgrade(settings, revision))


async def downgrade(database_url: str, revision: str) -> None:
    """Take the database back to the revision; "base" removes everything."""
    await _run(database_url, lambda settings: command.downgrade(settings, revision))


async def current(database_url: str) -> str | None:
    """Return the revision that the database is at, None for an empty one."""
    async with asyncio.timeout(_TIMEOUT_SECONDS), engine.connect(database_url) as connection:
        return await connection.run_sync(_current)


def head() -> str:
    """Return the newest revision that this release knows."""
    newest = script.ScriptDirectory.from_config(_config()).get_current_head()
    assert newest is not None
    return newest


async def _run(database_url: str, step: Callable[[config.Config], None]) -> None:
    def locked(connection: Connection) -> None:
        connection.execute(sqlalchemy.select(sqlalchemy.func.pg_advisory_xact_lock(_UPGRADE_LOCK)))
        settings = _config()
        settings.attributes["connection"] = connection
        step(settings)

    async with asyncio.timeout(_TIMEOUT_SECONDS), engine.connect(database_url) as connection, connection.begin():
        await connection.run_sync(locked)


def _current(connection: Connection) -> str | None:
    return migration.MigrationContext.configure(connection).get_current_revision()


def _config() -> config.Config:
    settings = config.Config()
    settings.set_main_option("script_location", str(Path(str(resources.files("tinkwell.migrations")))))
    return settings
