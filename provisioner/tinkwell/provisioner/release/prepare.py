"""From what an operation works on to what is to be done: LOAD, RENDER and VALIDATE.

    LOAD       the manifests are read, or the chart is, with its subcharts and their values
    RENDER     their expressions are evaluated, but for those that need the states of resources
    VALIDATE   what can be checked before anything changes: plugs, images, loops, and whatever images have said before

Up to here the release is as it was before, and nothing runs, so after a change of owner all of it is done once more.
What brings about a stored revision again, or removes a release, has nothing to load or to render.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict, cast

from tinkwell.client.release import model
from tinkwell.core import errors
from tinkwell.core.release.graph.life import Life
from tinkwell.core.release.kinds import NodeTask, OperationKind, Phase, Wait
from tinkwell.core.release.manifest import name, reader
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.release.plan import Plan
from tinkwell.core.release.preview import need
from tinkwell.core.release.preview import plan as preview_plan
from tinkwell.core.release.record import Options
from tinkwell.core.release.record import Resource as Row
from tinkwell.core.value import check, document, parse
from tinkwell.core.value.document import JsonObject
from tinkwell.provisioner.queue import retry
from tinkwell.provisioner.release import chart_render, chart_source, life, resource
from tinkwell.provisioner.release.call.plug import Machine, Plugs
from tinkwell.provisioner.release.chart_source import MAX_SOURCE_BYTES, Charts
from tinkwell.provisioner.release.emitter import Emitter
from tinkwell.provisioner.release.expression.evaluate import Expressions
from tinkwell.provisioner.release.expression.naming import ManifestNames, Names, Release
from tinkwell.provisioner.release.host import Host
from tinkwell.provisioner.release.resource import Resource, Resources, Revision
from tinkwell.provisioner.runtime import port

logger = logging.getLogger(__name__)

MAX_MANIFEST_BYTES = 8 * 1024 * 1024
# So many images are looked for at once, and fetched where they are missing.
IMAGES_AT_ONCE = 4


class _VariableFile(TypedDict):
    name: str
    variables: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What an operation is going to do. `manifest` is None where it only removes; `is_rendered`: it is a new one.

    `charts` are those that it is about, None for an applied release and where it only removes.
    """

    manifest: RenderedManifest | None
    charts: Charts | None
    plan: Plan
    resources: Resources
    is_rendered: bool


