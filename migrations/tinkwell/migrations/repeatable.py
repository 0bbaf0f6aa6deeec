"""The files that an upgrade runs whole after the last revision, if their text has changed: shapes and functions.

Revisions change types, tables, views and triggers, and are never edited. These files hold the functions as they are
today, so a function is read in its file and changed there. The schema keeps in `schema_file` what was run. What holds
for every file:

* It may be run on a schema that has any former text of it, so it says CREATE OR REPLACE FUNCTION. A function that is
  removed, or gets another signature or result, is dropped by a revision.
* Bodies are strings. One that is bound when it is made (`RETURN …`) would keep columns from being changed.
* It ends with the REVOKEs of its functions.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy
from sqlalchemy.engine import Connection

from tinkwell.migrations import statement

# In this order: a room's functions may call those of the rooms before it.
ROOMS = (
    *("schema", "event", "lease", "secret", "hardware", "template", "workflow"),
    *("chart", "lifecycle", "release", "unit"),
)
_KINDS = ("shape", "function")
FUNCTION = re.compile(r"^CREATE (?:OR REPLACE )?FUNCTION (\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class File:
    """A file that is run whole, named as it is below `sql`."""

    name: str
    text: str

    @property
    def sha256(self) -> str:
        """What tells this text from all others."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def files(location: Path) -> list[File]:
    """Return the files of the migrations at this place, in the order in which they are run."""
    paths = (location / "sql" / room / f"{kind}.sql" for room in ROOMS for kind in _KINDS)
    return [_file(path, location) for path in paths if path.is_file()]


def hashes(location: Path) -> dict[str, str]:
    """Return the SHA-256 of each file by its name, as `kept` does for a schema that has these files."""
    return {file.name: file.sha256 for file in files(location)}


def kept(connection: Connection) -> dict[str, str]:
    """Return what the schema keeps: the SHA-256 of each file that was run, by its name."""
    rows = connection.execute(sqlalchemy.text("SELECT name, sha256 FROM schema_file"))
    return {row.name: row.sha256 for row in rows}


def run(connection: Connection, location: Path) -> None:
    """Run those files whose text differs from what the schema keeps, and have it keep what they are now."""
    former = kept(connection)
    changed = [file for file in files(location) if former.get(file.name) != file.sha256]
    # Events of changes that a revision has made are written by the functions as they are, not as they will be.
    connection.execute(sqlalchemy.text("SET CONSTRAINTS ALL IMMEDIATE"))
    for file in changed:
        statement.execute(connection, file.text)
    _keep(connection, hashes(location))


def functions(location: Path) -> list[str]:
    """Return the names of all functions that the migrations at this place define, in whatever file."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((location / "sql").rglob("*.sql"))]
    return [name for text in texts for name in FUNCTION.findall(text)]


def _file(path: Path, location: Path) -> File:
    return File(path.relative_to(location / "sql").as_posix(), path.read_text(encoding="utf-8"))


def _keep(connection: Connection, ours: Mapping[str, str]) -> None:
    connection.execute(sqlalchemy.text("DELETE FROM schema_file"))
    connection.execute(
        sqlalchemy.text("INSERT INTO schema_file (name, sha256) VALUES (:name, :sha256)"),
        [{"name": name, "sha256": sha256} for name, sha256 in ours.items()],
    )
