"""Releases: their tables and triggers, and the kinds of their events."""

from tinkwell.migrations import script

revision = "0002"
down_revision = "0001"
oldest_release = "0.1.0"


def upgrade() -> None:
    script.run("release/up")
    script.run("release/table")
    script.run("release/trigger")


def downgrade() -> None:
    script.run("release/down")
