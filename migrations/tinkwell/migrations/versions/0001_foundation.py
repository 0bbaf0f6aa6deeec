"""Resources, the event log, and the triggers that tie them together."""

from tinkwell.migrations import script

revision = "0001"
down_revision = None


def upgrade() -> None:
    for name in ("0001_resource", "0001_event", "0001_ring", "0001_shape", "0001_record", "0001_trigger"):
        script.run(name)


def downgrade() -> None:
    script.run("0001_down")
