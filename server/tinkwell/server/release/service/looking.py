"""Begins tests and plans, which leave their release unchanged, and operations that apply a plan.

A plan keeps its source, chart and options, including secrets. The operation that applies it uses exactly these, so that
it does only what was planned.
"""

import dataclasses
from collections.abc import Sequence

from tinkwell.core.release.record import Operation
from tinkwell.core.release.transition import operation as rules
from tinkwell.core.release.transition.operation import Begun
from tinkwell.core.release.transition.row import ReleaseRow
from tinkwell.core.value import check, parse
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.release.service import ending
from tinkwell.server.release.service import request as requests
from tinkwell.server.release.service.beginning import Beginning
from tinkwell.server.release.service.chart import request as chart_requests
from tinkwell.server.release.service.chart.beginning import ChartBeginning
from tinkwell.server.release.service.document import Documents
from tinkwell.server.release.store import lock
from tinkwell.server.release.store import request as store
from tinkwell.server.release.store.request import Asked


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plan(requests.Request):
    """A plan of a chart, of manifests, or, with neither, of what is installed.

    The fields are those of the other requests.
    """

    chart: str = ""
    values: str = ""
    secret_values: Sequence[str] = ()
    reset_values: bool = False
    reuse_values: bool = False
    files: Sequence[tuple[str, str]] = ()
    variables: str = ""
    variable_files: Sequence[tuple[str, str]] = ()
    secret_variables: Sequence[str] = ()
    description: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ApplyPlan:
    """The id of a plan to apply."""

    operation_id: str
    plan: str
    reason: str = ""


_OF_CHART = ("values", "secret_values", "reset_values", "reuse_values")
_OF_FILES = ("variables", "variable_files", "secret_variables")


class Looking:
    """Implements Test, Plan and ApplyPlan.

    All raise `errors.InvalidField`, `errors.OperationActive` while another operation of the release has not ended, and
    `errors.AlreadyExists` if the id belongs to an operation of a different request.
    """

    def __init__(
        self, database: Database, documents: Documents, beginning: Beginning, chart_beginning: ChartBeginning
    ) -> None:
        self._database = database
        self._documents = documents
        self._beginning = beginning
        self._chart_beginning = chart_beginning

    async def test(self, request: requests.Request, *, actor: str) -> Operation:
        """Begin to run the tests of what is installed. Raises `errors.NotFound` and `errors.IllegalTransition`."""
        asked = requests.parse_asked(check.Checks(), request, "TEST")
        name = requests.title(asked.namespace, asked.name)

        async def judge(_: Transaction, release: ReleaseRow | None) -> Begun:
            return rules.begin_test(release, name=name)

        return await self._beginning.begin(asked, judge, actor=actor)

    async def plan(self, request: Plan, *, actor: str) -> Operation:
        """Begin a plan.

        Raises what Upgrade and Apply raise, except `errors.NotFound`; for a plan of what is installed, what `test`
        raises.
        """
        _check(request)
        common = {field.name: getattr(request, field.name) for field in dataclasses.fields(requests.Request)}
        if request.chart:
            of_chart = {name: getattr(request, name) for name in ("chart", "description", *_OF_CHART)}
            asked_of_chart = chart_requests.Plan(**common, **of_chart, install=True)
            return await self._chart_beginning.plan(asked_of_chart, actor=actor)
        if request.files:
            of_files = {name: getattr(request, name) for name in ("files", "description", *_OF_FILES)}
            return await self._beginning.plan(requests.Apply(**common, **of_files), actor=actor)
        asked = requests.parse_asked(check.Checks(), request, "PLAN")
        name = requests.title(asked.namespace, asked.name)

        async def judge(_: Transaction, release: ReleaseRow | None) -> Begun:
            return rules.begin_plan(release, name=name, has_source=False)

        return await self._beginning.begin(asked, judge, actor=actor)

    async def apply_plan(self, request: ApplyPlan, *, actor: str) -> Operation:
        """Begin to apply a plan.

        Raises `errors.NotFound` for a plan that does not exist, `errors.IllegalTransition` for one that can never be
        applied, and `errors.PlanStale` if its release has changed since.
        """
        checks = check.Checks()
        operation_id = checks.take(parse.parse_uuid, "operation_id", request.operation_id)
        plan = checks.take(parse.parse_uuid, "plan", request.plan)
        reason = checks.take(requests.parse_reason, "reason", request.reason)
        checks.finish()
        applied = ApplyPlan(operation_id=operation_id, plan=plan, reason=reason)
        asked = (await self._database.write(lambda found: self._asked(found, applied), actor=actor)).value

        async def judge(transaction: Transaction, release: ReleaseRow | None) -> Begun:
            planned = await lock.plan(transaction, plan)
            if planned is None:
                raise ending.missing(plan)
            return rules.begin_apply_plan(release, planned)

        return await self._beginning.begin(asked, judge, actor=actor)

    async def _asked(self, transaction: Transaction, request: ApplyPlan) -> Asked:
        """Return the request for applying a plan, made from the plan's own request."""
        transaction.changed = False
        made = await store.find_plan(transaction, request.plan)
        planned = await lock.plan(transaction, request.plan)
        if made is None or planned is None:
            raise ending.missing(request.plan)
        source = await self._documents.plan_source(transaction, request.plan)
        return Asked(
            operation_id=request.operation_id,
            namespace=made.namespace,
            name=made.name,
            call=requests.write_call("APPLY_PLAN", plan=request.plan, description=made.description),
            options=planned.operation.options,
            source=source.value if source is not None else None,
            description=made.description,
            reason=request.reason,
            sensitive=tuple(sorted(source.places)) if source is not None else (),
            secrets=source.texts if source is not None else frozenset(),
            chart=made.chart,
            plan_of=request.plan,
        )


def _check(request: Plan) -> None:
    """Refuse fields of a chart in a request without one, and fields of manifests in a request without manifests."""
    checks = check.Checks()
    if request.chart and request.files:
        checks.refuse("files", "are given beside a chart; give one of both")
    for source, names in (("chart", _OF_CHART), ("files", _OF_FILES)):
        for name in names:
            if getattr(request, name) and not getattr(request, source):
                checks.refuse(name, f"belongs to {source}, which is not given")
    if request.description and not request.chart and not request.files:
        checks.refuse("description", "is given, and there is nothing to install; leave it out")
    checks.finish()
