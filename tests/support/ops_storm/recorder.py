"""What an agent was granted, with all that its charm may read then, and what it has left."""

import contextlib
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field

from tinkwell.api.v1 import unit_service_pb2 as pb
from tinkwell.client import Grant, NoEvent, UnitLogLine, UnitStatus, errors
from tinkwell.client.unit.agent.grant import SecretContent
from tinkwell.client.unit.agent.worker import UnitClient
from tinkwell.client.unit.model import Bag
from tinkwell.core.unit.effect import Effects, TaskOutcome
from tinkwell.core.unit.kinds import CharmKind

_SECRET = re.compile(r"secret:([0-9a-v]{20})")


@dataclass(slots=True)
class Attempt:
    """One attempt that was committed: its grant, what could be read under it, and what it left.

    `bags` are those of others, by relation and owner; `contents` are the newest revisions of secrets, and those that
    the unit reads, by id and revision.
    """

    grant: Grant
    bags: Mapping[tuple[int, str], Mapping[str, str]]
    contents: Mapping[tuple[str, int], Mapping[str, str]]
    status: UnitStatus
    effects: pb.Effects = field(default_factory=pb.Effects)
    outcome: TaskOutcome | None = None


class Recorder:
    """The calls of an agent, as `UnitApi` has them, of which it keeps what it needs of units of ops."""

    def __init__(self, units: UnitClient) -> None:
        self._units = units
        self._in_flight: dict[str, Attempt] = {}
        self.committed: list[Attempt] = []
        self.failed: list[str] = []

    def wakes(
        self,
        lease_token: int,
        *,
        kinds: Iterable[CharmKind | str],
        machines: Iterable[str] = (),
        anywhere: bool = False,
        charm: str = "",
        namespace: str = "",
        application: str = "",
    ) -> AsyncIterator[tuple[str, ...]]:
        about = {"charm": charm, "namespace": namespace, "application": application}
        return self._units.wakes(lease_token, kinds=kinds, machines=machines, anywhere=anywhere, **about)

    async def next_event(self, lease_token: int, unit_id: str) -> Grant | NoEvent:
        return await self._see(lease_token, await self._units.next_event(lease_token, unit_id))

    async def commit(
        self,
        lease_token: int,
        event_id: str,
        attempt: int,
        effects: Effects | bytes,
        *,
        is_last: bool = False,
        task: TaskOutcome | None = None,
    ) -> Grant | NoEvent:
        following = await self._units.commit(lease_token, event_id, attempt, effects, is_last=is_last, task=task)
        if (ended := self._in_flight.pop(event_id, None)) is not None:
            assert isinstance(effects, bytes), "an agent keeps effects as they are sent"
            ended.effects, ended.outcome = pb.Effects.FromString(effects), task
            self.committed.append(ended)
        return await self._see(lease_token, following)

    async def fail(
        self,
        lease_token: int,
        event_id: str,
        attempt: int,
        why: str,
        *,
        is_lost: bool = False,
        is_handed_back: bool = False,
    ) -> Grant | NoEvent:
        if not (is_lost or is_handed_back):
            self.failed.append(why)
        how = {"is_lost": is_lost, "is_handed_back": is_handed_back}
        return await self._see(lease_token, await self._units.fail(lease_token, event_id, attempt, why, **how))

    async def read_bag(self, lease_token: int, event_id: str, relation: int, owner: str) -> Bag:
        return await self._units.read_bag(lease_token, event_id, relation, owner)

    async def read_secret(
        self, lease_token: int, event_id: str, secret: str = "", *, label: str = "", revision: int = 0
    ) -> SecretContent:
        return await self._units.read_secret(lease_token, event_id, secret, label=label, revision=revision)

    async def append_task_log(self, lease_token: int, task_id: str, number: int, lines: Iterable[str]) -> None:
        await self._units.append_task_log(lease_token, task_id, number, lines)

    async def set_status(
        self,
        lease_token: int,
        unit_id: str,
        *,
        status: UnitStatus | None = None,
        application_status: UnitStatus | None = None,
        workload_version: str | None = None,
    ) -> None:
        await self._units.set_status(
            lease_token,
            unit_id,
            status=status,
            application_status=application_status,
            workload_version=workload_version,
        )
        for each in self._in_flight.values():
            if status is not None and each.grant.unit_id == unit_id:
                each.status = status

    async def append_logs(self, lease_token: int, unit_id: str, lines: Iterable[UnitLogLine]) -> int:
        return await self._units.append_logs(lease_token, unit_id, lines)

    def fetch_charm(self, lease_token: int, digest: str) -> AsyncIterator[bytes]:
        return self._units.fetch_charm(lease_token, digest)

    async def _see(self, lease_token: int, following: Grant | NoEvent) -> Grant | NoEvent:
        if isinstance(following, Grant) and following.kind is CharmKind.OPS and not self._is_again(following):
            bags = await self._bags(lease_token, following)
            contents = await self._contents(lease_token, following, bags)
            seen = Attempt(following, bags, contents, following.status)
            self._in_flight[following.event.id] = seen
        return following

    def _is_again(self, grant: Grant) -> bool:
        """Return whether an attempt that runs is granted once more; its charm goes on with what it was given first."""
        former = self._in_flight.get(grant.event.id)
        return former is not None and former.grant.event.attempt == grant.event.attempt

    async def _bags(self, lease_token: int, grant: Grant) -> dict[tuple[int, str], Mapping[str, str]]:
        about = grant.event.relation
        owners = [(each.number, owner) for each in grant.relations for owner in (each.application, *each.members)]
        owners += [(about.number, about.unit)] if about is not None and about.unit else []
        found: dict[tuple[int, str], Mapping[str, str]] = {}
        for number, owner in owners:
            try:
                found[number, owner] = (await self._units.read_bag(lease_token, grant.event.id, number, owner)).data
            except errors.NotFound:
                continue
        return found

    async def _contents(
        self, lease_token: int, grant: Grant, bags: Mapping[tuple[int, str], Mapping[str, str]]
    ) -> dict[tuple[str, int], Mapping[str, str]]:
        """Read what the unit knows of secrets, and those that bags name, of which 0 is the newest revision."""
        wanted = {(each.id, revision) for each in grant.secrets for revision in (each.latest, each.tracked) if revision}
        named = {id_ for bag in bags.values() for text in bag.values() for id_ in _SECRET.findall(text)}
        wanted |= {(id_, 0) for id_ in named - {each.id for each in grant.secrets}}
        found: dict[tuple[str, int], Mapping[str, str]] = {}
        for id_, revision in sorted(wanted):
            with contextlib.suppress(errors.NotFound, errors.PermissionDenied):
                read = await self._units.read_secret(lease_token, grant.event.id, id_, revision=revision)
                found[id_, revision] = read.content
        return found
