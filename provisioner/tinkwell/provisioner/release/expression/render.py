"""Renders a manifest: evaluates what can be evaluated before anything runs. It runs in the child alone.

What it gives is what `assembly.assemble` takes, as JSON: which resource a name means is decided there.
"""

from collections.abc import Iterator
from typing import cast

from tinkwell.core import errors
from tinkwell.core.release.manifest import assembly, name
from tinkwell.core.release.manifest.rendered import MAX_RESOURCES
from tinkwell.core.value.document import JsonValue
from tinkwell.provisioner.release.expression.evaluator import Evaluator, JsonObject, Place, Scope
from tinkwell.provisioner.release.expression.plain import Json

# What is evaluated of a resource besides its condition and its config. The rest of it holds no expressions.
_FIELDS = ("type", "dependencies", "timeouts", "concurrency_key")


def names_of(variables: JsonObject, release: JsonObject) -> JsonObject:
    """Return what every expression of a manifest may name."""
    return {**variables, "vars": variables, "release": release}


class Rendering:
    """Renders one manifest."""

    def __init__(self, manifest: JsonObject, names: JsonObject, evaluator: Evaluator) -> None:
        self._manifest = manifest
        self._resources = cast("dict[str, JsonObject]", _object(manifest, "resources"))
        self._names = names
        self._evaluator = evaluator

    def render(self) -> JsonObject:
        """Return the JSON form of an `assembly.Evaluated`."""
        early = Scope(now=self._names, resources=self._resources)
        plugs = self._evaluator.value(_object(self._manifest, "plugs"), Place("plugs", 1), early)
        instances: list[Json] = []
        for resource, written in self._resources.items():
            for key, value in self._keys(resource, written):
                if len(instances) >= MAX_RESOURCES:
                    self._evaluator.checks.refuse("resources", f"has more than {MAX_RESOURCES:,} resources")
                    return {}
                instances.append(self._instance(resource, written, key, value))
        waiting = Scope(now=self._names, resources=self._resources, may_wait=True)
        outputs = self._evaluator.value(_object(self._manifest, "outputs"), Place("outputs", 1), waiting)
        return {"plugs": plugs, "instances": instances, "outputs": outputs, "late_outputs": waiting.late}

    def _keys(self, resource: str, written: JsonObject) -> Iterator[tuple[str | None, Json]]:
        """Iterate over the keys and values of `for_each`; None and null where there is none."""
        if "for_each" not in written:
            yield None, None
            return
        field = f"resources.{resource}.for_each"
        scope = Scope(now=self._names, aliases=_object(written, "dependencies"), resources=self._resources)
        before = self._evaluator.refused
        given = self._evaluator.value(written["for_each"], Place(field, 3), scope)
        if self._evaluator.refused > before:
            return
        try:
            yield from cast("list[tuple[str, Json]]", assembly.expand(field, cast(JsonValue, given)))
        except errors.InvalidField as error:
            self._evaluator.checks.note(error)

    def _instance(self, resource: str, written: JsonObject, key: str | None, value: Json) -> JsonObject:
        field = f"resources.{name.join_path(resource, key)}"
        aliases = _object(written, "dependencies")
        now = self._names if key is None else {**self._names, "each": {"key": key, "value": value}}
        early = Scope(now=now, aliases=aliases, resources=self._resources)
        found: JsonObject = {"name": resource, "key": key, "value": value}
        found["when"] = self._evaluator.value(written.get("when", True), Place(f"{field}.when", 3), early)
        if found["when"] is False:
            # Nothing needs to be right of what is not wanted.
            return found
        for member in _FIELDS:
            if member in written:
                found[member] = self._evaluator.value(written[member], Place(f"{field}.{member}", 3), early)
        late = Scope(now=now, aliases=aliases, resources=self._resources, may_wait=True)
        found["config"] = self._evaluator.value(_object(written, "config"), Place(f"{field}.config", 3), late)
        found["late"] = late.late
        return found


def _object(parent: JsonObject, key: str) -> JsonObject:
    """Return an object of a manifest, whose schema was checked; where there is none, an empty one."""
    found = parent.get(key, {})
    assert isinstance(found, dict)
    return found
