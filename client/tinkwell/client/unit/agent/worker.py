"""The calls of agents, which run the events of units."""

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
    """The calls to run the events of units under a lease of `client.work`: get, commit and fail them, and read data.

    Effects happen exactly once. Handlers run at least once; one runs again only if its agent was killed. All calls
    raise `LeaseLost` if the lease is over, and calls about a unit also if the lease does not hold the unit.
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
        """Register what the agent serves, and iterate over the ids of units that may have an event due.

            async for unit_ids in client.units.wakes(lease.token, kinds=["SCRIPTS"], machines=[machine_id]):
                for unit_id in unit_ids:
                    queue.add(unit_id)

        The first item has all units of the agent, and may be empty. An item may name units that have nothing due, but
        none that has is left out. The agent serves the units on `machines`, ids of hardware, and with `anywhere` those
        without a machine. `charm` is the digest of the only charm that it runs; `namespace` and `application` limit the
        units that it serves. The iterator ends with an error when its connection is lost; then begin another one.
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
        # Units may be silent for long, so no time limit applies. The connection's keepalive notices a dead server.
        stream = self._caller.stream(self._stub.WatchUnits, request)
        try:
            while (answer := await stream.read()) is not None:
                if answer.unit_ids or answer.created:
                    yield tuple(answer.unit_ids)
        finally:
            stream.cancel()

    async def next_event(self, lease_token: int, unit_id: str) -> Grant | NoEvent:
        """Get a unit's next event to run, or why there is none.

        An event that runs under this lease is returned again as the same attempt. An event that ran under a lease that
        is over counts as lost, and is returned as a new attempt if it is still due: so commit the kept outcomes first.
        Raises `LeaseHeld` if another live agent runs the event.
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
        """End an event with all of its effects, and get the next event, or with `is_last` none.

        `effects` may be the result of `encode`. For a task, `event_id` is its id, and `task` its outcome; a task that
        has not SUCCEEDED has no effects.

            following = await client.units.commit(lease.token, grant.event.id, grant.event.attempt, effects)

        A repetition changes nothing. Raises `CommitRefused` if one of the effects is not allowed; the event has failed
        then. Effects that are larger than 4 MiB are not sent: the call raises `InvalidField`, and the event is still
        running.
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
        """Say that an attempt has failed, or with `is_lost` that it was ended from outside.

        `is_handed_back` says that this agent stops: the attempt does not count, and no event is granted.
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
        """Read the bag of a unit, such as pg/0, or of an application, for the unit whose event runs.

        Raises `NotFound` if that unit may not read the bag.
        """
        request = field.build(
            pb.ReadBagRequest, lease_token=lease_token, event_id=event_id, relation=relation, owner=owner
        )
        return message.bag((await self._caller.unary(self._stub.ReadBag, request, may_repeat=True)).bag)

    async def read_secret(
        self, lease_token: int, event_id: str, secret: str = "", *, label: str = "", revision: int = 0
    ) -> SecretContent:
        """Read a revision of a secret, 0 for the newest one, for the unit whose event or task runs.

        The secret is named by its id, or by the label that the unit or the owner has given it. Raises `NotFound`, and
        `PermissionDenied` if the unit may not read the secret.
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
        """Store log lines of a running task. The first has this `number`, from 1; stored lines do not change."""
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
        """Set a unit's statuses at once, even if its event fails later; None keeps the former one.

        Raises `NotLeader` if the unit sets the application's status and does not lead.
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
        """Store lines of a unit's log, and return how many were accepted; stored lines do not change."""
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
        """Iterate over the parts of a charm's package. Raises `errors.Error` at the end if the digest is wrong."""
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
    """Encode effects as they are sent, so that they can be kept on the disk; raises `errors.InvalidField`."""
    return effect_message.to_effects(effects).SerializeToString(deterministic=True)
