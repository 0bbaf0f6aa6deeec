"""The calls of agents, who run the events of units."""

import hashlib
from collections.abc import AsyncIterator, Iterable

from tinkwell.api.v1 import unit_service_pb2 as pb
from tinkwell.api.v1 import unit_service_pb2_grpc
from tinkwell.client import call, errors
from tinkwell.client.unit import message
from tinkwell.client.unit.agent import effect_message, secret_message
from tinkwell.client.unit.agent.grant import Grant, NoEvent, SecretContent
from tinkwell.client.unit.model import Bag, UnitLogLine, UnitStatus
from tinkwell.client.value import field, output
from tinkwell.core.unit.effect import NO_EFFECTS, Effects, TaskOutcome
from tinkwell.core.unit.kinds import CharmKind


class UnitClient:
    """Runs the events of units under a lease of `client.work`: asks for them, commits them, and reads what they may.

    Effects are exactly once, handlers at least once, and only a kill repeats one. All calls raise `LeaseLost` where the
    lease is over, and those about a unit where it does not hold that.
    """

    def __init__(self, caller: call.Caller) -> None:
        self._caller = caller
        self._stub = unit_service_pb2_grpc.UnitServiceStub(caller.channel)

    async def wakes(
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
        """Say what the agent serves, and iterate over ids of units that may have something due, as they come.

            async for unit_ids in client.units.wakes(lease.token, kinds=["SCRIPTS"], machines=[machine_id]):
                for unit_id in unit_ids:
                    queue.add(unit_id)

        At first all of its units are named, also where there are none. One that has nothing due may be named, one that
        has is never left out. It serves the units on `machines`, ids of hardware, and with `anywhere` those that belong
        to none; `charm` is the digest of the only one that it runs, `namespace` and `application` limit whose units it
        serves. The iterator ends with an error when the connection does; then begin another one.
        """
        wanted = [field.member(CharmKind, kind, f"kinds[{i}]") for i, kind in enumerate(kinds)]
        request = field.build(
            pb.WatchUnitsRequest,
            lease_token=lease_token,
            kinds=[message.CHARM_KINDS.number(kind) for kind in wanted],
            machines=tuple(machines),
            is_anywhere=anywhere,
            charm=charm,
            namespace=namespace,
            application=application,
        )
        # Units may be quiet for long; the connection's keepalive finds a dead server.
        stream = self._caller.stream(self._stub.WatchUnits, request)
        try:
            while (answer := await stream.read()) is not None:
                if answer.unit_ids or answer.created:
                    yield tuple(answer.unit_ids)
        finally:
            stream.cancel()

    async def next_event(self, lease_token: int, unit_id: str) -> Grant | NoEvent:
        """Get a unit's next event to run, or why there is none.

        An event that runs under this lease comes as the same attempt again. One of a lease that is over is lost, and
        comes as another attempt if it still stands: so first commit the outcomes that are kept. Raises `LeaseHeld`
        where another agent that is alive runs it.
        """
        request = field.build(pb.NextEventRequest, lease_token=lease_token, unit_id=unit_id)
        return effect_message.following(await self._caller.unary(self._stub.NextEvent, request, may_repeat=True))

    async def commit(
        self,
        lease_token: int,
        event_id: str,
        attempt: int,
        effects: Effects | bytes = NO_EFFECTS,
        *,
        is_last: bool = False,
        task: TaskOutcome | None = None,
    ) -> Grant | NoEvent:
        """End an event with all of its effects, or `encode`d ones, and get the next one; `is_last` grants none.

        For a task, `event_id` is its id, and `task` how it has ended: one that has not SUCCEEDED leaves no effects.

            following = await client.units.commit(lease.token, grant.event.id, grant.event.attempt, effects)

        A repetition changes nothing. Raises `CommitRefused` where the unit may not have one of the effects: the event
        has failed then. What is larger than 4 MiB is not sent: it raises `InvalidField`, and the event runs on.
        """
        request = field.build(
            pb.CommitEventRequest,
            lease_token=lease_token,
            event_id=event_id,
            attempt=attempt,
            effects=pb.Effects.FromString(effects)
            if isinstance(effects, bytes)
            else effect_message.to_effects(effects),
            is_last=is_last,
            task=effect_message.to_outcome(task),
        )
        effect_message.check_size(request)
        answer = await self._caller.unary(self._stub.CommitEvent, request, may_repeat=True)
        return effect_message.following(answer.next)

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
        """Say that an attempt has ended without success; `is_lost`, that it was ended from outside.

        `is_handed_back`: that is because this agent stops. It counts as nothing, and no event is granted.
        """
        request = field.build(
            pb.FailEventRequest,
            lease_token=lease_token,
            event_id=event_id,
            attempt=attempt,
            message=why,
            is_lost=is_lost,
            is_handed_back=is_handed_back,
        )
        answer = await self._caller.unary(self._stub.FailEvent, request, may_repeat=True)
        return effect_message.following(answer.next)

    async def read_bag(self, lease_token: int, event_id: str, relation: int, owner: str) -> Bag:
        """Read the bag of a unit, such as pg/0, or an application, for the unit whose event runs.

        Raises `NotFound` for one that the unit may not read.
        """
        request = field.build(
            pb.ReadBagRequest, lease_token=lease_token, event_id=event_id, relation=relation, owner=owner
        )
        return message.bag((await self._caller.unary(self._stub.ReadBag, request, may_repeat=True)).bag)

    async def read_secret(
        self, lease_token: int, event_id: str, secret: str = "", *, label: str = "", revision: int = 0
    ) -> SecretContent:
        """Read a revision of a secret, 0 for the newest one, for the unit whose event or task runs.

        It is named by its id, or by the label that the unit or its owner has given it. Raises `NotFound` for one that
        there is not, and `PermissionDenied` for one that the unit may not read.
        """
        request = field.build(
            pb.ReadSecretRequest,
            lease_token=lease_token,
            event_id=event_id,
            id=secret,
            label=label,
            revision=revision,
        )
        return secret_message.content(await self._caller.unary(self._stub.ReadSecret, request, may_repeat=True))

    async def append_task_log(self, lease_token: int, task_id: str, number: int, lines: Iterable[str]) -> None:
        """Store lines that a running task tells; the first one has this number, from 1, and one that is there stays."""
        request = field.build(
            pb.AppendTaskLogRequest, lease_token=lease_token, task_id=task_id, number=number, lines=list(lines)
        )
        await self._caller.unary(self._stub.AppendTaskLog, request, may_repeat=True)

    async def set_status(
        self,
        lease_token: int,
        unit_id: str,
        *,
        status: UnitStatus | None = None,
        application_status: UnitStatus | None = None,
        workload_version: str | None = None,
    ) -> None:
        """Say at once how a unit is, whatever comes of its event; None leaves what was said before.

        Raises `NotLeader` where a unit that does not lead says how its application is.
        """
        request = field.build(
            pb.SetStatusRequest,
            lease_token=lease_token,
            unit_id=unit_id,
            status=message.to_status(status),
            application_status=message.to_status(application_status),
            workload_version=workload_version,
        )
        await self._caller.unary(self._stub.SetStatus, request, may_repeat=True)

    async def append_logs(self, lease_token: int, unit_id: str, lines: Iterable[UnitLogLine]) -> int:
        """Store lines of a unit's log, and give how many the server took; a line that is there is left as it is."""
        accepted = 0
        for batch in output.pack(lines):
            request = field.build(
                pb.AppendUnitLogsRequest,
                lease_token=lease_token,
                unit_id=unit_id,
                lines=[message.to_log_line(line) for line in batch],
            )
            accepted += (await self._caller.unary(self._stub.AppendLogs, request, may_repeat=True)).accepted
        return accepted

    async def fetch_charm(self, lease_token: int, digest: str) -> AsyncIterator[bytes]:
        """Iterate over the parts of a charm's package. Raises `errors.Error` at the end of one with another digest."""
        request = field.build(pb.FetchCharmRequest, lease_token=lease_token, digest=digest)
        stream = self._caller.stream(self._stub.FetchCharm, request, silence_seconds=self._caller.timeout_seconds)
        found = hashlib.sha256()
        try:
            while (answer := await stream.read()) is not None:
                found.update(answer.data)
                yield answer.data
        finally:
            stream.cancel()
        if digest.removeprefix("sha256:") != found.hexdigest():
            raise errors.Error(f"the server sent another package than that of charm {digest}")


def encode(effects: Effects) -> bytes:
    """Give effects in the form in which they are sent, to be kept until then; raises `errors.InvalidField`."""
    return effect_message.to_effects(effects).SerializeToString(deterministic=True)
