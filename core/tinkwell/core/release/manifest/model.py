"""A manifest as it was written: its fields are checked, and its expressions are not evaluated yet.

    {"plugs": {NAME: {…}}, "resources": {NAME: {…}}, "outputs": {NAME: …}}

The JSON form has the fields of the YAML that people write, without those that have their default. A field that holds an
expression is a text until it is evaluated: `when` and the timeouts may then be texts.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

from tinkwell.core.release.manifest import hook as hooks
from tinkwell.core.release.manifest import name
from tinkwell.core.release.manifest.hook import Hook
from tinkwell.core.value import check, closed_object, image, parse
from tinkwell.core.value.document import MAX_VIOLATIONS, JsonObject, JsonValue
from tinkwell.core.workflow import retry

MAX_TIMEOUT_SECONDS = 7 * 24 * 60 * 60
MAX_PATTERNS = 64
MAX_PATTERN_BYTES = 256
MAX_POINTERS = 256
MAX_TEXT_BYTES = 4_096
MAX_KEY_BYTES = 199
TIMEOUTS = ("state", "action", "ready", "destroy")

_FIELDS = ("plugs", "resources", "outputs")
_PLUG_FIELDS = ("path", "read_only", "resource_names", "resource_types")
_PLUG_HINTS = {"readonly": "a plug has read_only; readonly is a field of resources"}
_RESOURCE_FIELDS = (
    *("type", "dependencies", "config", "when", "for_each", "readonly", "keep"),
    *("timeouts", "retries", "concurrency_key", "ignore", "sensitive", "hook"),
)
_RESOURCE_HINTS = {
    "read_only": "a resource has readonly; read_only is a field of plugs",
    **dict.fromkeys(("depends_on", "depends-on", "needs"), "dependencies names each one by an alias: {disk: my_disk}"),
    "image": "the image is named by type",
}

parse_pattern = functools.partial(parse.parse_text, max_bytes=MAX_PATTERN_BYTES)
_text = functools.partial(parse.parse_text, max_bytes=MAX_TEXT_BYTES)
_key = functools.partial(parse.parse_text, max_bytes=MAX_KEY_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plug:
    """A file or folder of the host that resources may mount, if one of the regular expressions matches them.

    Without expressions every resource may mount it. `path` is absolute, or one name inside the release's own folder.
    """

    path: str
    read_only: bool = False
    resource_names: tuple[str, ...] = ()
    resource_types: tuple[str, ...] = ()

    def as_json(self) -> JsonObject:
        """Return the JSON form."""
        return without_defaults(
            path=self.path,
            read_only=self.read_only,
            resource_names=list(self.resource_names),
            resource_types=list(self.resource_types),
        )

    @classmethod
    def read(cls, checks: check.Checks, path: str, value: JsonValue) -> "Plug":
        """Read the JSON form; faults are noted in the checks."""
        members = closed_object.ClosedObject(checks, path, value, _PLUG_FIELDS, hints=_PLUG_HINTS)
        return cls(
            path=members.text("path", _text, is_required=True),
            read_only=members.boolean("read_only"),
            resource_names=_distinct(members, "resource_names", parse_pattern, MAX_PATTERNS),
            resource_types=_distinct(members, "resource_types", parse_pattern, MAX_PATTERNS),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestResource:
    """A resource.

    `dependencies` maps an alias to a resource's name, or to NAME[KEY] for one that `for_each` makes. `timeouts` maps
    names of TIMEOUTS to whole seconds or an expression. `for_each` is a list of texts, an object, an expression, or
    None. If `retries` is None, the image decides. `ignore` and `sensitive` are JSON pointers. `hook` is None for a part
    of the release.
    """

    type: str
    dependencies: Mapping[str, str] = field(default_factory=dict)
    config: JsonObject = field(default_factory=dict)
    when: bool | str = True
    for_each: JsonValue = None
    readonly: bool = False
    keep: bool = False
    timeouts: Mapping[str, int | str] = field(default_factory=dict)
    retries: int | None = None
    concurrency_key: str = ""
    ignore: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    hook: Hook | None = None

    def as_json(self) -> JsonObject:
        """Return the JSON form."""
        given = without_defaults(
            type=self.type,
            dependencies=dict(self.dependencies),
            config=self.config,
            readonly=self.readonly,
            keep=self.keep,
            timeouts=dict(self.timeouts),
            concurrency_key=self.concurrency_key,
            ignore=list(self.ignore),
            sensitive=list(self.sensitive),
        )
        if self.when is not True:
            given["when"] = self.when
        if self.for_each is not None:
            given["for_each"] = self.for_each
        if self.retries is not None:
            given["retries"] = self.retries
        if self.hook is not None:
            given["hook"] = self.hook.as_json()
        return given

    @classmethod
    def read(cls, checks: check.Checks, path: str, value: JsonValue) -> "ManifestResource":
        """Read the JSON form; faults are noted in the checks."""
        members = closed_object.ClosedObject(checks, path, value, _RESOURCE_FIELDS, hints=_RESOURCE_HINTS)
        hook = hooks.read_member(members)
        for member in ("keep", "ignore") if hook is not None else ():
            if member in members:
                checks.refuse(members.path(member), "is for resources that stay, and a hook does not; leave it out")
        return cls(
            type=members.text("type", _parse_type, is_required=True),
            dependencies=members.texts_by_key("dependencies", name.parse_alias, _parse_target),
            config=members.object("config"),
            when=_when(members),
            for_each=_for_each(members),
            readonly=members.boolean("readonly"),
            keep=members.boolean("keep"),
            timeouts=_timeouts(members),
            retries=members.integer("retries", low=0, high=retry.MAX_RETRIES),
            concurrency_key=members.text("concurrency_key", _key),
            ignore=members.texts("ignore", name.parse_pointer, most=MAX_POINTERS),
            sensitive=members.texts("sensitive", name.parse_pointer, most=MAX_POINTERS),
            hook=hook,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The united contents of a release's manifests."""

    plugs: Mapping[str, Plug] = field(default_factory=dict)
    resources: Mapping[str, ManifestResource] = field(default_factory=dict)
    outputs: JsonObject = field(default_factory=dict)

    def as_json(self) -> JsonObject:
        """Return the JSON form."""
        return {
            "plugs": {plug: self.plugs[plug].as_json() for plug in self.plugs},
            "resources": {resource: self.resources[resource].as_json() for resource in self.resources},
            "outputs": self.outputs,
        }

    @classmethod
    def from_json(cls, value: JsonValue, *, path: str = "") -> "Manifest":
        """Read the JSON form; raises `errors.InvalidField` with the paths of the faults, each below `path`."""
        checks = check.Checks(most=MAX_VIOLATIONS)
        manifest = cls.read(checks, path, value)
        checks.finish()
        return manifest

    @classmethod
    def read(cls, checks: check.Checks, path: str, value: JsonValue) -> "Manifest":
        """Read the JSON form; faults are noted in the checks."""
        members = closed_object.ClosedObject(checks, path, value, _FIELDS)
        return cls(
            plugs={key: Plug.read(checks, at, plug) for at, key, plug in members.members("plugs", name.parse_name)},
            resources={
                key: ManifestResource.read(checks, at, resource)
                for at, key, resource in members.members("resources", name.parse_name)
            },
            outputs={key: output for _, key, output in members.members("outputs", name.parse_name)},
        )


