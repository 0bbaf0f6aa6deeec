"""Leases. Each lease is one row, which only its owner writes. Holds refer to it by its id. Times are the database's."""

import dataclasses

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

# The token is drawn after the row is locked, so that the later of two concurrent calls has the greater token.
_ACQUIRE = sqlalchemy.text("""
    INSERT INTO lease AS former (owner, engine, expires_at)
    VALUES (:owner, :engine, clock_timestamp() + make_interval(secs => :seconds))
        ON CONFLICT (owner) DO UPDATE
       SET token = DEFAULT,
           id = CASE WHEN former.engine = excluded.engine THEN former.id ELSE excluded.id END,
           engine = excluded.engine, acquired_at = clock_timestamp(),
           expires_at = clock_timestamp() + make_interval(secs => :seconds)
    RETURNING token, CAST(id AS text) AS id
""")
# Leases that are being acquired again are locked; they are skipped, so that nothing waits here.
_FORGET = sqlalchemy.text("""
    DELETE FROM lease
     WHERE token IN (SELECT token FROM lease WHERE expires_at < clock_timestamp() - make_interval(secs => :age_seconds)
                        FOR UPDATE SKIP LOCKED)
""")
_RENEW = sqlalchemy.text("""
    UPDATE lease SET expires_at = clock_timestamp() + make_interval(secs => :seconds) WHERE token = :token
    RETURNING token
""")
# The row stays as long as the rows of expired leases, because it says on which engine the runs are.
_END = sqlalchemy.text("UPDATE lease SET token = DEFAULT, expires_at = clock_timestamp() WHERE token = :token")


@dataclasses.dataclass(frozen=True, slots=True)
class Acquired:
    """A new lease: the token, and the id that holds refer to."""

    token: int
    id: str


async def acquire(connection: AsyncConnection, *, owner: str, engine: str, seconds: float) -> Acquired:
    """Begin a lease for an owner. This ends the owner's former lease."""
    row = (await connection.execute(_ACQUIRE, {"owner": owner, "engine": engine, "seconds": seconds})).one()
    return Acquired(row.token, row.id)


async def forget(connection: AsyncConnection, *, age_seconds: float) -> None:
    """Delete leases that have been over for this long."""
    await connection.execute(_FORGET, {"age_seconds": age_seconds})


async def renew(connection: AsyncConnection, token: int, *, seconds: float) -> bool:
    """Extend a lease, even if it has expired. Return False if the token is not a lease's current one."""
    return (await connection.execute(_RENEW, {"token": token, "seconds": seconds})).first() is not None


async def end(connection: AsyncConnection, token: int) -> None:
    """End a lease if it exists."""
    await connection.execute(_END, {"token": token})
