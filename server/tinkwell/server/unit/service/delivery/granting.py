"""Implements NextEvent: grants the next event of a unit to its holder, or says why there is none."""

from tinkwell.core import errors
from tinkwell.core.value import parse
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.service.agent.election import Elections
from tinkwell.server.unit.service.agent.reaping import Reaping
from tinkwell.server.unit.service.delivery import fence, tries
from tinkwell.server.unit.service.delivery.record import Next, NoEvent, Why
from tinkwell.server.unit.service.delivery.turn import Agent, AwaitsLeader, Turn
from tinkwell.server.unit.store import delivery
from tinkwell.server.unit.store.agent import hold
from tinkwell.server.unit.store.delivery import LookAgain


class _LacksLeader(Exception):
    """The unit's application has no leader, which its next event may need."""

    def __init__(self, application_id: str) -> None:
        self.application_id = application_id
        super().__init__(application_id)


class Granting:
    """Grants events."""

    def __init__(self, database: Database, elections: Elections, reaping: Reaping) -> None:
        self._database = database
        self._elections = elections
        self._reaping = reaping

    async def next_event(self, unit_id: str, lease_token: int, *, actor: str) -> Next:
        """Grant a unit's next event under a lease, or the one that runs under it again; or say why there is none.

        Raises `errors.InvalidField`, `errors.LeaseLost`, `errors.LeaseHeld` while another live lease holds the unit,
        and `errors.IllegalTransition` for an agent that has not declared that it serves the unit.
        """
        unit_id = parse.parse_uuid("unit_id", unit_id)
        fence.parse_token(lease_token)
        looks = elects = True
        for _ in range(tries.TRIES):
            try:
                return await self._once(unit_id, lease_token, looks=looks, elects=elects, actor=actor)
            except _LacksLeader as lacks:
                await self._elections.hold(lacks.application_id, actor=actor)
                looks = False
            except AwaitsLeader as awaits:
                # If no unit can be elected, the setup continues without this step.
                elects = await self._elections.hold(awaits.application_id, actor=actor)
            except LookAgain:
                continue
        raise tries.lost_race()

    async def _once(self, unit_id: str, lease_token: int, *, looks: bool, elects: bool, actor: str) -> Next:
        turn: Turn | None = None

        async def work(transaction: Transaction) -> Next | AwaitsLeader:
            nonlocal turn
            transaction.changed = False
            turn = Turn(transaction, unit_id, lease_token=lease_token)
            # Read without a lock: the leader is checked again after the lock.
            found = await hold.find(transaction.fetch, unit_id)
            if found is None:
                await _check_lease(transaction, lease_token)
                return NoEvent(Why.GONE)
            if found.lacks_leader and looks:
                raise _LacksLeader(found.application_id)
            agent = await _take(transaction, turn, lease_token, found)
            if agent is None:
                return NoEvent(Why.GONE)
            try:
                return await turn.next(agent, elects=elects)
            except AwaitsLeader as awaits:
                # Raised only outside, because the hold must stay: a unit that no agent holds cannot be elected.
                return awaits

        answered = (await self._database.write(work, actor=actor)).value
        if turn is not None and turn.reaps:
            await self._reaping.run(actor=actor)
        if isinstance(answered, AwaitsLeader):
            raise answered
        return answered


async def _check_lease(transaction: Transaction, lease_token: int) -> None:
    found = await hold.find_lease(transaction.fetch, lease_token)
    if found is None or not found.is_live:
        raise errors.LeaseLost(lease_token)


async def _take(transaction: Transaction, turn: Turn, lease_token: int, found: hold.FoundUnit) -> Agent | None:
    """Lock a unit, after its application if it leads, and hold it under the caller's lease. Return None if it is gone.

    Raises what `Granting.next_event` raises, and `LookAgain` if the unit has become the leader in the meantime.
    """
    if found.leads and not await delivery.lock_application(transaction, found.application_id):
        return None
    if not await delivery.lock_unit(transaction, found.unit_id):
        return None
    looked = await turn.look()
    if looked is None or looked.held.is_dead:
        return None
    held = looked.held
    if held.leads and not found.leads:
        raise LookAgain
    lease_id = fence.check_grant(held, lease_token)
    if held.serving is None or not held.is_served:
        raise errors.IllegalTransition(
            f"unit {found.unit_id}", "its agent has not said by WatchUnits that it serves it"
        )
    if held.hold.lease_id != lease_id:
        await hold.take(transaction, found.unit_id, lease_id)
        turn.forget()
    return Agent(lease_token, held.serving)
