"""Units: applications, their units, relations and storage, and the kinds of their events."""

from tinkwell.migrations import script

revision = "0009"
down_revision = "0008"
oldest_release = "0.1.0"


def upgrade() -> None:
    script.run("unit/up")
    script.run("unit/table")
    script.run("unit/trigger")


def downgrade() -> None:
    script.run("unit/down")
