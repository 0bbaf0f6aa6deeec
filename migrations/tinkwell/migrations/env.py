"""Alembic's environment: runs the revisions over the connection that `tinkwell.server.database.schema` hands in."""

from alembic import context
from sqlalchemy.engine import Connection


def run(connection: Connection) -> None:
    """Run the revisions in one transaction, so that a failed upgrade leaves the schema as it was."""
    context.configure(connection=connection)
    with context.begin_transaction():
        context.run_migrations()


run(context.config.attributes["connection"])
