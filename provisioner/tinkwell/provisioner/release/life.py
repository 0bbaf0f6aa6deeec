"""Reads former revisions: the ones that installed removed resources, and the one whose hooks and handlers run.

Hooks and handlers of removed charts come from the revision that was DEPLOYED last, which does not change during the
operation. If a release that is removed was never DEPLOYED, they come from its newest revision.
"""

import asyncio
from collections.abc import Container, Iterable, Iterator, Mapping

from tinkwell.client import retry
from tinkwell.client.release import model
from tinkwell.core.release.kinds import NodeTask, OperationKind, PlanKind
from tinkwell.core.release.lifecycle_event import name as events
from tinkwell.core.release.lifecycle_event.path import split_event, split_hook
from tinkwell.core.release.manifest import name
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.release.plan import Plan, PlanNode
from tinkwell.core.value import document
from tinkwell.provisioner.release.host import Host
from tinkwell.provisioner.release.lifecycle.subject import Subject
from tinkwell.provisioner.release.prepare import chart_source
from tinkwell.provisioner.release.resource import Resource, Revision

MAX_MANIFEST_BYTES = 8 * 1024 * 1024


async def former_work(
    host: Host, work: model.Work, plan: Plan | None, manifest: RenderedManifest | None = None
) -> model.Work | None:
    """Return the stored documents of the former revision; None if there is none or the operation ends no chart of it.

    `plan` is the operation's plan and `manifest` its new manifest; each is None if it is not known or does not matter.
    """
    number, is_needed = _number(work), _is_needed(work.operation.kind, plan)
    # An upgrade may remove a chart without resources, which no plan contains.
    may_go = manifest is not None and work.operation.kind is OperationKind.UPGRADE and bool(work.release.chart_name)
    if not number or not (is_needed or may_go):
        return None
    found = await _revision_work(host, work.operation.id, number)
    if not found.manifest or not (is_needed or await asyncio.to_thread(_has_gone, found, manifest)):
        return None
    return found


async def former_revisions(host: Host, work: model.Work, gone: Container[str]) -> Mapping[int, Revision]:
    """Return the revisions that installed the resources which are removed, as far as they are stored."""
    # A resumed operation may have removed some of them already; the server has no rows of those.
    charts: dict[int, set[str]] = {}
    for row in work.resources:
        if row.path in gone and row.revision:
            charts.setdefault(row.revision, set()).add(name.split_chart(row.path)[0])
    found: dict[int, Revision] = {}
    for number in charts:
        revision = await _former_revision(host, work.operation.id, number, charts[number])
        if revision is not None:
            found[number] = revision
    return found


def hooks(plan: Plan, present: Revision | None, left: Revision | None) -> Iterator[Resource]:
    """Iterate over the hooks of a plan, each from the manifest whose event it belongs to."""
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
    """Whether an operation removes a chart: all charts because of its kind, or those that its plan removes."""
    if kind in (OperationKind.UNINSTALL, OperationKind.ROLLBACK):
        return True
    return plan is not None and any(
        node.task is NodeTask.REMOVE and (node.kind in (PlanKind.CHART, PlanKind.HOOK) or _is_of_former(node))
        for node in plan.nodes
    )


def _is_of_former(node: PlanNode) -> bool:
    return node.kind is PlanKind.EVENT and events.is_of_former(split_event(node.path)[1])


def _has_gone(former: model.Work, manifest: RenderedManifest | None) -> bool:
    """Whether the manifest lacks a chart of the former revision; call it in a thread."""
    charts = manifest.charts if manifest is not None else {}
    return any(path not in charts for path in _manifest(former).charts)


def subject(work: model.Work) -> Subject:
    """Read a revision for its events; call it in a thread. Raises `errors.InvalidField`."""
    manifest = _manifest(work)
    return Subject(chart_source.of_work(work, manifest), manifest)


def read(work: model.Work) -> Revision:
    """Read a revision, and the files of its charts that have hooks; call it in a thread."""
    manifest = _manifest(work)
    if not work.chart:
        return Revision(manifest=manifest)
    root = chart_source.read(work.chart)
    charts = {name.split_chart(path)[0] for path in manifest.hooks}
    files = {path: chart_source.files_at(root, path) for path in charts}
    return Revision(manifest=manifest, files=lambda path: files.get(path, {}))


async def _former_revision(host: Host, operation_id: str, revision: int, charts: Iterable[str]) -> Revision | None:
    found = await _revision_work(host, operation_id, revision)
    return await asyncio.to_thread(_read_revision, found, charts)


def _read_revision(work: model.Work, charts: Iterable[str]) -> Revision | None:
    """Read a former revision, if it is stored, and the files of these charts; call it in a thread."""
    if not work.manifest:
        return None
    given = document.parse_json("manifest", work.manifest, max_bytes=MAX_MANIFEST_BYTES)
    manifest = RenderedManifest.from_json(given, {})
    if not work.chart:
        return Revision(manifest=manifest)
    root = chart_source.read(work.chart)
    files = {path: chart_source.files_at(root, path) for path in charts}
    return Revision(manifest=manifest, files=files.__getitem__)


async def _revision_work(host: Host, operation_id: str, revision: int) -> model.Work:
    """Get the stored documents of a revision."""

    async def get(token: int) -> model.Work:
        return await retry.until_answered(
            lambda: host.api.work(operation_id, token, revision=revision), what="get the manifest of a revision"
        )

    return await host.lease.under(get)


def _manifest(work: model.Work) -> RenderedManifest:
    given = document.parse_json("manifest", work.manifest, max_bytes=MAX_MANIFEST_BYTES)
    return RenderedManifest.from_json(given, {})


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