def without_defaults(**members: JsonValue) -> JsonObject:
    """Return the members without those that are false or empty, which are the defaults."""
    return {key: value for key, value in members.items() if value not in (False, "", [], {})}


def _parse_type(path: str, text: str) -> str:
    return _text(path, text) if name.has_expression(text) else image.parse_image(path, text)


def _parse_target(path: str, text: str) -> str:
    return _text(path, text) if name.has_expression(text) else name.parse_path(path, text)


def _distinct(
    members: closed_object.ClosedObject, field_name: str, parse_text: closed_object.Parse, most: int
) -> tuple[str, ...]:
    texts = members.texts(field_name, parse_text, most=most)
    for index, text in enumerate(texts):
        if text in texts[:index]:
            members.checks.refuse(parse.child(members.path(field_name), index), f"{parse.show(text)} occurs twice")
    return texts


def _when(members: closed_object.ClosedObject) -> bool | str:
    given = members.value("when", default=True)
    if isinstance(given, str) and name.has_expression(given):
        return members.checks.take(_text, members.path("when"), given)
    return members.boolean("when", default=True)


def _for_each(members: closed_object.ClosedObject) -> JsonValue:
    given = members.value("for_each")
    if isinstance(given, list | dict) or (isinstance(given, str) and name.has_expression(given)):
        return given
    if "for_each" in members:
        needed = "a list of texts, an object, or an expression that gives one"
        members.refuse(members.path("for_each"), needed, given)
    return None


def _timeouts(members: closed_object.ClosedObject) -> dict[str, int | str]:
    inner = members.inner("timeouts", TIMEOUTS)
    found: dict[str, int | str] = {}
    for timeout in TIMEOUTS:
        given = inner.value(timeout)
        if isinstance(given, str) and name.has_expression(given):
            found[timeout] = inner.text(timeout, _text)
        elif (seconds := inner.integer(timeout, low=1, high=MAX_TIMEOUT_SECONDS)) is not None:
            found[timeout] = seconds
    return found
