"""Turns the documents of an operation into its plan, in the phases LOAD, RENDER and VALIDATE.

    LOAD       reads the manifests, or the chart with its subcharts, their values and their scripts
    RENDER     evaluates their expressions, except those that need the states of resources
    VALIDATE   checks plugs, images, loops, and known answers of images, before the operation changes anything

In each phase, handlers of events may change the charts or the manifest.

The preparation does not change the release and starts no container, so a new owner of the operation repeats all of it.
An operation that restores a stored revision or removes a release renders nothing.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict, cast

from tinkwell.client.release import model
from tinkwell.core.release.graph.life import Life
from tinkwell.core.release.kinds import NodeTask, OperationKind, Phase
from tinkwell.core.release.lifecycle_event.name import CoreEvent, Event
from tinkwell.core.release.manifest import reader
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.release.plan import Plan
from tinkwell.core.release.preview import need
from tinkwell.core.release.preview import plan as preview_plan
from tinkwell.core.release.record import Options
from tinkwell.core.release.record import Resource as Row
from tinkwell.core.value import check, document, parse
from tinkwell.core.value.document import JsonObject
from tinkwell.provisioner.release import life, resource
from tinkwell.provisioner.release.call.plug import Machine
from tinkwell.provisioner.release.core_event import ReadChart, Render, Validate
from tinkwell.provisioner.release.expression.evaluate import Expressions
from tinkwell.provisioner.release.expression.naming import ManifestNames, Names, Release
from tinkwell.provisioner.release.host import Host
from tinkwell.provisioner.release.lifecycle import sources
from tinkwell.provisioner.release.lifecycle.announcer import Announcer
from tinkwell.provisioner.release.lifecycle.lifecycle import Lifecycle
from tinkwell.provisioner.release.lifecycle.occasion import Emitted, Occasion
from tinkwell.provisioner.release.lifecycle.subject import Subject
from tinkwell.provisioner.release.prepare import chart_source
from tinkwell.provisioner.release.prepare.chart_source import MAX_SOURCE_BYTES, Charts
from tinkwell.provisioner.release.resource import Resource, Resources, Revision
from tinkwell.provisioner.release.schema.check import Schemas
from tinkwell.provisioner.runtime import port

logger = logging.getLogger(__name__)

MAX_MANIFEST_BYTES = 8 * 1024 * 1024
# How many images are looked up, and fetched if they are missing, at the same time.
IMAGES_AT_ONCE = 4


class _VariableFile(TypedDict):
    name: str
    variables: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A prepared operation.

    `manifest` is None if the operation only removes. `is_rendered` says that the manifest is newly rendered. `charts`
    is None for an applied release, and if the operation only removes.
    """

    manifest: RenderedManifest | None
    charts: Charts | None
    plan: Plan
    resources: Resources
    is_rendered: bool


