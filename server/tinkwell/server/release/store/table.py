"""The tables of releases, as their queries see them."""

from sqlalchemy import BigInteger, Boolean, Column, Double, ForeignKey, Identity, Integer, LargeBinary, Table, Text
from sqlalchemy.dialects.postgresql import ARRAY, JSON, JSONB

from tinkwell.server.database import column
from tinkwell.server.database.metadata import metadata

release = Table(
    "release",
    metadata,
    Column("id", column.uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("namespace", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("latest_revision", Integer, nullable=False),
    Column("operation_id", column.uuid(), nullable=False),
    Column("engine", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("created_at", column.moment(), nullable=False),
    Column("updated_at", column.moment(), nullable=False),
    Column("deleted_at", column.moment()),
    Column("chart_name", Text, nullable=False),
    Column("chart_version", Text, nullable=False),
    Column("drift", Text, nullable=False),
)


chart = Table(
    "chart",
    metadata,
    Column("id", column.uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("digest", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("chart_version", Text, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("warnings", ARRAY(Text), nullable=False),
    Column("archive", LargeBinary, nullable=False),
    Column("size", Integer, nullable=False),
    Column("used_at", column.moment(), nullable=False),
    Column("created_at", column.moment(), nullable=False),
    Column("updated_at", column.moment(), nullable=False),
)


release_revision = Table(
    "release_revision",
    metadata,
    Column("release_id", column.uuid(), ForeignKey("release.id", ondelete="CASCADE"), primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("source", JSON, nullable=False),
    Column("manifest", JSON, nullable=False),
    Column("late", JSON, nullable=False),
    Column("plan", JSON, nullable=False),
    Column("rollback_of", Integer, nullable=False),
    Column("operation_id", column.uuid(), nullable=False),
    Column("description", Text, nullable=False),
    Column("created_at", column.moment(), nullable=False),
    Column("updated_at", column.moment(), nullable=False),
    Column("chart_id", column.uuid(), ForeignKey("chart.id")),
)


operation = Table(
    "operation",
    metadata,
    Column("id", column.uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("release_id", column.uuid(), ForeignKey("release.id", ondelete="CASCADE"), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("request", JSONB, nullable=False),
    Column("options", JSONB, nullable=False),
    Column("source", JSON),
    Column("plan", JSON),
    Column("former_state", Text, nullable=False),
    Column("rollback_of", Integer, nullable=False),
    Column("follows", column.uuid()),
    Column("cause", JSONB),
    Column("actor", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("total_nodes", Integer, nullable=False),
    Column("changed_nodes", Integer, nullable=False),
    Column("failed_nodes", Integer, nullable=False),
    Column("skipped_nodes", Integer, nullable=False),
    Column("lease_id", column.uuid()),
    Column("cancel_requested_at", column.moment()),
    Column("cancel_grace_seconds", Integer, nullable=False),
    Column("cancel_reason", Text, nullable=False),
    Column("created_at", column.moment(), nullable=False),
    Column("updated_at", column.moment(), nullable=False),
    Column("started_at", column.moment()),
    Column("deadline_at", column.moment(), nullable=False),
    Column("finished_at", column.moment()),
    Column("chart_id", column.uuid(), ForeignKey("chart.id")),
    Column("result", JSON),
    Column("plan_of", column.uuid()),
)


node = Table(
    "node",
    metadata,
    Column("id", column.uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("operation_id", column.uuid(), ForeignKey("operation.id", ondelete="CASCADE"), nullable=False),
    Column("release_id", column.uuid(), nullable=False),
    Column("path", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("task", Text, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("batch", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("changed", Boolean, nullable=False),
    Column("message", Text, nullable=False),
    Column("created_at", column.moment(), nullable=False),
    Column("updated_at", column.moment(), nullable=False),
    Column("started_at", column.moment()),
    Column("finished_at", column.moment()),
)


step = Table(
    "step",
    metadata,
    Column("id", column.uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("node_id", column.uuid(), ForeignKey("node.id", ondelete="CASCADE"), nullable=False),
    Column("operation_id", column.uuid(), nullable=False),
    Column("release_id", column.uuid(), nullable=False),
    Column("path", Text, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("image", Text, nullable=False),
    Column("entrypoint", Text, nullable=False),
    Column("args", ARRAY(Text)),
    Column("state", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("exit_code", BigInteger),
    Column("message", Text, nullable=False),
    Column("created_at", column.moment(), nullable=False),
    Column("updated_at", column.moment(), nullable=False),
    Column("started_at", column.moment()),
    Column("finished_at", column.moment()),
)


step_log = Table(
    "step_log",
    metadata,
    Column("id", BigInteger, Identity(always=True), nullable=False),
    Column("operation_id", column.uuid(), nullable=False),
    Column("step_id", column.uuid(), ForeignKey("step.id", ondelete="CASCADE"), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("stream", Text, nullable=False),
    Column("line", Text, nullable=False),
    Column("created_at", column.moment(), nullable=False),
    Column("is_open", Boolean, nullable=False),
)


release_resource = Table(
    "release_resource",
    metadata,
    Column("release_id", column.uuid(), ForeignKey("release.id", ondelete="CASCADE"), primary_key=True),
    Column("path", Text, primary_key=True),
    Column("type", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("image_id", Text, nullable=False),
    Column("init", JSON),
    Column("config", JSON),
    Column("state", JSON),
    Column("status", Text, nullable=False),
    Column("owned", Boolean, nullable=False),
    Column("observed_at", column.moment(), nullable=False),
)


lifecycle = Table(
    "lifecycle",
    metadata,
    Column("id", column.uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("operation_id", column.uuid(), ForeignKey("operation.id", ondelete="CASCADE"), nullable=False),
    Column("release_id", column.uuid(), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("event", Text, nullable=False),
    Column("chart", Text, nullable=False),
    Column("handlers", JSON, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("created_at", column.moment(), nullable=False),
    Column("updated_at", column.moment(), nullable=False),
)
