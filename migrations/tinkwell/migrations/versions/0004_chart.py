"""Charts: their table and triggers, the kind of their events, and which chart a release is made of."""

from tinkwell.migrations import script

revision = "0004"
down_revision = "0003"
oldest_release = "0.1.0"


def upgrade() -> None:
    script.run("chart/up")
    script.run("chart/table")
    script.run("chart/trigger")


def downgrade() -> None:
    script.run("chart/down")
