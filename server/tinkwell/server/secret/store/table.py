"""The table of sealed values, as its queries see it."""

from sqlalchemy import BigInteger, Column, Identity, LargeBinary, Table, Text

from tinkwell.server.database.metadata import metadata

sealed_value = Table(
    "sealed_value",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("owner_kind", Text, nullable=False),
    Column("owner_id", Text, nullable=False),
    Column("document", Text, nullable=False),
    Column("pointer", Text, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
)
