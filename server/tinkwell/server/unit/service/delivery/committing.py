"""Implements CommitEvent and FailEvent: an attempt ends with all of its effects or none, and the next event is granted.

An attempt is identified by its number. A call about another attempt than the current one is too late: that attempt was
lost, and a new one has begun. A call that repeats the end of an attempt gets the answer of the first call.
"""

import dataclasses
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from tinkwell.core import errors
from tinkwell.core.unit.effect import Effects
from tinkwell.core.unit.kinds import EventKind, EventState
from tinkwell.core.value import check, parse
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.secret.service.operations import SecretService
from tinkwell.server.unit.service.agent.reaping import Reaping
from tinkwell.server.unit.service.delivery import effects, fence
from tinkwell.server.unit.service.delivery.crowd import Crowd
from tinkwell.server.unit.service.delivery.following import Refusal, following
from tinkwell.server.unit.service.delivery.record import Next
from tinkwell.server.unit.service.delivery.tries import in_tries
from tinkwell.server.unit.service.delivery.turn import Turn
from tinkwell.server.unit.store import delivery
from tinkwell.server.unit.store.agent import hold
from tinkwell.server.unit.store.agent.hold import FoundEvent
from tinkwell.server.unit.store.delivery import EventRow, Loaded, LookAgain, Looked

MAX_ATTEMPT = 2**31 - 1
_MAX_MESSAGE_CHARACTERS = 1_000
# The plan of `install` contains every relation that the log has before it, so a transaction that relates the
# application waits. A unit that was elected announces its term in the application, even if it no longer leads.
_APPLICATION_KINDS = frozenset({EventKind.INSTALL, EventKind.LEADER_ELECTED})


@dataclasses.dataclass(frozen=True, slots=True)
class _Attempt:
    """The attempt that a call is about, and the caller."""

    event_id: str
    attempt: int
    lease_token: int
    grants: bool = True


_End: TypeAlias = Callable[[Turn, Transaction, Looked, EventRow], Awaitable[Refusal | None]]


@dataclasses.dataclass(frozen=True, slots=True)
class _Call:
    """What a call does to an attempt."""

    asked: _Attempt
    end: _End
    is_commit: bool
    locks_application: bool


class Committing:
    """Ends attempts.

    Both calls return what NextEvent would return. They raise `errors.InvalidField`, `errors.NotFound`,
    `errors.LeaseLost` for an attempt that is not the current one or that another lease holds, and
    `errors.IllegalTransition` for one that has ended in another way.
    """

    def __init__(self, database: Database, reaping: Reaping, sealing: SecretService) -> None:
        self._database = database
        self._reaping = reaping
        self._crowd = Crowd()
        self._sealing = sealing

    async def commit(
        self, event_id: str, attempt: int, given: Effects, *, lease_token: int, is_last: bool = False, actor: str
    ) -> Next:
        """End an event with success.

        Raises `errors.CommitRefused` if its effects are not allowed; the event has failed then. Raises
        `errors.NotLeader` if it writes what only a leader may write and the term of its grant is over; the attempt is
        lost then.
        """
        asked = _parse(_Attempt(event_id, attempt, lease_token, grants=not is_last))

        async def end(turn: Turn, transaction: Transaction, looked: Looked, flight: EventRow) -> Refusal | None:
            return await self._commit(turn, transaction, looked, flight, given)

        locks_application = effects.writes_application(given)
        return await self._end(asked, end, is_commit=True, locks_application=locks_application, actor=actor)

    async def fail(
        self,
        event_id: str,
        attempt: int,
        *,
        message: str,
        is_lost: bool,
        is_handed_back: bool = False,
        lease_token: int,
        actor: str,
    ) -> Next:
        """End an attempt without success.

        A lost attempt is repeated at once, the first time in a row. An attempt that is handed back is repeated by the
        next agent, any number of times.
        """
        asked = _parse(_Attempt(event_id, attempt, lease_token, grants=not is_handed_back))
        message = " ".join(message.replace("\0", "").split())[:_MAX_MESSAGE_CHARACTERS] or "it has failed"

        async def end(turn: Turn, transaction: Transaction, looked: Looked, flight: EventRow) -> None:
            if is_handed_back:
                await turn.give_up(flight, lease_token=delivery.HANDED_BACK)
            elif is_lost:
                await turn.give_up(flight)
            else:
                await turn.fail(looked.loaded, flight, message=message)

        return await self._end(asked, end, is_commit=False, locks_application=False, actor=actor)

    async def _commit(
        self, turn: Turn, transaction: Transaction, looked: Looked, flight: EventRow, given: Effects
    ) -> Refusal | None:
        loaded, event = looked.loaded, flight.event
        if await effects.has_led(transaction, loaded, given):
            # The unit led when it wrote this, and no longer does. The event is repeated, and sees the unit as a
            # follower.
            await turn.give_up(flight)
            return Refusal(effects.not_leader(loaded))
        ground = effects.ground_of(looked, event, charm=event.seen.charm, ordinal=flight.ordinal, term=given.term)
        try:
            done = await effects.write(transaction, ground, given, self._sealing)
        except effects.Refused as refused:
            await turn.fail(loaded, flight, message=f"refused: {refused.error}"[:_MAX_MESSAGE_CHARACTERS])
            return Refusal(refused.for_caller)
        await turn.commit(loaded, flight, done)
        return None

    async def _end(self, asked: _Attempt, end: _End, *, is_commit: bool, locks_application: bool, actor: str) -> Next:
        call = _Call(asked, end, is_commit, locks_application)
        return await in_tries(lambda: self._once(call, actor=actor))

    async def _once(self, call: _Call, *, actor: str) -> Next:
        turns: list[Turn] = []
        # Read without a lock: these values never change, except for the leader, which is checked again later.
        event = await hold.find_event(self._database.fetch, call.asked.event_id)
        if event is None:
            raise errors.NotFound("UNIT_EVENT", call.asked.event_id)

        async def work(transaction: Transaction) -> Next | Refusal:
            transaction.changed = False
            turns[:] = [Turn(transaction, event.unit.unit_id, lease_token=call.asked.lease_token)]
            looked = await _lock(transaction, turns[0], call, event)
            flight = await _flight(transaction, call, looked.loaded)
            if flight is not None:
                refusal = await call.end(turns[0], transaction, looked, flight)
                if refusal is not None:
                    return refusal
            return await following(turns[0], looked.held, lease_token=call.asked.lease_token, grants=call.asked.grants)

        async with self._crowd.turn(event):
            ended = (await self._database.write(work, actor=actor)).value
        if turns[0].reaps:
            await self._reaping.run(actor=actor)
        if isinstance(ended, Refusal):
            # Raised only here, outside of the transaction, so that what was written stays.
            raise ended.error
        return ended


