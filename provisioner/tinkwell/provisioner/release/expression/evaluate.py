"""The provisioner's side of expressions: each call is one request to a limited child process."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TypedDict, cast

from tinkwell.core import errors
from tinkwell.core.value import document
from tinkwell.core.value.document import JsonObject, JsonValue
from tinkwell.provisioner.release import import_path
from tinkwell.sandbox import errors as sandbox
from tinkwell.sandbox.child import Child
from tinkwell.sandbox.limit import Limits

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
    """A rendered manifest and what is late in it, as `RenderedManifest.from_json` reads them.

    `disabled` has the paths that `when` dropped. `warnings` are for the operation's author.
    """

    manifest: JsonObject
    late: JsonObject
    disabled: tuple[str, ...]
    warnings: tuple[str, ...]


class Expressions:
    """Evaluates expressions of one operation after the other, in a child that starts with the first call.

    Every method raises `errors.InvalidField` with the paths of what is wrong, also of the expression that takes too
    long or too much memory, and `tinkwell.sandbox.errors.SandboxError` where the fault is not the expression's.
    Numbers with a fraction go through as doubles.
    """

    def __init__(self, *, limits: Limits | None = None) -> None:
        """Start nothing yet."""
        self._child = Child(_MODULE, import_path.of(*_LIBRARIES), limits=limits)

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

    async def render(self, manifest: JsonObject, variables: JsonObject, release: Release) -> Rendered:
        """Evaluate all of a manifest (`Manifest.as_json`) but what needs the states of resources.

        `when: false` drops a resource, and is an error where another one depends on it.
        """
        answer = await self._call(
            "manifest", {"call": "render", "manifest": manifest, "variables": variables, "release": release}
        )
        return Rendered(
            manifest={name: answer[name] for name in ("plugs", "resources", "outputs")},
            late=cast(JsonObject, answer["late"]),
            disabled=tuple(cast("list[str]", answer["disabled"])),
            warnings=tuple(cast("list[str]", answer["warnings"])),
        )

    async def resolve(
        self,
        config: JsonObject,
        late: JsonObject,
        names: Mapping[str, JsonValue],
        *,
        variables: JsonObject,
        release: Release,
        field: str,
    ) -> JsonObject:
        """Evaluate the late texts of a config, or of all outputs, and return it whole.

        `late` is `Late.as_json`, and `names` has the value of each of its names: {"name", "type", "state"}, or where
        the name means all that a `for_each` made, an object with one of these for each key. Variables and release are
        those that it was rendered with. `field` is the path of the config, such as `resources.web.config`.
        """
        if not late["pointers"]:
            return config
        given: dict[str, object] = {"document": config, "late": late, "names": names, "field": field}
        answer = await self._call(field, {"call": "resolve", "variables": variables, "release": release, **given})
        return cast(JsonObject, answer["document"])

    async def variables(self, files: Sequence[tuple[str, JsonObject]], given: JsonObject) -> JsonObject:
        """Evaluate files of variables, given by name and content, one after the other, and merge them into those given.

        The values of a file know the variables as they are before it.
        """
        answer = await self._call("variables", {"call": "variables", "files": files, "given": given})
        return cast(JsonObject, answer["variables"])

    async def _call(self, field: str, request: Mapping[str, object]) -> JsonObject:
        # A manifest may have megabytes, which take their time.
        text = await asyncio.to_thread(_dump, request)
        try:
            answer = await self._child.call(text)
        except (sandbox.Exceeded, sandbox.Died) as error:
            place, _, text = error.piece.partition("\n")
            reason = f"`{text}`: {error.reason}" if text else error.reason
            raise errors.InvalidField.of(place or field, reason) from error
        found = await asyncio.to_thread(document.parse_json_object, field, answer, max_bytes=len(answer))
        if problems := cast("list[tuple[str, str]]", found.get("problems", [])):
            raise errors.InvalidField(errors.Violation(path, reason) for path, reason in problems)
        return found


def _dump(request: Mapping[str, object]) -> bytes:
    # The only values that are of no kind that JSON knows are decimals. Jinja has doubles.
    return json.dumps(request, ensure_ascii=False, allow_nan=False, default=float).encode()
