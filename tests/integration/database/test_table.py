"""The tables that queries see are the tables that migrations make."""

import importlib
import pkgutil
from typing import Any

import sqlalchemy
from alembic import autogenerate
from alembic.runtime import migration
from sqlalchemy.dialects import postgresql

import tinkwell.server
from tinkwell.server.database import engine
from tinkwell.server.database.metadata import metadata

# SQL alone has the log, its history, what of it is discarded, the doorbell and its secret, the lock of the relay, whose
# turn it is to forget, and what the schema is.
_LOG = {"events", "event_history", "event_discard", "bell", "bell_secret", "relay"}
_OTHERS = _LOG | {"pruning_turn", "alembic_version", "schema_file", "schema_release"}


def _tables() -> sqlalchemy.MetaData:
    """Return the tables of all rooms, each of which adds its own when it is imported."""
    for found in pkgutil.walk_packages(tinkwell.server.__path__, "tinkwell.server."):
        if found.name.endswith(".store.table"):
            importlib.import_module(found.name)
    return metadata


def _is_ours(found: Any, name: str | None, kind: str, reflected: bool, other: Any) -> bool:
    # Indexes and unique constraints serve the database's own work; queries do not name them.
    if kind in ("index", "unique_constraint"):
        return False
    return kind != "table" or not (name in _OTHERS or str(name).startswith("events_"))


def _is_type_changed(
    context: migration.MigrationContext, _: Any, column: sqlalchemy.Column[Any], found: Any, expected: Any
) -> bool:
    """Compare what a domain is made of: queries see no more of it."""
    reflected = found.data_type if isinstance(found, postgresql.DOMAIN) else found
    return context.impl.compare_type(
        sqlalchemy.Column(column.name, reflected), sqlalchemy.Column(column.name, expected)
    )


def _differences(connection: sqlalchemy.Connection) -> list[Any]:
    options = {"compare_type": _is_type_changed, "include_object": _is_ours}
    context = migration.MigrationContext.configure(connection, opts=options)
    return list(autogenerate.compare_metadata(context, _tables()))


async def test_migrations_from_empty_equal_the_models(database_url: str) -> None:
    async with engine.connect(database_url) as connection:
        assert await connection.run_sync(_differences) == []


async def test_a_column_that_differs_would_be_seen(database_url: str) -> None:
    async with engine.connect(database_url) as connection, connection.begin():
        await connection.execute(sqlalchemy.text("ALTER TABLE lease ALTER token TYPE integer, ADD extra text"))
        await connection.execute(sqlalchemy.text("ALTER TABLE hardware ALTER network DROP NOT NULL"))
        found = await connection.run_sync(_differences)
    kinds = {change[0] for changes in found for change in (changes if isinstance(changes, list) else [changes])}
    assert kinds == {"remove_column", "modify_type", "modify_nullable"}
