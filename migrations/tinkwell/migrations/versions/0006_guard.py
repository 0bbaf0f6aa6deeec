"""Guards: what would make the log, or a resource, silently wrong is refused by the database itself."""

from tinkwell.migrations import script

revision = "0006"
down_revision = "0005"
oldest_release = "0.1.0"


def upgrade() -> None:
    script.run("event/identity")
    script.run("event/relay")
    script.run("event/guard")
    script.run("event/moment")


def downgrade() -> None:
    script.run("event/unguard")
