"""Gives a role that owns nothing what a server needs: the statements of each room's `grant.sql`."""

from pathlib import Path

from sqlalchemy.engine import Connection

from tinkwell.migrations import repeatable, statement

# As psql writes a variable that is to be quoted as a name.
_ROLE = ':"server_role"'


def run(connection: Connection, location: Path, role: str) -> None:
    """Grant the role what the migrations at this place say."""
    for room in repeatable.ROOMS:
        text = (location / "sql" / room / "grant.sql").read_text(encoding="utf-8")
        statement.execute(connection, text.replace(_ROLE, _quoted(role)))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
