"""Cheaper inserts of machines while a reader sleeps: they are recorded once, and told of without a call."""

from tinkwell.migrations import script

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    script.run("0016_direct")


def downgrade() -> None:
    script.run("0016_down")