class Preparation:
    """The preparation of one operation. `enter` is told of each phase that begins, and `machine` finds plugs."""

    def __init__(
        self,
        work: model.Work,
        host: Host,
        *,
        expressions: Expressions,
        machine: Machine,
        emitter: Emitter,
        enter: Callable[[Phase], Awaitable[None]],
    ) -> None:
        self._work = work
        self._host = host
        self._expressions = expressions
        self._machine = machine
        self._emitter = emitter
        self._enter = enter

    async def run(self) -> Prepared:
        """Say what is to be done; raises `errors.InvalidField`, and `sandbox.errors.SandboxError`."""
        work = self._work
        is_rendered = not work.manifest and work.operation.kind is not OperationKind.UNINSTALL
        charts = await asyncio.to_thread(chart_source.of_work, work)
        manifest = await self._render(charts) if is_rendered else stored_manifest(work)
        await self._enter(Phase.VALIDATE)
        if manifest is not None:
            self._check(manifest)
        revision = _revision(manifest, charts)
        left = await self._left(manifest)
        plan = await asyncio.to_thread(build_plan, manifest, work, self._life(manifest, left))
        gone = {node.path for node in plan.resources if node.task is NodeTask.REMOVE}
        hooks = list(life.hooks(plan, revision, left))
        ids = await self._image_ids(manifest, {row.type for row in work.resources if row.path in gone}, hooks)
        former = await former_revisions(self._host, work, gone)
        resources = resource.of_plan(plan, work.resources, revision=revision, former=former, image_ids=ids, hooks=hooks)
        return Prepared(manifest=manifest, charts=charts, plan=plan, resources=resources, is_rendered=is_rendered)

    async def _left(self, manifest: RenderedManifest | None) -> Revision | None:
        """Return what was there before, if anything of it is left that has a life."""
        work = self._work
        is_removing = manifest is not None and any(row.path not in manifest.installed for row in work.resources)
        if not work.operation.kind.changes_release:
            return None
        plan = await asyncio.to_thread(build_plan, manifest, work) if is_removing else None
        return await life.former(self._host, work, plan)

    def _life(self, manifest: RenderedManifest | None, left: Revision | None) -> Life | None:
        """Say which events and hooks there are; None where the operation only asks what there was to be done."""
        operation = self._work.operation
        if operation.kind is OperationKind.PLAN:
            return None
        return Life(
            kind=operation.kind,
            manifest=manifest,
            heard=self._emitter.heard(),
            former=left.manifest if left is not None else None,
            former_heard=self._emitter.heard() if manifest is None else {},
            wait=(operation.options or Options()).wait,
        )

    async def _render(self, charts: Charts | None) -> RenderedManifest:
        release = release_of(self._work, self._work.release.latest_revision + 1)
        if charts is None:
            manifest, warnings = await self._render_manifest(release)
        else:
            manifest, warnings = await self._render_charts(charts, release)
        for warning in warnings:
            logger.warning("a manifest may not mean what it says", extra={"release": release["name"], "what": warning})
        return manifest

    async def _render_charts(self, charts: Charts, release: Release) -> tuple[RenderedManifest, Sequence[str]]:
        await self._enter(Phase.RENDER)
        wait = self._work.operation.options.wait if self._work.operation.options is not None else Wait.ORDERED
        rendered = await chart_render.render(charts, release, self._expressions, wait=wait)
        return rendered.manifest, rendered.warnings

    async def _render_manifest(self, release: Release) -> tuple[RenderedManifest, Sequence[str]]:
        work = self._work
        source = document.parse_json_object("source", work.source, max_bytes=MAX_SOURCE_BYTES)
        files = cast("dict[str, str]", source["files"])
        manifest = await asyncio.to_thread(reader.read, list(files.items()))
        await self._enter(Phase.RENDER)
        variables = await variables_of(work, self._expressions)
        rendered = await self._expressions.render(manifest, ManifestNames(variables, release))
        return rendered.manifest, rendered.warnings

    def _check(self, manifest: RenderedManifest) -> None:
        checks = check.Checks()
        if manifest.plugs and not self._host.runtime.is_local:
            checks.refuse(
                "plugs", "are files of the engine's machine, and this provisioner's engine may be another one"
            )
        for path, each in manifest.resources.items():
            checks.take(self._host.images.check, f"{parse.child('resources', path)}.type", each.type)
        for chart, plugs in manifest.plugs_by_chart().items():
            try:
                Plugs(self._machine, plugs, chart=chart)
            except errors.InvalidField as error:
                checks.note(error)
        checks.finish()

    async def _image_ids(
        self, manifest: RenderedManifest | None, removed_types: Iterable[str], hooks: Iterable[Resource]
    ) -> Mapping[str, str]:
        """Return what the images of types are; those that are only needed for removals may be missing."""
        fields = {type_: f"{parse.child('resources', path)}.type" for type_, path in life.hook_types(hooks).items()}
        for path, each in manifest.installed.items() if manifest is not None else ():
            fields.setdefault(each.type, f"{parse.child('resources', path)}.type")
        vacant = asyncio.Semaphore(IMAGES_AT_ONCE)

        async def identify(image: str) -> tuple[str, str | port.RunError]:
            async with vacant:
                try:
                    return image, await self._host.runtime.image_id(image)
                except port.RunError as error:
                    return image, error

        found = dict(await asyncio.gather(*map(identify, {*fields, *removed_types})))
        checks = check.Checks()
        for image, field in fields.items():
            if isinstance(problem := found[image], port.RunError):
                checks.refuse(field, str(problem))
        checks.finish()
        return {image: known for image, known in found.items() if isinstance(known, str)}


async def recall(work: model.Work, host: Host) -> Prepared:
    """Return what an operation is doing that has a plan already."""
    manifest = stored_manifest(work)
    plan = await asyncio.to_thread(Plan.load, work.plan)
    gone = {node.path for node in plan.resources if node.task is NodeTask.REMOVE}
    former = await former_revisions(host, work, gone)
    charts = await asyncio.to_thread(chart_source.of_work, work)
    revision = _revision(manifest, charts)
    left = await life.former(host, work, plan) if plan.hooks else None
    hooks = life.hooks(plan, revision, left)
    resources = resource.of_plan(plan, work.resources, revision=revision, former=former, image_ids=None, hooks=hooks)
    return Prepared(manifest=manifest, charts=charts, plan=plan, resources=resources, is_rendered=False)


def stored_manifest(work: model.Work) -> RenderedManifest | None:
    """Return the manifest that is stored already; None for an operation without one."""
    if not work.manifest:
        return None
    manifest = document.parse_json_object("manifest", work.manifest, max_bytes=MAX_MANIFEST_BYTES)
    late = document.parse_json_object("late", work.late or "{}", max_bytes=MAX_MANIFEST_BYTES)
    return RenderedManifest.from_json(manifest, late)


