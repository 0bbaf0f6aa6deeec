"""Events that no change of a row stands behind, and the named positions of consumers."""

import dataclasses
import datetime

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core import errors
from tinkwell.core.event.page import Incomplete
from tinkwell.server.database.database import Database

_PUBLISH = "SELECT id::text, revision FROM publish_event($1::text, $2::text::uuid, $3::text::json, $4::text)"
_GET = sqlalchemy.text(
    "SELECT name, revision, history_id::text, token, updated_at FROM event_position WHERE name = :name"
)
_CLAIM = sqlalchemy.text("""
    INSERT INTO event_position (name, history_id, token)
    SELECT :name, history_id, 1 FROM event_history
    ON CONFLICT (name) DO UPDATE SET token = event_position.token + 1, updated_at = clock_timestamp()
    RETURNING name, revision, history_id::text, token, updated_at
""")
_LOCK = sqlalchemy.text(
    "SELECT name, revision, history_id::text, token, updated_at FROM event_position WHERE name = :name FOR UPDATE"
)
_COMMIT = sqlalchemy.text("""
    UPDATE event_position
       SET revision = :revision, history_id = CAST(:history_id AS uuid), updated_at = clock_timestamp()
     WHERE name = :name
    RETURNING name, revision, history_id::text, token, updated_at
""")
_LAST_DRAWN = sqlalchemy.text("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM events_revision")


@dataclasses.dataclass(frozen=True, slots=True)
class Position:
    """How far a named consumer has come, and the token that may move it on."""

    name: str
    revision: int
    history_id: str
    token: int
    updated_at: datetime.datetime


async def publish(database: Database, *, name: str, resource_id: str, data: str, actor: str) -> tuple[str, int]:
    """Record a custom event and return its id and revision."""
    [recorded] = await database.fetch(_PUBLISH, name, resource_id or None, data, actor)
    return str(recorded["id"]), int(recorded["revision"])


async def get_position(connection: AsyncConnection, name: str) -> Position | None:
    """Return the position, None if nobody has claimed it yet."""
    return await _position(connection, _GET, {"name": name})


async def claim_position(connection: AsyncConnection, name: str) -> Position:
    """Take the position over, at the beginning of the log if it is new."""
    position = await _position(connection, _CLAIM, {"name": name})
    if position is None:
        raise errors.Unavailable(str(Incomplete("event_history is empty")))
    return position


async def lock_position(connection: AsyncConnection, name: str) -> Position | None:
    """Return the position and keep others from moving it until the transaction ends."""
    return await _position(connection, _LOCK, {"name": name})


async def commit_position(connection: AsyncConnection, *, name: str, revision: int, history_id: str) -> Position:
    """Move a position that `lock_position` has returned."""
    values = {"name": name, "revision": revision, "history_id": history_id}
    position = await _position(connection, _COMMIT, values)
    assert position is not None
    return position


async def last_drawn(connection: AsyncConnection) -> int:
    """Return the highest revision that was ever drawn."""
    return int((await connection.execute(_LAST_DRAWN)).scalar_one())


async def _position(
    connection: AsyncConnection, query: sqlalchemy.TextClause, values: dict[str, object]
) -> Position | None:
    row = (await connection.execute(query, values)).one_or_none()
    return Position(*row) if row is not None else None
