"""Cheaper inserts of machines: a function of their own records them, and no trigger has a condition."""

from tinkwell.migrations import script

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    script.run("0013_insert")


def downgrade() -> None:
    script.run("0013_down")
