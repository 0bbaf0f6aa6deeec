"""Renders a manifest or a chart: evaluates the texts that need no states. It runs only in the child process.

The result is the input of `assembly.assemble` as JSON; `assemble` finds the resource of each name.
"""

from collections.abc import Collection, Iterator
from typing import cast

from tinkwell.core import errors
from tinkwell.core.release.manifest import assembly, name
from tinkwell.core.release.manifest.rendered import MAX_RESOURCES
from tinkwell.core.value import parse
from tinkwell.core.value.document import JsonValue
from tinkwell.provisioner.release.expression.evaluator import Evaluator, JsonObject, Place, Scope
from tinkwell.provisioner.release.expression.plain import Json

# The fields of a resource that are evaluated, besides its condition and its config; no others have expressions.
_FIELDS = ("type", "dependencies", "timeouts", "concurrency_key")


class Rendering:
    """Renders one manifest. `wired` are the names for values of other charts, which are known late."""

    def __init__(
        self, manifest: JsonObject, names: dict[str, object], evaluator: Evaluator, *, wired: Collection[str] = ()
    ) -> None:
        self._manifest = manifest
        self._resources = cast("dict[str, JsonObject]", _object(manifest, "resources"))
        self._names = names
        self._evaluator = evaluator
        self._wired = wired

    def render(self) -> JsonObject:
        """Return the JSON form of an `assembly.Evaluated`."""
        early = self._scope()
        plugs = self._evaluator.value(_object(self._manifest, "plugs"), Place("plugs", 1), early)
        instances: list[Json] = []
        for resource, written in self._resources.items():
            for key, value in self._keys(resource, written):
                if len(instances) >= MAX_RESOURCES:
                    self._evaluator.checks.refuse("resources", f"has more than {MAX_RESOURCES:,} resources")
                    return {}
                instances.append(self._instance(resource, written, key, value))
        waiting = self._scope(may_wait=True)
        outputs = self._evaluator.value(_object(self._manifest, "outputs"), Place("outputs", 1), waiting)
        return {"plugs": plugs, "instances": instances, "outputs": outputs, "late_outputs": waiting.late}

    def inputs(self, given: JsonObject) -> JsonObject:
        """Evaluate the inputs of subcharts by their names, and return each with its late texts."""
        found: JsonObject = {}
        for subchart, written in given.items():
            waiting = self._scope(may_wait=True)
            value = self._evaluator.value(written, Place(parse.child("inputs", subchart), 1), waiting)
            found[subchart] = {"value": value, "late": waiting.late}
        return found

    def notes(self, text: str) -> Json:
        """Evaluate notes; the added line end makes the result a text."""
        return self._evaluator.value(f"{text}\n", Place("notes", 0), self._scope()) if text else ""

    def _scope(
        self, now: dict[str, object] | None = None, *, aliases: Collection[str] = (), may_wait: bool = False
    ) -> Scope:
        return Scope(
            now=self._names if now is None else now,
            wired=self._wired,
            aliases=aliases,
            resources=self._resources,
            may_wait=may_wait,
        )

    def _keys(self, resource: str, written: JsonObject) -> Iterator[tuple[str | None, Json]]:
        """Iterate over the keys and values of `for_each`; without `for_each`, yield one pair of None."""
        if "for_each" not in written:
            yield None, None
            return
        field = f"resources.{resource}.for_each"
        scope = self._scope(aliases=_object(written, "dependencies"))
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
        early = self._scope(now, aliases=aliases)
        found: JsonObject = {"name": resource, "key": key, "value": value}
        found["when"] = self._evaluator.value(written.get("when", True), Place(f"{field}.when", 3), early)
        if found["when"] is False:
            # A resource that `when` drops may contain errors.
            return found
        for member in _FIELDS:
            if member in written:
                found[member] = self._evaluator.value(written[member], Place(f"{field}.{member}", 3), early)
        late = self._scope(now, aliases=aliases, may_wait=True)
        found["config"] = self._evaluator.value(_object(written, "config"), Place(f"{field}.config", 3), late)
        found["late"] = late.late
        return found


def _object(parent: JsonObject, key: str) -> JsonObject:
    """Return an object of a manifest whose schema was checked; empty if the key is missing."""
    found = parent.get(key, {})
    assert isinstance(found, dict)
    return found
