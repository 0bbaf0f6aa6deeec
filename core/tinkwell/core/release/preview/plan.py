"""The plan of an operation that only looks: the resources of another plan, in its order, with less to wait for.

What is there is looked at as soon as it can be: a resource comes after those that it needs, as `need` says. There are
neither charts nor gates, since nothing is brought about in turn, and nothing waits for the resources that would be
removed, which are not looked at.
"""

from dataclasses import replace

from tinkwell.core.release.kinds import NodeTask
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.release.plan import Plan
from tinkwell.core.release.preview.need import Needs


def looking(plan: Plan, needs: Needs) -> Plan:
    """Return the plan that looks at what another one would do."""
    before: set[str] = set()
    nodes = []
    for node in plan.resources:
        after = needs.get(node.path, {}) if node.task is NodeTask.INSTALL else {}
        nodes.append(replace(node, after=tuple(sorted(before & after.keys()))))
        before.add(node.path)
    return Plan(tuple(nodes))


def last_batch(plan: Plan, manifest: RenderedManifest | None) -> int:
    """Return the number of the last batch that would be installed, after which removals begin; 0 where there is none.

    With charts it is that of the root.
    """
    if manifest is not None and manifest.charts:
        return len(next(iter(manifest.charts.values())).batches)
    return max((node.batch for node in plan.resources if node.task is NodeTask.INSTALL), default=0)
