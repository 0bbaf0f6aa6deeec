"""The calls of provisioners, which execute operations."""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.api.v1 import release_service_pb2_grpc
from tinkwell.client import call, errors
from tinkwell.client.release import message
from tinkwell.client.release.model import Acquired, Operation, StepLogLine, Submitted, UnfinishedOperation, Work
from tinkwell.client.release.report import to_report
from tinkwell.client.value import field, output
from tinkwell.client.watch import service
from tinkwell.core.release.report import Report

# A part of a document has at most 1 MiB, and a character at most four bytes.
_PART_CHARACTERS = 256 * 1024


class ReleaseWorker(service.Service):
    """Finds and acquires operations, and reports on them. `lease_token` is the token of a lease of `client.work`."""

    def __init__(self, caller: call.Caller) -> None:
        self._stub = release_service_pb2_grpc.ReleaseServiceStub(caller.channel)
        super().__init__(caller, self._stub.Watch)

    def unfinished(self, namespaces: Iterable[str] = ()) -> AsyncIterator[UnfinishedOperation]:
        """Iterate over the operations that have not ended, in these namespaces or in all.

        The call ends those that are past their deadline or cancelled, if no live owner holds them.
        """
        request = field.build(pb.ListUnfinishedOperationsRequest, namespaces=tuple(namespaces))
        return self._list(self._stub.ListUnfinished, request, message.unfinished)

    async def acquire(self, operation_id: str, lease_token: int) -> Acquired:
        """Acquire an operation, which starts if it is PENDING; raises `LeaseHeld` if another live owner has it.

        Raises `LeaseLost` if the lease is over, `IllegalTransition` if the operation has ended, or must not run on this
        engine.
        """
        request = field.build(pb.AcquireOperationRequest, operation_id=operation_id, lease_token=lease_token)
        answer = await self._caller.unary(self._stub.AcquireOperation, request, may_repeat=True)
        return Acquired(message.operation(answer.operation), answer.is_first, answer.is_same_engine)

    async def work(self, operation_id: str, lease_token: int, *, revision: int = 0) -> Work:
        """Get the input of an operation; with a `revision`, only its manifest and chart.

        Raises `LeaseLost` if this lease does not hold the operation, and `SecretsDisabled` if the server cannot decrypt
        its secrets.
        """
        request = field.build(pb.GetWorkRequest, operation_id=operation_id, lease_token=lease_token, revision=revision)
        collected = _Collected()
        async for part in self._list(self._stub.GetWork, request, lambda answer: answer):
            collected.add(part)
        return collected.work()

    async def submit_plan(
        self,
        operation_id: str,
        lease_token: int,
        *,
        manifest: str,
        late: str,
        plan: str,
        has_plugs: bool = False,
    ) -> Submitted:
        """Store the plan of an operation, and so create its revision.

        All three documents are JSON texts. `has_plugs`: the release keeps files on the caller's engine, and belongs to
        this engine from now on.
        """
        head = field.build(pb.SubmitPlanHead, operation_id=operation_id, lease_token=lease_token, has_plugs=has_plugs)
        documents = {"manifest": manifest, "late": late, "plan": plan}

        def requests() -> Iterator[pb.SubmitPlanRequest]:
            yield pb.SubmitPlanRequest(head=head)
            for name, text in documents.items():
                for part in _parts(text):
                    yield pb.SubmitPlanRequest(document=field.build(pb.DocumentPart, name=name, text=part))

        answer = await self._caller.upload(self._stub.SubmitPlan, requests, may_repeat=True)
        return Submitted(answer.revision, tuple(message.node(node) for node in answer.nodes))

    async def report(self, operation_id: str, lease_token: int, reports: Sequence[Report]) -> Operation:
        """Report on an operation: up to 500 reports, all or none, in order. A repetition changes nothing.

            await client.releases.report(operation_id, token, [NodeReport(path="db", state=NodeState.INSTALLING)])

        Raises `LeaseLost` if this lease does not hold the operation, `IllegalTransition` if the states do not allow a
        report, and `InvalidField` with the place of a report about an unknown node or step.
        """
        request = field.build(
            pb.ReportOperationRequest,
            operation_id=operation_id,
            lease_token=lease_token,
            reports=[to_report(operation_id, report) for report in reports],
        )
        answer = await self._caller.unary(self._stub.ReportOperation, request, may_repeat=True)
        return message.operation(answer.operation)

    async def append_logs(self, operation_id: str, lines: Iterable[StepLogLine] | AsyncIterable[StepLogLine]) -> int:
        """Store output lines, and return how many were accepted, repeated ones included; those do not change.

            await client.releases.append_logs(operation_id, [StepLogLine(step_id, attempt=1, number=1, text="written")])

        Lines are sent in batches, each of which is retried as calls are; those of an async iterable as it produces
        them.
        """
        accepted = 0

        async def send(batch: list[StepLogLine]) -> None:
            nonlocal accepted
            request = field.build(
                pb.AppendStepLogsRequest,
                operation_id=operation_id,
                lines=[message.to_log_line(line) for line in batch],
            )
            accepted += (await self._caller.unary(self._stub.AppendLogs, request, may_repeat=True)).accepted

        if isinstance(lines, AsyncIterable):
            await output.relay(lines, send)
        else:
            for batch in output.pack(lines):
                await send(batch)
        return accepted


class _Collected:
    """Joins the parts of an operation's input."""

    def __init__(self) -> None:
        self._operation: pb.Operation | None = None
        self._release: pb.Release | None = None
        self._documents: dict[str, list[str]] = {}
        self._nodes: list[pb.Node] = []
        self._resources: list[pb.Resource] = []
        self._secrets: frozenset[str] = frozenset()

    def add(self, part: pb.GetWorkResponse) -> None:
        match part.WhichOneof("part"):
            case "operation":
                self._operation = part.operation
            case "release":
                self._release = part.release
            case "document":
                self._documents.setdefault(part.document.name, []).append(part.document.text)
            case "node":
                self._nodes.append(part.node)
            case "resource":
                self._resources.append(part.resource)
            case "secrets":
                self._secrets = frozenset(part.secrets.texts)

    def work(self) -> Work:
        if self._operation is None or self._release is None:
            raise errors.Error("the server sent work without its operation or its release")
        return Work(
            message.operation(self._operation),
            message.release(self._release),
            {name: "".join(parts) for name, parts in self._documents.items()},
            tuple(message.node(node) for node in sorted(self._nodes, key=lambda node: node.ordinal)),
            tuple(message.resource(resource) for resource in self._resources),
            self._secrets,
        )


def _parts(text: str) -> Iterator[str]:
    for begin in range(0, len(text), _PART_CHARACTERS):
        yield text[begin : begin + _PART_CHARACTERS]
