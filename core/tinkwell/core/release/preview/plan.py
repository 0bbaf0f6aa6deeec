"""The plan of an operation that only looks: the resources of another plan, in its order, with fewer prerequisites.

Each resource is looked at as early as possible: after the resources that it needs, as `need` says. There are no charts
and no gates, because nothing is installed in turn. Resources that would be removed are not looked at, and nothing waits
for them.
"""

from dataclasses import replace

from tinkwell.core.release.kinds import NodeTask
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.release.plan import Plan
from tinkwell.core.release.preview.need import Needs


def looking(plan: Plan, needs: Needs) -> Plan:
    """Return the plan that looks at the resources of another plan."""
    before: set[str] = set()
    nodes = []
    for node in plan.resources:
        after = needs.get(node.path, {}) if node.task is NodeTask.INSTALL else {}
        nodes.append(replace(node, after=tuple(sorted(before & after.keys()))))
        before.add(node.path)
    return Plan(tuple(nodes))


def last_batch(plan: Plan, manifest: RenderedManifest | None) -> int:
    """Return the number of the last batch that would be installed, after which removals begin; 0 if there is none.

    With charts it is the root's batch.
    """
    if manifest is not None and manifest.charts:
        return len(next(iter(manifest.charts.values())).batches)
    return max((node.batch for node in plan.resources if node.task is NodeTask.INSTALL), default=0)
