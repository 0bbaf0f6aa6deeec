"""Guards: what would make the log, or a resource, silently wrong is refused by the database itself."""

revision = "0006"
down_revision = "0005"
oldest_release = "0.1.0"


def upgrade() -> None:
    """Everything that this revision brings is in the files of functions so far."""


def downgrade() -> None:
    """Nothing is to be taken back."""
