"""The table of leases, as its queries see it."""

from sqlalchemy import BigInteger, Column, Identity, Table, Text

from tinkwell.server.database import column
from tinkwell.server.database.metadata import metadata

lease = Table(
    "lease",
    metadata,
    Column("token", BigInteger, Identity(always=True), primary_key=True),
    Column("id", column.uuid(), nullable=False, unique=True),
    Column("owner", Text, nullable=False, unique=True),
    Column("engine", Text, nullable=False),
    Column("acquired_at", column.moment(), nullable=False),
    Column("expires_at", column.moment(), nullable=False),
)
