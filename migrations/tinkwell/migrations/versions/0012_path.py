"""Cheaper inserts of machines: what records them sets no search_path."""

from tinkwell.migrations import script

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    script.run("0012_path")


def downgrade() -> None:
    script.run("0012_down")
