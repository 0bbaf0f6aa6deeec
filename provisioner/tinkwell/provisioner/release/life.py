"""What was there before an operation, as far as its life calls for it: hooks and handlers of charts that are left.

It is the revision that was DEPLOYED last, which stays while the operation goes on, or for a removal of what never was
DEPLOYED the newest one.
"""

import asyncio
from collections.abc import Iterable, Iterator

from tinkwell.client.release import model
from tinkwell.core.release.kinds import NodeTask, OperationKind, PlanKind
from tinkwell.core.release.lifecycle_event import name as events
from tinkwell.core.release.lifecycle_event.path import split_hook
from tinkwell.core.release.manifest import name
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.release.plan import Plan
from tinkwell.core.value import document
from tinkwell.provisioner.queue import retry
from tinkwell.provisioner.release import chart_source
from tinkwell.provisioner.release.host import Host
from tinkwell.provisioner.release.resource import Resource, Revision

MAX_MANIFEST_BYTES = 8 * 1024 * 1024


async def former(host: Host, work: model.Work, plan: Plan | None) -> Revision | None:
    """Return what was there before; None where nothing was, or the operation has nothing to do with it.

    `plan` is what the operation is going to do, as far as that is known; None where that makes no difference.
    """
    number = _number(work)
    if not number or not _is_needed(work.operation.kind, plan):
        return None

    async def get(token: int) -> model.Work:
        return await retry.until_answered(
            lambda: host.api.work(work.operation.id, token, revision=number), what="get the manifest of a revision"
        )

    return await asyncio.to_thread(_read, await host.lease.under(get))


def hooks(plan: Plan, present: Revision | None, left: Revision | None) -> Iterator[Resource]:
    """Iterate over the hooks of a plan, each as the manifest has it whose event it is."""
    for node in plan.hooks:
        path, event = split_hook(node.path)
        for revision in (left, present) if events.is_of_former(event) else (present,):
            if revision is not None and path in revision.manifest.hooks:
                yield _hook(node.path, node.task, revision, path)
                break


def hook_types(hooks_of_plan: Iterable[Resource]) -> dict[str, str]:
    """Return the types of hooks, each with the path of its first hook."""
    found: dict[str, str] = {}
    for each in hooks_of_plan:
        found.setdefault(each.type, each.manifest_path)
    return found


def _number(work: model.Work) -> int:
    release = work.release
    is_removal = work.operation.kind is OperationKind.UNINSTALL
    return release.revision or (release.latest_revision if is_removal else 0)


def _is_needed(kind: OperationKind, plan: Plan | None) -> bool:
    """Whether an operation ends the life of a chart: of all by its kind, or of those that its plan removes."""
    if kind in (OperationKind.UNINSTALL, OperationKind.ROLLBACK):
        return True
    return plan is not None and any(
        node.task is NodeTask.REMOVE and node.kind in (PlanKind.CHART, PlanKind.HOOK) for node in plan.nodes
    )


def _read(work: model.Work) -> Revision | None:
    """Read a revision, in a thread, and of its charts the files of those that have hooks."""
    if not work.manifest:
        return None
    given = document.parse_json("manifest", work.manifest, max_bytes=MAX_MANIFEST_BYTES)
    manifest = RenderedManifest.from_json(given, {})
    if not work.chart:
        return Revision(manifest=manifest)
    root = chart_source.read(work.chart)
    charts = {name.split_chart(path)[0] for path in manifest.hooks}
    files = {path: chart_source.files_at(root, path) for path in charts}
    return Revision(manifest=manifest, files=lambda path: files.get(path, {}))


def _hook(path: str, task: NodeTask, revision: Revision, written: str) -> Resource:
    rendered = revision.manifest.resources[written]
    return Resource(
        path=path,
        manifest_path=written,
        is_hook=True,
        type=rendered.type,
        task=task,
        manifest=revision.manifest,
        files=revision.files(name.split_chart(written)[0]),
        config=rendered.config,
    )
