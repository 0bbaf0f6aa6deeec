"""The ReleaseService of the fake server.

Manifests are read, and requests and reports judged, by the core's rules, as in the real server. Operations advance only
by calls that a provisioner makes. Deadlines follow the clock of the world. Old revisions and charts are never deleted.
"""

# ruff: noqa: N802  # RPC methods carry their names

import base64
import dataclasses
import importlib
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from tinkwell.api.v1 import event_service_pb2, release_service_pb2_grpc
from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.client.release import message
from tinkwell.client.release.model import Chart, Node, Operation, Release, Step, StepLogLine
from tinkwell.client.release.report import report as read_report
from tinkwell.client.testing import encode, output
from tinkwell.client.testing.release import change as release_change
from tinkwell.client.testing.release import looking, secret
from tinkwell.client.testing.release import request as release_request
from tinkwell.client.testing.release import row as release_row
from tinkwell.client.testing.world import World
from tinkwell.core import errors
from tinkwell.core.event.kinds import ResourceType, State
from tinkwell.core.release import name as release_name
from tinkwell.core.release import prerequisite
from tinkwell.core.release.kinds import ReleaseState
from tinkwell.core.release.plan import Plan
from tinkwell.core.release.report import FinishReport, Report, ResourceReport, drift_of
from tinkwell.core.release.transition import ending, operation, progress, submission

_TYPES = (
    ResourceType.CHART,
    ResourceType.RELEASE,
    ResourceType.OPERATION,
    ResourceType.NODE,
    ResourceType.STEP,
    ResourceType.LIFECYCLE,
)
_PART_CHARACTERS = 256 * 1024


