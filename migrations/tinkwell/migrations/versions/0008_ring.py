"""Cheaper events: a bell that costs a silent writer no lock, and kinds that are not checked twice."""

from tinkwell.migrations import script

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    script.run("0008_ring")
    script.run("0008_size")
    script.run("0008_record")


def downgrade() -> None:
    script.run("0008_down")
    script.run("0001_ring")
    script.run("0001_record")
