"""The tables of workflows, as their queries see them."""

from sqlalchemy import BigInteger, Boolean, Column, Double, ForeignKey, Identity, Integer, Table, Text
from sqlalchemy.dialects.postgresql import ARRAY, JSON, JSONB

from tinkwell.server.database import column
from tinkwell.server.database.metadata import metadata

workflow = Table(
    "workflow",
    metadata,
    Column("id", column.uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("template_id", column.uuid(), ForeignKey("template.id"), nullable=False),
    Column("template_name", Text, nullable=False),
    Column("devices", JSONB, nullable=False),
    Column("data", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("total_actions", Integer, nullable=False),
    Column("completed_actions", Integer, nullable=False),
    Column("global_timeout_seconds", BigInteger, nullable=False),
    Column("cause", JSONB),
    Column("created_at", column.moment(), nullable=False),
    Column("updated_at", column.moment(), nullable=False),
    Column("started_at", column.moment()),
    Column("deadline_at", column.moment()),
    Column("finished_at", column.moment()),
    Column("deleted_at", column.moment()),
    Column("on_timeout", Text, nullable=False),
    Column("on_failure", Text, nullable=False),
    Column("recovers", column.uuid()),
)


action = Table(
    "action",
    metadata,
    Column("id", column.uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("workflow_id", column.uuid(), ForeignKey("workflow.id", ondelete="CASCADE"), nullable=False),
    Column("action_index", Integer, nullable=False),
    Column("task_name", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("image", Text, nullable=False),
    Column("timeout_seconds", BigInteger, nullable=False),
    Column("command", ARRAY(Text), nullable=False),
    Column("on_timeout", ARRAY(Text), nullable=False),
    Column("on_failure", ARRAY(Text), nullable=False),
    Column("worker_id", column.uuid(), nullable=False),
    Column("volumes", ARRAY(Text), nullable=False),
    Column("environment", ARRAY(Text), nullable=False),
    Column("pid", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("message", Text, nullable=False),
    Column("exit_code", BigInteger),
    Column("created_at", column.moment(), nullable=False),
    Column("updated_at", column.moment(), nullable=False),
    Column("started_at", column.moment()),
    Column("deadline_at", column.moment()),
    Column("finished_at", column.moment()),
    Column("retries", Integer, nullable=False),
    Column("retry_delay_seconds", Integer, nullable=False),
    Column("retry_at", column.moment()),
    Column("reboots", Boolean, nullable=False),
)


action_status = Table(
    "action_status",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("workflow_id", column.uuid(), nullable=False),
    Column("action_id", column.uuid(), nullable=False),
    Column("task_name", Text, nullable=False),
    Column("action_name", Text, nullable=False),
    Column("worker_id", column.uuid(), nullable=False),
    Column("state", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("message", Text, nullable=False),
    Column("exit_code", BigInteger),
    Column("created_at", column.moment(), nullable=False),
)


log_line = Table(
    "log_line",
    metadata,
    Column("action_id", column.uuid(), ForeignKey("action.id", ondelete="CASCADE"), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("stream", Text, nullable=False),
    Column("line", Text, nullable=False),
    Column("created_at", column.moment(), nullable=False),
    Column("is_open", Boolean, nullable=False),
)


workflow_data = Table(
    "workflow_data",
    metadata,
    Column("workflow_id", column.uuid(), ForeignKey("workflow.id", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("metadata", JSON, nullable=False),
    Column("data", JSON),
    Column("created_at", column.moment(), nullable=False),
)


machine_hold = Table(
    "machine_hold",
    metadata,
    Column("worker_id", column.uuid(), primary_key=True),
    Column("workflow_id", column.uuid(), ForeignKey("workflow.id", ondelete="CASCADE"), nullable=False),
    Column("lease_id", column.uuid()),
    Column("action_id", column.uuid()),
)
