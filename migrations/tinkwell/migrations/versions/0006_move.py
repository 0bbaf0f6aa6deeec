"""Reports that only move their workflows on, written many at a time."""

from tinkwell.migrations import script

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    script.run("0006_move")


def downgrade() -> None:
    script.run("0006_down")
