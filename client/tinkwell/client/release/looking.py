"""The client's calls for operations that do not change their release: tests and plans."""

import abc
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.client.release import message
from tinkwell.client.release import request as requests
from tinkwell.client.release.chart import ChartClient, ChartLike
from tinkwell.client.release.handle import OperationHandle
from tinkwell.client.release.model import OperationOptions
from tinkwell.client.value import field


class LookingClient(ChartClient):
    """Runs tests, makes plans, and applies plans."""

    async def test(
        self,
        name: str,
        *,
        namespace: str = "",
        reason: str = "",
        id: str | None = None,  # noqa: A002
        **options: Unpack[OperationOptions],
    ) -> OperationHandle:
        """Begin to run the tests of an installed release, which stays as it is.

            await (await client.releases.test("shop")).result()

        Raises `NotFound`, and `IllegalTransition` for a release that was never installed.
        """
        request = field.build(
            pb.TestRequest,
            operation_id=id or str(uuid.uuid4()),
            namespace=namespace,
            name=name,
            options=message.to_options(options),
            reason=reason,
        )
        return self._handle(await self._caller.unary(self._stub.Test, request, may_repeat=True))

    async def plan(
        self,
        name: str,
        chart: "ChartLike | None" = None,
        *,
        values: Mapping[str, Any] | str | None = None,
        secret_values: Iterable[str] = (),
        reset_values: bool = False,
        reuse_values: bool = False,
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
        """Begin to plan the installation of a chart, an upgrade to it, or manifests. Nothing is changed.

            handle = await client.releases.plan("shop", "./shop", values={"web": {"size": 4}})
            for node in (await handle.plan())["nodes"]:
                print(node["mark"], node["path"])
            await client.releases.apply_plan(handle.id)

        Arguments and errors are those of `upgrade` and `apply`, but `NotFound` is not raised. A plan does not reserve
        the name of a new release. The options are for the operation that applies the plan.
        """
        fields = requests.of_chart(name, namespace, values, secret_values, description, reason, id, options)
        fields |= {"reset_values": reset_values, "reuse_values": reuse_values}
        fields |= requests.variables_of(variables, variable_files, secret_variables)
        if chart is None or files is not None or manifest is not None:
            fields |= {"files": requests.files_of(files, manifest)}

        async def begin(digest: str) -> pb.Operation:
            request = field.build(pb.PlanRequest, chart=digest, **fields)
            return await self._caller.unary(self._stub.Plan, request, may_repeat=True)

        return self._handle(await begin("") if chart is None else await self._with_chart(chart, begin))

    async def drift(
        self,
        name: str,
        *,
        namespace: str = "",
        reason: str = "",
        id: str | None = None,  # noqa: A002
        **options: Unpack[OperationOptions],
    ) -> OperationHandle:
        """Begin to compare the resources with what was installed. Nothing is changed.

            document = await (await client.releases.drift("shop")).plan()

        Afterwards `drifted` of the release says whether there was a difference. Raises what `test` raises.
        """
        request = field.build(
            pb.PlanRequest,
            operation_id=id or str(uuid.uuid4()),
            namespace=namespace,
            name=name,
            options=message.to_options(options),
            reason=reason,
        )
        return self._handle(await self._caller.unary(self._stub.Plan, request, may_repeat=True))

    async def apply_plan(
        self,
        plan: str,
        *,
        reason: str = "",
        id: str | None = None,  # noqa: A002
    ) -> OperationHandle:
        """Begin to apply a plan, given by the id of its operation, with the documents that it was made of.

        Raises `NotFound` for a plan that does not exist, `IllegalTransition` for one that did not succeed or that
        `drift` made, and `PlanStale` if an operation has changed the release since.
        """
        request = field.build(pb.ApplyPlanRequest, operation_id=id or str(uuid.uuid4()), plan=plan, reason=reason)
        return self._handle(await self._caller.unary(self._stub.ApplyPlan, request, may_repeat=True))

    @abc.abstractmethod
    def _handle(self, answer: pb.Operation) -> OperationHandle:
        """Return the handle of an operation that was begun."""
