"""Cheaper inserts of machines: no index is kept for listing them."""

from tinkwell.migrations import script

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    script.run("0014_listing")


def downgrade() -> None:
    script.run("0014_down")
