"""Reads all that a transaction about a unit's events needs, by one statement after the locks.

One statement, because the number of statements decides on the cost of an event. The result is what the next event
depends on, the unit's own data, and its holder.
"""

import dataclasses

from tinkwell.server.database.database import Fetch
from tinkwell.server.unit.store.agent import hold, own
from tinkwell.server.unit.store.delivery import state
from tinkwell.server.unit.store.delivery.row import Loaded

# Columns with the same name have the same content.
LOOK = f"""
    SELECT {state.COLUMNS}, {own.COLUMNS}, {hold.COLUMNS}
      FROM {state.TABLES} {own.JOINS} {hold.JOINS}
     WHERE u.id = $1::text::uuid
"""  # noqa: S608


@dataclasses.dataclass(frozen=True, slots=True)
class Looked:
    """A unit at one moment."""

    loaded: Loaded
    own: own.Own
    held: hold.Held


async def look(fetch: Fetch, unit_id: str, *, lease_token: int) -> Looked | None:
    """Read a unit for the holder of a lease. Return None if there is no such unit."""
    found = await fetch(LOOK, unit_id, lease_token)
    if not found:
        return None
    row = found[0]
    return Looked(state.loaded_of(row), own.own_of(row), hold.held_of(unit_id, row))