async def _lock(transaction: Transaction, turn: Turn, call: _Call, event: FoundEvent) -> Looked:
    """Lock all rows that the end of an attempt may change, in the global order, and look at the unit."""
    found = event.unit
    locks_application = found.leads or call.locks_application or event.kind in _APPLICATION_KINDS
    if locks_application and not await delivery.lock_application(transaction, found.application_id):
        raise errors.NotFound("UNIT_EVENT", call.asked.event_id)
    if not await delivery.lock_unit(transaction, found.unit_id):
        raise errors.NotFound("UNIT_EVENT", call.asked.event_id)
    if event.kind is EventKind.RELATION_CREATED:
        await delivery.lock_relation(transaction, event.namespace, event.relation)
    looked = await turn.look()
    if looked is None or (looked.held.leads and not locks_application):
        raise LookAgain
    if fence.inherits(looked.held, call.asked.lease_token) and looked.held.own is not None:
        await hold.take(transaction, found.unit_id, looked.held.own.id)
    return looked


async def _flight(transaction: Transaction, call: _Call, loaded: Loaded) -> EventRow | None:
    """Return the attempt if it has to be ended, or None if it was ended in the same way before."""
    asked, flight = call.asked, loaded.in_flight
    if flight is not None and flight.id == asked.event_id:
        if flight.attempt != asked.attempt:
            raise errors.LeaseLost(
                asked.lease_token, f"attempt {asked.attempt} was lost; {flight.attempt} is the current"
            )
        if flight.state is EventState.RUNNING:
            return flight
        if not call.is_commit:
            return None
        raise errors.IllegalTransition(f"unit event {asked.event_id}", "this attempt at it has failed already")
    event = await hold.find_event(transaction.fetch, asked.event_id)
    if event is None:
        raise errors.NotFound("UNIT_EVENT", asked.event_id)
    if call.is_commit and event.state is EventState.COMMITTED and event.attempt == asked.attempt:
        return None
    raise errors.IllegalTransition(f"unit event {asked.event_id}", f"it is {event.state} already")


def _parse(asked: _Attempt) -> _Attempt:
    checks = check.Checks()
    event_id = checks.take(parse.parse_uuid, "event_id", asked.event_id)
    checks.take(parse.parse_int_range, "attempt", asked.attempt, low=1, high=MAX_ATTEMPT)
    checks.take(parse.parse_int_range, "lease_token", asked.lease_token, low=1, high=fence.MAX_TOKEN)
    checks.finish()
    return dataclasses.replace(asked, event_id=event_id)
