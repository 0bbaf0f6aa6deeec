"""${message}."""

from tinkwell.migrations import script

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
oldest_release = ""  # the oldest release that may still run on this revision


def upgrade() -> None:
    script.run("${up_revision}")


def downgrade() -> None:
    script.run("${up_revision}_down")
