"""The table of templates, as its queries see it."""

from sqlalchemy import BigInteger, Column, Table, Text

from tinkwell.server.database import column
from tinkwell.server.database.metadata import metadata

template = Table(
    "template",
    metadata,
    Column("id", column.uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("name", Text, nullable=False),
    Column("data", Text, nullable=False),
    Column("created_at", column.moment(), nullable=False),
    Column("updated_at", column.moment(), nullable=False),
    Column("deleted_at", column.moment()),
)
