"""Secrets and tasks of units, and charms that were written for Juju."""

from tinkwell.migrations import script

revision = "0010"
down_revision = "0009"
oldest_release = "0.1.0"


def upgrade() -> None:
    script.run("unit/secret_up")
    script.run("unit/secret_table")
    script.run("unit/secret_trigger")


def downgrade() -> None:
    script.run("unit/secret_down")
