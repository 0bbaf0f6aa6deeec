"""Checks whether a database can be used: reachable, with a fitting schema, encoded as UTF-8, safe against a crash.

It also checks that nobody has changed the log so that events would be lost; see `guard`.
"""

import asyncio
import logging

import asyncpg
import sqlalchemy
from sqlalchemy import exc
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core import errors
from tinkwell.server.database import engine, guard, reach, schema

logger = logging.getLogger(__name__)

# The beginning of the message of `wait` about a database that cannot be reached.
UNREACHABLE = "the database at "
_PATIENCE_SECONDS = 30.0
_PAUSE_SECONDS = 0.5


class NotUsable(Exception):
    """The database answers, but must not be used. The text says what to do."""


async def wait(database_url: str, *, allow_unsafe: bool, patience_seconds: float = _PATIENCE_SECONDS) -> None:
    """Return when the database can be used.

    Raises `errors.Unavailable` if it does not answer in time, and `NotUsable` if it must not be used.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience_seconds
    told = ""
    while True:
        try:
            return await _check(database_url, allow_unsafe=allow_unsafe)
        except (exc.DBAPIError, asyncpg.PostgresError, *engine.CONNECTION_ERRORS) as error:
            place, reason = engine.place(database_url), engine.reason(error)
            if engine.is_refusal(error) or loop.time() > deadline:
                raise errors.Unavailable(f"{UNREACHABLE}{place} cannot be used: {reason}") from error
            if reason != told:
                logger.warning("waiting for the database", extra={"database": place, "cause": reason})
            told = reason
            await asyncio.sleep(_PAUSE_SECONDS)


async def _check(database_url: str, *, allow_unsafe: bool) -> None:
    try:
        state = await schema.current(database_url)
    except schema.Refused as error:
        raise NotUsable(str(error)) from error
    if text := schema.refusal(state, schema.this_release()):
        raise NotUsable(text)
    async with engine.connect(database_url) as connection:
        fsync = (await connection.execute(sqlalchemy.text("SHOW fsync"))).scalar_one()
        faults = await _faults(connection)
    if faults:
        raise NotUsable("; ".join(faults))
    if fsync == "off" and not allow_unsafe:
        raise NotUsable(
            "the database runs with fsync = off: after a crash it would hand out delivered revisions again; "
            "turn fsync on, or set TINKWELL_THROWAWAY_DATABASE=true for a database that may be lost"
        )


async def _faults(connection: AsyncConnection) -> list[str]:
    driver = (await connection.get_raw_connection()).driver_connection
    assert driver is not None
    try:
        return await guard.faults(driver.fetch)
    except asyncpg.PostgresError as error:
        if not reach.is_incomplete(error):
            raise
        # The readers of the log wait for the missing parts, and check again when these exist.
        return []
