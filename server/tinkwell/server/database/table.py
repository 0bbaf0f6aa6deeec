"""The tables of resources and of what belongs to them, as the queries see them.

The schema itself is the SQL of `tinkwell.migrations`, which alone has the constraints, defaults, triggers and indexes;
a test holds the two together. The event log has its own SQL, see `tinkwell.server.log.store.log`.

JSON goes in and out as text (`to_jsonb`, `to_json` and `to_text`), because Python's own JSON would round numbers.
"""

import sqlalchemy
from sqlalchemy import BigInteger, Boolean, Column, DateTime, Double, ForeignKey, Identity, Integer, Table, Text
from sqlalchemy.dialects.postgresql import ARRAY, INET, JSON, JSONB, MACADDR, UUID

metadata = sqlalchemy.MetaData()


def _uuid() -> UUID[str]:
    return UUID(as_uuid=False)


def _moment() -> DateTime:
    return DateTime(timezone=True)


hardware = Table(
    "hardware",
    metadata,
    Column("id", _uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("metadata", JSONB, nullable=False),
    Column("network", JSONB, nullable=False),
    Column("created_at", _moment(), nullable=False),
    Column("updated_at", _moment(), nullable=False),
    Column("deleted_at", _moment()),
)

hardware_address = Table(
    "hardware_address",
    metadata,
    Column("hardware_id", _uuid(), ForeignKey("hardware.id", ondelete="CASCADE"), nullable=False),
    Column("mac", MACADDR),
    Column("ip", INET),
)

template = Table(
    "template",
    metadata,
    Column("id", _uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("name", Text, nullable=False),
    Column("data", Text, nullable=False),
    Column("created_at", _moment(), nullable=False),
    Column("updated_at", _moment(), nullable=False),
    Column("deleted_at", _moment()),
)

workflow = Table(
    "workflow",
    metadata,
    Column("id", _uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("template_id", _uuid(), ForeignKey("template.id"), nullable=False),
    Column("template_name", Text, nullable=False),
    Column("devices", JSONB, nullable=False),
    Column("data", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("total_actions", Integer, nullable=False),
    Column("completed_actions", Integer, nullable=False),
    Column("global_timeout_seconds", BigInteger, nullable=False),
    Column("cause", JSONB),
    Column("created_at", _moment(), nullable=False),
    Column("updated_at", _moment(), nullable=False),
    Column("started_at", _moment()),
    Column("deadline_at", _moment()),
    Column("finished_at", _moment()),
    Column("deleted_at", _moment()),
    Column("on_timeout", Text, nullable=False),
    Column("on_failure", Text, nullable=False),
    Column("recovers", _uuid()),
)

action = Table(
    "action",
    metadata,
    Column("id", _uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("workflow_id", _uuid(), ForeignKey("workflow.id", ondelete="CASCADE"), nullable=False),
    Column("action_index", Integer, nullable=False),
    Column("task_name", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("image", Text, nullable=False),
    Column("timeout_seconds", BigInteger, nullable=False),
    Column("command", ARRAY(Text), nullable=False),
    Column("on_timeout", ARRAY(Text), nullable=False),
    Column("on_failure", ARRAY(Text), nullable=False),
    Column("worker_id", _uuid(), nullable=False),
    Column("volumes", ARRAY(Text), nullable=False),
    Column("environment", ARRAY(Text), nullable=False),
    Column("pid", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("message", Text, nullable=False),
    Column("exit_code", BigInteger),
    Column("created_at", _moment(), nullable=False),
    Column("updated_at", _moment(), nullable=False),
    Column("started_at", _moment()),
    Column("deadline_at", _moment()),
    Column("finished_at", _moment()),
    Column("retries", Integer, nullable=False),
    Column("retry_delay_seconds", Integer, nullable=False),
    Column("retry_at", _moment()),
    Column("reboots", Boolean, nullable=False),
)

action_status = Table(
    "action_status",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("workflow_id", _uuid(), nullable=False),
    Column("action_id", _uuid(), nullable=False),
    Column("task_name", Text, nullable=False),
    Column("action_name", Text, nullable=False),
    Column("worker_id", _uuid(), nullable=False),
    Column("state", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("message", Text, nullable=False),
    Column("exit_code", BigInteger),
    Column("created_at", _moment(), nullable=False),
)

log_line = Table(
    "log_line",
    metadata,
    Column("action_id", _uuid(), ForeignKey("action.id", ondelete="CASCADE"), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("stream", Text, nullable=False),
    Column("line", Text, nullable=False),
    Column("created_at", _moment(), nullable=False),
)

workflow_data = Table(
    "workflow_data",
    metadata,
    Column("workflow_id", _uuid(), ForeignKey("workflow.id", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("metadata", JSON, nullable=False),
    Column("data", JSON),
    Column("created_at", _moment(), nullable=False),
)

machine_hold = Table(
    "machine_hold",
    metadata,
    Column("worker_id", _uuid(), primary_key=True),
    Column("workflow_id", _uuid(), ForeignKey("workflow.id", ondelete="CASCADE"), nullable=False),
    Column("lease_id", _uuid()),
    Column("action_id", _uuid()),
)

self_enrolment = Table(
    "self_enrolment",
    metadata,
    Column("hardware_id", _uuid(), ForeignKey("hardware.id", ondelete="CASCADE"), primary_key=True),
    Column("created_at", _moment(), nullable=False),
)

event_position = Table(
    "event_position",
    metadata,
    Column("name", Text, primary_key=True),
    Column("revision", BigInteger, nullable=False),
    Column("history_id", _uuid(), nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("updated_at", _moment(), nullable=False),
)

lease = Table(
    "lease",
    metadata,
    Column("token", BigInteger, Identity(always=True), primary_key=True),
    Column("id", _uuid(), nullable=False, unique=True),
    Column("owner", Text, nullable=False, unique=True),
    Column("engine", Text, nullable=False),
    Column("acquired_at", _moment(), nullable=False),
    Column("expires_at", _moment(), nullable=False),
)


def to_jsonb(text: str) -> sqlalchemy.ColumnElement[object]:
    """Make a jsonb value of JSON text."""
    return sqlalchemy.cast(sqlalchemy.literal(text, Text), JSONB)


def to_json(text: str) -> sqlalchemy.ColumnElement[object]:
    """Make a json value of JSON text; it is kept as it is written."""
    return sqlalchemy.cast(sqlalchemy.literal(text, Text), JSON)


def to_text(column: "sqlalchemy.ColumnElement[object]") -> sqlalchemy.ColumnElement[str]:
    """Read a JSON column as text."""
    return sqlalchemy.cast(column, Text)
