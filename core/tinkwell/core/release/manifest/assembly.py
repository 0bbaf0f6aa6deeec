"""Builds a rendered manifest from evaluated expressions, and checks it.

The evaluation treats names as texts: which resource a dependency means is decided here, and what a name in a late text
means is decided in `scope`.
"""

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tinkwell.core import errors
from tinkwell.core.release.manifest import hook as hooks
from tinkwell.core.release.manifest import name
from tinkwell.core.release.manifest.late import NONE_LATE, Late, Target
from tinkwell.core.release.manifest.model import MAX_TIMEOUT_SECONDS, Manifest, ManifestResource, Plug
from tinkwell.core.release.manifest.rendered import (
    MAX_CONFIG_BYTES,
    MAX_EDGES,
    MAX_MANIFEST_BYTES,
    MAX_RESOURCES,
    RenderedManifest,
    RenderedResource,
    parse_key,
)
from tinkwell.core.release.manifest.scope import NO_SUBCHARTS, Meanings, Roots, Scope, Subcharts
from tinkwell.core.value import check, closed_object, document, image, parse
from tinkwell.core.value.document import JsonObject, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """The evaluated fields of one resource; `key` and `value` are those of `for_each`, None without it.

    `late` maps JSON pointers into the config to the names that these texts use; all other texts are evaluated. Types of
    values are not checked yet.
    """

    name: str
    type: object
    key: str | None = None
    value: object = None
    when: object = True
    dependencies: Mapping[str, object] = field(default_factory=dict)
    config: object = field(default_factory=dict)
    late: Mapping[str, Roots] = field(default_factory=dict)
    timeouts: Mapping[str, object] = field(default_factory=dict)
    concurrency_key: object = ""

    @property
    def path(self) -> str:
        """The path of the resource."""
        return name.join_path(self.name, self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """The evaluated fields of a whole manifest.

    `plugs` and `outputs` are in the JSON form of a manifest. `names` are those that every expression may use: the
    variables, and the names that come with the release. `late_outputs` maps JSON pointers into the outputs. `subcharts`
    are those that a chart's texts may name.
    """

    plugs: object = field(default_factory=dict)
    instances: Sequence[Instance] = ()
    outputs: object = field(default_factory=dict)
    late_outputs: Mapping[str, Roots] = field(default_factory=dict)
    names: Collection[str] = ()
    subcharts: Subcharts = NO_SUBCHARTS


@dataclass(frozen=True, slots=True)
class Assembled:
    """A rendered manifest, and warnings for its author."""

    manifest: RenderedManifest
    warnings: tuple[str, ...] = ()


def expand(path: str, for_each: JsonValue) -> list[tuple[str, JsonValue]]:
    """Return the keys and values of an evaluated `for_each`; raises `errors.InvalidField` with the path.

    A list has texts or whole numbers, each of which is both key and value; an object has keys and values.
    """
    checks = check.Checks(most=document.MAX_VIOLATIONS)
    found: dict[str, JsonValue] = {}
    for at, key, value in _each(checks, path, for_each):
        if key in found:
            checks.refuse(at, f"the key {parse.show(key)} occurs twice")
        found[checks.take(name.parse_each_key, at, key)] = value
    if len(found) > MAX_RESOURCES:
        checks.refuse(path, f"has {len(found):,} entries; at most {MAX_RESOURCES:,} are allowed")
    checks.finish()
    return list(found.items())


def assemble(manifest: Manifest, evaluated: Evaluated) -> Assembled:
    """Build a rendered manifest; raises `errors.InvalidField` with all faults."""
    if len(evaluated.instances) > MAX_RESOURCES:
        found = f"has {len(evaluated.instances):,} resources; at most {MAX_RESOURCES:,} are allowed"
        raise errors.InvalidField.of("resources", found)
    checks = check.Checks(most=document.MAX_VIOLATIONS)
    assembly = _Assembly(checks, manifest, evaluated)
    rendered = assembly.manifest()
    edges = sum(len(resource.prerequisites) for resource in rendered.resources.values())
    if edges > MAX_EDGES:
        checks.refuse("resources", f"has {edges:,} dependencies; at most {MAX_EDGES:,} are allowed")
    checks.finish()
    # The late texts are stored in their own document, with the same limit.
    for stored in (rendered.as_json(), rendered.late_as_json()):
        parse.check_size("resources", document.dump_json(stored), max_bytes=MAX_MANIFEST_BYTES)
    return Assembled(rendered, tuple(assembly.meanings.warnings))


def _each(checks: check.Checks, path: str, for_each: JsonValue) -> Iterator[tuple[str, str, JsonValue]]:
    match for_each:
        case dict():
            for key, value in for_each.items():
                yield parse.child(path, key), key, value
        case list():
            for index, item in enumerate(for_each):
                at = parse.child(path, index)
                if isinstance(item, str | int) and not isinstance(item, bool):
                    yield at, str(item), item
                else:
                    checks.refuse(at, f"must be text, which is its key, and not {document.describe(item)}")
        case _:
            checks.refuse(path, f"must give a list of texts or an object, and not {document.describe(for_each)}")


@dataclass(frozen=True, slots=True)
class _Dependency:
    """A resource that another one depends on: a single one, or all that `for_each` has made."""

    resource: str
    target: Target


class _Assembly:
    def __init__(self, checks: check.Checks, manifest: Manifest, evaluated: Evaluated) -> None:
        self._checks = checks
        self.meanings = Meanings(checks)
        self._manifest = manifest
        self._evaluated = evaluated
        self._instances = {instance.path: instance for instance in evaluated.instances}
        self._hook_names = {each for each, written in manifest.resources.items() if written.hook is not None}
        self._hooks = {path for path, each in self._instances.items() if self._written(each).hook is not None}
        self._configs: dict[str, JsonObject] = {}  # By name: the paths of all resources that are wanted.
        of_name: dict[str, list[str]] = {resource: [] for resource in manifest.resources}
        for path, instance in self._instances.items():
            if self._is_wanted(instance):
                at = parse.child(parse.child("resources", path), "config")
                self._configs[path] = self._object(at, instance.config, max_bytes=MAX_CONFIG_BYTES)
                of_name[instance.name].append(path)
        # By name: the resources that it means as a whole. It has no names whose `when` is false, and no hooks.
        self._targets: dict[str, Target] = {}
        for resource, written in manifest.resources.items():
            if written.hook is not None:
                continue
            if written.for_each is not None:
                self._targets[resource] = tuple(sorted(of_name[resource]))
            elif resource in self._configs:
                self._targets[resource] = resource

    def manifest(self) -> RenderedManifest:
        """Return the manifest; faults are noted, and after MAX_VIOLATIONS faults the rest is left out."""
        resources: dict[str, RenderedResource] = {}
        for path in self._configs:
            if not self._checks.is_full:
                resources[path] = self._resource(parse.child("resources", path), self._instances[path])
        outputs = self._object("outputs", self._evaluated.outputs, max_bytes=document.MAX_DOCUMENT_BYTES)
        scope = Scope(
            known=frozenset(self._evaluated.names),
            by_resource={resource: [target] for resource, target in self._targets.items()},
            others=self._manifest.resources,
            hooks=self._hook_names,
            others_hint="is a resource whose `when` gives false",
            subcharts=self._evaluated.subcharts,
        )
        return RenderedManifest(
            plugs=self._plugs(),
            resources=resources,
            outputs=outputs,
            late_outputs=self.meanings.find("outputs", outputs, self._evaluated.late_outputs, scope),
        )

    def _written(self, instance: Instance) -> ManifestResource:
        return self._manifest.resources[instance.name]

    def _is_wanted(self, instance: Instance) -> bool:
        if isinstance(instance.when, bool):
            return instance.when
        at = f"{parse.child('resources', instance.path)}.when"
        self._checks.refuse(at, f"must give true or false, and not {document.describe(instance.when)}")
        return True

    def _resource(self, at: str, instance: Instance) -> RenderedResource:
        written = self._written(instance)
        config = self._configs[instance.path]
        dependencies = self._dependencies(at, instance)
        if instance.path in self._hooks:
            late = self._refuse_late(f"{at}.config", instance)
        else:
            late = self.meanings.find(f"{at}.config", config, instance.late, self._scope(instance, dependencies))
        if instance.key is not None and any("each" in roots.names for roots in instance.late.values()):
            each = {"key": instance.key, "value": instance.value}
            late = dataclasses.replace(late, each=self._object(at, each, max_bytes=MAX_CONFIG_BYTES))
        return RenderedResource(
            type=self._text(f"{at}.type", instance.type, image.parse_image),
            dependencies={alias: dependency.target for alias, dependency in dependencies.items()},
            config=config,
            late=late,
            readonly=written.readonly,
            keep=written.keep,
            timeouts=self._timeouts(f"{at}.timeouts", instance.timeouts),
            retries=written.retries,
            concurrency_key=self._text(f"{at}.concurrency_key", instance.concurrency_key, parse_key),
            ignore=written.ignore,
            sensitive=written.sensitive,
            hook=written.hook,
        )

    def _refuse_late(self, field: str, instance: Instance) -> Late:
        """Note the texts of a hook that could only be evaluated late."""
        for pointer, roots in instance.late.items():
            path, _ = name.locate(field, self._configs[instance.path], pointer)
            self._checks.refuse(path, hooks.why_not_late(instance.path, roots.names, self._evaluated.names))
        return NONE_LATE

    def _dependencies(self, at: str, instance: Instance) -> dict[str, _Dependency]:
        found: dict[str, _Dependency] = {}
        for alias, given in instance.dependencies.items():
            path = f"{at}.dependencies.{alias}"
            target = self._text(path, given, name.parse_path)
            if self._is_hooked(path, instance, target):
                continue
            if target in self._targets:
                found[alias] = _Dependency(target, self._targets[target])
            elif target in self._configs:
                found[alias] = _Dependency(self._instances[target].name, target)
            elif target in self._instances:
                sentence = f"{instance.path} depends on {target}, whose `when` gives false"
                self._checks.refuse(path, f"{sentence}; leave out both of them, or the dependency")
            elif target and not self._checks.is_full:
                hint = closed_object.nearest(target, [*self._manifest.resources, *self._instances])
                self._checks.refuse(path, f"{instance.path} depends on {target}, but there is no such resource; {hint}")
        return found

    def _is_hooked(self, at: str, instance: Instance, target: str) -> bool:
        """Whether a dependency is one of a hook or on a hook; if so it is noted."""
        named = self._hooks | self._hook_names
        return bool(target) and hooks.refuse_dependency(self._checks, at, instance.path, target, hooks=named)

    def _scope(self, instance: Instance, dependencies: Mapping[str, _Dependency]) -> Scope:
        by_resource: dict[str, list[Target]] = {}
        config_names: dict[str, list[str]] = {}
        for alias, dependency in dependencies.items():
            targets = by_resource.setdefault(dependency.resource, [])
            if dependency.target not in targets:
                targets.append(dependency.target)
            if config_name := self._config_name(dependency.target):
                config_names.setdefault(config_name, []).append(alias)
        return Scope(
            aliases={alias: dependency.target for alias, dependency in dependencies.items()},
            known=frozenset(self._evaluated.names) | ({"each"} if instance.key is not None else set()),
            by_resource=by_resource,
            config_names=config_names,
            others=self._manifest.resources,
            hooks=self._hook_names,
            others_hint="is a resource, but no dependency of this one; add it to `dependencies`",
            subcharts=self._evaluated.subcharts,
        )

    def _config_name(self, target: Target) -> str:
        """Return the name in the config of a resource, if it is already known."""
        if not isinstance(target, str) or "/name" in self._instances[target].late:
            return ""
        found = self._configs[target].get("name")
        return found if isinstance(found, str) else ""

    def _plugs(self) -> dict[str, Plug]:
        given = self._object("plugs", self._evaluated.plugs, max_bytes=document.MAX_DOCUMENT_BYTES)
        return {plug: Plug.read(self._checks, parse.child("plugs", plug), given[plug]) for plug in given}

    def _timeouts(self, at: str, given: Mapping[str, object]) -> dict[str, int]:
        found: dict[str, int] = {}
        for timeout, seconds in given.items():
            path = f"{at}.{timeout}"
            if isinstance(seconds, float) and seconds.is_integer():
                seconds = int(seconds)
            if isinstance(seconds, int) and not isinstance(seconds, bool):
                limits = {"low": 1, "high": MAX_TIMEOUT_SECONDS}
                found[timeout] = self._checks.take(parse.parse_int_range, path, seconds, **limits)
            else:
                self._checks.refuse(path, f"must give whole seconds, and not {document.describe(seconds)}")
        return found

    def _text(self, path: str, given: object, parse_text: closed_object.Parse) -> str:
        if isinstance(given, str):
            return self._checks.take(parse_text, path, given)
        self._checks.refuse(path, f"must give text, and not {document.describe(given)}")
        return ""

    def _object(self, path: str, given: object, *, max_bytes: int) -> JsonObject:
        try:
            found = document.check_json(path, given, max_bytes=max_bytes)
        except errors.InvalidField as error:
            self._checks.note(error)
            return {}
        if isinstance(found, dict):
            return found
        self._checks.refuse(path, f"must be an object, and not {document.describe(found)}")
        return {}
