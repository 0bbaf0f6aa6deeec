"""Tests and plans in the fake server."""

from types import SimpleNamespace

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.client.release.model import Operation
from tinkwell.client.testing.release import request as release_request
from tinkwell.client.testing.release import row as release_row
from tinkwell.client.testing.world import World
from tinkwell.core import errors
from tinkwell.core.release.transition import operation as rule
from tinkwell.core.release.transition.operation import Begun
from tinkwell.core.release.transition.row import PlannedRow, ReleaseRow

_OF_CHART = ("values", "secret_values", "reset_values", "reuse_values")
_OF_FILES = ("variables", "variable_files", "secret_variables")


def test(world: World, request: pb.TestRequest) -> Operation:
    """Begin to test a release."""
    name = release_request.title(request)
    return release_request.begin(world, request, lambda release: rule.begin_test(release, name=name))


def plan(world: World, request: pb.PlanRequest) -> Operation:
    """Begin a plan of manifests, or of the installed release."""
    name, has_source = release_request.title(request), bool(request.files)

    def judge(release: ReleaseRow | None) -> Begun:
        return rule.begin_plan(release, name=name, has_source=has_source)

    if has_source:
        return release_request.apply(world, request, judge)
    return release_request.begin(world, request, judge)


def check(request: pb.PlanRequest) -> None:
    """Refuse fields that need a chart if no chart is given, and fields that need manifests if none are given."""
    if request.chart and request.files:
        raise errors.InvalidField.of("files", "are given beside a chart; give one of both")
    for source, names in (("chart", _OF_CHART), ("files", _OF_FILES)):
        for name in names:
            if getattr(request, name) and not getattr(request, source):
                raise errors.InvalidField.of(name, f"belongs to {source}, which is not given")
    if request.description and not request.chart and not request.files:
        raise errors.InvalidField.of("description", "is given, and there is nothing to install; leave it out")


def apply_plan(world: World, request: pb.ApplyPlanRequest) -> Operation:
    """Begin the operation that was planned, with the input of the plan."""
    made = world.find(Operation, request.plan)
    facts = world.releases.facts_of(made.id)

    def judge(release: ReleaseRow | None) -> Begun:
        mine = [each for each in world.all(Operation) if each.release_id == made.release_id]
        since = mine[mine.index(made) + 1 :]
        changes = [each for each in since if each.kind.changes_release and world.releases.facts_of(each.id).plan]
        row = release_row.operation_row(world, made)
        changed_by = changes[-1].id if changes else ""
        return rule.begin_apply_plan(
            release, PlannedRow(operation=row, release_id=made.release_id, changed_by=changed_by)
        )

    asked = SimpleNamespace(
        operation_id=request.operation_id,
        namespace=made.namespace,
        name=made.release_name,
        description=facts.description,
        reason=request.reason,
        SerializeToString=request.SerializeToString,
    )
    return release_request.begin(world, asked, judge, source=facts.source, options=made.options, plan_of=made.id)
