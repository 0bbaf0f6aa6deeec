"""The tables of hardware, as its queries see them."""

from sqlalchemy import BigInteger, Column, ForeignKey, Table
from sqlalchemy.dialects.postgresql import INET, JSONB, MACADDR

from tinkwell.server.database import column
from tinkwell.server.database.metadata import metadata

hardware = Table(
    "hardware",
    metadata,
    Column("id", column.uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("metadata", JSONB, nullable=False),
    Column("network", JSONB, nullable=False),
    Column("created_at", column.moment(), nullable=False),
    Column("updated_at", column.moment(), nullable=False),
    Column("deleted_at", column.moment()),
)


hardware_address = Table(
    "hardware_address",
    metadata,
    Column("hardware_id", column.uuid(), ForeignKey("hardware.id", ondelete="CASCADE"), nullable=False),
    Column("mac", MACADDR),
    Column("ip", INET),
)


self_enrolment = Table(
    "self_enrolment",
    metadata,
    Column("hardware_id", column.uuid(), ForeignKey("hardware.id", ondelete="CASCADE"), primary_key=True),
    Column("created_at", column.moment(), nullable=False),
)
