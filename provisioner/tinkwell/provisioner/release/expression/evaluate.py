"""The provisioner's side of expressions: each call is one request to a limited child process."""

import asyncio
import decimal
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TypedDict, cast

from tinkwell.core import errors
from tinkwell.core.release.manifest import assembly
from tinkwell.core.release.manifest.model import Manifest
from tinkwell.core.release.manifest.rendered import Late, RenderedManifest
from tinkwell.core.value import document
from tinkwell.core.value.document import JsonObject, JsonValue
from tinkwell.sandbox import errors as sandbox
from tinkwell.sandbox import import_path
from tinkwell.sandbox.child import Child
from tinkwell.sandbox.limit import Limits
from tinkwell.sandbox.room import Room

_MODULE = "tinkwell.provisioner.release.expression.child"
_LIBRARIES = ("jinja2", "markupsafe")


class Release(TypedDict):
    """What expressions know by the name `release`."""

    name: str
    namespace: str
    revision: int
    is_install: bool
    is_upgrade: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A rendered manifest, the paths that `when` dropped, and sentences for the manifest's author."""

    manifest: RenderedManifest
    disabled: tuple[str, ...]
    warnings: tuple[str, ...]


class Expressions:
    """Evaluates the expressions of operations, in a child that starts with the first call.

    Every method raises `errors.InvalidField` with the paths of what is wrong, also of the expression that takes too
    long or too much memory, and `tinkwell.sandbox.errors.SandboxError` where the fault is not the expression's.
    Numbers with a fraction go through as doubles.
    """

    def __init__(self, *, limits: Limits | None = None, room: Room | None = None) -> None:
        """Start nothing yet."""
        self._child = Child(_MODULE, import_path.of(*_LIBRARIES, extra="provisioner"), limits=limits, room=room)

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

    async def render(self, manifest: Manifest, variables: JsonObject, release: Release) -> Rendered:
        """Evaluate all of a manifest but what needs the states of resources."""
        request = {"manifest": manifest.as_json(), "variables": variables, "release": release}
        answer = await self._call("render", "manifest", request)
        try:
            evaluated = _evaluated(answer, [*variables, "vars", "release"])
            assembled = await asyncio.to_thread(assembly.assemble, manifest, evaluated)
        # Should an expression ever get hold of the child, it must not get further.
        except (LookupError, TypeError, AttributeError, AssertionError) as error:
            raise sandbox.Failed("the child process gives what is no evaluated manifest") from error
        disabled = tuple(instance.path for instance in evaluated.instances if instance.when is False)
        return Rendered(manifest=assembled.manifest, disabled=disabled, warnings=assembled.warnings)

    async def resolve(
        self,
        config: JsonObject,
        late: Late,
        names: Mapping[str, JsonValue],
        *,
        variables: JsonObject,
        release: Release,
        field: str,
    ) -> JsonObject:
        """Evaluate the late texts of a config, or of all outputs, and return it whole.

        `names` has the value of each of `late.names`: {"name", "type", "state"}, or where the name means all that a
        `for_each` made, an object with one of these for each key. Variables and release are those that it was rendered
        with. `field` is the path of the config, such as `resources.web.config`.
        """
        if not late.pointers:
            return config
        answer = await self._call(
            "resolve",
            field,
            {
                "document": config,
                "pointers": late.pointers,
                "each": late.each,
                "names": names,
                "variables": variables,
                "release": release,
                "field": field,
            },
        )
        return cast(JsonObject, answer["document"])

    async def variables(self, files: Sequence[tuple[str, JsonObject]], given: JsonObject) -> JsonObject:
        """Evaluate files of variables, given by name and content, one after the other, and merge them into those given.

        The values of a file know the variables as they are before it.
        """
        answer = await self._call("variables", "variables", {"files": files, "given": given})
        return cast(JsonObject, answer["variables"])

    async def _call(self, call: str, field: str, request: Mapping[str, object]) -> JsonObject:
        # A manifest may have megabytes, which take their time.
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


def _evaluated(answer: JsonObject, names: Sequence[str]) -> assembly.Evaluated:
    return assembly.Evaluated(
        plugs=answer["plugs"],
        instances=[_instance(given) for given in cast("list[JsonObject]", answer["instances"])],
        outputs=answer["outputs"],
        late_outputs=_roots(answer["late_outputs"]),
        names=names,
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
        # A division gives a fraction, which may be a whole number.
        timeouts={name: _double(value) for name, value in cast(JsonObject, given.get("timeouts", {})).items()},
        concurrency_key=given.get("concurrency_key", ""),
    )


def _double(value: JsonValue) -> object:
    return float(value) if isinstance(value, decimal.Decimal) else value


def _roots(given: JsonValue) -> dict[str, assembly.Roots]:
    late = cast("dict[str, dict[str, list[str]]]", given)
    return {pointer: assembly.Roots(late[pointer]["names"], late[pointer]["optional"]) for pointer in late}


def _dump(request: Mapping[str, object]) -> bytes:
    # The only values that are of no kind that JSON knows are decimals. Jinja has doubles.
    return json.dumps(request, ensure_ascii=False, allow_nan=False, default=float).encode()
