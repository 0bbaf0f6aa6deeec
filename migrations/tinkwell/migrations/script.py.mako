"""${message}."""

from tinkwell.migrations import script

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    script.run("${up_revision}")


def downgrade() -> None:
    script.run("${up_revision}_down")
