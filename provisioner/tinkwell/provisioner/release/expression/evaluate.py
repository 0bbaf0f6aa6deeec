"""The provisioner's side of expressions: each call is one request to a limited child process."""

import asyncio
import contextlib
import decimal
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import cast

from tinkwell.core import errors
from tinkwell.core.release.manifest import assembly, chart_assembly
from tinkwell.core.release.manifest.late import Late
from tinkwell.core.release.manifest.model import Manifest
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.release.manifest.scope import NO_SUBCHARTS, Roots, Subcharts
from tinkwell.core.value import check, document, parse
from tinkwell.core.value.document import JsonObject, JsonValue
from tinkwell.provisioner.release.expression.naming import ChartNames, ManifestNames, Names
from tinkwell.sandbox import errors as sandbox
from tinkwell.sandbox import import_path
from tinkwell.sandbox.child import Child
from tinkwell.sandbox.limit import Limits
from tinkwell.sandbox.room import Room

_MODULE = "tinkwell.provisioner.release.expression.child"
_LIBRARIES = ("jinja2", "markupsafe")
# A chart's files are sent beside its manifest and its values.
_LIMITS = Limits(request_bytes=24 * 1024 * 1024)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A rendered manifest, the paths of resources that `when` dropped, and warnings for the manifest's author."""

    manifest: RenderedManifest
    disabled: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPart:
    """A rendered chart: its manifest, the inputs of its subcharts by name, and its notes."""

    manifest: RenderedManifest
    inputs: Mapping[str, tuple[JsonObject, Late]]
    notes: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of a subchart before evaluation, and the siblings that they may name."""

    written: JsonObject
    siblings: Subcharts


class Expressions:
    """Evaluates the expressions of operations, in a child that starts with the first call.

    Every method raises `errors.InvalidField` with the paths of wrong expressions, including one that takes too long or
    too much memory, and `tinkwell.sandbox.errors.SandboxError` if no expression is at fault. Numbers with a fraction
    become doubles.
    """

    def __init__(
        self, *, limits: Limits | None = None, room: Room | None = None, make_child: Callable[..., Child] = Child
    ) -> None:
        """Start nothing yet."""
        paths = import_path.of(*_LIBRARIES, extra="provisioner")
        self._child = make_child(_MODULE, paths, limits=limits or _LIMITS, room=room)

    async def __aenter__(self) -> "Expressions":
        """Start nothing; the first call does."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the child."""
        await self.close()

    async def close(self) -> None:
        """End the child."""
        await self._child.close()

    async def render(self, manifest: Manifest, names: ManifestNames) -> Rendered:
        """Evaluate a manifest, except texts that need the states of resources."""
        request = {"manifest": manifest.as_json(), "names": names.as_json(has_files=False)}
        answer = await self._call("render", "manifest", request)
        with _distrusted():
            evaluated = _evaluated(answer, names.roots)
            assembled = await asyncio.to_thread(assembly.assemble, manifest, evaluated)
        disabled = tuple(instance.path for instance in evaluated.instances if instance.when is False)
        return Rendered(manifest=assembled.manifest, disabled=disabled, warnings=assembled.warnings)

    async def render_chart(
        self,
        manifest: Manifest,
        names: ChartNames,
        *,
        subcharts: Subcharts,
        inputs: Mapping[str, Inputs],
        notes: str,
    ) -> RenderedPart:
        """Evaluate a chart, except texts that need the states of resources.

        Errors name `plugs`, `resources` and `outputs` of the manifest, `inputs.SUBCHART`, and `notes`.
        """
        written = {child: each.written for child, each in inputs.items()}
        told = [manifest.as_json(), written, notes]
        request = {
            "manifest": told[0],
            "inputs": written,
            "notes": notes,
            "names": names.as_json(has_files=any(map(_names_files, told))),
        }
        answer = await self._call("render", "manifest", request)
        with _distrusted():
            evaluated = _evaluated(answer, names.roots, subcharts)
            return await asyncio.to_thread(_part, manifest, evaluated, answer, inputs)

    async def resolve(
        self, config: JsonObject, late: Late, resources: Mapping[str, JsonValue], *, names: Names, field: str
    ) -> JsonObject:
        """Evaluate the late texts of a config, or of all outputs or inputs, and return the whole document.

        `resources` has the value of each name in `late.names`: {"name", "type", "state"}, or an object with one of
        these for each key if the name means all resources of a `for_each`. In a chart it also has `inputs` and
        `subcharts`. `names` are the names that the config was rendered with. `field` is the path of the config, such as
        `resources.web.config`.
        """
        if not late.pointers:
            return config
        request = {
            "document": config,
            "pointers": late.pointers,
            "each": late.each,
            "resources": resources,
            "names": names.as_json(has_files=_names_files(config)),
            "field": field,
        }
        answer = await self._call("resolve", field, request)
        return cast(JsonObject, answer["document"])

    async def variables(self, files: Sequence[tuple[str, JsonObject]], given: JsonObject) -> JsonObject:
        """Evaluate files of variables, as pairs of name and content, in order, and merge them into the given variables.

        The values of a file can name the variables of `given` and of earlier files.
        """
        answer = await self._call("variables", "variables", {"files": files, "given": given})
        return cast(JsonObject, answer["variables"])

    async def _call(self, call: str, field: str, request: Mapping[str, object]) -> JsonObject:
        # A manifest may have megabytes, so it is written in a thread.
        text = await asyncio.to_thread(_dump, {"call": call, **request})
        try:
            answer = await self._child.call(text)
        except (sandbox.Exceeded, sandbox.Died) as error:
            place, _, expression = error.piece.partition("\n")
            reason = f"`{expression}`: {error.reason}" if expression else error.reason
            raise errors.InvalidField.of(place or field, reason) from error
        found = await asyncio.to_thread(document.parse_json_object, field, answer, max_bytes=len(answer))
        if violations := cast("list[tuple[str, str]]", found.get("violations")):
            raise errors.InvalidField(errors.Violation(path, description) for path, description in violations)
        return found


