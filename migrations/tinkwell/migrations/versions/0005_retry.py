"""Repeated attempts, actions that reboot their machine, and workflows that recover others."""

from tinkwell.migrations import script

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    script.run("0005_retry")


def downgrade() -> None:
    script.run("0005_down")
    script.run("0001_shape")
