"""Partitions of the event log that hold a million revisions instead of two."""

from tinkwell.migrations import script

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    script.run("0007_width")


def downgrade() -> None:
    """Change nothing: the narrower partitions serve an earlier release as well."""