@contextlib.contextmanager
def _distrusted() -> Iterator[None]:
    """Raise `sandbox.Failed` for a malformed answer, in case an expression has taken over the child."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, AssertionError) as error:
        raise sandbox.Failed("the child process gives what is no evaluated manifest") from error


def _part(
    manifest: Manifest, evaluated: assembly.Evaluated, answer: JsonObject, inputs: Mapping[str, Inputs]
) -> RenderedPart:
    """Read the child's answer about a chart; raises `errors.InvalidField` with every violation."""
    checks = check.Checks(most=document.MAX_VIOLATIONS)
    try:
        assembled = assembly.assemble(manifest, evaluated)
    except errors.InvalidField as error:
        checks.note(error)
        assembled = assembly.Assembled(RenderedManifest())
    found: dict[str, tuple[JsonObject, Late]] = {}
    given = cast("dict[str, dict[str, JsonValue]]", answer["inputs"])
    for child, each in inputs.items():
        try:
            found[child] = chart_assembly.read_inputs(
                parse.child("inputs", child),
                given[child]["value"],
                _roots(given[child]["late"]),
                names=evaluated.names,
                resources=manifest.resources,
                subcharts=each.siblings,
            )
        except errors.InvalidField as error:
            checks.note(error)
    notes = ""
    try:
        notes = chart_assembly.read_notes("notes", answer["notes"])
    except errors.InvalidField as error:
        checks.note(error)
    checks.finish()
    return RenderedPart(manifest=assembled.manifest, inputs=found, notes=notes, warnings=assembled.warnings)


def _names_files(value: object) -> bool:
    """Return whether any text in a value may name the files of the chart."""
    match value:
        case str():
            return "files" in value
        case dict():
            return any(map(_names_files, value.values()))
        case list():
            return any(map(_names_files, value))
        case _:
            return False


def _evaluated(answer: JsonObject, names: Sequence[str], subcharts: Subcharts = NO_SUBCHARTS) -> assembly.Evaluated:
    return assembly.Evaluated(
        plugs=answer["plugs"],
        instances=[_instance(given) for given in cast("list[JsonObject]", answer["instances"])],
        outputs=answer["outputs"],
        late_outputs=_roots(answer["late_outputs"]),
        names=names,
        subcharts=subcharts,
    )


def _instance(given: JsonObject) -> assembly.Instance:
    return assembly.Instance(
        name=cast(str, given["name"]),
        type=given.get("type", ""),
        key=cast("str | None", given["key"]),
        value=given["value"],
        when=given["when"],
        dependencies=cast(JsonObject, given.get("dependencies", {})),
        config=given.get("config", {}),
        late=_roots(given.get("late", {})),
        # A division gives a float, even if the result is a whole number.
        timeouts={name: _double(value) for name, value in cast(JsonObject, given.get("timeouts", {})).items()},
        concurrency_key=given.get("concurrency_key", ""),
    )


def _double(value: JsonValue) -> object:
    return float(value) if isinstance(value, decimal.Decimal) else value


def _roots(given: JsonValue) -> dict[str, Roots]:
    late = cast("dict[str, dict[str, list[str]]]", given)
    return {
        pointer: Roots(found["names"], found["optional"], found.get("subcharts", ())) for pointer, found in late.items()
    }


def _dump(request: Mapping[str, object]) -> bytes:
    # Only decimals are unknown to `json`; they become doubles, as Jinja has them.
    return json.dumps(request, ensure_ascii=False, allow_nan=False, default=float).encode()
