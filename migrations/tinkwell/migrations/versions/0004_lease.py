"""Leases: who holds machines, and whose runs may still be on them."""

from tinkwell.migrations import script

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    script.run("0004_lease")


def downgrade() -> None:
    script.run("0004_down")
