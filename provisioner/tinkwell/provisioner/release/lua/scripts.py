"""The provisioner's side of the scripts of charts: a limited child process loads scripts and calls handlers.

A handler gets copies of documents, and its changes are taken over when it returns. The event determines which documents
a handler may change; other changes are dropped with a warning. An error of a script is an error of its chart, with the
place in the chart.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias, cast

import ruamel.yaml

from tinkwell.core import errors
from tinkwell.core.release.lifecycle_event.name import Event
from tinkwell.core.value import document
from tinkwell.core.value.document import JsonObject, JsonValue
from tinkwell.provisioner.release.lua import change, registration
from tinkwell.provisioner.release.lua.registration import Handler as Handler
from tinkwell.sandbox import errors as sandbox
from tinkwell.sandbox import import_path
from tinkwell.sandbox.child import Child
from tinkwell.sandbox.limit import Limits
from tinkwell.sandbox.room import Room

MAX_STATE_BYTES = 64 * 1024

Ask: TypeAlias = Callable[[bytes], Awaitable[bytes]]

_MODULE = "tinkwell.provisioner.release.lua.child"
_FOLDER = "ext/lua/"
# Documents are JSON texts inside a JSON text, so their quotes and line ends are escaped twice.
LIMITS = Limits(request_bytes=32 * 1024 * 1024, answer_bytes=32 * 1024 * 1024)
# Only an outsider can end a child that has just loaded its scripts, so few loads are tried.
_MAX_LOADS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartScripts:
    """The scripts of a chart, by their paths in it, such as ext/lua/init.lua. `name` is its effective name."""

    path: str
    name: str
    metadata: JsonObject
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The arguments of a handler's call.

    `name` and `namespace` belong to the release. `metadata` describes the handler's own chart; `values` and `manifest`
    belong to the chart whose event it hears. `context` has `release`, `config` and `state`, and, if there are any,
    `files` (null for a file that is no text) and `templates`, both by name.
    """

    event: Event
    chart: str
    name: str
    namespace: str
    metadata: JsonObject
    values: JsonObject
    manifest: JsonObject | None
    context: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The result of a handler.

    A document is None if the handler did not change it or may not change it. `lines` are the printed lines, and
    `warnings` the warnings. `dropped` has the paths of changes that the handler may not make.
    """

    values: JsonObject | None
    templates: Mapping[str, str] | None
    manifest: JsonObject | None
    state: JsonObject
    lines: tuple[str, ...]
    warnings: tuple[str, ...]
    dropped: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Loading:
    """A line that a script printed while it was loaded; `file` is its path in the archive of the root."""

    file: str
    is_warning: bool
    text: str


class HandlerFailed(errors.TinkwellError):
    """A handler raised an error, exceeded a limit, or made an invalid change.

    `lines` and `warnings` are from before the failure.
    """

    lines: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __init__(self, *, event: Event, chart: str, file: str, line: int, message: str, traceback: str) -> None:
        """`chart` is the path of the event's chart; `file` and `line` are the place in the handler's chart."""
        self.event = event
        self.chart = chart
        self.file = file
        self.line = line
        self.message = message
        self.traceback = traceback
        super().__init__(f"{event} of {chart}: {file}:{line}: {message}")


class Scripts:
    """The scripts of the charts of one operation, in a child that starts with the first call.

    Variables of scripts live as long as the child does. A child that was ended between two calls, because another child
    needed its place, is started and loaded again automatically.
    """

    def __init__(
        self, charts: Sequence[ChartScripts], *, limits: Limits | None = None, room: Room | None = None
    ) -> None:
        """Start nothing yet. Children come before their parents; charts without scripts may be left out."""
        paths = import_path.of("lupa", extra="provisioner")
        # `ruamel.yaml` is a package within a package, so its import path is two folders above its `__init__.py`.
        paths.append(Path(ruamel.yaml.__file__).parents[2])
        self._charts = charts
        # The lines that scripts printed while they were loaded.
        self.said: Sequence[Loading] = ()
        self._child = Child(_MODULE, paths, limits=limits or LIMITS, room=room)
        # Files may have megabytes, so they are sent only to charts whose scripts contain the word "files".
        self._speak_of_files = [
            f"{chart.path}." for chart in charts if any("files" in text for text in chart.files.values())
        ]

    @property
    def pid(self) -> int | None:
        """The process id of the child, while there is one."""
        return self._child.pid

    async def __aenter__(self) -> "Scripts":
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

    async def load(self) -> tuple[Sequence[Handler], Sequence[str]]:
        """Load all scripts and call `init` of each chart; return the handlers and the printed lines.

        `said` has these lines and the warnings.

        Raises `errors.InvalidField`, with fields such as `charts/bar/ext/lua/init.lua:12`, and
        `sandbox.errors.SandboxError` if the scripts are not at fault.
        """
        async with self._child.held() as ask:
            answer = await self._load(ask)
        with registration.distrusted():
            self.said = [_loading(*cast("list[Any]", each)[:4]) for each in cast("list[JsonValue]", answer["said"])]
            return registration.read(cast("list[JsonObject]", answer["told"])), _texts(answer, "lines")

    async def call(self, handler: Handler, request: Request) -> Answer:
        """Call a handler; raises `HandlerFailed`, and `sandbox.errors.SandboxError` if the handler is not at fault."""
        began = time.monotonic()
        sent = await asyncio.to_thread(self._texts, handler, request)
        answer = await self._call(handler, request, sent)
        if fault := cast("JsonObject | None", answer.get("fault")):
            raise _failed(handler, request, fault, answer)
        try:
            with registration.distrusted():
                return await asyncio.to_thread(_read, request, sent, answer, time.monotonic() - began)
        except errors.InvalidField as error:
            raise _failure(handler, request, str(error)) from error

    async def _load(self, ask: Ask) -> JsonObject:
        charts = [[chart.path, dict(chart.files)] for chart in self._charts]
        order = [[chart.path, [*_listed(chart.files)]] for chart in self._charts]
        request = {"call": "load", "charts": document.dump_json(charts), "order": order}
        try:
            answer = await _asked(ask, request)
        except (sandbox.Exceeded, sandbox.Died) as error:
            path, _, file = error.piece.partition("\n")
            raise errors.InvalidField.of(registration.place(path, file, 0), error.reason) from error
        if fault := cast("JsonObject | None", answer.get("fault")):
            with registration.distrusted():
                raise errors.InvalidField.of(registration.place_of(fault), _message(fault))
        return answer

    async def _call(self, handler: Handler, request: Request, sent: Mapping[str, str]) -> JsonObject:
        asked = {
            "call": "call",
            "ordinal": handler.ordinal,
            "name": request.name,
            "namespace": request.namespace,
            "texts": document.dump_json(sent),
            "piece": f"{handler.origin}\n{handler.file}",
        }
        # The child is held between load and call, since it might otherwise be ended for another child again and again.
        async with self._child.held() as ask:
            for _ in range(_MAX_LOADS):
                try:
                    answer = await _asked(ask, asked)
                except (sandbox.Exceeded, sandbox.Died) as error:
                    raise _failure(handler, request, error.reason) from error
                if not answer.get("is_unloaded"):
                    return answer
                try:
                    await self._load(ask)
                except errors.InvalidField as error:
                    raise _failure(handler, request, f"its scripts cannot be loaded again: {error}") from error
        raise sandbox.Died("the child process ended again and again between two calls")

    def _texts(self, handler: Handler, request: Request) -> dict[str, str]:
        """Return the documents for the child as JSON texts, by name."""
        given: dict[str, JsonValue] = {
            "chart": request.metadata,
            "values": request.values,
            "release": {},
            "config": {},
            "state": {},
            **request.context,
        }
        if request.manifest is not None:
            given["manifest"] = request.manifest
        # The files are also sent if a subchart's script uses them, since a script may pass its context to that one.
        if not any(path.startswith(f"{handler.origin}.") for path in self._speak_of_files):
            given.pop("files", None)
        return {part: document.dump_json(value) for part, value in given.items()}


async def _asked(ask: Ask, request: Mapping[str, object]) -> JsonObject:
    text = await asyncio.to_thread(_dump, request)
    answer = await ask(text)
    return await asyncio.to_thread(_parse, answer)


def _listed(files: Mapping[str, str]) -> Iterator[str]:
    """Return the files that are loaded automatically; scripts load others with `require`."""
    for file in sorted(files):
        if file.startswith(_FOLDER) and file.endswith(".lua") and "/" not in file.removeprefix(_FOLDER):
            yield file


def _read(request: Request, sent: Mapping[str, str], answer: JsonObject, seconds: float) -> Answer:
    """Read the changes of a handler from the child's answer; raises `errors.InvalidField`."""
    dropped: list[str] = []
    found: dict[str, JsonValue] = {}
    for part, value in change.documents(sent, cast("dict[str, str]", answer["changed"])):
        if part == "state" or part in change.allowed(request.event):
            found[part] = value
        else:
            was = document.parse_json(change.field(part), sent.get(part, "null"), max_bytes=LIMITS.request_bytes)
            dropped.append(change.differing(change.field(part), was, value))
    dropped += cast("list[str]", answer["unknown"])
    state = change.read_object("context.state", found.get("state", request.context.get("state", {})))
    document.check_json("context.state", state, max_bytes=MAX_STATE_BYTES)
    return Answer(
        values=change.read_optional("values", found),
        templates=change.read_templates(found),
        manifest=change.read_optional("manifest", found),
        state=state,
        lines=_texts(answer, "lines"),
        warnings=_texts(answer, "warnings"),
        dropped=tuple(dropped),
        seconds=seconds,
    )


