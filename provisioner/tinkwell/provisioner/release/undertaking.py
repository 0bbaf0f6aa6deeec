"""Carries out an operation that this provisioner holds: from its documents to its end.

    no plan yet      clear ─▶ prepare ─▶ SubmitPlan ─┐
                       └─ preparation fails, is cancelled, or takes too long: FAILED, CANCELLED, TIMEOUT
    it has a plan    clear ─▶ recall ────────────────┴─▶ walk ─▶ `Finish`

No container of the release runs here while an operation is prepared. When an operation is taken over, only its actions
and removals run, and they are adopted. See `leftover`.
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from tinkwell.client import errors as client_errors
from tinkwell.client import retry
from tinkwell.client.release.model import Node, Operation, Submitted, Work
from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release import cause
from tinkwell.core.release.decision import removal, view
from tinkwell.core.release.decision.command import Finish
from tinkwell.core.release.decision.view import OperationView, StepKey
from tinkwell.core.release.kinds import NodeTask, OperationKind, Phase
from tinkwell.core.release.lifecycle_event.name import Event, verb_of
from tinkwell.core.release.plan import Plan
from tinkwell.core.release.record import Options
from tinkwell.core.release.report import PhaseReport
from tinkwell.core.release.transition.row import PLANNED_PHASES
from tinkwell.core.value import check, document
from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.release import leftover
from tinkwell.provisioner.release.call import outputs
from tinkwell.provisioner.release.call.caller import Caller
from tinkwell.provisioner.release.call.config import Configs
from tinkwell.provisioner.release.call.plug import ChartPlugs, Machine, Plugs
from tinkwell.provisioner.release.call.sink import Sink
from tinkwell.provisioner.release.call.step import StepRun
from tinkwell.provisioner.release.call.wiring import Wiring
from tinkwell.provisioner.release.core_event import CarryOut
from tinkwell.provisioner.release.expression.evaluate import Expressions
from tinkwell.provisioner.release.host import Host
from tinkwell.provisioner.release.lifecycle.lifecycle import Lifecycle
from tinkwell.provisioner.release.lifecycle.occasion import Emitted
from tinkwell.provisioner.release.lua.scripts import Scripts
from tinkwell.provisioner.release.prepare import preparation as prepare
from tinkwell.provisioner.release.prepare.preparation import Prepared
from tinkwell.provisioner.release.preview import again, found, hook
from tinkwell.provisioner.release.preview.digest import digest_of
from tinkwell.provisioner.release.preview.expected import STALE_MANIFEST, Expected
from tinkwell.provisioner.release.reporter import Reporter
from tinkwell.provisioner.release.resource import Resource
from tinkwell.provisioner.release.schema.check import Schemas
from tinkwell.provisioner.release.secret import Secrets
from tinkwell.provisioner.release.walk import Walk
from tinkwell.sandbox.errors import SandboxError

T = TypeVar("T")

# A time that is in the past for every clock of an event loop.
_AT_ONCE = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    """A planned operation, with its nodes as the server has stored them."""

    prepared: Prepared
    nodes: Sequence[Node]
    revision: int
    phase: Phase


class Undertaking:
    """Brings one operation to its end. Call `close` once no task of it runs."""

    def __init__(
        self,
        work: Work,
        host: Host,
        *,
        ends_at: float,
        reporter: Reporter,
        secrets: Secrets,
        group: asyncio.TaskGroup,
    ) -> None:
        self._work = work
        self._host = host
        self._ends_at = ends_at
        self._reporter = reporter
        self._secrets = secrets
        self._group = group
        self._expressions = Expressions(room=host.room, make_child=host.make_child)
        self._schemas = Schemas(room=host.room, make_child=host.make_child)
        self._lifecycle = Lifecycle(
            prepare.occasion_of(work),
            listeners=host.lifecycle.listeners,
            make=functools.partial(Scripts, room=host.room),
        )
        release = work.release
        folder = host.folder / release.id
        self._only_looks = work.operation.kind is OperationKind.PLAN
        self._is_planned = work.operation.phase in PLANNED_PHASES
        self._machine = Machine(host.grants, namespace=release.namespace, folder=folder, only_looks=self._only_looks)
        self._plugs = ChartPlugs(self._machine)
        self._digest = ""  # the digest of the manifest that a plan looks at
        # The result of a plan, or the outputs of the release, as JSON text; empty until they are known.
        self.result = ""
        self._phase = work.operation.phase
        self._entered: Awaitable[None] | None = None
        self._cancelled: Operation | None = None
        self._walk: Walk | None = None
        # Its deadline is moved into the past to interrupt the preparation.
        self._scope: asyncio.Timeout | None = None

    @property
    def runs(self) -> Sequence[StepRun]:
        """The attempts whose containers may still exist here."""
        return self._walk.runs if self._walk is not None else ()

    def hear(self, operation: Operation) -> None:
        """Take over a cancellation from the operation as the server has sent it."""
        if operation.cancel_requested:
            self._cancelled = operation
            if self._walk is not None:
                self._walk.hear(operation)
            elif self._scope is not None and not self._scope.expired():
                self._scope.reschedule(_AT_ONCE)

    def leave(self) -> None:
        """Give back all places and keys, once no attempt of the operation is watched here."""
        if self._walk is not None:
            self._walk.leave()

    async def close(self) -> None:
        """End the child processes."""
        await self._lifecycle.close()
        await self._expressions.close()
        await self._schemas.close()

    async def run(self) -> Finish:
        """Carry the operation out, and return how it ends; raises the `errors.Error` with which the server refuses."""
        self.hear(self._work.operation)
        if self._is_planned and not self._only_looks:
            planned = await self._recall()
        else:
            prepared = await self._in_time(self._plan)
            if isinstance(prepared, Finish):
                return prepared
            planned = prepared
        self._walk = await self._walk_of(planned)
        if self._cancelled is not None:
            self._walk.hear(self._cancelled)
        ending = await self._carry_out(self._walk)
        match self._work.operation.kind:
            case OperationKind.TEST if ending.state is State.FAILED:
                await self._tell_failure()
            case OperationKind.PLAN if ending.state in (State.SUCCEEDED, State.FAILED):
                return await self._found(planned.prepared, self._walk.view, ending)
            case kind if kind.changes_release and ending.state is State.SUCCEEDED:
                given = (self._work, planned.prepared, self._expressions, self._secrets)
                ending, self.result = await outputs.give_out(*given, revision=planned.revision)
        return ending

    async def _found(self, prepared: Prepared, seen: OperationView, ending: Finish) -> Finish:
        """Keep the result of a plan; the operation fails if the result is too long for the server."""
        given = (self._work, prepared, seen, self._secrets)
        try:
            hooks = await hook.hooks_of(self._work, prepared, self._host)
            self.result = await asyncio.to_thread(found.result_of, *given, digest=self._digest, hooks=hooks)
        except errors.InvalidField as error:
            return self._failed(cause.Reason.PREPARATION_FAILED, error)
        return ending

    async def _carry_out(self, walk: Walk) -> Finish:
        """Walk through the plan with the operation's core event."""
        kind = self._work.operation.kind
        if kind is OperationKind.PLAN:
            return await walk.run()
        return await self._host.lifecycle.find(verb_of(kind), CarryOut).carry_out(walk)

    async def _tell_failure(self) -> None:
        """Emit the event of a failed test, to subcharts before their parents; a failing handler changes nothing."""
        for chart in self._lifecycle.paths or ("",):
            emitted = await self._lifecycle.emit(chart, Event.FAILED_TEST)
            if emitted.handlers or (chart and chart == self._lifecycle.root):
                await self._reporter.post([emitted.report()])

    async def _in_time(self, work: Callable[[], Awaitable[T]]) -> T | Finish:
        """Do the work until it ends, the operation is cancelled, or its time is over."""
        scope = asyncio.timeout_at(_AT_ONCE if self._cancelled is not None else self._ends_at)
        try:
            async with scope:
                self._scope = scope
                return await work()
        except TimeoutError:
            if not scope.expired():
                raise  # the work itself raised it
        finally:
            self._scope = None
        return self._too_late()

    def _too_late(self) -> Finish:
        if self._cancelled is not None:
            return Finish(
                state=State.CANCELLED, cause=cause.text(cause.Reason.CANCELLED, "the operation was cancelled")
            )
        message = f"the operation's deadline passed in the phase {self._phase}"
        return Finish(state=State.TIMEOUT, cause=cause.text(cause.Reason.TIMEOUT, message))

    async def _plan(self) -> _Planned | Finish:
        """Prepare the operation, and send its plan to the server."""
        if not await leftover.clear(self._host.runtime, self._host.claims, self._work.release.id, needed=()):
            # An action that was not removed would run beside the actions of this operation.
            return self._failed(cause.Reason.PREPARATION_FAILED, leftover.NOT_CLEARED)
        preparation = prepare.Preparation(
            self._work,
            self._host,
            lifecycle=self._lifecycle,
            expressions=self._expressions,
            schemas=self._schemas,
            machine=self._machine,
            check=self._secrets.check,
            enter=self._enter,
            record=self._record,
            learn=self._secrets.learn,
        )
        try:
            prepared = await preparation.run()
            await self._check_known(prepared)
            await self._check_secrets(prepared)
            expected = Expected.load(self._work.expected, self._secrets)
        except (errors.InvalidField, SandboxError) as error:
            return self._failed(cause.Reason.PREPARATION_FAILED, error)
        # A manifest that is not rendered anew was compared with the plan when it was rendered.
        if expected is not None and prepared.is_rendered and not expected.is_of(prepared.manifest):
            return self._failed(cause.Reason.PLAN_STALE, STALE_MANIFEST)
        self._digest = digest_of(prepared.manifest, self._secrets)
        if self._entered is not None:
            await self._entered
        if self._is_planned:
            return self._looked_at_again(prepared)
        try:
            submitted = await self._submit(prepared)
        except client_errors.SecretsDisabled as error:
            return self._failed(cause.Reason.SECRETS_DISABLED, error)
        except client_errors.InvalidField as error:
            return self._failed(cause.Reason.PREPARATION_FAILED, error)
        except client_errors.IllegalTransition:
            # The server refuses a plan also if the operation has just been cancelled.
            self.hear(await self._operation())
            if self._cancelled is None:
                raise
            return self._too_late()
        revision = found.revision_of(self._work, prepared) if self._only_looks else submitted.revision
        return _Planned(prepared=prepared, nodes=submitted.nodes, revision=revision, phase=Phase.APPLY)

    def _looked_at_again(self, prepared: Prepared) -> _Planned | Finish:
        """Start a plan again that a former owner had begun, since its findings are lost."""
        if prepared.plan != Plan.load(self._work.plan):
            return self._failed(cause.Reason.PREPARATION_FAILED, again.RENDERED_ANEW)
        self._reporter.tell(again.Again(self._work.nodes).told)
        nodes, phase = again.anew(self._work.nodes), self._work.operation.phase
        revision = found.revision_of(self._work, prepared)
        return _Planned(prepared=prepared, nodes=nodes, revision=revision, phase=phase)

    def _failed(self, reason: cause.Reason, error: Exception | str) -> Finish:
        return Finish(state=State.FAILED, cause=cause.text(reason, self._secrets.mask(f"{self._phase}: {error}")))

    async def _enter(self, phase: Phase) -> None:
        self._phase = phase
        if self._is_planned:
            return
        self._entered = self._reporter.post([PhaseReport(phase)])

    def _record(self, emitted: Emitted) -> None:
        self._entered = self._reporter.post([emitted.report()])

    async def _check_known(self, prepared: Prepared) -> None:
        """Check the known answers to `init` as new answers are checked: before the first change."""
        checks = check.Checks()
        caller = await self._caller(prepared, revision=self._work.release.latest_revision + 1)
        for node in prepared.plan.resources:
            known = prepared.resources[node.path]
            is_left = node.task is NodeTask.REMOVE and bool(removal.why_left(known.spec))
            if known.init is not None and not is_left:
                try:
                    await caller.check_init(known, known.init)
                except errors.InvalidField as error:
                    checks.note(error)
        checks.finish()

    async def _check_secrets(self, prepared: Prepared) -> None:
        """Learn the secrets that the manifest and the known images declare, and check that no secret is shown."""
        if prepared.manifest is not None:
            installed = [each for each in prepared.plan.resources if each.task is NodeTask.INSTALL]
            declared = {node.path: prepared.resources[node.path].sensitive for node in installed}
            await self._secrets.learn_configs(prepared.manifest.resources, declared)
            self._secrets.check(prepared.manifest)

    async def _submit(self, prepared: Prepared) -> Submitted:
        manifest, late = "", ""
        if prepared.is_rendered and prepared.manifest is not None:
            manifest = document.dump_json(prepared.manifest.as_json())
            late = document.dump_json(prepared.manifest.late_as_json())
        plan, has_plugs = prepared.plan.dump(), prepared.manifest is not None and bool(prepared.manifest.plugs)

        async def submit(token: int) -> Submitted:
            return await retry.until_answered(
                lambda: self._host.api.submit_plan(
                    self._work.operation.id, token, manifest=manifest, late=late, plan=plan, has_plugs=has_plugs
                ),
                what="submit a plan",
            )

        return await self._host.lease.under(submit)

    async def _operation(self) -> Operation:
        return await retry.until_answered(
            lambda: self._host.api.operation(self._work.operation.id), what="get an operation"
        )

    async def _recall(self) -> _Planned:
        """Go on with a stored plan; steps with effects that a former owner left running are adopted."""
        work = self._work
        await leftover.clear(self._host.runtime, self._host.claims, work.release.id, needed=leftover.adoptable(work))
        return _Planned(
            prepared=await prepare.recall(work, self._host, lifecycle=self._lifecycle),
            nodes=work.nodes,
            revision=work.operation.revision,
            phase=work.operation.phase,
        )

    async def _caller(self, prepared: Prepared, *, revision: int) -> Caller:
        work = self._work
        names_of = await prepare.names_of(work, prepared.charts, self._expressions, revision=revision)
        configs = Configs(
            expressions=self._expressions,
            schemas=self._schemas,
            names_of=names_of,
            wiring=Wiring(self._expressions, names_of),
        )
        return Caller(
            operation=work.operation,
            resources=prepared.resources,
            configs=configs,
            images=self._host.images,
            plugs_of=self._plugs_of,
            runtime=self._host.runtime,
            secrets=self._secrets,
            expected=Expected.load(work.expected, self._secrets),
        )

    def _plugs_of(self, known: Resource) -> Plugs:
        return self._plugs.find(known.manifest, known.chart)

    async def _walk_of(self, planned: _Planned) -> Walk:
        operation, prepared = self._work.operation, planned.prepared
        seen = view.build(
            operation_id=operation.id,
            plan=prepared.plan,
            options=operation.options or Options(),
            phase=planned.phase,
            nodes=[(node, node.steps) for node in planned.nodes],
            specs=prepared.resources.specs,
            inits=prepared.resources.inits,
            remaining_seconds=self._ends_at - asyncio.get_running_loop().time(),
        )
        return Walk(
            seen,
            release_id=self._work.release.id,
            began=_began(planned.nodes).get,
            run_of=self._run_of,
            caller=await self._caller(prepared, revision=planned.revision),
            lifecycle=self._lifecycle,
            reporter=self._reporter,
            lease=self._host.lease,
            places=self._host.places,
            keys=self._host.keys,
            group=self._group,
            only_looks=self._only_looks,
        )

    def _run_of(self, key: RunKey, outlives: bool) -> StepRun:
        return StepRun(
            key,
            runtime=self._host.runtime,
            claims=self._host.claims,
            sink=Sink(self._host.api, self._work.operation.id),
            secrets=self._secrets,
            beside=self._group,
            outlives=outlives,
        )


def _began(nodes: Sequence[Node]) -> Mapping[StepKey, datetime | None]:
    return {StepKey(node.path, step.ordinal): step.started_at for node in nodes for step in node.steps}
