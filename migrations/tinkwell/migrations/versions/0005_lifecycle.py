"""Lifecycle: what releases emit, their hooks, plans and drift, and operations that leave their release as it is."""

from tinkwell.migrations import script

revision = "0005"
down_revision = "0004"
oldest_release = "0.1.0"


def upgrade() -> None:
    script.run("lifecycle/up")
    script.run("lifecycle/table")
    script.run("lifecycle/trigger")


def downgrade() -> None:
    script.run("lifecycle/down")
