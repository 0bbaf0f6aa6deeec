"""Runs the SQL files of a revision. They hold several statements each, which only the driver itself can execute."""

import typing
from importlib import resources

from alembic import op
from sqlalchemy.engine import interfaces


def run(name: str) -> None:
    """Execute `sql/<name>.sql` on the connection of the migration."""
    text = resources.files("tinkwell.migrations").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")
    connection = typing.cast("interfaces.AdaptedConnection", op.get_bind().connection.dbapi_connection)
    connection.run_async(lambda driver: driver.execute(text))
