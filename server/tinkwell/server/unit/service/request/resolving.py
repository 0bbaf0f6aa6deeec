"""Implements Resolve and Request: what to do about a unit's failed event, and events that only operators request."""

from collections.abc import Awaitable, Callable
from enum import StrEnum

from tinkwell.core import errors
from tinkwell.core.unit import name as names
from tinkwell.core.unit.kinds import EventState, Life
from tinkwell.core.unit.record import Unit
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.service.delivery.tries import in_tries
from tinkwell.server.unit.service.delivery.turn import Turn
from tinkwell.server.unit.service.request import request as requests
from tinkwell.server.unit.service.request.reap import Reap
from tinkwell.server.unit.service.request.removing import missing
from tinkwell.server.unit.store import delivery
from tinkwell.server.unit.store.request import application as applications
from tinkwell.server.unit.store.request import unit


class UnitRequest(StrEnum):
    """The events that operators may request for a unit."""

    PREPARE_UPGRADE = "PREPARE_UPGRADE"
    FINISH_UPGRADE = "FINISH_UPGRADE"
    COLLECT_METRICS = "COLLECT_METRICS"


class Resolving:
    """Resolves failed events, and requests events."""

    def __init__(self, database: Database, reap: Reap) -> None:
        self._database = database
        self._reap = reap

    async def resolve(self, namespace: str, name: str, *, skip: bool, actor: str) -> Unit:
        """Retry a unit's failed event now, or with `skip` skip it and the events that must follow it at once.

        Raises `errors.InvalidField`, `errors.NotFound`, and `errors.IllegalTransition` if no event has failed.
        """
        named = requests.parse_unit(namespace, name)

        async def work(transaction: Transaction, found: Unit) -> Unit:
            turn = Turn(transaction, found.id)
            loaded = await turn.load()
            if loaded is None or loaded.in_flight is None or loaded.in_flight.state is not EventState.ERROR:
                raise errors.IllegalTransition(f"unit {found.name}", "no event of it has failed; nothing is to resolve")
            if skip:
                by = f" by {actor}" if actor else ""
                await turn.skip(loaded, loaded.in_flight, message=f"it was left out{by}: {loaded.in_flight.message}")
            else:
                await delivery.retry_in(transaction, loaded.in_flight.id, 0)
            return await unit.find_by_id(transaction.fetch, found.id) or found

        resolved = await self._write(named, work, actor=actor)
        await self._reap(actor=actor)
        return resolved

    async def request(self, namespace: str, name: str, asked: UnitRequest, *, actor: str) -> Unit:
        """Request an event for a unit. A request that is pending already is not made twice.

        Raises `errors.InvalidField`, `errors.NotFound`, `errors.UnitInError`, and `errors.IllegalTransition`.
        """
        named = requests.parse_unit(namespace, name)

        async def work(transaction: Transaction, found: Unit) -> Unit:
            _check_request(found)
            counts = await unit.requests(transaction, found.id)
            transaction.changed = _is_new(found.name, asked, counts)
            if transaction.changed:
                await unit.request(transaction, found.id, asked.value)
            return await unit.find_by_id(transaction.fetch, found.id) or found

        return await self._write(named, work, actor=actor)

    async def _write(
        self, named: requests.Named, work: Callable[[Transaction, Unit], Awaitable[Unit]], *, actor: str
    ) -> Unit:
        """Run work on a unit, which is locked after its application."""

        async def locked(transaction: Transaction) -> Unit:
            application = names.application_of(named.name)
            await applications.lock(transaction, named.namespace, [application])
            found = await unit.lock(transaction, named.namespace, named.name)
            if found is None:
                raise missing(named.name)
            return await work(transaction, found)

        return (await in_tries(lambda: self._database.write(locked, actor=actor))).value


def _check_request(found: Unit) -> None:
    if found.life is not Life.ALIVE:
        raise errors.IllegalTransition(f"unit {found.name}", "it is being removed, and gets no more requests")
    if found.event is not None and found.event.state is EventState.ERROR:
        raise errors.UnitInError(found.name, event=found.event.name)


def _is_new(name: str, asked: UnitRequest, counts: unit.Counts) -> bool:
    """Whether a request is not pending yet. Raises `errors.IllegalTransition` for one out of turn."""
    match asked:
        case UnitRequest.PREPARE_UPGRADE:
            if counts.prepared == counts.finished and counts.finished_seen < counts.finished:
                raise errors.IllegalTransition(f"unit {name}", "post-series-upgrade has not ended; wait for it")
            return counts.prepared == counts.finished
        case UnitRequest.FINISH_UPGRADE:
            if not counts.prepared:
                raise errors.IllegalTransition(f"unit {name}", "no upgrade of its machine was prepared; do that first")
            return counts.prepared > counts.finished
        case UnitRequest.COLLECT_METRICS:
            return counts.metrics == counts.metrics_seen