def build_plan(manifest: RenderedManifest | None, work: model.Work, lived: Life | None = None) -> Plan:
    """Build the plan of an operation, in a thread: what it imports takes its time, once.

    Without a life it has no events and no hooks.
    """
    from tinkwell.core.release.graph import build

    if work.operation.kind is OperationKind.TEST:
        assert lived is not None, "a test is nothing else"
        return build.build_test_plan(lived)
    former = {revision: Plan.load(text, field=f"removed/{revision}") for revision, text in work.removed_plans.items()}
    options = work.operation.options or Options()
    # What is brought about again has a plan already.
    stored = Plan.load(work.plan) if work.plan else None
    rows, wait = map(_row, work.resources), options.wait
    if work.operation.kind is not OperationKind.PLAN:
        return build.build_plan(manifest, rows, former, wait=wait, stored=stored, life=lived)
    plan = build.build_plan(manifest, rows, former, wait=wait, stored=stored)
    return preview_plan.looking(plan, need.needs(manifest) if manifest is not None else {})


async def former_revisions(host: Host, work: model.Work, gone: Container[str]) -> Mapping[int, Revision]:
    """Return the revisions by which resources were installed that are removed, as far as there are any."""
    # An operation that is gone on with has removed some already, of which there is nothing any more.
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


async def names_of(
    work: model.Work, charts: Charts | None, expressions: Expressions, *, revision: int
) -> Callable[[str], Names]:
    """Return what gives the names that expressions of a chart know, by its path; raises as `Preparation.run`."""
    release = release_of(work, revision)
    if charts is not None:
        return lambda path: charts.names(path, release)
    names = ManifestNames(await variables_of(work, expressions), release)
    return lambda _: names


async def variables_of(work: model.Work, expressions: Expressions) -> JsonObject:
    """Return the variables that the user gave, of whose files some may have expressions; raises as `Preparation.run`.

    Single ones replace what files say.
    """
    if not work.source:
        return {}
    source = document.parse_json_object("source", work.source, max_bytes=MAX_SOURCE_BYTES)
    given = cast(JsonObject, source["variables"])
    files = [
        (file["name"], file["variables"]) for file in cast("list[_VariableFile]", source.get("variable_files", []))
    ]
    return {**await expressions.variables(files, given), **given} if files else given


def release_of(work: model.Work, revision: int) -> Release:
    """Return what expressions know of the release."""
    kind = work.operation.kind
    # A plan is told what the operation is told that applies it, or the one that has installed what it looks at.
    is_planned = kind is OperationKind.PLAN and (not work.release.revision or revision == 1)
    is_install = kind is OperationKind.INSTALL or is_planned
    return {
        "name": work.release.name,
        "namespace": work.release.namespace,
        "revision": revision,
        "is_install": is_install,
        "is_upgrade": not is_install,
    }


async def _former_revision(host: Host, operation_id: str, revision: int, charts: Iterable[str]) -> Revision | None:
    async def get(token: int) -> model.Work:
        return await retry.until_answered(
            lambda: host.api.work(operation_id, token, revision=revision), what="get the manifest of a revision"
        )

    return await asyncio.to_thread(_read_revision, await host.lease.under(get), charts)


def _read_revision(work: model.Work, charts: Iterable[str]) -> Revision | None:
    """Read what is there of a former revision, in a thread, and of its charts the files of some."""
    if not work.manifest:
        return None
    given = document.parse_json("manifest", work.manifest, max_bytes=MAX_MANIFEST_BYTES)
    manifest = RenderedManifest.from_json(given, {})
    if not work.chart:
        return Revision(manifest=manifest)
    root = chart_source.read(work.chart)
    files = {path: chart_source.files_at(root, path) for path in charts}
    return Revision(manifest=manifest, files=files.__getitem__)


def _revision(manifest: RenderedManifest | None, charts: Charts | None) -> Revision | None:
    """Return what installs resources; None where they are only removed."""
    if manifest is None:
        return None
    return Revision(manifest=manifest) if charts is None else Revision(manifest=manifest, files=charts.files)


def _row(found: model.Resource) -> Row:
    """Return what a plan needs of a resource, without its documents."""
    assert found.observed_at is not None
    return Row(
        release_id=found.release_id,
        path=found.path,
        type=found.type,
        revision=found.revision,
        image_id=found.image_id,
        init="",
        config="",
        state="",
        status=found.status,
        owned=found.owned,
        observed_at=found.observed_at,
    )
