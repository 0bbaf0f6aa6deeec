"""Executes texts of several statements, which only the driver itself can."""

import typing

from sqlalchemy.engine import Connection, interfaces


def execute(connection: Connection, text: str) -> None:
    """Execute the text in the connection's transaction."""
    driver = typing.cast("interfaces.AdaptedConnection", connection.connection.dbapi_connection)
    driver.run_async(lambda own: own.execute(text))
