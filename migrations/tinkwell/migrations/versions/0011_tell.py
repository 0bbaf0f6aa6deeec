"""Cheaper rings: they are given the event that they tell of."""

from tinkwell.migrations import script

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    script.run("0011_tell")


def downgrade() -> None:
    script.run("0008_record")
    script.run("0011_down")
