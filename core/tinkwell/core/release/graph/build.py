"""The order in which an operation installs and removes resources, from what they depend on."""

from collections.abc import Iterable, Mapping

from tinkwell.core import errors
from tinkwell.core.release.graph import order
from tinkwell.core.release.kinds import NodeTask, ResourceStatus
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.release.plan import Plan, PlanNode
from tinkwell.core.release.record import Resource


def build_plan(
    rendered: RenderedManifest | None, existing: Iterable[Resource], former_plans: Mapping[int, Plan]
) -> Plan:
    """Build the plan that installs a manifest and removes what it does not have; without a manifest all is removed.

    `existing` are the resources of the release, and `former_plans` the plans of the revisions that they name. What was
    left in place is not removed again. A resource is removed before what it depends on by the plan of its revision, and
    those of newer revisions come first. Raises `errors.InvalidField` that names a loop.
    """
    wanted = rendered.resources if rendered else {}
    gone = {r.path: r.revision for r in existing if r.path not in wanted and r.status is not ResourceStatus.LEFT}
    prerequisites = {path: resource.prerequisites for path, resource in wanted.items()}
    if loop := order.find_loop(prerequisites):
        raise errors.InvalidField.of("resources", f"depend on each other in a loop: {order.show(loop)}")
    removed_before = _removed_before(gone, former_plans)
    installs = _nodes(NodeTask.INSTALL, prerequisites, first_batch=1)
    first_batch = installs[-1].batch + 1 if installs else 1
    newest_first = {path: -revision for path, revision in gone.items()}
    return Plan((*installs, *_nodes(NodeTask.REMOVE, removed_before, first_batch=first_batch, rank=newest_first)))


def _nodes(
    task: NodeTask, before: Mapping[str, Iterable[str]], *, first_batch: int, rank: Mapping[str, int] | None = None
) -> list[PlanNode]:
    """Make the nodes of a graph that has no loop: layer by layer, in the order of their ranks and names."""
    return [
        PlanNode(path=path, task=task, batch=number, after=tuple(sorted(before[path])))
        for number, batch in enumerate(order.generations(before), start=first_batch)
        for path in sorted(batch, key=lambda path: ((rank or {}).get(path, 0), path))
    ]


def _removed_before(gone: Mapping[str, int], former_plans: Mapping[int, Plan]) -> dict[str, list[str]]:
    """Say of each resource that is removed which others are removed before it: those that depended on it."""
    found: dict[str, list[str]] = {path: [] for path in gone}
    for revision in set(gone.values()) & former_plans.keys():
        for path, those in _nearest(former_plans[revision], gone).items():
            if gone.get(path) == revision:
                for prerequisite in those:
                    found[prerequisite].append(path)
    if not order.find_loop(found):
        return found
    # Plans of different revisions contradict each other; each of them alone does not.
    return {path: [other for other in found[path] if gone[other] == gone[path]] for path in found}


def _nearest(plan: Plan, gone: Mapping[str, int]) -> dict[str, set[str]]:
    """Say of each resource of a plan which removed ones it depends on, be it by way of ones that stay."""
    found: dict[str, set[str]] = {}
    for node in plan.nodes:
        if node.task is NodeTask.INSTALL:
            found[node.path] = set()
            for before in node.after:
                found[node.path] |= {before} if before in gone else found.get(before, set())
    return found
