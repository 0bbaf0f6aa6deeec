"""The tables of secrets and tasks, as their queries see them."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Identity, Integer, Table, Text
from sqlalchemy.dialects.postgresql import ARRAY, JSON

from tinkwell.server.database import column
from tinkwell.server.database.metadata import metadata

secret = Table(
    "secret",
    metadata,
    Column("id", column.uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("namespace", Text, ForeignKey("namespace.name"), nullable=False),
    Column("name", Text, nullable=False),
    Column("application_id", column.uuid(), ForeignKey("application.id", ondelete="CASCADE")),
    Column("unit_id", column.uuid(), ForeignKey("unit.id", ondelete="CASCADE")),
    Column("owner", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("rotation", Text, nullable=False),
    Column("rotates_at", column.moment()),
    Column("latest", BigInteger, nullable=False),
    Column("created_at", column.moment(), nullable=False),
    Column("updated_at", column.moment(), nullable=False),
)

secret_revision = Table(
    "secret_revision",
    metadata,
    Column("secret_id", column.uuid(), ForeignKey("secret.id", ondelete="CASCADE"), primary_key=True),
    Column("revision", BigInteger, primary_key=True),
    Column("expires_at", column.moment()),
    Column("created_at", column.moment(), nullable=False),
)

secret_grant = Table(
    "secret_grant",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("secret_id", column.uuid(), ForeignKey("secret.id", ondelete="CASCADE"), nullable=False),
    Column("relation_id", column.uuid(), ForeignKey("relation.id", ondelete="CASCADE")),
    Column("application_id", column.uuid(), ForeignKey("application.id", ondelete="CASCADE"), nullable=False),
    Column("unit_id", column.uuid(), ForeignKey("unit.id", ondelete="CASCADE")),
)

secret_reader = Table(
    "secret_reader",
    metadata,
    Column("secret_id", column.uuid(), ForeignKey("secret.id", ondelete="CASCADE"), primary_key=True),
    Column("unit_id", column.uuid(), ForeignKey("unit.id", ondelete="CASCADE"), primary_key=True),
    Column("tracked", BigInteger, nullable=False),
    Column("told", BigInteger, nullable=False),
    Column("label", Text, nullable=False),
    Column("expired", ARRAY(BigInteger), nullable=False),
    Column("removed", ARRAY(BigInteger), nullable=False),
)

task = Table(
    "task",
    metadata,
    Column("id", column.uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("number", BigInteger, Identity(always=True), nullable=False),
    Column("namespace", Text, nullable=False),
    Column("application_id", column.uuid(), nullable=False),
    Column("unit_id", column.uuid(), ForeignKey("unit.id", ondelete="CASCADE"), nullable=False),
    Column("unit", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("arguments", ARRAY(Text), nullable=False),
    Column("state", Text, nullable=False),
    Column("result", JSON, nullable=False),
    Column("message", Text, nullable=False),
    Column("timeout_seconds", Integer, nullable=False),
    Column("actor", Text, nullable=False),
    Column("charm", Text, nullable=False),
    Column("lease_token", BigInteger, nullable=False),
    Column("is_cancelled", Boolean, nullable=False),
    Column("deadline_at", column.moment()),
    Column("created_at", column.moment(), nullable=False),
    Column("updated_at", column.moment(), nullable=False),
    Column("started_at", column.moment()),
    Column("finished_at", column.moment()),
)

task_line = Table(
    "task_line",
    metadata,
    Column("task_id", column.uuid(), ForeignKey("task.id", ondelete="CASCADE"), primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("line", Text, nullable=False),
)
