"""A cheaper text of new machines: their two times, which are the same as a rule, are written once."""

from tinkwell.migrations import script

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    script.run("0018_text")


def downgrade() -> None:
    script.run("0018_down")