class Preparation:
    """The preparation of one operation.

    `enter` is called with each phase that begins, `record` with each emitted event, and `learn` with secrets in values
    that handlers have changed. `machine` finds plugs, `schemas` checks changed values, and `check` refuses a manifest
    that would show a secret.
    """

    def __init__(
        self,
        work: model.Work,
        host: Host,
        *,
        lifecycle: Lifecycle,
        expressions: Expressions,
        schemas: Schemas,
        machine: Machine,
        check: Callable[[RenderedManifest], None],
        enter: Callable[[Phase], Awaitable[None]],
        record: Callable[[Emitted], None],
        learn: sources.Learn,
    ) -> None:
        self._work = work
        self._host = host
        self._lifecycle = lifecycle
        self._machine = machine
        self._check_shown = check
        self._enter = enter
        self._learn = learn
        self._announcer = Announcer(lifecycle, record=record)
        self._expressions = expressions
        self._schemas = schemas
        # The former revision; None if the operation does not end any chart of it.
        self._left: Revision | None = None

    async def run(self) -> Prepared:
        """Prepare the operation; raises `errors.InvalidField`, and `sandbox.errors.SandboxError`."""
        work = self._work
        stored = stored_manifest(work)
        is_rendered = stored is None and work.operation.kind is not OperationKind.UNINSTALL
        await self._load(stored)
        if is_rendered:
            await self._render()
        await self._enter(Phase.VALIDATE)
        manifest = await self._validate(is_rendered=is_rendered)
        if manifest is not None:
            # This check comes before an engine or a registry is asked for an image whose name contains a secret.
            self._check_shown(manifest)
        charts = self._lifecycle.present.charts
        revision = _revision(manifest, charts)
        await self._leave(manifest)
        plan = await asyncio.to_thread(build_plan, manifest, work, self._life(manifest))
        gone = {node.path for node in plan.resources if node.task is NodeTask.REMOVE}
        hooks = list(life.hooks(plan, revision, self._left))
        ids = await self._image_ids(manifest, {row.type for row in work.resources if row.path in gone}, hooks)
        former = await life.former_revisions(self._host, work, gone)
        resources = resource.of_plan(plan, work.resources, revision=revision, former=former, image_ids=ids, hooks=hooks)
        return Prepared(manifest=manifest, charts=charts, plan=plan, resources=resources, is_rendered=is_rendered)

    async def _load(self, stored: RenderedManifest | None) -> None:
        """Read the charts, load their scripts, and emit the event that they are loaded."""
        work = self._work
        await self._find_former(None)
        former = self._lifecycle.former
        reader = self._host.lifecycle.find(CoreEvent.READ_CHART, ReadChart)
        # If the operation has no charts of its own, its root is the root of the charts that it removes.
        root = chart_source.root_of(work) or (former.root if former is not None else "")
        if work.operation.kind is OperationKind.PLAN and stored is not None:
            # A plan that looks for drift emits no events.
            self._lifecycle.begin(Subject(await reader.read(work, stored), stored))
            return
        charts = await self._announcer.core(CoreEvent.READ_CHART, root, reader.read(work, stored))
        self._lifecycle.begin(Subject(charts, stored), former)
        await self._lifecycle.load()
        for path in self._lifecycle.paths:
            await self._announcer.announce(Event.CHART_LOADED, path)

    async def _leave(self, manifest: RenderedManifest | None) -> None:
        """Find the former revision, if the operation removes resources or charts of it."""
        work = self._work
        if self._left is None and manifest is not None and work.operation.kind.changes_release:
            is_removing = any(row.path not in manifest.installed for row in work.resources)
            plan = await asyncio.to_thread(build_plan, manifest, work) if is_removing else None
            await self._find_former(plan, manifest)
            await self._lifecycle.load()

    async def _find_former(self, plan: Plan | None, manifest: RenderedManifest | None = None) -> None:
        """Find the former revision, if the operation's kind, plan or manifest removes a chart of it."""
        found = await life.former_work(self._host, self._work, plan, manifest)
        if found is not None:
            self._left = await asyncio.to_thread(life.read, found)
            self._lifecycle.begin(self._lifecycle.present, await asyncio.to_thread(life.subject, found))

    def _life(self, manifest: RenderedManifest | None) -> Life | None:
        """Return the input for the plan's events and hooks; None in a plan, which has neither."""
        operation = self._work.operation
        if operation.kind is OperationKind.PLAN:
            return None
        return Life(
            kind=operation.kind,
            manifest=manifest,
            heard=self._lifecycle.heard(),
            former=self._left.manifest if self._left is not None else None,
            former_heard=self._lifecycle.former_heard(),
            wait=(operation.options or Options()).wait,
        )

    async def _render(self) -> None:
        """Render the charts or manifests, with the changes that handlers make before and after."""
        present, release = self._lifecycle.present, release_of(self._work, self._work.release.latest_revision + 1)
        if present.charts is None:
            manifest, warnings = await self._render_manifest(release)
        else:
            await self._enter(Phase.RENDER)
            options = self._work.operation.options or Options()
            rendered = await sources.render(
                self._announcer,
                self._host.lifecycle.find(CoreEvent.RENDER, Render),
                release,
                expressions=self._expressions,
                schemas=self._schemas,
                wait=options.wait,
                learn=self._learn,
            )
            manifest, warnings = rendered.manifest, rendered.warnings
        for warning in warnings:
            logger.warning("a manifest may not mean what it says", extra={"release": release["name"], "what": warning})
        present.render(manifest)
        await self._announcer.announce(Event.POST_RENDER, present.root)

    async def _render_manifest(self, release: Release) -> tuple[RenderedManifest, Sequence[str]]:
        work = self._work
        source = document.parse_json_object("source", work.source, max_bytes=MAX_SOURCE_BYTES)
        files = cast("dict[str, str]", source["files"])
        manifest = await asyncio.to_thread(reader.read, list(files.items()))
        await self._enter(Phase.RENDER)
        variables = await variables_of(work, self._expressions)
        await self._announcer.announce(Event.PRE_RENDER, "")
        rendered = await self._expressions.render(manifest, ManifestNames(variables, release))
        return rendered.manifest, rendered.warnings

    async def _validate(self, *, is_rendered: bool) -> RenderedManifest | None:
        """Check the manifest, and return it; a stored manifest cannot be changed by handlers."""
        present = self._lifecycle.present
        if not is_rendered:
            if present.manifest is not None:
                self._check(present.manifest)
            return present.manifest
        await self._announcer.announce(Event.PRE_VALIDATE, present.root)
        await self._announcer.core(CoreEvent.VALIDATE, present.root, self._checked())
        former = present.manifest
        await self._announcer.announce(Event.POST_VALIDATE, present.root)
        if present.manifest is not former and present.manifest is not None:
            self._check(present.manifest)
        return present.manifest

    async def _checked(self) -> None:
        if self._lifecycle.present.manifest is not None:
            self._check(self._lifecycle.present.manifest)

    def _check(self, manifest: RenderedManifest) -> None:
        self._host.lifecycle.find(CoreEvent.VALIDATE, Validate).validate(
            manifest, images=self._host.images, machine=self._machine, is_local=self._host.runtime.is_local
        )

    async def _image_ids(
        self, manifest: RenderedManifest | None, removed_types: Iterable[str], hooks: Iterable[Resource]
    ) -> Mapping[str, str]:
        """Return the image ids of resource types; images that only removals need may be missing."""
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


