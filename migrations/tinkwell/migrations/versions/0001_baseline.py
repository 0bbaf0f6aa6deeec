"""The tables and triggers of all rooms that the first release has."""

from tinkwell.migrations import script

revision = "0001"
down_revision = None
oldest_release = "0.1.0"


def upgrade() -> None:
    for room in ("schema", "event", "lease", "hardware", "template", "workflow"):
        script.run(f"{room}/table")
    for room in ("hardware", "template", "workflow"):
        script.run(f"{room}/trigger")


def downgrade() -> None:
    script.run("down")
    script.drop_functions()
