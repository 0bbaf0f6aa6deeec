"""What retention must remember between its steps."""

from tinkwell.migrations import script

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    script.run("0002_retention")


def downgrade() -> None:
    script.run("0002_down")
