"""Applications: deployed, related, changed, followed and removed."""

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
    """Deploys, relates, changes, follows and removes applications. A namespace that is empty is "default".

    What changes something answers at once; the events that follow from it are run by agents, and `settled` waits for
    their end.
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
        """Make an application of a charm: the path of its folder or package, the bytes of this, or its digest.

            await client.applications.deploy("web", "./web", units=2, config={"workers": 4})
            await client.applications.settled("web")

        A charm that the server does not have is uploaded first. `machines` are ids of hardware, for one unit each;
        other units go where the fewest are, or with `anywhere` to no machine. `storage` says how many instances of a
        storage each unit has. A unit that no agent serves waits until one does. Raises `CharmRefused`, `AlreadyExists`
        for a name that is taken, `InvalidField` for an option that the charm does not have, `NotFound` for a machine.
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
        """Set options, all or none; None gives an option its default again. Units hear of it by config-changed."""
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
        """Add units, whose numbers were never given before; arguments are those of `deploy`."""
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
        """Begin the teardown of a unit. `force` ends it without that, once `grace_seconds` are over.

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
        """Give an application another charm, and options with it; units hear of it by upgrade-charm.

        Raises `CharmRefused` where the charm lacks an endpoint that is related, or a storage that is there.
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
        """Begin the teardown of an application: of its units and relations. Options are those of `remove_unit`."""
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
        """Join an endpoint that provides an interface and one that requires it; names are such as web:db, or web alone.

            await client.applications.relate("web:db", "pg")

        A relation that is there already is answered as it is. Raises `EndpointMismatch` where no pair of endpoints, or
        more than one, fits.
        """
        request = field.build(pb.RelateRequest, namespace=namespace, first=first, second=second)
        return message.relation(await self._caller.unary(self._stub.Relate, request, may_repeat=True))

    async def unrelate(self, first: str = "", second: str = "", *, number: int = 0, namespace: str = "") -> Relation:
        """Begin the end of a relation, given by its endpoints or by its number; raises `NotFound`."""
        request = field.build(pb.UnrelateRequest, namespace=namespace, first=first, second=second, number=number)
        return message.relation(await self._caller.unary(self._stub.Unrelate, request, may_repeat=False))

    async def resolve(self, unit: str, *, skip: bool = False, namespace: str = "") -> Unit:
        """Have a unit's failed event tried again now, or with `skip` left out; raises `IllegalTransition` for none."""
        request = field.build(pb.ResolveRequest, namespace=namespace, unit=unit, skip=skip)
        return message.unit(await self._caller.unary(self._stub.Resolve, request, may_repeat=False))

    async def prepare_upgrade(self, unit: str, *, namespace: str = "") -> Unit:
        """Ask a unit for pre-series-upgrade; raises `UnitInError` while an event of it has failed."""
        return await self._request(unit, namespace, pb.UNIT_REQUEST_PREPARE_UPGRADE)

    async def finish_upgrade(self, unit: str, *, namespace: str = "") -> Unit:
        """Ask a unit for post-series-upgrade, which comes after pre-series-upgrade; raises as that."""
        return await self._request(unit, namespace, pb.UNIT_REQUEST_FINISH_UPGRADE)

    async def collect_metrics(self, unit: str, *, namespace: str = "") -> Unit:
        """Ask a unit for collect-metrics; raises `UnitInError` while an event of it has failed."""
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
        """Remove a storage instance that was detached, such as data/0, with all that is kept in it.

        Raises `IllegalTransition` while a unit has it.
        """
        request = field.build(pb.RemoveStorageRequest, namespace=namespace, storage=storage)
        return message.storage(await self._caller.unary(self._stub.RemoveStorage, request, may_repeat=False))

    async def settled(self, *applications: str, namespace: str = "", timeout_seconds: float | None = None) -> None:
        """Wait until nothing runs and nothing is due for the units of applications, or until these are gone.

            await client.applications.relate("web", "pg")
            await client.applications.settled("web", "pg", timeout_seconds=60)

        Applications that are related are best waited for together. Raises `UnitInError` with what has failed,
        `TimeoutError`, and `NotFound` for one that is not there at first.
        """
        async with asyncio.timeout(timeout_seconds):
            await settling.wait(self, applications, namespace)

    async def active(self, *applications: str, namespace: str = "", timeout_seconds: float | None = None) -> None:
        """Wait until applications are settled, and each of their units says that it is active, or until these are gone.

        Some charms never say so of their units; wait with `settled` for those. Raises what that does.
        """
        async with asyncio.timeout(timeout_seconds):
            await settling.wait(self, applications, namespace, until_active=True)

    def informer(self, *, strict: bool = False) -> "informers.Informer[Application]":
        """Make a live cache of all applications with handlers; see `Informer`.

        What happens to their units reaches handlers too; it changes no application in the cache.
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

        It knows nothing of what tasks are given and answer, which `task` has.
        """
        return informers.Informer(
            ResourceType.TASK, self._all_tasks, lambda: self.watch(now=True), Task.from_json, strict=strict
        )

    async def _all_tasks(self) -> AsyncIterator[Task]:
        async for application in self.list():
            # One that has gone meanwhile has none, and what was listed of it is told to be gone.
            with contextlib.suppress(errors.NotFound):
                async for each in self.tasks(application.name, namespace=application.namespace):
                    yield each

    async def _request(self, unit: str, namespace: str, request: pb.UnitRequest.ValueType) -> Unit:
        asked = field.build(pb.RequestRequest, namespace=namespace, unit=unit, request=request)
        return message.unit(await self._caller.unary(self._stub.Request, asked, may_repeat=False))


def _counts(storage: Mapping[str, int] | None) -> list[pb.StorageCount]:
    return [field.build(pb.StorageCount, name=name, count=count) for name, count in (storage or {}).items()]