def _failed(handler: Handler, request: Request, fault: JsonObject, answer: JsonObject) -> HandlerFailed:
    with registration.distrusted():
        file, line = cast(str, fault["file"]), cast(int, fault["line"])
        if chart := cast(str, fault["chart"]):
            # The error may be in a script of another chart, which the handler has called.
            file = registration.file_of(chart, file) if chart != handler.origin else file
        failed = HandlerFailed(
            event=request.event,
            chart=request.chart,
            file=file or handler.file,
            line=line or handler.line,
            message=cast(str, fault["message"]),
            traceback=cast(str, fault["traceback"]),
        )
        failed.lines, failed.warnings = _texts(answer, "lines"), _texts(answer, "warnings")
        return failed


def _failure(handler: Handler, request: Request, message: str) -> HandlerFailed:
    return HandlerFailed(
        event=request.event,
        chart=request.chart,
        file=handler.file,
        line=handler.line,
        message=message,
        traceback="",
    )


def _loading(path: str, file: str, is_warning: bool, text: str) -> Loading:
    return Loading(registration.file_of(path, file), is_warning, text)


def _texts(answer: JsonObject, what: str) -> tuple[str, ...]:
    return tuple(cast("list[str]", answer[what]))


def _message(fault: JsonObject) -> str:
    traceback = cast(str, fault["traceback"])
    message = cast(str, fault["message"])
    return f"{message}\n{traceback}" if traceback.count("\n") else message


def _dump(request: Mapping[str, object]) -> bytes:
    return json.dumps(request, ensure_ascii=False, allow_nan=False).encode()


def _parse(answer: bytes) -> JsonObject:
    return cast(JsonObject, json.loads(answer))
