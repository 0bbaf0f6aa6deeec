"""All rooms' tables, functions and triggers."""

from tinkwell.migrations import script

revision = "0001"
down_revision = None


def upgrade() -> None:
    script.run_rooms()


def downgrade() -> None:
    script.run("down")
    script.drop_functions()
