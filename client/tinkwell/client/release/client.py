"""The client of releases: installs, changes, follows and removes them."""

import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from typing import Any, Unpack

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.client.release import message
from tinkwell.client.release import request as requests
from tinkwell.client.release.chart import ChartLike
from tinkwell.client.release.handle import OperationHandle
from tinkwell.client.release.model import (
    Node,
    Operation,
    OperationOptions,
    Release,
    Resource,
    Revision,
    StepLogLine,
)
from tinkwell.client.release.story import StoryClient
from tinkwell.client.value import field
from tinkwell.client.watch import informer, reflector
from tinkwell.client.watch.event import Event
from tinkwell.client.watch.watch import Watch
from tinkwell.core.event.kinds import ResourceType, State
from tinkwell.core.release.kinds import OperationKind, ReleaseState

_BRINGS_ABOUT = (OperationKind.INSTALL, OperationKind.UPGRADE, OperationKind.ROLLBACK)


class ReleaseClient(StoryClient):
    """Installs, applies, plans, tests, follows and watches releases, and executes their operations.

    An empty namespace means "default". A call that changes a release returns at once with the operation that it began.
    It raises `OperationActive` if another operation of the release has not ended. Each such call takes
    `OperationOptions`; a call that gives the `id` of its operation can be repeated.
    """

    async def apply(
        self,
        name: str,
        *,
        files: Mapping[str, str] | None = None,
        manifest: Mapping[str, Any] | str | None = None,
        variables: Mapping[str, Any] | str | None = None,
        variable_files: Mapping[str, Mapping[str, Any] | str] | None = None,
        secret_variables: Mapping[str, Any] | None = None,
        namespace: str = "",
        description: str = "",
        reason: str = "",
        id: str | None = None,  # noqa: A002
        **options: Unpack[OperationOptions],
    ) -> OperationHandle:
        """Begin to apply manifests: `files`, which are YAML texts by file name, or one `manifest`.

            handle = await client.releases.apply("shop", files={"shop.yaml": text}, variables={"size": 3}, atomic=True)
            await handle.result()

        Resources that the release has and the manifests do not have are removed. `variable_files`, by file name, may
        hold expressions, which see `variables` and the files before. `variables` override those of files. Raises
        `InvalidField` for wrong manifests; a mistake that only their evaluation shows ends the operation.

        `secret_variables` are variables whose values only resources see: they are stored encrypted, and masked
        everywhere else, also inside of longer texts. Raises `SecretsDisabled` for a server without keys, and
        `InvalidField` for a value of fewer than 6 bytes.
        """
        request = field.build(
            pb.ApplyRequest,
            operation_id=id or str(uuid.uuid4()),
            namespace=namespace,
            name=name,
            files=requests.files_of(files, manifest),
            **requests.variables_of(variables, variable_files, secret_variables),
            options=message.to_options(options),
            description=description,
            reason=reason,
        )
        return self._handle(await self._caller.unary(self._stub.Apply, request, may_repeat=True))

    async def install(
        self,
        name: str,
        chart: ChartLike,
        *,
        values: Mapping[str, Any] | str | None = None,
        secret_values: Iterable[str] = (),
        namespace: str = "",
        description: str = "",
        reason: str = "",
        id: str | None = None,  # noqa: A002
        **options: Unpack[OperationOptions],
    ) -> OperationHandle:
        """Begin to install a chart: the path of its folder or archive, the bytes of an archive, or its digest.

            handle = await client.releases.install("shop", "./shop", values={"web": {"size": 3}}, atomic=True)
            await handle.result()

        A chart that the server does not have is uploaded first. `values` override those of the chart. `secret_values`
        are JSON pointers into `values`: the values there are stored encrypted, and masked everywhere else. Raises
        `ChartInvalid` and `InvalidField` for a wrong chart or wrong values, `AlreadyExists` for a name whose release
        was deployed already, `ChartUnknown` for the digest of a chart that the server does not have, and
        `SecretsDisabled` for a server without keys.
        """
        fields = requests.of_chart(name, namespace, values, secret_values, description, reason, id, options)

        async def begin(digest: str) -> pb.Operation:
            request = field.build(pb.InstallRequest, chart=digest, **fields)
            return await self._caller.unary(self._stub.Install, request, may_repeat=True)

        return self._handle(await self._with_chart(chart, begin))

    async def upgrade(
        self,
        name: str,
        chart: ChartLike,
        *,
        values: Mapping[str, Any] | str | None = None,
        secret_values: Iterable[str] = (),
        install: bool = False,
        reset_values: bool = False,
        reuse_values: bool = False,
        namespace: str = "",
        description: str = "",
        reason: str = "",
        id: str | None = None,  # noqa: A002
        **options: Unpack[OperationOptions],
    ) -> OperationHandle:
        """Begin to upgrade a release to a chart; with `install` also a release that does not exist yet.

            await client.releases.upgrade("shop", "./shop", values={"web": {"size": 4}}, install=True)

        `values` override the values of the deployed revision, or of the newest if none is deployed, and these override
        those of the chart. `reset_values` ignores the values of the former revision. `reuse_values` takes the former
        revision's values and its chart's defaults in the place of this chart's defaults. Arguments and errors are those
        of `install`; raises `NotFound` for a release that does not exist.
        """
        fields = requests.of_chart(name, namespace, values, secret_values, description, reason, id, options)
        modes = {"install": install, "reset_values": reset_values, "reuse_values": reuse_values}

        async def begin(digest: str) -> pb.Operation:
            request = field.build(pb.UpgradeRequest, chart=digest, **fields, **modes)
            return await self._caller.unary(self._stub.Upgrade, request, may_repeat=True)

        return self._handle(await self._with_chart(chart, begin))

    async def rollback(
        self,
        name: str,
        revision: int = 0,
        *,
        namespace: str = "",
        description: str = "",
        reason: str = "",
        id: str | None = None,  # noqa: A002
        **options: Unpack[OperationOptions],
    ) -> OperationHandle:
        """Begin to return to a former revision; 0 means the one before the last deployed revision."""
        request = field.build(
            pb.RollbackRequest,
            operation_id=id or str(uuid.uuid4()),
            namespace=namespace,
            name=name,
            revision=revision,
            options=message.to_options(options),
            description=description,
            reason=reason,
        )
        return self._handle(await self._caller.unary(self._stub.Rollback, request, may_repeat=True))

    async def uninstall(
        self,
        name: str,
        *,
        namespace: str = "",
        reason: str = "",
        id: str | None = None,  # noqa: A002
        **options: Unpack[OperationOptions],
    ) -> OperationHandle:
        """Begin to remove a release: its resources in reverse order. Then its name is free."""
        request = field.build(
            pb.UninstallRequest,
            operation_id=id or str(uuid.uuid4()),
            namespace=namespace,
            name=name,
            options=message.to_options(options),
            reason=reason,
        )
        return self._handle(await self._caller.unary(self._stub.Uninstall, request, may_repeat=True))

    async def resume(
        self,
        name: str,
        *,
        namespace: str = "",
        reason: str = "",
        id: str | None = None,  # noqa: A002
        **options: Unpack[OperationOptions],
    ) -> OperationHandle:
        """Begin to go on with a failed release by its newest operation's plan; each resource's state is read again.

        `accept_lost` goes on although the result of an action is unknown; `move_engine` goes on with another engine.
        """
        request = field.build(
            pb.ResumeRequest,
            operation_id=id or str(uuid.uuid4()),
            namespace=namespace,
            name=name,
            options=message.to_options(options),
            reason=reason,
        )
        return self._handle(await self._caller.unary(self._stub.Resume, request, may_repeat=True))

    async def cancel(self, operation_id: str, *, now: bool = False, reason: str = "") -> Operation:
        """Cancel an operation: no more steps start, and a running one gets 30 s to end, with `now` none.

        What was applied stays. The returned operation may still run for that time. One that has ended stays as it is.
        """
        request = field.build(pb.CancelRequest, operation_id=operation_id, now=now, reason=reason)
        return message.operation(await self._caller.unary(self._stub.Cancel, request, may_repeat=True))

    async def get(
        self,
        name: str | None = None,
        *,
        namespace: str = "",
        id: str | None = None,  # noqa: A002
    ) -> Release:
        """Get a release, by its name in its namespace or by `id`; raises `NotFound`."""
        request = field.build(pb.GetReleaseRequest, namespace=namespace, **field.exactly_one(name=name, id=id))
        return message.release(await self._caller.unary(self._stub.GetRelease, request, may_repeat=True))

    def list(
        self, namespace: str = "", states: Iterable[ReleaseState | str] = (), *, include_planned: bool = False
    ) -> AsyncIterator[Release]:
        """Iterate over releases, ordered by namespace and name; `namespace` and `states` filter, empty means all.

        Releases that are only PLANNED are left out, unless `states` has PLANNED or `include_planned` is set.
        """
        wanted = [field.member(ReleaseState, state, f"states[{i}]") for i, state in enumerate(states)]
        request = field.build(
            pb.ListReleasesRequest,
            namespace=namespace,
            states=[message.RELEASE_STATES.number(each) for each in wanted],
            include_planned=include_planned,
        )
        return self._list(self._stub.ListReleases, request, message.release)

    def history(self, name: str, *, namespace: str = "") -> AsyncIterator[Revision]:
        """Iterate over the revisions of a release without their documents, newest first; raises `NotFound`."""
        request = field.build(pb.HistoryRequest, namespace=namespace, name=name)
        return self._list(self._stub.History, request, message.revision)

    async def revision(
        self, name: str, revision: int = 0, *, namespace: str = "", with_all_values: bool = False
    ) -> Revision:
        """Get a revision with its documents; 0 means the last deployed one, or the newest if none was deployed.

        With `with_all_values` it also has the values of its chart and of the user, merged.
        """
        request = field.build(
            pb.GetRevisionRequest, namespace=namespace, name=name, revision=revision, with_all_values=with_all_values
        )
        return message.revision(await self._caller.unary(self._stub.GetRevision, request, may_repeat=True))

    async def operation(self, id: str) -> Operation:  # noqa: A002
        """Get an operation with its result; raises `NotFound`."""
        request = field.build(pb.GetOperationRequest, id=id)
        return message.operation(await self._caller.unary(self._stub.GetOperation, request, may_repeat=True))

    async def wait(self, operation_id: str) -> Operation:
        """Wait until an operation has ended, over lost connections, and return it; raises `NotFound`."""
        operation = await self.operation(operation_id)

        async def read() -> AsyncIterator[Operation]:
            yield await self.operation(operation_id)

        def open_watch() -> Watch:
            return self.watch(resource_id=operation.release_id, resource_types=[ResourceType.OPERATION], now=True)

        while not operation.state.is_final:
            async with aclosing(reflector.Reflector(read, open_watch).stream()) as parts:
                async for part in parts:
                    found = part.resource if isinstance(part, Event) else part.items[0]
                    if isinstance(found, Operation) and found.id == operation_id and found.state.is_final:
                        break
            operation = await self.operation(operation_id)  # the operation in an event is incomplete
        return operation

    def operations(self, name: str, *, namespace: str = "") -> AsyncIterator[Operation]:
        """Iterate over a release's operations, newest first; raises `NotFound`."""
        request = field.build(pb.ListOperationsRequest, namespace=namespace, name=name)
        return self._list(self._stub.ListOperations, request, message.operation)

    async def outputs(self, name: str, revision: int = 0, *, namespace: str = "") -> dict[str, Any]:
        """Get the `outputs` of a release: those of its root chart, or of its manifests.

            url = (await client.releases.outputs("shop"))["url"]

        They are those of the last operation that has deployed the revision, with None for secret ones. They are empty
        for a revision that failed. The argument `revision` and the errors are those of the method `revision`.
        """
        wanted = await self.revision(name, revision, namespace=namespace)
        async for each in self.operations(name, namespace=namespace):
            if each.revision == wanted.revision and each.kind in _BRINGS_ABOUT and each.state is State.SUCCEEDED:
                result = (await self.operation(each.id)).result or {}
                found: dict[str, Any] = result.get("outputs", {})
                return found
        return {}

    def nodes(self, operation_id: str) -> AsyncIterator[Node]:
        """Iterate over the nodes of an operation, with steps, in the order of its plan; none before it has a plan."""
        request = field.build(pb.ListNodesRequest, operation_id=operation_id)
        return self._list(self._stub.ListNodes, request, message.node)

    def resources(self, name: str, *, namespace: str = "") -> AsyncIterator[Resource]:
        """Iterate over the resources of a release as they were last seen, ordered by path."""
        request = field.build(pb.ListResourcesRequest, namespace=namespace, name=name)
        return self._list(self._stub.ListResources, request, message.resource)

    async def logs(self, operation_id: str, *, follow: bool = False, path: str = "") -> AsyncIterator[StepLogLine]:
        """Iterate over the output of an operation's steps, in order; with `follow`, until the operation has ended.

        `path` is a resource, empty for all.
        """
        request = field.build(pb.WatchStepLogsRequest, operation_id=operation_id, follow=follow, path=path)
        # An operation may be silent for long, so no time limit applies. The connection's keepalive notices a dead
        # server.
        silence = None if follow else self._caller.timeout_seconds
        stream = self._caller.stream(self._stub.WatchLogs, request, silence_seconds=silence)
        try:
            while (answer := await stream.read()) is not None:
                for line in answer.lines:
                    yield message.log_line(line)
        finally:
            stream.cancel()

    def informer(self, *, strict: bool = False) -> "informer.Informer[Release]":
        """Make a live cache of all releases with handlers; see `Informer`.

        The events of operations, nodes and steps reach handlers too; they change no release in the cache.
        """
        return informer.Informer(
            ResourceType.RELEASE, self.list, lambda: self.watch(now=True), Release.from_json, strict=strict
        )

    def _handle(self, answer: pb.Operation) -> OperationHandle:
        return OperationHandle(message.operation(answer), self)
