"""Settings that an administrator may give a role or a database, for other programs, and that would harm ours."""

import asyncpg

_SINCE_17 = {"transaction_timeout": "500ms"}
_SETTINGS = {
    "statement_timeout": "1ms",
    "lock_timeout": "1ms",
    "idle_session_timeout": "100ms",
    "idle_in_transaction_session_timeout": "100ms",
    "default_transaction_read_only": "on",
    "default_transaction_isolation": "serializable",
    "default_transaction_deferrable": "on",
    "synchronous_commit": "off",
    "session_replication_role": "replica",
    "row_security": "off",
    "exit_on_error": "on",
    "client_min_messages": "debug5",
    "client_encoding": "LATIN1",
    "search_path": "elsewhere",
    "datestyle": "German, DMY",
    "timezone": "Asia/Kolkata",
    "intervalstyle": "sql_standard",
    "extra_float_digits": "-15",
    "bytea_output": "escape",
    "standard_conforming_strings": "off",
    "array_nulls": "off",
    "transform_null_equals": "on",
    "quote_all_identifiers": "on",
    "enable_indexscan": "off",
    "enable_indexonlyscan": "off",
    "enable_nestloop": "off",
    "enable_partition_pruning": "off",
}
PLACES = ("role", "database")


def settings(connection: asyncpg.Connection) -> dict[str, str]:
    """Return the settings that the connection's PostgreSQL knows."""
    return _SETTINGS | (_SINCE_17 if connection.get_server_version().major >= 17 else {})


async def configure(connection: asyncpg.Connection, place: str, chosen: dict[str, str]) -> None:
    """Have sessions that begin from now on, of the connection's role or in its database, begin with these settings.

    What is set goes with the database: a role gets it there alone.
    """
    role, database = await connection.fetchrow("SELECT quote_ident(current_user), quote_ident(current_database())")
    target = {"role": f"ROLE {role} IN DATABASE {database}", "database": f"DATABASE {database}"}[place]
    for name, value in chosen.items():
        await connection.execute(f"ALTER {target} SET {name} = '{value}'")
