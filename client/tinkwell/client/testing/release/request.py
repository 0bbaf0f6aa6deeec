"""The requests that begin operations in the fake server, and the documents of these operations."""

import dataclasses
import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.client.release import message
from tinkwell.client.release.model import Operation, Release
from tinkwell.client.testing.release import book
from tinkwell.client.testing.release import change as release_change
from tinkwell.client.testing.release import row as release_row
from tinkwell.client.testing.release.book import Facts
from tinkwell.client.testing.world import World
from tinkwell.core import errors
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.release import name as release_name
from tinkwell.core.release import sensitive as places
from tinkwell.core.release.kinds import OnFailure, ReleaseState, Wait
from tinkwell.core.release.manifest import reader
from tinkwell.core.release.plan import Plan
from tinkwell.core.release.record import DEFAULT_HISTORY_MAX, DEFAULT_PARALLEL, DEFAULT_TIMEOUT_SECONDS, Options
from tinkwell.core.release.transition import operation as rule
from tinkwell.core.release.transition.operation import Begun
from tinkwell.core.release.transition.row import ReleaseRow
from tinkwell.core.release.transition.submission import Submission
from tinkwell.core.secret import document as secret_document
from tinkwell.core.secret import sensitive
from tinkwell.core.value import document

# Decides what a request begins on a release; the release is None if its name is free.
Begin: TypeAlias = Callable[[ReleaseRow | None], Begun]


def apply(world: World, request: pb.ApplyRequest | pb.PlanRequest, judge: Begin = rule.begin_apply) -> Operation:
    """Begin to apply manifests, or the operation that `judge` decides on."""
    files = [(file.name, file.text) for file in request.files]
    if not files:
        raise errors.InvalidField.of("files", "is empty; give at least one file")
    manifest = reader.read(files)
    variables = document.parse_json_object("variables", request.variables) if request.variables else {}
    source: dict[str, Any] = {"files": dict(files), "variables": variables}
    if request.variable_files:
        source["variable_files"] = [
            {
                "name": file.name,
                "variables": document.parse_json_object(f"variable_files[{i}].variables", file.variables),
            }
            for i, file in enumerate(request.variable_files)
        ]
    secret = sensitive.parse_names("secret_variables", request.secret_variables, variables)
    written = manifest.as_json()
    texts = secret_document.texts_at("variables", variables, secret)
    texts |= secret_document.texts_at("", written, places.of_written(written).secret)
    operation = begin(world, request, judge, source=document.dump_json(source))
    world.releases.secrets.learn(operation.release_id, texts)
    return operation


def rollback(world: World, request: pb.RollbackRequest) -> Operation:
    """Begin to return to a former revision."""

    def judge(release: ReleaseRow | None) -> Begun:
        found = world.find(Release, release.id) if release is not None else None
        target = None
        if found is not None and request.revision:
            target = world.releases.revision_row(found.id, request.revision)
        elif found is not None:
            target = world.releases.former(found)
        return rule.begin_rollback(release, name=title(request), wanted=request.revision, target=target)

    return begin(world, request, judge)


def uninstall(world: World, request: pb.UninstallRequest) -> Operation:
    """Begin to remove a release."""
    return begin(world, request, lambda release: rule.begin_uninstall(release, name=title(request)))


def resume(world: World, request: pb.ResumeRequest) -> Operation:
    """Begin to resume a failed release."""

    def judge(release: ReleaseRow | None) -> Begun:
        mine = [each for each in world.all(Operation) if release is not None and each.release_id == release.id]
        planned = [each for each in mine if each.kind.changes_release and world.releases.facts_of(each.id).plan]
        newest = release_row.operation_row(world, planned[-1]) if planned else None
        return rule.begin_resume(release, name=title(request), newest=newest, options=_options(request.options))

    return begin(world, request, judge)


def find(world: World, namespace: str, name: str) -> Release | None:
    """Find a release by its name; None if it does not exist."""
    return next((each for each in world.all(Release) if (each.namespace, each.name) == (namespace, name)), None)


def documents_of(world: World, operation: Operation) -> dict[str, str]:
    """Return the documents of an operation: those of its revision, except the documents that it has itself."""
    facts = world.releases.facts_of(operation.id)
    stored = world.releases.stored(operation.release_id, operation.revision or facts.rollback_of)
    found = {"source": facts.source, "plan": facts.plan, "expected": world.releases.facts_of(operation.plan_of).result}
    if stored is not None:
        found |= {
            "source": facts.source or stored.source,
            "manifest": stored.manifest,
            "late": stored.late,
            "plan": facts.plan or stored.plan,
        }
    named = {resource.revision for resource in world.releases.resources.get(operation.release_id, {}).values()}
    for number, former in world.releases.revisions.get(operation.release_id, {}).items():
        if number in named:
            found[f"removed/{number}"] = former.plan
    return {name: text for name, text in found.items() if text}


