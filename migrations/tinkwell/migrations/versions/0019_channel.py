"""A cheaper ring: the channel is known to each session, and no statement is made to find it."""

from tinkwell.migrations import script

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    script.run("0019_channel")


def downgrade() -> None:
    script.run("0019_down")
