"""The order in which an operation installs and removes resources, from their dependencies."""

from collections.abc import Iterable, Mapping

from tinkwell.core.release.graph import installation, removal
from tinkwell.core.release.graph.life import Life, Weaver, test_nodes
from tinkwell.core.release.kinds import PlanKind, ResourceStatus, Wait
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.release.plan import Plan
from tinkwell.core.release.record import Resource


def build_plan(
    rendered: RenderedManifest | None,
    existing: Iterable[Resource],
    former_plans: Mapping[int, Plan],
    *,
    wait: Wait = Wait.ORDERED,
    stored: Plan | None = None,
    life: Life | None = None,
) -> Plan:
    """Build the plan that installs a manifest and removes other existing resources; without a manifest all are removed.

    `existing` are the resources of the release, and `former_plans` the plans of the revisions that they name. A
    resource that was left in place is not removed again. A resource is removed before its dependencies in the plan of
    its revision; resources of newer revisions come first. `wait` says which parts of a chart wait for which. If a
    manifest is installed again, the installation of its `stored` plan is used. `life` gives the plan events and hooks;
    without it there are none. Raises `errors.InvalidField` that names a loop.
    """
    wanted = rendered.installed if rendered else {}
    gone = {r.path: r.revision for r in existing if r.path not in wanted and r.status is not ResourceStatus.LEFT}
    if rendered is not None and stored is not None:
        installs = list(stored.installation.nodes)
    else:
        installs = installation.install(rendered, wait) if rendered is not None else []
    weaver = None if life is None else Weaver(life)
    plans = {revision: former_plans[revision] for revision in set(gone.values()) & former_plans.keys()}
    if any(node.kind is PlanKind.CHART for plan in plans.values() for node in plan.nodes):
        kept = rendered.charts if rendered is not None else ()
        removals = removal.mirror(gone, plans, kept=kept, weave=list if weaver is None else weaver.remove)
    else:
        first_batch = installs[-1].batch + 1 if installs else 1
        removals = removal.reverse(gone, plans, first_batch=first_batch)
        removals = removals if weaver is None else weaver.remove(removals)
    if weaver is not None:
        installs = weaver.install(installs, has_removals=bool(removals))
        removals = weaver.conclude(removals)
    return Plan((*installs, *removals))


def build_test_plan(life: Life) -> Plan:
    """Build the plan that tests a release: hooks of the event `test`, and the events around them."""
    return Plan(tuple(test_nodes(life)))