class ReleaseServicer(release_service_pb2_grpc.ReleaseServiceServicer):
    """Releases in memory."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._book = world.releases

    async def UploadChart(self, request_iterator: AsyncIterator[pb.UploadChartRequest], context: Any) -> pb.Chart:
        data = b"".join([request.data async for request in request_iterator])
        return encode.fill(pb.Chart(), _charts().upload(self._world, data))

    async def GetChart(self, request: pb.GetChartRequest, context: Any) -> AsyncIterator[pb.GetChartResponse]:
        found = _charts().find(self._world, request.digest)
        yield pb.GetChartResponse(chart=encode.fill(pb.Chart(), found))
        if request.with_archive:
            yield pb.GetChartResponse(data=self._book.archives[found.digest])

    async def ListCharts(self, request: pb.ListChartsRequest, context: Any) -> AsyncIterator[pb.Chart]:
        newest_first = reversed(self._world.all(Chart))
        for chart in sorted(newest_first, key=lambda found: found.name):
            if request.name in ("", chart.name):
                yield encode.fill(pb.Chart(), dataclasses.replace(chart, metadata=None))

    async def Install(self, request: pb.InstallRequest, context: Any) -> pb.Operation:
        return self._told(_charts().install(self._world, request))

    async def Upgrade(self, request: pb.UpgradeRequest, context: Any) -> pb.Operation:
        return self._told(_charts().upgrade(self._world, request))

    async def Apply(self, request: pb.ApplyRequest, context: Any) -> pb.Operation:
        return self._told(release_request.apply(self._world, request))

    async def Rollback(self, request: pb.RollbackRequest, context: Any) -> pb.Operation:
        return self._told(release_request.rollback(self._world, request))

    async def Uninstall(self, request: pb.UninstallRequest, context: Any) -> pb.Operation:
        return self._told(release_request.uninstall(self._world, request))

    async def Resume(self, request: pb.ResumeRequest, context: Any) -> pb.Operation:
        return self._told(release_request.resume(self._world, request))

    async def Test(self, request: pb.TestRequest, context: Any) -> pb.Operation:
        return self._told(looking.test(self._world, request))

    async def Plan(self, request: pb.PlanRequest, context: Any) -> pb.Operation:
        looking.check(request)
        return self._told((_charts() if request.chart else looking).plan(self._world, request))

    async def ApplyPlan(self, request: pb.ApplyPlanRequest, context: Any) -> pb.Operation:
        return self._told(looking.apply_plan(self._world, request))

    async def Cancel(self, request: pb.CancelRequest, context: Any) -> pb.Operation:
        found = self._operation(request.operation_id)
        row = release_row.operation_row(self._world, found)
        changes = operation.cancel(row, hold=release_row.hold(self._world, found), now=request.now)
        if changes is None:
            left = release_row.leftover(self._world, found)
            changes = ending.cancel(row, left, reason=request.reason)
        release_change.write(self._world, found.id, changes, cancel_reason=request.reason or None)
        return self._told(self._world.find(Operation, found.id))

    async def GetRelease(self, request: pb.GetReleaseRequest, context: Any) -> pb.Release:
        if request.id:
            known = self._world.resources[ResourceType.RELEASE].get(request.id) or self._book.deleted.get(request.id)
            if known is None:
                raise errors.NotFound(ResourceType.RELEASE, request.id)
            return encode.fill(pb.Release(), known)
        return encode.fill(pb.Release(), self._named(request))

    async def ListReleases(self, request: pb.ListReleasesRequest, context: Any) -> AsyncIterator[pb.Release]:
        for release in sorted(self._world.all(Release), key=lambda found: (found.namespace, found.name)):
            is_state = message.RELEASE_STATES.number(release.state) in request.states
            if not request.states:
                is_state = request.include_planned or release.state is not ReleaseState.PLANNED
            if is_state and request.namespace in ("", release.namespace):
                yield encode.fill(pb.Release(), release)

    async def History(self, request: pb.HistoryRequest, context: Any) -> AsyncIterator[pb.Revision]:
        known = self._book.revisions.get(self._named(request).id, {})
        for number in sorted(known, reverse=True):
            yield encode.fill(pb.Revision(), known[number].revision)

    async def GetRevision(self, request: pb.GetRevisionRequest, context: Any) -> pb.Revision:
        release = self._named(request)
        number = request.revision or release.revision or release.latest_revision
        stored = self._book.stored(release.id, number)
        if stored is None:
            which = f"{number} of" if number else "of"
            raise errors.NotFound("REVISION", f"{which} release {release.name}")
        found = stored.whole()
        if request.with_all_values:
            found = dataclasses.replace(found, all_values=_charts().all_values(self._world, stored))
        named = ("source", "manifest", "all_values")
        shown = {name: self._shown(release.id, getattr(found, name)) for name in named}
        return encode.fill(pb.Revision(), dataclasses.replace(found, **shown))

    async def GetOperation(self, request: pb.GetOperationRequest, context: Any) -> pb.Operation:
        found = self._operation(request.id)
        result = self._book.facts_of(found.id).result
        shown = self._shown(found.release_id, json.loads(result)) if result else None
        return self._told(dataclasses.replace(found, result=shown))

    async def ListOperations(self, request: pb.ListOperationsRequest, context: Any) -> AsyncIterator[pb.Operation]:
        release = self._named(request)
        for found in reversed([each for each in self._world.all(Operation) if each.release_id == release.id]):
            yield self._told(found)

    async def ListNodes(self, request: pb.ListNodesRequest, context: Any) -> AsyncIterator[pb.Node]:
        found = self._operation(request.operation_id)
        plan = self._book.facts_of(found.id).plan
        after = prerequisite.named(Plan.load(plan).nodes) if plan else {}
        for node in release_row.nodes_of(self._world, found.id):
            yield self._node(dataclasses.replace(node, after=after.get(node.path, node.after)))

    async def ListLifecycle(self, request: pb.ListLifecycleRequest, context: Any) -> AsyncIterator[pb.LifecycleRun]:
        for run in release_row.runs_of(self._world, self._operation(request.operation_id).id):
            yield encode.fill(pb.LifecycleRun(), run)

    async def Explain(self, request: pb.ExplainRequest, context: Any) -> pb.ExplainResponse:
        release = self._named(request)
        found = self._operation(request.operation_id or release.operation_id)
        if found.release_id != release.id:
            raise errors.InvalidField.of("operation_id", f"{found.id} is an operation of {found.release_name}")
        # This module needs libraries for charts, which the bare install does not have.
        explaining: Any = importlib.import_module("tinkwell.client.testing.release.explanation")
        answer: pb.ExplainResponse = explaining.explain(self._world, release, found, request)
        return answer

    async def ListResources(self, request: pb.ListResourcesRequest, context: Any) -> AsyncIterator[pb.Resource]:
        known = self._book.resources.get(self._named(request).id, {})
        for path in sorted(known):
            found = known[path]
            documents = {name: getattr(found, name) for name in ("init", "config", "state")}
            shown = {name: self._shown(found.release_id, document) for name, document in documents.items()}
            yield encode.fill(pb.Resource(), dataclasses.replace(found, **shown))

    async def WatchLogs(
        self, request: pb.WatchStepLogsRequest, context: Any
    ) -> AsyncIterator[pb.WatchStepLogsResponse]:
        told = output.Told()
        while True:
            changed = self._world.log.changed
            found = self._operation(request.operation_id)
            lines = told.news(self._book.lines.get(found.id, []), _place)
            if wanted := [line for line in lines if request.path in ("", line.path)]:
                yield pb.WatchStepLogsResponse(lines=[encode.fill(pb.StepLogLine(), line) for line in wanted])
            if not lines and (found.state.is_final or not request.follow):
                return
            if not lines:
                await changed.wait()

    async def Watch(
        self, request: event_service_pb2.WatchRequest, context: Any
    ) -> AsyncIterator[event_service_pb2.WatchResponse]:
        async for response in self._world.log.follow(request, _TYPES):
            yield response

    async def ListUnfinished(
        self, request: pb.ListUnfinishedOperationsRequest, context: Any
    ) -> AsyncIterator[pb.UnfinishedOperation]:
        for each in self._world.all(Operation):
            found = release_change.expire(self._world, each)
            if found.state.is_final or (request.namespaces and found.namespace not in request.namespaces):
                continue
            yield pb.UnfinishedOperation(
                id=found.id,
                release_id=found.release_id,
                namespace=found.namespace,
                state=message.STATES.number(found.state),
                engine=self._world.find(Release, found.release_id).engine,
                is_held=release_row.hold(self._world, found).is_live,
            )

    async def AcquireOperation(self, request: pb.AcquireOperationRequest, context: Any) -> pb.AcquireOperationResponse:
        found = self._operation(request.operation_id)
        reporter = self._world.ledger.reporter(request.lease_token)
        acquired = operation.acquire(
            release_row.operation_row(self._world, found),
            release_engine=self._world.find(Release, found.release_id).engine,
            running=[s for s in release_row.leftover(self._world, found).steps if s.state is State.RUNNING],
            hold=release_row.hold(self._world, found),
            reporter=reporter,
        )
        release_change.write(self._world, found.id, acquired.changes, lease_id=reporter.lease_id)
        return pb.AcquireOperationResponse(
            operation=self._told(self._world.find(Operation, found.id)),
            is_first=acquired.is_first,
            is_same_engine=acquired.is_same_engine,
        )

    async def GetWork(self, request: pb.GetWorkRequest, context: Any) -> AsyncIterator[pb.GetWorkResponse]:
        found = self._operation(request.operation_id)
        operation.check_owner(
            release_row.operation_row(self._world, found),
            hold=release_row.hold(self._world, found),
            reporter=self._world.ledger.reporter(request.lease_token),
            starts=False,
        )
        release = self._world.find(Release, found.release_id)
        yield pb.GetWorkResponse(operation=self._told(found))
        yield pb.GetWorkResponse(release=encode.fill(pb.Release(), release))
        if request.revision:
            former = self._book.stored(release.id, request.revision)
            if former is not None:
                for name, text in (("source", former.source), ("manifest", former.manifest)):
                    yield pb.GetWorkResponse(document=pb.DocumentPart(name=name, text=text))
                for part in self._chart(former.source):
                    yield part
            return
        yield pb.GetWorkResponse(secrets=pb.Secrets(texts=sorted(self._book.secrets.texts(release.id))))
        documents = release_request.documents_of(self._world, found)
        for name, text in documents.items():
            for part in _parts(name, text):
                yield part
        for part in self._chart(documents.get("source", "")):
            yield part
        for node in release_row.nodes_of(self._world, found.id):
            yield pb.GetWorkResponse(node=self._node(node, is_whole=True))
        for resource in self._book.resources.get(release.id, {}).values():
            yield pb.GetWorkResponse(resource=encode.fill(pb.Resource(), resource))

    async def SubmitPlan(
        self, request_iterator: AsyncIterator[pb.SubmitPlanRequest], context: Any
    ) -> pb.SubmitPlanResponse:
        head, texts = pb.SubmitPlanHead(), {"manifest": "", "late": "", "plan": ""}
        async for part in request_iterator:
            if part.HasField("head"):
                head.CopyFrom(part.head)
            else:
                texts[part.document.name] += part.document.text
        found = self._operation(head.operation_id)
        documents = release_request.brought(self._world, found, texts)
        accepted = submission.submit_plan(
            release_request.submission(self._world, found, documents, has_plugs=head.has_plugs),
            hold=release_row.hold(self._world, found),
            reporter=self._world.ledger.reporter(head.lease_token),
        )
        if documents.manifest:
            known = secret.declared(self._book.resources.get(found.release_id, {}).values())
            self._book.secrets.learn_manifest(found.release_id, documents.manifest, documents.late, known)
        release_change.write(self._world, found.id, accepted.changes, documents=documents)
        nodes = [self._node(node) for node in release_row.nodes_of(self._world, found.id)]
        return pb.SubmitPlanResponse(revision=accepted.revision, nodes=nodes)

    async def ReportOperation(self, request: pb.ReportOperationRequest, context: Any) -> pb.ReportOperationResponse:
        found = self._operation(request.operation_id)
        reports = [_with_drift(read_report(each)) for each in request.reports]
        named = progress.paths(reports)
        work = progress.Work(
            operation=release_row.operation_row(self._world, found),
            nodes={
                node.path: release_row.node_row(node)
                for node in release_row.nodes_of(self._world, found.id)
                if node.path in named
            },
            steps={path: release_row.step_rows(release_row.steps_of(self._world, found.id, path)) for path in named},
            leftover=release_row.leftover(self._world, found) if progress.ends(reports) else None,
        )
        reporter = self._world.ledger.reporter(request.lease_token)
        changes = progress.report(work, reports, hold=release_row.hold(self._world, found), reporter=reporter)
        self._learn(found, reports)
        release_change.write(self._world, found.id, changes, lease_id=reporter.lease_id)
        return pb.ReportOperationResponse(operation=self._told(self._world.find(Operation, found.id)))

    async def AppendLogs(self, request: pb.AppendStepLogsRequest, context: Any) -> pb.AppendStepLogsResponse:
        found = self._operation(request.operation_id)
        known = self._book.lines.setdefault(found.id, [])
        output.add(known, [self._line(line) for line in map(message.log_line, request.lines)], _place)
        self._world.log.wake()
        return pb.AppendStepLogsResponse(accepted=len(request.lines))

    def _line(self, line: StepLogLine) -> StepLogLine:
        step = self._world.find(Step, line.step_id)
        created_at = line.created_at or self._world.clock.now()
        return dataclasses.replace(line, path=step.path, step_name=step.name, created_at=created_at)

    def _named(self, request: Any) -> Release:
        release = release_request.find(
            self._world, release_name.parse_namespace("namespace", request.namespace), request.name
        )
        if release is None:
            raise errors.NotFound(ResourceType.RELEASE, release_request.title(request))
        return release

    def _operation(self, operation_id: str) -> Operation:
        return release_change.expire(self._world, self._world.find(Operation, operation_id))

    def _told(self, found: Operation) -> pb.Operation:
        clock = self._world.clock
        left = None if found.state.is_final else release_row.remaining_seconds(self._world, found)
        held = self._world.ledger.token_of(self._book.facts_of(found.id).lease_id)
        whole = dataclasses.replace(found, remaining_seconds=clock.told(left), lease_token=held)
        return encode.fill(pb.Operation(), whole)

    def _chart(self, source: str) -> Iterator[pb.GetWorkResponse]:
        data = _charts().archive_of(self._book, source) if "chart" in json.loads(source or "{}") else None
        return _parts("chart", base64.b64encode(data or b"").decode())

    def _shown(self, release_id: str, document: Any) -> Any:
        return self._book.secrets.shown(release_id, document)

    def _learn(self, found: Operation, reports: Sequence[Report]) -> None:
        self._book.secrets.learn_reports(found.release_id, reports)
        stored = self._book.stored(found.release_id, found.revision)
        told = [each for each in reports if isinstance(each, ResourceReport) and each.init and each.sensitive]
        if stored is not None and told:
            declared = {each.path: each.sensitive for each in told}
            self._book.secrets.learn_manifest(found.release_id, stored.manifest, stored.late, declared)

    def _node(self, node: Node, *, is_whole: bool = False) -> pb.Node:
        target = encode.fill(pb.Node(), dataclasses.replace(node, steps=()))
        for step in release_row.steps_of(self._world, node.operation_id, node.path):
            added = encode.fill(target.steps.add(), dataclasses.replace(step, args=None))
            if step.args is not None:
                added.args.SetInParent()
                shown = step.args if is_whole else self._book.secrets.shown_args(node.release_id, step.args)
                added.args.values.extend(shown)
        return target


def _with_drift(report: Report) -> Report:
    if not isinstance(report, FinishReport) or not report.result:
        return report
    return dataclasses.replace(report, drift=drift_of(json.loads(report.result)))


def _charts() -> Any:
    """Import the module of charts, which needs libraries that the bare install does not have."""
    return importlib.import_module("tinkwell.client.testing.release.chart")


def _parts(name: str, text: str) -> Iterator[pb.GetWorkResponse]:
    for begin in range(0, len(text), _PART_CHARACTERS):
        part = pb.DocumentPart(name=name, text=text[begin : begin + _PART_CHARACTERS])
        yield pb.GetWorkResponse(document=part)


def _place(line: StepLogLine) -> tuple[str, int, int]:
    return line.step_id, line.attempt, line.number
