"""Settings that a site may give a role or a database, and that its new sessions begin with."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

import asyncpg

from support import role


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting, and a value that nobody of ours would choose."""

    name: str
    value: str


SETTINGS = (
    Setting("statement_timeout", "'1ms'"),
    Setting("lock_timeout", "'1ms'"),
    Setting("transaction_timeout", "'50ms'"),
    Setting("idle_session_timeout", "'50ms'"),
    Setting("idle_in_transaction_session_timeout", "'50ms'"),
    Setting("default_transaction_read_only", "on"),
    Setting("default_transaction_isolation", "'serializable'"),
    Setting("default_transaction_deferrable", "on"),
    Setting("search_path", "pg_catalog"),
    Setting("datestyle", "'German'"),
    Setting("intervalstyle", "'sql_standard'"),
    Setting("timezone", "'Pacific/Kiritimati'"),
    Setting("bytea_output", "'escape'"),
    Setting("extra_float_digits", "-15"),
    Setting("client_min_messages", "'debug5'"),
    Setting("synchronous_commit", "off"),
    Setting("enable_indexscan", "off"),
    Setting("row_security", "off"),
    Setting("session_replication_role", "replica"),
)


@contextlib.asynccontextmanager
async def given(connection: asyncpg.Connection, setting: Setting, *, is_of_role: bool) -> AsyncIterator[None]:
    """Give it to the role that servers have, or to the database, for as long as the block lasts."""
    name = role.SERVER_ROLE or await connection.fetchval("SELECT current_user")
    database = await connection.fetchval("SELECT current_database()")
    whose = f"ROLE {role.quoted(name)}" if is_of_role else f"DATABASE {role.quoted(database)}"
    await connection.execute(f"ALTER {whose} SET {setting.name} = {setting.value}")
    try:
        yield
    finally:
        await connection.execute(f"ALTER {whose} RESET {setting.name}")
