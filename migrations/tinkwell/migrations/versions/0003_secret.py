"""The table of sealed values, and their deletion with their owners."""

from tinkwell.migrations import script

revision = "0003"
down_revision = "0002"
oldest_release = "0.1.0"


def upgrade() -> None:
    script.run("secret/table")
    script.run("secret/trigger")


def downgrade() -> None:
    script.run("secret/down")
