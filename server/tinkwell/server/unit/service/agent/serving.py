"""WatchUnits: what an agent serves is kept beside its lease, units that wait are placed, and then it listens."""

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
MAX_CHARMS = 100
MAX_APPLICATIONS = 100
_MAX_DIGEST_BYTES = 200


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What an agent says that it serves, as it was given; see `Serving`."""

    kinds: Sequence[CharmKind]
    machines: Sequence[str] = ()
    is_anywhere: bool = False
    charms: Sequence[str] = ()
    namespace: str = ""
    applications: Sequence[str] = ()


class ServingService:
    """Lets agents listen."""

    def __init__(self, database: Database, reaping: Reaping, wakes: Wakes) -> None:
        self._database = database
        self._reaping = reaping
        self._wakes = wakes

    async def watch(
        self, offer: Offer, lease_token: int, *, actor: str
    ) -> AsyncGenerator[tuple[list[str], bool], None]:
        """Yield ids of units that may have something due, with whether they are the last of those that come at first.

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
                kinds=frozenset(kind.value for kind in offer.kinds),
                machines=frozenset(offer.machines),
                is_anywhere=offer.is_anywhere,
                charms=frozenset(offer.charms),
                namespace=offer.namespace,
                applications=frozenset(offer.applications),
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
    for field, given, most in (
        ("machines", offer.machines, MAX_MACHINES),
        ("charms", offer.charms, MAX_CHARMS),
        ("applications", offer.applications, MAX_APPLICATIONS),
    ):
        if len(given) > most:
            checks.refuse(field, f"there are {len(given):,}; at most {most:,} may be")
    checks.finish()
    machines = [
        checks.take(parse.parse_uuid, parse.child("machines", i), each) for i, each in enumerate(offer.machines)
    ]
    for index, digest in enumerate(offer.charms):
        checks.take(parse.parse_text, parse.child("charms", index), digest, max_bytes=_MAX_DIGEST_BYTES)
    for index, application in enumerate(offer.applications):
        checks.take(name.parse_application, parse.child("applications", index), application)
    if offer.namespace:
        checks.take(parse.parse_text, "namespace", offer.namespace, max_bytes=name.MAX_CHARACTERS)
    checks.finish()
    return dataclasses.replace(offer, machines=machines)
