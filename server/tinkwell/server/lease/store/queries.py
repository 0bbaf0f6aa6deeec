"""Leases: each is one row, which its owner alone writes. What is held under one follows it by its id.

Time is the database's.
"""

import dataclasses

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

# The token is drawn once the row is locked, so that of two that come at once the later one has the greater.
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
# What another one is just acquiring again is skipped, so that nobody waits here.
_FORGET = sqlalchemy.text("""
    DELETE FROM lease
     WHERE token IN (SELECT token FROM lease WHERE expires_at < clock_timestamp() - make_interval(secs => :age_seconds)
                        FOR UPDATE SKIP LOCKED)
""")
_RENEW = sqlalchemy.text("""
    UPDATE lease SET expires_at = clock_timestamp() + make_interval(secs => :seconds) WHERE token = :token
    RETURNING token
""")
# The row stays for as long as those of others that have died, since it says on which engine the runs are.
_END = sqlalchemy.text("UPDATE lease SET token = DEFAULT, expires_at = clock_timestamp() WHERE token = :token")


@dataclasses.dataclass(frozen=True, slots=True)
class Acquired:
    """A lease that has begun: the token, and the id that holds refer to."""

    token: int
    id: str


async def acquire(connection: AsyncConnection, *, owner: str, engine: str, seconds: float) -> Acquired:
    """Begin a lease for an owner, whose former one is over by that."""
    row = (await connection.execute(_ACQUIRE, {"owner": owner, "engine": engine, "seconds": seconds})).one()
    return Acquired(row.token, row.id)


async def forget(connection: AsyncConnection, *, age_seconds: float) -> None:
    """Forget leases that have been over for so long."""
    await connection.execute(_FORGET, {"age_seconds": age_seconds})


async def renew(connection: AsyncConnection, token: int, *, seconds: float) -> bool:
    """Extend a lease, also one that has expired; False if it is none any more."""
    return (await connection.execute(_RENEW, {"token": token, "seconds": seconds})).first() is not None


async def end(connection: AsyncConnection, token: int) -> None:
    """End a lease, if it is one."""
    await connection.execute(_END, {"token": token})
