"""Implements WatchUnits: stores what an agent serves beside its lease, places waiting units, and then streams names."""

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Sequence

from tinkwell.core import errors
from tinkwell.core.unit import name
from tinkwell.core.unit.kinds import CharmKind
from tinkwell.core.value import check, parse
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.service.agent.reaping import Reaping
from tinkwell.server.unit.service.agent.wake import Wakes
from tinkwell.server.unit.service.delivery import fence
from tinkwell.server.unit.store.agent import hold
from tinkwell.server.unit.store.agent.wake import Serving

MAX_MACHINES = 1_000
_MAX_DIGEST_BYTES = 200


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What an agent serves, as the agent sent it; see `Serving`."""

    kinds: Sequence[CharmKind]
    machines: Sequence[str] = ()
    is_anywhere: bool = False
    charm: str = ""
    namespace: str = ""
    application: str = ""


class ServingService:
    """Lets agents listen."""

    def __init__(self, database: Database, reaping: Reaping, wakes: Wakes) -> None:
        self._database = database
        self._reaping = reaping
        self._wakes = wakes

    async def watch(
        self, offer: Offer, lease_token: int, *, actor: str
    ) -> AsyncGenerator[tuple[list[str], bool], None]:
        """Yield the ids of units that may have something due, and whether the batch is the last of the initial ones.

        Raises `errors.InvalidField`, `errors.LeaseLost`, `errors.LimitReached`, `errors.Unavailable`.
        """
        fence.parse_token(lease_token)
        offer = _check(offer)

        async def work(transaction: Transaction) -> Serving:
            transaction.changed = False
            own = await hold.find_lease(transaction.fetch, lease_token)
            if own is None or not own.is_live:
                raise errors.LeaseLost(lease_token)
            serving = Serving(
                lease_id=own.id,
                engine=own.engine,
                kinds=frozenset(kind.value for kind in offer.kinds),
                machines=frozenset(offer.machines),
                is_anywhere=offer.is_anywhere,
                charms=frozenset(filter(None, [offer.charm])),
                namespace=offer.namespace,
                applications=frozenset(filter(None, [offer.application])),
            )
            await hold.serve(transaction, serving)
            await hold.place(transaction, serving)
            return serving

        serving = (await self._database.write(work, actor=actor)).value
        await self._reaping.run(actor=actor)
        async with contextlib.aclosing(self._wakes.watch(serving)) as batches:
            async for batch in batches:
                yield batch


def _check(offer: Offer) -> Offer:
    checks = check.Checks()
    if not offer.kinds:
        checks.refuse("kinds", "is empty; name the kinds of charms that the agent runs")
    if not offer.machines and not offer.is_anywhere:
        checks.refuse("machines", "is empty; name machines, or set is_anywhere")
    if len(offer.machines) > MAX_MACHINES:
        checks.refuse("machines", f"there are {len(offer.machines):,}; at most {MAX_MACHINES:,} may be")
    checks.finish()
    machines = [
        checks.take(parse.parse_uuid, parse.child("machines", i), each) for i, each in enumerate(offer.machines)
    ]
    if offer.charm:
        checks.take(parse.parse_text, "charm", offer.charm, max_bytes=_MAX_DIGEST_BYTES)
    if offer.application:
        checks.take(name.parse_application, "application", offer.application)
    if offer.namespace:
        checks.take(parse.parse_text, "namespace", offer.namespace, max_bytes=name.MAX_CHARACTERS)
    checks.finish()
    return dataclasses.replace(offer, machines=machines)
