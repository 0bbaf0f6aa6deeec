"""The schema: Alembic revisions, with triggers and functions as SQL files."""
