"""Cheaper ids of events: from the time and ordinary random numbers, not from strong ones."""

from tinkwell.migrations import script

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    script.run("0017_id")


def downgrade() -> None:
    script.run("0017_down")
