"""One running workflow for each machine, and machines that announce themselves."""

from tinkwell.migrations import script

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    script.run("0003_machine")


def downgrade() -> None:
    script.run("0003_down")
