"""The document of a plan that people read: what an operation would do with each resource of a release.

    {"format": 1, "digest": "9f86…", "revision": 4, "nodes": [
        {"path": "nginx:site", "type": "acme/vm:1", "mark": "~", "status": "STALE",
         "actions": [{"name": "resize", "description": "…", "image": "", "entrypoint": "", "args": ["large"]}],
         "differences": [{"pointer": "/config/machine-type", "before": "n1-standard-1", "after": "n1-standard-4"}],
         "reason": "", "revision": 0}, …],
     "hooks": [{"path": "nginx:migrate", "type": "acme/job:1", "event": "pre-upgrade"}]}

`digest` is the digest of the manifest, and the outer `revision` the release's current one, 0 for none. The `revision`
of a removed resource's node is the one that installed the resource last. `args` are null if the image's own are used.
`hooks` are those that would run, once for each of their events. A difference has no `before` or no `after` if there is
no value. The document of a drift also has `drift`: the digest of the differences, "" for none. All secrets are masked.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tinkwell.core.release.kinds import ResourceStatus
from tinkwell.core.release.lifecycle_event.path import hook_node
from tinkwell.core.release.manifest import name
from tinkwell.core.release.manifest.hook import HookEvent
from tinkwell.core.release.manifest.rendered import MAX_RESOURCES
from tinkwell.core.release.plan import MAX_NODES as MAX_HOOKS
from tinkwell.core.value import check, closed_object, document, parse
from tinkwell.core.value.document import JsonObject, JsonValue

FORMAT = 1
MAX_BYTES = 16 * 1024 * 1024
# Removed resources count in addition to the installed ones.
MAX_NODES = 2 * MAX_RESOURCES
MAX_ACTIONS = 400
MAX_ARGS = 10_000
MAX_DIFFERENCES = 100
MAX_REASON = 1_000
MAX_REVISION = 2**31 - 1

_FIELDS = ("format", "digest", "revision", "nodes", "hooks", "drift")
_NODE_FIELDS = ("path", "type", "mark", "status", "actions", "differences", "reason", "revision")
_ACTION_FIELDS = ("name", "description", "image", "entrypoint", "args")
_HOOK_FIELDS = ("path", "type", "event")
_DIFFERENCE_FIELDS = ("pointer", "before", "after")

_parse_text = functools.partial(parse.parse_text, max_bytes=64 * 1024, allow_empty=True, multiline=True)


class Mark(StrEnum):
    """What would happen to a resource, as one character."""

    SAME = "="
    CHANGE = "~"
    CREATE = "+"
    # Known only when the operation runs.
    OPEN = "?"
    REMOVE = "-"
    # It is left in place, or would fail.
    ATTENTION = "!"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAction:
    """An action that `state` lists. `image` is "" for the resource's own; `args` None means the image's own."""

    name: str
    description: str = ""
    image: str = ""
    entrypoint: str = ""
    args: tuple[str, ...] | None = None

    @property
    def identity(self) -> tuple[str, str, tuple[str, ...] | None]:
        """The fields by which two actions are compared."""
        return self.name, self.image, self.args

    def as_json(self) -> JsonObject:
        """Return the JSON form."""
        return {
            "name": self.name,
            "description": self.description,
            "image": self.image,
            "entrypoint": self.entrypoint,
            "args": None if self.args is None else list(self.args),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A place below `/config` or `/state` that differs, and both values as JSON text, None if there is none."""

    pointer: str
    before: str | None = None
    after: str | None = None

    def as_json(self) -> JsonObject:
        """Return the JSON form."""
        sides = (("before", self.before), ("after", self.after))
        known = {side: document.parse_json(side, text) for side, text in sides if text is not None}
        return {"pointer": self.pointer, **known}


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewNode:
    """What would happen to one resource. `revision` is 0 unless the resource is removed."""

    path: str
    type: str
    mark: Mark
    status: ResourceStatus = ResourceStatus.UNKNOWN
    actions: tuple[PlannedAction, ...] = ()
    differences: tuple[Difference, ...] = ()
    reason: str = ""
    revision: int = 0

    @property
    def would_fail(self) -> bool:
        """Whether it is already known that the operation would fail at this resource."""
        return self.mark is Mark.ATTENTION and self.status is not ResourceStatus.LEFT

    def as_json(self) -> JsonObject:
        """Return the JSON form."""
        return {
            "path": self.path,
            "type": self.type,
            "mark": self.mark,
            "status": self.status,
            "actions": [action.as_json() for action in self.actions],
            "differences": [difference.as_json() for difference in self.differences],
            "reason": self.reason,
            "revision": self.revision,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedHook:
    """A hook that would run at an event in any case. `path` is the hook's path in its manifest."""

    path: str
    type: str
    event: HookEvent

    def as_json(self) -> JsonObject:
        """Return the JSON form."""
        return {"path": self.path, "type": self.type, "event": self.event.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The changes that an operation would make, and the hooks that would run.

    `drift` is None unless the document compares the resources with the installed revision.
    """

    digest: str
    revision: int
    nodes: Sequence[PreviewNode] = field(default=())
    hooks: Sequence[PlannedHook] = field(default=())
    drift: str | None = None

    def as_json(self) -> JsonObject:
        """Return the JSON form."""
        given: JsonObject = {
            "format": FORMAT,
            "digest": self.digest,
            "revision": self.revision,
            "nodes": [node.as_json() for node in self.nodes],
            "hooks": [hook.as_json() for hook in self.hooks],
        }
        return given if self.drift is None else {**given, "drift": self.drift}

    def dump(self) -> str:
        """Write the document as JSON text."""
        return document.dump_json(self.as_json())

    @classmethod
    def load(cls, text: str, *, field: str = "result") -> "Preview":
        """Read a document; raises `errors.InvalidField` for anything that `dump` does not write."""
        return cls.from_json(document.parse_json(field, text, max_bytes=MAX_BYTES), field=field)

    @classmethod
    def from_json(cls, value: JsonValue, *, field: str = "result") -> "Preview":
        """Read the JSON form; raises `errors.InvalidField`."""
        checks = check.Checks(most=document.MAX_VIOLATIONS)
        members = closed_object.ClosedObject(checks, field, value, _FIELDS)
        for member in ("format", "digest", "revision", "nodes", "hooks"):
            members.demand(member)
        members.integer("format", low=FORMAT, high=FORMAT)
        nodes: dict[str, PreviewNode] = {}
        for at, given in members.items("nodes", most=MAX_NODES):
            node = _read_node(checks, at, given)
            if node.path in nodes:
                checks.refuse(f"{at}.path", f"{parse.show(node.path)} is the path of another node, too")
            nodes[node.path] = node
        found = cls(
            digest=members.text("digest", _parse_text),
            revision=members.integer("revision", low=0, high=MAX_REVISION) or 0,
            nodes=tuple(nodes.values()),
            hooks=_read_hooks(checks, members),
            drift=members.text("drift", _parse_text) if "drift" in members else None,
        )
        checks.finish()
        return found


def _read_node(checks: check.Checks, at: str, value: JsonValue) -> PreviewNode:
    members = closed_object.ClosedObject(checks, at, value, _NODE_FIELDS)
    for member in _NODE_FIELDS:
        members.demand(member)
    return PreviewNode(
        path=members.text("path", name.parse_path),
        type=members.text("type", _parse_text),
        mark=members.choice("mark", Mark, default=Mark.OPEN),
        status=members.choice("status", ResourceStatus, default=ResourceStatus.UNKNOWN),
        actions=tuple(_read_action(checks, path, item) for path, item in members.items("actions", most=MAX_ACTIONS)),
        differences=tuple(
            _read_difference(checks, path, item) for path, item in members.items("differences", most=MAX_DIFFERENCES)
        ),
        reason=members.text("reason", _parse_text),
        revision=members.integer("revision", low=0, high=MAX_REVISION) or 0,
    )


def _read_hooks(checks: check.Checks, preview: closed_object.ClosedObject) -> tuple[PlannedHook, ...]:
    hooks: dict[str, PlannedHook] = {}
    for at, value in preview.items("hooks", most=MAX_HOOKS):
        members = closed_object.ClosedObject(checks, at, value, _HOOK_FIELDS)
        for member in _HOOK_FIELDS:
            members.demand(member)
        hook = PlannedHook(
            path=members.text("path", name.parse_path),
            type=members.text("type", _parse_text),
            event=members.choice("event", HookEvent, default=next(iter(HookEvent))),
        )
        node = hook_node(hook.path, hook.event)
        if node in hooks:
            checks.refuse(at, f"{parse.show(node)} is there twice")
        hooks[node] = hook
    return tuple(hooks.values())


def _read_action(checks: check.Checks, at: str, value: JsonValue) -> PlannedAction:
    members = closed_object.ClosedObject(checks, at, value, _ACTION_FIELDS)
    for member in _ACTION_FIELDS:
        members.demand(member)
    return PlannedAction(
        name=members.text("name", _parse_text),
        description=members.text("description", _parse_text),
        image=members.text("image", _parse_text),
        entrypoint=members.text("entrypoint", _parse_text),
        args=None if members.value("args") is None else members.texts("args", _parse_text, most=MAX_ARGS),
    )


def _read_difference(checks: check.Checks, at: str, value: JsonValue) -> Difference:
    members = closed_object.ClosedObject(checks, at, value, _DIFFERENCE_FIELDS)
    members.demand("pointer")
    sides = {side: document.dump_json(members.value(side)) for side in ("before", "after") if side in members}
    return Difference(
        pointer=members.text("pointer", _parse_text), before=sides.get("before"), after=sides.get("after")
    )
