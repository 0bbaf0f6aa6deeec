"""Ends attempts that are past their deadline although their agent lives, because the agent has not ended them.

This applies only if the agent's lease is the one of the grant. Under another lease the attempt is lost, and the agent
may still report its outcome.
"""

from tinkwell.core.unit.kinds import EventState
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.service.delivery.turn import Turn
from tinkwell.server.unit.store import delivery
from tinkwell.server.unit.store.agent import overdue as store

# The time that an agent has to end its attempt itself and to report that.
GRACE_SECONDS = 30.0
# Further attempts are ended in the next round.
_AT_ONCE = 100


class Overdue:
    """Puts events that are past their deadline in ERROR."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def end_all(self, *, actor: str) -> None:
        """End the late attempts, the latest first. Later reports of their agents are refused."""
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
            # A second look after the lock: the attempt may have ended in the meantime, or a new one begun.
            if loaded is None or flight is None or flight.id != event_id or flight.state is not EventState.RUNNING:
                return
            if flight.remaining_seconds <= -GRACE_SECONDS:
                seconds = loaded.settings.event_timeout_seconds
                message = f"it took longer than {seconds:,} s, and its agent did not end it"
                await turn.fail(loaded, flight, message=message)

        await self._database.write(work, actor=actor)
