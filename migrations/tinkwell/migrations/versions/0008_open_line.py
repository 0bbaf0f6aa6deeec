"""Open lines of output, which come again until they are complete, such as a progress that is written over."""

from tinkwell.migrations import script

revision = "0008"
down_revision = "0007"
oldest_release = "0.1.0"


def upgrade() -> None:
    script.run("workflow/open_line")
    script.run("release/open_line")


def downgrade() -> None:
    script.run("release/open_line_down")
    script.run("workflow/open_line_down")
