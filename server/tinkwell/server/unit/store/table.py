"""The tables of applications and of what belongs to them, as their queries see them."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Integer,
    LargeBinary,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSON, JSONB

from tinkwell.server.database import column
from tinkwell.server.database.metadata import metadata
from tinkwell.server.unit.store import secret_table

__all__ = ["secret_table"]

namespace = Table(
    "namespace",
    metadata,
    Column("id", column.uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("name", Text, nullable=False),
    Column("update_status_seconds", Integer, nullable=False),
    Column("event_timeout_seconds", Integer, nullable=False),
    Column("is_retrying", Boolean, nullable=False),
    Column("next_relation", BigInteger, nullable=False),
    Column("next_storage", BigInteger, nullable=False),
    Column("created_at", column.moment(), nullable=False),
    Column("updated_at", column.moment(), nullable=False),
)

charm = Table(
    "charm",
    metadata,
    Column("id", column.uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("digest", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("manifest", JSON, nullable=False),
    Column("endpoints", ARRAY(Text), nullable=False),
    Column("storages", ARRAY(Text), nullable=False),
    Column("warnings", ARRAY(Text), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("used_at", column.moment(), nullable=False),
    Column("created_at", column.moment(), nullable=False),
    Column("updated_at", column.moment(), nullable=False),
)

charm_chunk = Table(
    "charm_chunk",
    metadata,
    Column("charm_id", column.uuid(), ForeignKey("charm.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

application = Table(
    "application",
    metadata,
    Column("id", column.uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("namespace", Text, ForeignKey("namespace.name"), nullable=False),
    Column("name", Text, nullable=False),
    Column("charm", Text, ForeignKey("charm.digest"), nullable=False),
    Column("charm_revision", Integer, nullable=False),
    Column("profile", Text, nullable=False),
    Column("life", Text, nullable=False),
    Column("config", JSON, nullable=False),
    Column("config_version", BigInteger, nullable=False),
    Column("leader", Integer),
    Column("term", BigInteger, nullable=False),
    Column("announced_term", BigInteger, nullable=False),
    Column("leader_until", column.moment()),
    Column("next_number", Integer, nullable=False),
    Column("status_name", Text, nullable=False),
    Column("status_message", Text, nullable=False),
    Column("removal_actor", Text, nullable=False),
    Column("created_at", column.moment(), nullable=False),
    Column("updated_at", column.moment(), nullable=False),
)

unit = Table(
    "unit",
    metadata,
    Column("id", column.uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("namespace", Text, nullable=False),
    Column("application_id", column.uuid(), ForeignKey("application.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("life", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("is_anywhere", Boolean, nullable=False),
    Column("machine_id", column.uuid()),
    Column("lease_id", column.uuid()),
    Column("charm", Text, ForeignKey("charm.digest")),
    Column("is_forced", Boolean, nullable=False),
    Column("removal_reason", Text, nullable=False),
    Column("removal_actor", Text, nullable=False),
    Column("force_at", column.moment()),
    Column("is_storage_kept", Boolean, nullable=False),
    Column("status_name", Text, nullable=False),
    Column("status_message", Text, nullable=False),
    Column("said_name", Text, nullable=False),
    Column("said_message", Text, nullable=False),
    Column("workload_version", Text, nullable=False),
    Column("last_ordinal", BigInteger, nullable=False),
    Column("next_tick_at", column.moment()),
    Column("prepare_requested", Integer, nullable=False),
    Column("finish_requested", Integer, nullable=False),
    Column("metrics_requested", Integer, nullable=False),
    Column("is_installed", Boolean, nullable=False),
    Column("is_started", Boolean, nullable=False),
    Column("is_stopped", Boolean, nullable=False),
    Column("is_removed", Boolean, nullable=False),
    Column("config_seen", BigInteger, nullable=False),
    Column("charm_seen", Text, ForeignKey("charm.digest")),
    Column("led_term", BigInteger, nullable=False),
    Column("settings_term", BigInteger, nullable=False),
    Column("plan", JSON, nullable=False),
    Column("queue", JSON, nullable=False),
    Column("prepare_seen", Integer, nullable=False),
    Column("finish_seen", Integer, nullable=False),
    Column("metrics_seen", Integer, nullable=False),
    Column("created_at", column.moment(), nullable=False),
    Column("updated_at", column.moment(), nullable=False),
)

unit_event = Table(
    "unit_event",
    metadata,
    Column("id", column.uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("namespace", Text, nullable=False),
    Column("application_id", column.uuid(), nullable=False),
    Column("unit_id", column.uuid(), ForeignKey("unit.id", ondelete="CASCADE"), nullable=False),
    Column("unit", Text, nullable=False),
    Column("ordinal", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("phase", Text, nullable=False),
    Column("relation", BigInteger, nullable=False),
    Column("endpoint", Text, nullable=False),
    Column("is_peer", Boolean, nullable=False),
    Column("remote_application", Text, nullable=False),
    Column("remote_unit", Text, nullable=False),
    Column("departing_unit", Text, nullable=False),
    Column("storage", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("secret_revision", BigInteger, nullable=False),
    Column("is_mirrored", Boolean, nullable=False),
    Column("is_echo", Boolean, nullable=False),
    Column("seen_config", BigInteger, nullable=False),
    Column("seen_charm", Text, nullable=False),
    Column("seen_term", BigInteger, nullable=False),
    Column("seen_bag", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("leaving", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("cause", JSON, nullable=False),
    Column("message", Text, nullable=False),
    Column("deferred", Integer, nullable=False),
    Column("consumed", Integer, nullable=False),
    Column("lease_token", BigInteger, nullable=False),
    Column("is_lost", Boolean, nullable=False),
    Column("deadline_at", column.moment()),
    Column("retry_at", column.moment()),
    Column("started_at", column.moment()),
    Column("finished_at", column.moment()),
    Column("created_at", column.moment(), nullable=False),
    Column("updated_at", column.moment(), nullable=False),
)

relation = Table(
    "relation",
    metadata,
    Column("id", column.uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("namespace", Text, ForeignKey("namespace.name"), nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("interface", Text, nullable=False),
    Column("is_peer", Boolean, nullable=False),
    Column("life", Text, nullable=False),
    Column("ends", JSONB, nullable=False),
    Column("removal_actor", Text, nullable=False),
    Column("created_at", column.moment(), nullable=False),
    Column("updated_at", column.moment(), nullable=False),
)

storage = Table(
    "storage",
    metadata,
    Column("id", column.uuid(), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("namespace", Text, ForeignKey("namespace.name"), nullable=False),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("application_id", column.uuid(), ForeignKey("application.id", ondelete="SET NULL")),
    Column("unit_id", column.uuid(), ForeignKey("unit.id")),
    Column("unit", Text, nullable=False),
    Column("machine_id", column.uuid()),
    Column("life", Text, nullable=False),
    Column("is_attached", Boolean, nullable=False),
    Column("is_kept", Boolean, nullable=False),
    Column("removal_actor", Text, nullable=False),
    Column("created_at", column.moment(), nullable=False),
    Column("updated_at", column.moment(), nullable=False),
)

relation_bag = Table(
    "relation_bag",
    metadata,
    Column("relation_id", column.uuid(), ForeignKey("relation.id", ondelete="CASCADE"), primary_key=True),
    Column("owner", Text, primary_key=True),
    Column("data", JSONB, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("updated_at", column.moment(), nullable=False),
)

relation_end = Table(
    "relation_end",
    metadata,
    Column("relation_id", column.uuid(), ForeignKey("relation.id", ondelete="CASCADE"), primary_key=True),
    Column("application_id", column.uuid(), ForeignKey("application.id"), primary_key=True),
    Column("endpoint", Text, nullable=False),
)

relation_member = Table(
    "relation_member",
    metadata,
    Column("relation_id", column.uuid(), ForeignKey("relation.id", ondelete="CASCADE"), primary_key=True),
    Column("unit_id", column.uuid(), ForeignKey("unit.id", ondelete="CASCADE"), primary_key=True),
    Column("membership", Text, nullable=False),
    Column("entered", BigInteger, nullable=False),
)

unit_relation = Table(
    "unit_relation",
    metadata,
    Column("unit_id", column.uuid(), ForeignKey("unit.id", ondelete="CASCADE"), primary_key=True),
    Column("relation_id", column.uuid(), ForeignKey("relation.id", ondelete="CASCADE"), primary_key=True),
    Column("is_created", Boolean, nullable=False),
    Column("is_broken", Boolean, nullable=False),
    Column("application_version", BigInteger, nullable=False),
    Column("own_version", BigInteger, nullable=False),
)

unit_member = Table(
    "unit_member",
    metadata,
    Column("unit_id", column.uuid(), primary_key=True),
    Column("relation_id", column.uuid(), primary_key=True),
    Column("member_id", column.uuid(), ForeignKey("unit.id"), primary_key=True),
    Column("seen_version", BigInteger, nullable=False),
    Column("is_told", Boolean, nullable=False),
    Column("is_older", Boolean, nullable=False),
    ForeignKeyConstraint(
        ["unit_id", "relation_id"], ["unit_relation.unit_id", "unit_relation.relation_id"], ondelete="CASCADE"
    ),
)

port = Table(
    "port",
    metadata,
    Column("unit_id", column.uuid(), ForeignKey("unit.id", ondelete="CASCADE"), primary_key=True),
    Column("protocol", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
)

unit_state = Table(
    "unit_state",
    metadata,
    Column("unit_id", column.uuid(), ForeignKey("unit.id", ondelete="CASCADE"), primary_key=True),
    Column("data", JSONB, nullable=False),
)

deferred_notice = Table(
    "deferred_notice",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("unit_id", column.uuid(), ForeignKey("unit.id", ondelete="CASCADE"), nullable=False),
    Column("key", Text, nullable=False),
    Column("ordinal", BigInteger, nullable=False),
    Column("event", JSON, nullable=False),
    Column("handler", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("created_at", column.moment(), nullable=False),
)

unit_log = Table(
    "unit_log",
    metadata,
    Column("id", BigInteger, Identity(always=True), nullable=False),
    Column("unit_id", column.uuid(), ForeignKey("unit.id", ondelete="CASCADE"), primary_key=True),
    Column("ordinal", BigInteger, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("level", Text, nullable=False),
    Column("line", Text, nullable=False),
    Column("created_at", column.moment(), nullable=False),
)

unit_agent = Table(
    "unit_agent",
    metadata,
    Column("lease_id", column.uuid(), primary_key=True),
    Column("machines", ARRAY(column.uuid()), nullable=False),
    Column("is_anywhere", Boolean, nullable=False),
    Column("kinds", ARRAY(Text), nullable=False),
    Column("charms", ARRAY(Text), nullable=False),
    Column("namespace", Text, nullable=False),
    Column("applications", ARRAY(Text), nullable=False),
    Column("connected_at", column.moment(), nullable=False),
)
