"""Retention: what is past its time is found by indexes, and one server at a time forgets it."""

from tinkwell.migrations import script

revision = "0007"
down_revision = "0006"
oldest_release = "0.1.0"


def upgrade() -> None:
    script.run("workflow/retention")


def downgrade() -> None:
    script.run("workflow/retention_down")
