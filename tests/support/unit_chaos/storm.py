"""A storm: for a while operators ask for much and everything is killed; then all comes to rest, and is judged."""

import asyncio
import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass

import asyncpg

from support.chaos import stage
from support.chaos.cluster import Cluster
from support.chaos.deck import Deck
from support.chaos.injury import Injuries
from support.chaos.server import Server
from support.chaos.worker import Site
from support.history.record import Violation
from support.unit_chaos import counted
from support.unit_chaos.fault import Faults, Kind
from support.unit_chaos.scenario import Operator
from support.unit_chaos.witness import TYPES, Witness
from support.waiting import eventually
from tinkwell import client
from tinkwell.client import errors
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.unit.invariant import Entry, History, gather, judge

_REST_SECONDS = 300.0
_QUIET_SECONDS = 1.0
_LAST = "SELECT coalesce(max(revision), 0) FROM events WHERE resource_type::text = ANY ($1::text[])"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What runs while it storms."""

    cluster: Cluster
    servers: Sequence[Server]
    sites: Sequence[Site]
    connected: client.Client
    witness: Witness
    machines: Sequence[str]
    lease_seconds: float
    pause_seconds: float


class Storm:
    """One storm, all by its `chance`, in a namespace that nobody else uses.

    `settled_seconds` is how long it took after the last fault until everything was at rest. `units_counted` are those
    of charms of ops that were there then, and `dispatches_counted` the events and tasks that they have counted.
    """

    def __init__(
        self, scene: Scene, kinds: Sequence[Kind], *, chance: random.Random, seconds: float, rounds: int, namespace: str
    ) -> None:
        self.operator = Operator(
            scene.connected,
            machines=scene.machines,
            chance=_derived(chance),
            pause_seconds=scene.pause_seconds,
            namespace=namespace,
        )
        injuries = Injuries(
            scene.cluster, scene.servers, scene.sites, chance=_derived(chance), lease_seconds=scene.lease_seconds
        )
        faults = Faults(injuries, scene.sites, chance=_derived(chance))
        self.deck = Deck(kinds, faults.inject, chance=_derived(chance), seconds=seconds, rounds=rounds)
        self.settled_seconds = 0.0
        self.units_counted = self.dispatches_counted = 0
        self.namespace = namespace or "default"
        self._scene = scene
        self._first = len(scene.witness.events)

    async def rage(self) -> list[Violation]:
        """Let it come and pass; returns what the log shows to be wrong."""
        async with stage.running([self.operator]):
            await self.deck.deal()
        logger.info("no more faults; everything may come to rest")
        began = asyncio.get_running_loop().time()
        is_at_rest = await self._rest()
        self.settled_seconds = asyncio.get_running_loop().time() - began
        return self._judged("it", is_at_rest) + (await self._count() if is_at_rest else [])

    async def clear(self) -> list[Violation]:
        """Remove all that the storm has left; returns what the log shows to be wrong once it is gone."""
        return self._judged("the removal of all of it", await self._rest(is_removing=True))

    async def _count(self) -> list[Violation]:
        """Return what of charms of ops disagrees with the log."""
        scene = self._scene
        found = await counted.judge(scene.cluster.url, scene.sites, scene.witness.events, self.namespace)
        self.units_counted, self.dispatches_counted = found.units, found.dispatches
        return [*found.violations]

    def _judged(self, what: str, is_at_rest: bool) -> list[Violation]:
        found = []
        if not is_at_rest:
            found.append(Violation("P1", "chaos", f"{what} did not come to rest within {_REST_SECONDS:.0f} s"))
        events = self._scene.witness.events[self._first :]
        return found + judged(events, namespace=self.namespace, is_at_rest=is_at_rest)

    async def _rest(self, *, is_removing: bool = False) -> bool:
        """Wait until nothing is due any more, nothing is left of units that are gone, and all of it was seen."""
        operator, witness = self.operator, self._scene.witness

        async def is_resting() -> bool:
            try:
                if is_removing and not await operator.clear():
                    return False
                if not await operator.settle():
                    return False
                last = await self._last_revision()
                await asyncio.sleep(_QUIET_SECONDS)
                is_over = await operator.settle() and last == await self._last_revision() == witness.seen
                return is_over and _folders(self._scene.sites) <= await operator.unit_ids()
            except errors.Error:
                return False

        try:
            await eventually(is_resting, deadline_seconds=_REST_SECONDS, interval_seconds=0.5)
        except TimeoutError:
            return False
        return True

    async def _last_revision(self) -> int:
        connection = await asyncpg.connect(self._scene.cluster.url, timeout=10, command_timeout=60)
        try:
            return int(await connection.fetchval(_LAST, [each.value for each in TYPES]))
        finally:
            await connection.close(timeout=10)


def judged(events: Sequence[Entry], *, namespace: str, is_at_rest: bool) -> list[Violation]:
    """Return what the log shows to be wrong in a namespace, which is the one that its events of units are of."""
    history = gather(events, namespace=namespace, is_at_rest=is_at_rest)
    has_events = any(each.resource_type == ResourceType.UNIT_EVENT for each in events)
    if has_events and not any(unit.events for unit in history.units):
        # An empty history keeps all promises.
        return [Violation("H1", namespace, "the log has events of units, and none of them was judged")]
    return broken(history)


def broken(history: History) -> list[Violation]:
    """Return what is wrong in a history."""
    return [Violation(each.invariant, each.subject, str(each)) for each in judge(history)]


def _derived(chance: random.Random) -> random.Random:
    return random.Random(chance.getrandbits(64))


def _folders(sites: Sequence[Site]) -> set[str]:
    """Return the ids of units that have a folder."""
    return {path.name for site in sites for path in (site.state_dir / "units/units").glob("*")}
