"""Ends attempts that are past their deadline, where the agent that has to do that lives, but does not.

Only where its lease is the one of the grant: under another one the attempt is lost, and its outcome may still be told.
"""

from tinkwell.core.unit.kinds import EventState
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.service.delivery.turn import Turn
from tinkwell.server.unit.store import delivery
from tinkwell.server.unit.store.agent import overdue as store

# An agent is given so long to end its attempt itself, and to say so.
GRACE_SECONDS = 30.0
# The others come with the next round.
_AT_ONCE = 100


class Overdue:
    """Puts events in error that nobody ends."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def end_all(self, *, actor: str) -> None:
        """End those that are late, the latest first; what their agents tell of them afterwards is refused."""
        found = await store.find(self._database.fetch, late_seconds=GRACE_SECONDS, most=_AT_ONCE)
        for unit_id, event_id in found:
            await self._end(unit_id, event_id, actor=actor)

    async def _end(self, unit_id: str, event_id: str, *, actor: str) -> None:
        async def work(transaction: Transaction) -> None:
            transaction.changed = False
            if not await delivery.lock_unit(transaction, unit_id):
                return
            turn = Turn(transaction, unit_id)
            loaded = await turn.load()
            flight = loaded.in_flight if loaded is not None else None
            # By a statement after the lock: it may have ended meanwhile, or be made again.
            if loaded is None or flight is None or flight.id != event_id or flight.state is not EventState.RUNNING:
                return
            if flight.remaining_seconds <= -GRACE_SECONDS:
                seconds = loaded.settings.event_timeout_seconds
                message = f"it took longer than {seconds:,} s, and its agent did not end it"
                await turn.fail(loaded, flight, message=message)

        await self._database.write(work, actor=actor)