async def recall(work: model.Work, host: Host, *, lifecycle: Lifecycle) -> Prepared:
    """Restore the preparation of an operation that has a plan already."""
    manifest = stored_manifest(work)
    plan = await asyncio.to_thread(Plan.load, work.plan)
    gone = {node.path for node in plan.resources if node.task is NodeTask.REMOVE}
    former = await life.former_revisions(host, work, gone)
    charts = await asyncio.to_thread(chart_source.of_work, work, manifest)
    revision = _revision(manifest, charts)
    found = await life.former_work(host, work, plan) if plan.hooks or plan.events else None
    before = await asyncio.to_thread(life.subject, found) if found is not None else None
    lifecycle.begin(Subject(charts, manifest), before)
    left = await asyncio.to_thread(life.read, found) if found is not None else None
    hooks = life.hooks(plan, revision, left)
    resources = resource.of_plan(plan, work.resources, revision=revision, former=former, image_ids=None, hooks=hooks)
    return Prepared(manifest=manifest, charts=charts, plan=plan, resources=resources, is_rendered=False)


def stored_manifest(work: model.Work) -> RenderedManifest | None:
    """Return the stored manifest of an operation; None if it has none."""
    if not work.manifest:
        return None
    manifest = document.parse_json_object("manifest", work.manifest, max_bytes=MAX_MANIFEST_BYTES)
    late = document.parse_json_object("late", work.late or "{}", max_bytes=MAX_MANIFEST_BYTES)
    return RenderedManifest.from_json(manifest, late)


def build_plan(manifest: RenderedManifest | None, work: model.Work, lived: Life | None = None) -> Plan:
    """Build the plan of an operation; call it in a thread, since its imports take time once.

    Without `lived` the plan has no events and no hooks.
    """
    from tinkwell.core.release.graph import build

    if work.operation.kind is OperationKind.TEST:
        assert lived is not None, "a test is nothing else"
        return build.build_test_plan(lived)
    former = {revision: Plan.load(text, field=f"removed/{revision}") for revision, text in work.removed_plans.items()}
    options = work.operation.options or Options()
    # An operation that restores a revision has a plan already.
    stored = Plan.load(work.plan) if work.plan else None
    rows, wait = map(_row, work.resources), options.wait
    if work.operation.kind is not OperationKind.PLAN:
        return build.build_plan(manifest, rows, former, wait=wait, stored=stored, life=lived)
    plan = build.build_plan(manifest, rows, former, wait=wait, stored=stored)
    return preview_plan.looking(plan, need.needs(manifest) if manifest is not None else {})


async def names_of(
    work: model.Work, charts: Charts | None, expressions: Expressions, *, revision: int
) -> Callable[[str], Names]:
    """Return a function from a chart's path to the names its expressions may use; raises as `Preparation.run`."""
    release = release_of(work, revision)
    if charts is not None:
        return lambda path: charts.names(path, release)
    names = ManifestNames(await variables_of(work, expressions), release)
    return lambda _: names


async def variables_of(work: model.Work, expressions: Expressions) -> JsonObject:
    """Return the user's variables; raises as `Preparation.run`.

    Variable files may contain expressions. Single variables replace those of files.
    """
    if not work.source:
        return {}
    source = document.parse_json_object("source", work.source, max_bytes=MAX_SOURCE_BYTES)
    given = cast(JsonObject, source["variables"])
    files = [
        (file["name"], file["variables"]) for file in cast("list[_VariableFile]", source.get("variable_files", []))
    ]
    return {**await expressions.variables(files, given), **given} if files else given


def occasion_of(work: model.Work) -> Occasion:
    """Return the facts about the operation that handlers see."""
    options = work.operation.options or Options()
    return Occasion(
        release=release_of(work, work.operation.revision or work.release.latest_revision + 1),
        wait=options.wait,
        timeout_seconds=options.timeout_seconds,
        is_atomic=options.atomic,
        is_dry_run=work.operation.kind is OperationKind.PLAN,
    )


def release_of(work: model.Work, revision: int) -> Release:
    """Return the value of `release` in expressions."""
    kind = work.operation.kind
    # A plan sees the flags of the operation that applies it, or of the one that installed the resources it looks at.
    is_planned = kind is OperationKind.PLAN and (not work.release.revision or revision == 1)
    is_install = kind is OperationKind.INSTALL or is_planned
    return {
        "name": work.release.name,
        "namespace": work.release.namespace,
        "revision": revision,
        "is_install": is_install,
        "is_upgrade": not is_install,
    }


def _revision(manifest: RenderedManifest | None, charts: Charts | None) -> Revision | None:
    """Return the revision that installs resources; None if the operation only removes."""
    if manifest is None:
        return None
    return Revision(manifest=manifest) if charts is None else Revision(manifest=manifest, files=charts.files)


def _row(found: model.Resource) -> Row:
    """Convert a stored resource, without its documents, to a row of the plan."""
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
