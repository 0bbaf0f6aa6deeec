"""The resources of one operation: their manifests, their answers to `init`, and their last known states.

The calls of an operation read and write them; `decide` gets an extract as `NodeSpec` and `InitFacts`.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tinkwell.client.release import model
from tinkwell.core.release import report
from tinkwell.core.release.decision.view import InitFacts, NodeSpec, Retry, Settings, Timeouts
from tinkwell.core.release.kinds import NodeTask, ResourceStatus
from tinkwell.core.release.manifest import name
from tinkwell.core.release.manifest.late import Target
from tinkwell.core.release.manifest.rendered import RenderedManifest, RenderedResource
from tinkwell.core.release.plan import Plan
from tinkwell.core.release.protocol import answer
from tinkwell.core.value import document
from tinkwell.core.value.document import JsonObject, JsonValue


@dataclass(slots=True, kw_only=True)
class Resource:
    """A resource of a plan.

    `manifest` is the manifest that installs the resource or, if the resource is removed, the one that installed it;
    None if that is not stored. `files` are the files of its chart, by their paths in the workspace of its containers.
    `config` is the config as it was last resolved. `state` is from the last VALID answer, `stale_state` from the last
    STALE one; None without such an answer, or if the resource did not exist. `manifest_path` is its path in the
    manifest; a hook's `path` differs from it, since that names the event. `texts` are the secrets of a hook, for which
    nothing else is stored.
    """

    path: str
    manifest_path: str = ""
    is_hook: bool = False
    type: str
    task: NodeTask
    manifest: RenderedManifest | None
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    image_id: str = ""
    init: answer.InitAnswer | None = None
    config: JsonObject
    state: JsonObject | None = None
    stale_state: JsonObject | None = None
    owned: bool | None = None
    moved_to: str = ""
    texts: frozenset[str] = field(default=frozenset(), repr=False)

    def __post_init__(self) -> None:
        self.manifest_path = self.manifest_path or self.path

    @property
    def chart(self) -> str:
        """The path of its chart; empty for a resource of an applied release."""
        return name.split_chart(self.manifest_path)[0]

    @property
    def own_path(self) -> str:
        """Its path within its chart."""
        return name.split_chart(self.manifest_path)[1]

    @property
    def rendered(self) -> RenderedResource | None:
        """Its entry in its manifest; None without a manifest."""
        return self.manifest.resources.get(self.manifest_path) if self.manifest is not None else None

    @property
    def spec(self) -> NodeSpec:
        """The facts about it that `decide` needs."""
        rendered = self.rendered
        return NodeSpec(
            type=self.type,
            settings=Settings() if rendered is None else _settings(rendered),
            readonly=rendered is not None and rendered.readonly,
            keep=rendered is not None and rendered.keep,
            owned=self.owned,
            moved_to=self.moved_to,
        )

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The pointers to secrets in its config and state, from its manifest and from its image."""
        declared = self.init.extension.sensitive if self.init is not None else ()
        return tuple(
            {**dict.fromkeys(self.rendered.sensitive if self.rendered is not None else ()), **dict.fromkeys(declared)}
        )

    def named(self) -> JsonObject:
        """Return the value that expressions of its dependents see under its name."""
        return {"name": self.own_path, "type": self.type, "state": self.state or {}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A revision that installs or installed resources. `files` returns the files of the chart at a path."""

    manifest: RenderedManifest
    files: Callable[[str], Mapping[str, bytes]] = lambda _: {}


class Resources:
    """The resources of a plan by their paths."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._resources = {resource.path: resource for resource in resources}

    def __getitem__(self, path: str) -> Resource:
        return self._resources[path]

    @property
    def specs(self) -> Mapping[str, NodeSpec]:
        """The facts about each resource that `decide` needs."""
        return {path: resource.spec for path, resource in self._resources.items()}

    @property
    def inits(self) -> Mapping[str, InitFacts]:
        """The facts that `decide` needs from the known answers to `init`."""
        known = ((path, resource.init) for path, resource in self._resources.items())
        return {path: facts_of(init) for path, init in known if init is not None}

    def names(self, targets: Mapping[str, Target]) -> Mapping[str, JsonValue]:
        """Return the values of names in late texts: one resource, or all resources of a `for_each` by their keys."""
        return {root: self._value(target) for root, target in targets.items()}

    def _value(self, target: Target) -> JsonValue:
        if isinstance(target, str):
            return self[target].named()
        return {name.split_path(path)[1] or path: self[path].named() for path in target}


def of_plan(
    plan: Plan,
    rows: Iterable[model.Resource],
    *,
    revision: Revision | None,
    former: Mapping[int, Revision],
    image_ids: Mapping[str, str] | None,
    hooks: Iterable[Resource] = (),
) -> Resources:
    """Build the resources of a plan from their stored rows; a resource that was removed has no row.

    `former` has the revisions that installed the resources which are removed, by number. An answer to `init` is valid
    for one image: `image_ids` maps types to the present image ids, and is None if this operation has already called
    `init`. `hooks` have no rows.
    """
    known = {row.path: row for row in rows}
    gone = {node.path for node in plan.resources if node.task is NodeTask.REMOVE}
    moved = _moved(
        revision.manifest if revision is not None else None, [row for path, row in known.items() if path in gone]
    )
    handed = {target: known[path].owned for path, target in moved.items()}
    found = [*hooks]
    for node in plan.resources:
        row = known.get(node.path)
        if node.task is NodeTask.REMOVE:
            resource = _removed(node.path, row, former)
            resource.moved_to = moved.get(node.path, "")
        else:
            assert revision is not None, "what is installed is in a manifest"
            resource = _installed(node.path, revision, row)
            if resource.owned is None:
                resource.owned = handed.get(node.path)
        _recall(resource, row, image_ids)
        found.append(resource)
    return Resources(found)


def facts_of(init: answer.InitAnswer) -> InitFacts:
    """Return the facts that `decide` needs from an answer to `init`."""
    extension = init.extension
    retry = extension.retry
    settings = Settings(
        timeouts=Timeouts(**extension.timeouts),
        retry=None if retry is None else Retry(**{each: getattr(retry, each) for each in retry.__slots__}),
        concurrency_key=extension.concurrency_key,
    )
    return InitFacts(
        state_call=call_of(init.state),
        destroy_call=None if extension.destroy is None else call_of(extension.destroy),
        poll_seconds=extension.poll_seconds,
        settings=settings,
        reads_state_only=extension.read_only_state,
    )


def call_of(asked: answer.Call) -> report.Call:
    """Convert a call of an answer to the form of reports."""
    return report.Call(
        name=asked.name,
        description=asked.description,
        image=asked.image,
        entrypoint=asked.entrypoint,
        args=asked.args,
    )


def _settings(rendered: RenderedResource) -> Settings:
    return Settings(
        timeouts=Timeouts(**rendered.timeouts),
        retry=None if rendered.retries is None else Retry(attempts=rendered.retries + 1),
        concurrency_key=rendered.concurrency_key,
    )


def _installed(path: str, revision: Revision, row: model.Resource | None) -> Resource:
    rendered = revision.manifest.resources[path]
    return Resource(
        path=path,
        type=rendered.type,
        task=NodeTask.INSTALL,
        manifest=revision.manifest,
        files=revision.files(name.split_chart(path)[0]),
        config=rendered.config,
        state=row.state if row is not None else None,
        owned=_owned(row),
    )


def _removed(path: str, row: model.Resource | None, former: Mapping[int, Revision]) -> Resource:
    """Build a resource that is removed; one that is already gone has an empty config and no manifest."""
    if row is None:
        return Resource(path=path, type="", task=NodeTask.REMOVE, manifest=None, config={})
    revision = former.get(row.revision)
    return Resource(
        path=path,
        type=row.type,
        task=NodeTask.REMOVE,
        manifest=revision.manifest if revision is not None else None,
        files=revision.files(name.split_chart(path)[0]) if revision is not None else {},
        config=row.config or {},
        state=row.state,
        owned=_owned(row),
    )


def _owned(row: model.Resource | None) -> bool | None:
    """Return whether the release made the resource; None if no state of it is known yet."""
    return None if row is None or row.status is ResourceStatus.UNKNOWN else row.owned


def _recall(resource: Resource, row: model.Resource | None, image_ids: Mapping[str, str] | None) -> None:
    """Restore the stored answer to `init`, if the image is still the same."""
    resource.image_id = "" if image_ids is None else image_ids.get(resource.type, "")
    if row is None or row.init is None or row.type != resource.type:
        return
    if image_ids is None or resource.image_id in ("", row.image_id):
        resource.image_id = row.image_id
        resource.init = answer.parse_init(document.dump_json(row.init).encode())


def _moved(manifest: RenderedManifest | None, removed: Sequence[model.Resource]) -> dict[str, str]:
    """Return the resources that are not removed because another one of the same type and config continues them."""
    if manifest is None or not removed:
        return {}
    there = [
        (path, rendered.type, _as_stored(rendered.config))
        for path, rendered in manifest.installed.items()
        if not rendered.late.pointers
    ]
    moved = {row.path: [path for path, *same in there if same == [row.type, row.config]] for row in removed}
    return {path: targets[0] for path, targets in moved.items() if targets}


def _as_stored(config: JsonObject) -> object:
    """Return a config as the server gives it back: with numbers with a fraction as doubles."""
    return json.loads(document.dump_json(config))
