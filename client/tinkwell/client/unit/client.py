"""The client of applications: deploys, relates, changes, follows and removes them."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.client import errors
from tinkwell.client.unit import message, settling
from tinkwell.client.unit.charm import CharmClient, CharmLike
from tinkwell.client.unit.model import Application, Relation, Storage, Unit
from tinkwell.client.unit.task import Task
from tinkwell.client.unit.tasks import TaskClient
from tinkwell.client.value import field
from tinkwell.client.watch import informer as informers
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.unit.kinds import Profile


class ApplicationClient(CharmClient, TaskClient):
    """Deploys, relates, changes, follows and removes applications.An empty namespace means "default".

    Calls that change something return at once. Agents run the events that follow from the change, and `settled` waits
    for their end.
    """

    async def deploy(
        self,
        name: str,
        charm: CharmLike,
        *,
        units: int = 1,
        config: Mapping[str, Any] | str | None = None,
        machines: Iterable[str] = (),
        anywhere: bool = False,
        storage: Mapping[str, int] | None = None,
        profile: Profile | str | None = None,
        namespace: str = "",
        id: str | None = None,  # noqa: A002
    ) -> Application:
        """Deploy a charm, given as the path of its folder or package, the bytes of a package, or a digest.

            await client.applications.deploy("web", "./web", units=2, config={"workers": 4})
            await client.applications.settled("web")

        A charm that the server does not have is uploaded first. `machines` are ids of hardware, for one unit each.
        Further units go to the machines with the fewest units, or with `anywhere` to no machine. `storage` is the
        number of instances of each storage that a unit gets. A unit that no agent serves waits for one. Raises
        `CharmRefused`, `AlreadyExists` for a taken name, `InvalidField` for an option that the charm does not have, and
        `NotFound` for an unknown machine.
        """
        fields: dict[str, Any] = {
            "id": id or str(uuid.uuid4()),
            "namespace": namespace,
            "name": name,
            "units": units,
            "config": field.to_json_text(config, "config"),
            "machines": tuple(machines),
            "is_anywhere": anywhere,
            "storages": _counts(storage),
        }
        if profile is not None:
            fields["profile"] = message.PROFILES.number(field.member(Profile, profile, "profile"))

        async def make(digest: str) -> pb.Application:
            request = field.build(pb.DeployRequest, charm=digest, **fields)
            return await self._caller.unary(self._stub.Deploy, request, may_repeat=True)

        return message.application(await self._with_charm(charm, make))

    async def set_config(
        self, application: str, config: Mapping[str, Any] | str, *, namespace: str = ""
    ) -> Application:
        """Set options, all or none; None resets an option to its default. Units get config-changed."""
        request = field.build(
            pb.SetConfigRequest,
            namespace=namespace,
            application=application,
            config=field.to_json_text(config, "config"),
        )
        return message.application(await self._caller.unary(self._stub.SetConfig, request, may_repeat=True))

    async def add_units(
        self,
        application: str,
        units: int = 1,
        *,
        machines: Iterable[str] = (),
        anywhere: bool = False,
        storage: Mapping[str, int] | None = None,
        namespace: str = "",
        ids: Iterable[str] | None = None,
    ) -> tuple[Unit, ...]:
        """Add units, whose numbers were never used before; arguments are those of `deploy`."""
        request = field.build(
            pb.AddUnitsRequest,
            namespace=namespace,
            application=application,
            units=units,
            machines=tuple(machines),
            is_anywhere=anywhere,
            storages=_counts(storage),
            ids=tuple(ids) if ids is not None else [str(uuid.uuid4()) for _ in range(units)],
        )
        answer = await self._caller.unary(self._stub.AddUnits, request, may_repeat=True)
        return tuple(message.unit(each) for each in answer.units)

    async def remove_unit(
        self,
        unit: str,
        *,
        force: bool = False,
        grace_seconds: int = 0,
        keep_storage: bool = False,
        namespace: str = "",
    ) -> Unit:
        """Begin the teardown of a unit; with `force`, end the unit without it after `grace_seconds`.

        `keep_storage` leaves its storage on the machine, where it may be attached to another unit.
        """
        request = field.build(
            pb.RemoveUnitRequest,
            namespace=namespace,
            unit=unit,
            force=force,
            grace_seconds=grace_seconds,
            keep_storage=keep_storage,
        )
        return message.unit(await self._caller.unary(self._stub.RemoveUnit, request, may_repeat=False))

    async def refresh(
        self,
        application: str,
        charm: CharmLike,
        *,
        config: Mapping[str, Any] | str | None = None,
        namespace: str = "",
    ) -> Application:
        """Give an application another charm, and optionally set options; units get upgrade-charm.

        Raises `CharmRefused` if the charm lacks an endpoint that has relations, or a storage that has instances.
        """
        text = field.to_json_text(config, "config")

        async def change(digest: str) -> pb.Application:
            request = field.build(
                pb.RefreshRequest, namespace=namespace, application=application, charm=digest, config=text
            )
            return await self._caller.unary(self._stub.Refresh, request, may_repeat=True)

        return message.application(await self._with_charm(charm, change))

    async def remove(
        self,
        application: str,
        *,
        force: bool = False,
        grace_seconds: int = 0,
        keep_storage: bool = False,
        namespace: str = "",
    ) -> Application:
        """Begin the teardown of an application, its units and its relations. Options are those of `remove_unit`."""
        request = field.build(
            pb.RemoveRequest,
            namespace=namespace,
            application=application,
            force=force,
            grace_seconds=grace_seconds,
            keep_storage=keep_storage,
        )
        return message.application(await self._caller.unary(self._stub.Remove, request, may_repeat=False))

    async def relate(self, first: str, second: str, *, namespace: str = "") -> Relation:
        """Relate two endpoints, one that provides an interface and one that requires it, such as web:db, or only web.

            await client.applications.relate("web:db", "pg")

        An existing relation is returned as it is. Raises `EndpointMismatch` if no pair of endpoints, or more than one,
        fits.
        """
        request = field.build(pb.RelateRequest, namespace=namespace, first=first, second=second)
        return message.relation(await self._caller.unary(self._stub.Relate, request, may_repeat=True))

    async def unrelate(self, first: str = "", second: str = "", *, number: int = 0, namespace: str = "") -> Relation:
        """Begin to remove a relation, given by its endpoints or by its number; raises `NotFound`."""
        request = field.build(pb.UnrelateRequest, namespace=namespace, first=first, second=second, number=number)
        return message.relation(await self._caller.unary(self._stub.Unrelate, request, may_repeat=False))

    async def resolve(self, unit: str, *, skip: bool = False, namespace: str = "") -> Unit:
        """Retry a unit's failed event now, or skip it with `skip`; raises `IllegalTransition` if none has failed."""
        request = field.build(pb.ResolveRequest, namespace=namespace, unit=unit, skip=skip)
        return message.unit(await self._caller.unary(self._stub.Resolve, request, may_repeat=False))

    async def prepare_upgrade(self, unit: str, *, namespace: str = "") -> Unit:
        """Send a unit pre-series-upgrade; raises `UnitInError` if an event of the unit has failed."""
        return await self._request(unit, namespace, pb.UNIT_REQUEST_PREPARE_UPGRADE)

    async def finish_upgrade(self, unit: str, *, namespace: str = "") -> Unit:
        """Send a unit post-series-upgrade, which follows pre-series-upgrade; raises what `prepare_upgrade` raises."""
        return await self._request(unit, namespace, pb.UNIT_REQUEST_FINISH_UPGRADE)

    async def collect_metrics(self, unit: str, *, namespace: str = "") -> Unit:
        """Send a unit collect-metrics; raises `UnitInError` if an event of the unit has failed."""
        return await self._request(unit, namespace, pb.UNIT_REQUEST_COLLECT_METRICS)

    async def attach(self, unit: str, storage: str, *, namespace: str = "") -> Storage:
        """Give a unit a new instance of a storage, such as data, or a detached one of its machine, such as data/0."""
        request = field.build(pb.AttachRequest, namespace=namespace, unit=unit, storage=storage)
        return message.storage(await self._caller.unary(self._stub.Attach, request, may_repeat=False))

    async def detach(self, storage: str, *, namespace: str = "") -> Storage:
        """Take a storage instance, such as data/0, from its unit; it stays on the machine."""
        request = field.build(pb.DetachRequest, namespace=namespace, storage=storage)
        return message.storage(await self._caller.unary(self._stub.Detach, request, may_repeat=False))

    async def remove_storage(self, storage: str, *, namespace: str = "") -> Storage:
        """Remove a detached storage instance, such as data/0, with its content.

        Raises `IllegalTransition` while a unit has it.
        """
        request = field.build(pb.RemoveStorageRequest, namespace=namespace, storage=storage)
        return message.storage(await self._caller.unary(self._stub.RemoveStorage, request, may_repeat=False))

    async def settled(self, *applications: str, namespace: str = "", timeout_seconds: float | None = None) -> None:
        """Wait until applications are settled, so that no event of their units runs or is due, or until they are gone.

            await client.applications.relate("web", "pg")
            await client.applications.settled("web", "pg", timeout_seconds=60)

        Wait for related applications together, because one may cause events of another. If the server goes away
        meanwhile, the wait goes on once it is back. Raises `UnitInError` with the failed event, `TimeoutError`, and
        `NotFound` for an application that does not exist at first.
        """
        async with asyncio.timeout(timeout_seconds):
            await settling.wait(self, applications, namespace)

    async def active(self, *applications: str, namespace: str = "", timeout_seconds: float | None = None) -> None:
        """Wait until applications are settled, and the status of each of their units is active.

        Some charms never set that status; use `settled` for those. Raises what `settled` raises.
        """
        async with asyncio.timeout(timeout_seconds):
            await settling.wait(self, applications, namespace, until_active=True)

    def informer(self, *, strict: bool = False) -> "informers.Informer[Application]":
        """Make a live cache of all applications with handlers; see `Informer`.

        Events of their units reach handlers too; they change no application in the cache.
        """
        return informers.Informer(
            ResourceType.APPLICATION, self.list, lambda: self.watch(now=True), Application.from_json, strict=strict
        )

    def unit_informer(self, *, strict: bool = False) -> "informers.Informer[Unit]":
        """Make a live cache of all units with handlers; see `Informer`."""
        return informers.Informer(
            ResourceType.UNIT, self.units, lambda: self.watch(now=True), Unit.from_json, strict=strict
        )

    def task_informer(self, *, strict: bool = False) -> "informers.Informer[Task]":
        """Make a live cache of the tasks of all units with handlers; see `Informer`.

        The cached tasks have neither parameters nor results; `task` returns those.
        """
        return informers.Informer(
            ResourceType.TASK, self._all_tasks, lambda: self.watch(now=True), Task.from_json, strict=strict
        )

    async def _all_tasks(self) -> AsyncIterator[Task]:
        async for application in self.list():
            # An application that is removed meanwhile has no tasks; the informer then reports its listed ones as
            # deleted.
            with contextlib.suppress(errors.NotFound):
                async for each in self.tasks(application.name, namespace=application.namespace):
                    yield each

    async def _request(self, unit: str, namespace: str, request: pb.UnitRequest.ValueType) -> Unit:
        asked = field.build(pb.RequestRequest, namespace=namespace, unit=unit, request=request)
        return message.unit(await self._caller.unary(self._stub.Request, asked, may_repeat=False))


def _counts(storage: Mapping[str, int] | None) -> list[pb.StorageCount]:
    return [field.build(pb.StorageCount, name=name, count=count) for name, count in (storage or {}).items()]
