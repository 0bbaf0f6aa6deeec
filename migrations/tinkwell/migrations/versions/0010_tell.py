"""Rings that tell of the event, so that who sleeps need not look it up."""

from tinkwell.migrations import script

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    script.run("0010_tell")


def downgrade() -> None:
    script.run("0010_down")