def brought(world: World, operation: Operation, texts: Mapping[str, str]) -> release_change.Documents:
    """Return the documents to store from a submission. An operation that rendered nothing uses the stored ones."""
    if not release_row.operation_row(world, operation).renders:
        return release_change.Documents(manifest="", late="", plan=texts["plan"])
    for field in ("manifest", "late"):
        if not texts[field]:
            raise errors.InvalidField.of(field, "is missing; an operation that renders it submits it")
    return release_change.Documents(**texts)


def submission(
    world: World, operation: Operation, documents: release_change.Documents, *, has_plugs: bool
) -> Submission:
    """Return a submitted plan in the form that the core's rules take."""
    release, facts = world.find(Release, operation.release_id), world.releases.facts_of(operation.id)
    deployed = world.releases.stored(release.id, release.revision)
    former = world.releases.stored(release.id, facts.rollback_of)
    same = (_weighed(facts.source), documents.manifest, documents.late)
    if former is not None:
        same = (_weighed(former.source), former.manifest, former.late)
    return Submission(
        release=release_row.release_row(world, release),
        operation=release_row.operation_row(world, operation),
        plan=Plan.load(documents.plan),
        plan_text=documents.plan,
        stored_plan=facts.plan,
        resumed=world.releases.revision_row(release.id, operation.revision),
        is_deployed_one=deployed is not None and (_weighed(deployed.source), deployed.manifest, deployed.late) == same,
        has_plugs=has_plugs,
    )


def _weighed(source: str) -> Any:
    """Return a source without the parts that do not affect the resources."""
    return {name: found for name, found in json.loads(source or "{}").items() if name != "strict"}


def begin(
    world: World,
    request: Any,
    judge: Begin,
    *,
    source: str = "",
    options: Options | None = None,
    plan_of: str = "",
) -> Operation:
    """Begin the operation of a request, unless it has begun already; `options` are by default those of the request."""
    options = options or _options(request.options)
    known: Operation | None = world.resources[ResourceType.OPERATION].get(request.operation_id)
    asked = request.SerializeToString(deterministic=True)
    if known is not None:
        if world.releases.facts_of(known.id).request != asked:
            raise errors.AlreadyExists("operation_id", known.id)
        return known
    namespace = release_name.parse_namespace("namespace", request.namespace)
    name = release_name.parse_name("name", request.name)
    release = find(world, namespace, name)
    if release is not None:
        for each in world.all(Operation):
            if each.release_id == release.id:
                release_change.expire(world, each)
        release = find(world, namespace, name)
    begun = judge(release_row.release_row(world, release) if release is not None else None)
    description = getattr(request, "description", "")
    release = _moved(world, release or Release(str(uuid.uuid4()), namespace, name), begun, request, source)
    world.releases.facts[request.operation_id] = Facts(
        request=asked,
        description=description,
        source=source,
        former_state=begun.former_state,
        rollback_of=begun.rollback_of,
    )
    return world.put(
        Operation(
            id=request.operation_id,
            release_id=release.id,
            namespace=namespace,
            release_name=name,
            revision=begun.revision,
            kind=begun.kind,
            actor="test",
            reason=request.reason,
            options=options,
            plan_of=plan_of or begun.plan_of,
        )
    )


def _moved(world: World, release: Release, begun: Begun, request: Any, source: str) -> Release:
    """Write the release of an operation that begins. A test or a plan does not change an installed release."""
    is_known = release.id in world.resources[ResourceType.RELEASE]
    if is_known and not begun.kind.changes_release and begun.release_state is not ReleaseState.PLANNED:
        return release
    moved: dict[str, Any] = {"state": begun.release_state, "operation_id": request.operation_id}
    if not release.latest_revision:
        moved |= book.chart_of(source)
    if description := getattr(request, "description", ""):
        moved["description"] = description
    return world.put(dataclasses.replace(release, **moved))


def title(request: Any) -> str:
    """Return the name of a request's release for messages."""
    namespace = request.namespace or release_name.DEFAULT_NAMESPACE
    name: str = request.name
    return name if namespace == release_name.DEFAULT_NAMESPACE else f"{namespace}/{name}"


def _options(source: pb.OperationOptions) -> Options:
    return Options(
        timeout_seconds=source.timeout_seconds or DEFAULT_TIMEOUT_SECONDS,
        readiness_timeout_seconds=source.readiness_timeout_seconds,
        on_failure=message.ON_FAILURE.member(source.on_failure) if source.on_failure else OnFailure.STOP,
        parallel=source.parallel or DEFAULT_PARALLEL,
        history_max=source.history_max or DEFAULT_HISTORY_MAX,
        atomic=source.atomic,
        verbose=source.verbose,
        accept_lost=source.accept_lost,
        move_engine=source.move_engine,
        wait=message.WAITS.member(source.wait) if source.wait else Wait.ORDERED,
        strict=source.strict,
    )
