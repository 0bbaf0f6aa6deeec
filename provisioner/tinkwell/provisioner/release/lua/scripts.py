"""The scripts of charts, as their handlers are called."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tinkwell.core.release.lifecycle_event.name import Event
from tinkwell.core.value.document import JsonObject
from tinkwell.sandbox.room import Room


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartScripts:
    path: str
    name: str
    metadata: JsonObject
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    ordinal: int
    event: Event
    chart: str
    origin: str
    file: str
    line: int
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
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
    values: JsonObject | None = None
    templates: Mapping[str, str] | None = None
    manifest: JsonObject | None = None
    state: JsonObject = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0


class HandlerFailed(Exception):
    def __init__(self, event: Event, chart: str, file: str, line: int, message: str, traceback: str) -> None:
        super().__init__(message)
        self.event, self.chart, self.file, self.line = event, chart, file, line
        self.message, self.traceback = message, traceback


class Scripts:
    def __init__(self, charts: Sequence[ChartScripts], *, room: Room | None) -> None: ...

    async def load(self) -> tuple[Sequence[Handler], Sequence[str]]:
        return (), ()

    async def call(self, handler: Handler, request: Request) -> Answer:
        return Answer()

    async def close(self) -> None: ...
