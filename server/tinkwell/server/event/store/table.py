"""The table of named positions, as its queries see it."""

from sqlalchemy import BigInteger, Column, Table, Text

from tinkwell.server.database import column
from tinkwell.server.database.metadata import metadata

event_position = Table(
    "event_position",
    metadata,
    Column("name", Text, primary_key=True),
    Column("revision", BigInteger, nullable=False),
    Column("history_id", column.uuid(), nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("updated_at", column.moment(), nullable=False),
)
