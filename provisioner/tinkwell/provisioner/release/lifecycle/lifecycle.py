"""Emits the events of one operation, and calls the handlers of each.

Handlers are in the scripts of the operation's charts, in the scripts of the former revision's charts, and in Python.
The events of rendering and validation are emitted once for all charts, under the path of the root, and each handler
sees the values and resources of its own chart. All other events are emitted chart by chart. An event ends with its
first handler that fails. Later handlers see the values that a handler stores in `context.state`, as long as this
process has the operation.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, TypedDict

from tinkwell.core import errors
from tinkwell.core.release.lifecycle_event import name, order
from tinkwell.core.release.lifecycle_event.name import CoreEvent, Event
from tinkwell.core.release.lifecycle_event.registry import Listener
from tinkwell.core.release.lifecycle_event.run import HandlerRun, Outcome
from tinkwell.core.release.report import MAX_MESSAGE
from tinkwell.core.value import document, parse
from tinkwell.core.value.document import JsonObject
from tinkwell.provisioner.release.lifecycle import listener as listening
from tinkwell.provisioner.release.lifecycle import occasion as occasions
from tinkwell.provisioner.release.lifecycle import saying
from tinkwell.provisioner.release.lifecycle.listener import Function
from tinkwell.provisioner.release.lifecycle.occasion import Emitted, Occasion
from tinkwell.provisioner.release.lifecycle.subject import Subject
from tinkwell.provisioner.release.lua.registration import Handler
from tinkwell.provisioner.release.lua.scripts import Answer, ChartScripts, HandlerFailed, Request, Scripts
from tinkwell.sandbox.errors import SandboxError

MAX_STATE_BYTES = 64 * 1024
# Events that are emitted once, for all charts together.
ONCE = (Event.PRE_RENDER, Event.POST_RENDER, Event.PRE_VALIDATE, Event.POST_VALIDATE)

Heard: TypeAlias = Handler | Listener[Function]
MakeScripts: TypeAlias = Callable[[Sequence[ChartScripts]], Scripts]
# Checks and combines the changes of handlers; raises `errors.InvalidField`.
Settle: TypeAlias = Callable[[], Awaitable[None]]


class Failed(errors.InvalidField):
    """A handler has failed; the field is the handler's line in the chart."""


class Lifecycle:
    """Emits the events of one operation. Call `close` after the last event."""

    def __init__(
        self,
        occasion: Occasion,
        *,
        listeners: Sequence[Listener[Function]],
        make: MakeScripts,
        say: saying.Say = saying.log,
    ) -> None:
        """`say` is called with the lines that scripts print, and with their warnings."""
        self._occasion = occasion
        self._say = say
        # The lines printed so far by handlers of the current event.
        self._said: list[saying.Line] = []
        self._listeners = tuple(listeners)
        self._make = make
        self._scripts: list[Scripts] = []
        self._by_subject: dict[int, Scripts] = {}
        self._present = Subject(None, None)
        self._former: Subject | None = None
        self._state: JsonObject = {}
        # Events are emitted one at a time, since handlers see the state that earlier handlers have stored.
        self._turn = asyncio.Lock()

    @property
    def present(self) -> Subject:
        """The charts and the manifest that the operation installs; empty if it only removes."""
        return self._present

    @property
    def former(self) -> Subject | None:
        """The charts and the manifest of the former revision; None if the operation ends no chart of it."""
        return self._former

    @property
    def root(self) -> str:
        """The path of the root of the operation's charts; empty without charts."""
        subject = self._present if self._present.charts is not None or self._former is None else self._former
        return subject.root

    @property
    def paths(self) -> Sequence[str]:
        """The paths of the operation's charts, subcharts before their parents."""
        return self._present.paths if self._present.charts is not None or self._former is None else self._former.paths

    def begin(self, present: Subject, former: Subject | None = None) -> None:
        """Set the subjects of events: the operation's own charts and manifest, and the former revision's."""
        self._present, self._former = present, former

    async def load(self) -> None:
        """Load all scripts now, instead of before the first event of their charts.

        Raises `errors.InvalidField` for a script that cannot be loaded, and `sandbox.errors.SandboxError`.
        """
        for subject in (self._present, self._former):
            if subject is not None:
                await self._load(subject)

    async def close(self) -> None:
        """End the child processes."""
        await self._say_all()
        for scripts in self._scripts:
            await scripts.close()

    def hears(self, event: Event, chart: str) -> bool:
        """Return whether any handler hears this event of a chart."""
        subject = self._subject(event, chart)
        return subject is not None and bool(self._heard_by(event, chart, subject))

    def heard(self) -> Mapping[str, frozenset[Event]]:
        """Return, by the paths of the operation's own charts, the events that handlers hear."""
        return self._heard(self._present)

    def former_heard(self) -> Mapping[str, frozenset[Event]]:
        """Return, by the paths of the former revision's charts, the events that handlers hear."""
        return self._heard(self._former) if self._former is not None else {}

    async def emit(self, chart: str, event: str) -> Emitted:
        """Emit an event of a chart during the walk, when handlers can no longer change charts or manifests.

        A core event has no handlers. A failure is part of the result and is not raised.
        """
        if event in [each.value for each in CoreEvent]:
            return Emitted(event=event, chart=chart)
        heard = Event(event)
        subject = self._subject(heard, chart)
        if subject is None:
            return Emitted(event=event, chart=chart)
        async with self._turn:
            try:
                await self._load(subject)
            except (errors.InvalidField, SandboxError) as error:
                return Emitted(event=event, chart=chart, outcome=_outcome(heard), message=str(error))
            emitted, _ = await self._run(heard, chart, subject)
            return await self._told(emitted)

    async def announce(
        self, event: Event, chart: str, *, record: Callable[[Emitted], None], settle: Settle | None = None
    ) -> None:
        """Emit an event of the preparation, take over its handlers' changes, and pass the result to `record`.

        `settle` is called after all handlers and before `record`, since handlers may have made new secrets. Raises
        `Failed`, and the errors of `settle`.
        """
        if chart != self.root and not self.hears(event, chart):
            return
        subject = self._subject(event, chart) or self._present
        async with self._turn:
            emitted, failure = await self._run(event, chart, subject)
            try:
                if settle is not None and failure is None:
                    await settle()
            finally:
                emitted = await self._told(emitted)
                # An event of a release without charts is not recorded if no handler hears it.
                if chart or emitted.handlers:
                    record(emitted)
        if failure is not None and emitted.outcome is Outcome.FAILED:
            raise failure

    async def _load(self, subject: Subject) -> None:
        charts = subject.scripts() if id(subject) not in self._by_subject else []
        if not charts:
            return
        scripts = self._make(charts)
        self._scripts.append(scripts)
        self._by_subject[id(subject)] = scripts
        subject.handlers, _ = await scripts.load()
        for said in scripts.said:
            release = self._occasion.release["name"]
            where = _Where(release=release, chart=subject.root, event=None, file=said.file, line=0)
            kind = saying.Warned if said.is_warning else saying.Printed
            self._say(kind(**where, text=said.text))
            await asyncio.sleep(0)

    def _subject(self, event: Event, chart: str) -> Subject | None:
        """Return the subject that has the chart of an event; None if there is no such chart."""
        former, present = self._former, self._present
        both = (former, present) if name.is_of_former(event) else (present, former)
        return next((each for each in both if each is not None and each.has(chart)), None)

    def _heard(self, subject: Subject) -> dict[str, frozenset[Event]]:
        found = subject.heard()
        if self._listeners:
            found.setdefault(subject.root, set()).update(each.event for each in self._listeners)
        return {chart: frozenset(events) for chart, events in found.items()}

    def _heard_by(self, event: Event, chart: str, subject: Subject) -> list[Heard]:
        """Return the handlers that hear an event of a chart, in their order."""
        found: list[Heard] = [
            each for each in subject.handlers if each.event is event and (each.chart == chart or event in ONCE)
        ]
        if chart == subject.root:
            found += (each for each in self._listeners if each.event is event)
        return order.in_order(found, subject.paths)

    async def _run(self, event: Event, chart: str, subject: Subject) -> tuple[Emitted, Failed | None]:
        """Call the handlers of an event until one fails; return the result and the failure."""
        # Lines that are left come from an event that was stopped.
        await self._say_all()
        runs: list[HandlerRun] = []
        failure: Failed | None = None
        for handler in self._heard_by(event, chart, subject):
            began = time.monotonic()
            try:
                await self._call(handler, subject)
            except Failed as error:
                failure = error
            runs.append(_run_of(handler, failure, event, seconds=time.monotonic() - began))
            if failure is not None:
                break
        try:
            if failure is None and event in name.CHANGES_MANIFEST:
                subject.settle_manifest()
        except errors.InvalidField as error:
            failure = Failed(error.violations)
        emitted = Emitted(
            event=event.value,
            chart=chart,
            handlers=occasions.fitting(runs),
            outcome=_outcome(event) if failure is not None else Outcome.SUCCEEDED,
            message=str(failure) if failure is not None else "",
            seconds=sum(run.seconds for run in runs),
        )
        return emitted, failure

    async def _told(self, emitted: Emitted) -> Emitted:
        """Log the lines that handlers printed, and return the event with these lines in its message."""
        said = await self._say_all()
        return replace(emitted, message=saying.message(said, failure=emitted.message, max_characters=MAX_MESSAGE))

    async def _say_all(self) -> Sequence[saying.Line]:
        said, self._said = self._said, []
        for line in said:
            self._say(line)
            # There may be megabytes of lines, each searched for secrets, so other tasks run in between.
            await asyncio.sleep(0)
        return said

    async def _call(self, handler: Heard, subject: Subject) -> None:
        """Call one handler, and take over its changes; raises `Failed`."""
        chart = handler.chart if isinstance(handler, Handler) else subject.root
        request = self._request(handler.event, chart, subject)
        file = _file(handler, subject)
        where = _Where(
            release=self._occasion.release["name"], chart=chart, event=handler.event, file=file, line=handler.line
        )
        try:
            if isinstance(handler, Handler):
                answer = await self._by_subject[id(subject)].call(handler, request)
            else:
                answer = await listening.call(handler, request)
            self._take(answer, chart, subject)
        except HandlerFailed as error:
            self._tell(where, error.lines, error.warnings)
            told = f"\n{error.traceback.rstrip()}" if error.traceback else ""
            line = error.line or handler.line
            raise _failure(subject, handler, line, f"{error.message}{told}") from error
        except SandboxError as error:
            raise _failure(subject, handler, handler.line, str(error)) from error
        except errors.InvalidField as error:
            raise _failure(subject, handler, handler.line, f"what it has made is wrong: {error}") from error
        self._tell(where, answer.lines, answer.warnings)
        self._said += (saying.Dropped(**where, text=what) for what in answer.dropped)

    def _request(self, event: Event, chart: str, subject: Subject) -> Request:
        release = self._occasion.release
        return Request(
            event=event,
            chart=chart,
            name=release["name"],
            namespace=release["namespace"],
            metadata=subject.metadata(chart),
            values=subject.values(chart),
            manifest=subject.part(chart),
            context={
                "release": self._occasion.release_as_json(),
                "config": self._occasion.config_as_json(),
                "state": self._state,
                "files": subject.files(chart),
                "templates": subject.templates(chart),
            },
        )

    def _take(self, answer: Answer, chart: str, subject: Subject) -> None:
        """Take over the changes of a handler; raises `errors.InvalidField`."""
        parse.check_size("context.state", document.dump_json(answer.state), max_bytes=MAX_STATE_BYTES)
        if subject.charts is None and (answer.values is not None or answer.templates is not None):
            raise errors.InvalidField.of("values", "are those of a chart, and so are templates; this release has none")
        if answer.values is not None:
            subject.change_values(chart, answer.values)
        if answer.templates is not None:
            subject.change_templates(chart, answer.templates)
        if answer.manifest is not None:
            subject.change_part(chart, answer.manifest)
        self._state = answer.state

    def _tell(self, where: "_Where", lines: Sequence[str], warnings: Sequence[str]) -> None:
        self._said += (saying.Printed(**where, text=line) for line in lines)
        self._said += (saying.Warned(**where, text=warning) for warning in warnings)


class _Where(TypedDict):
    """The place of a printed line, see `saying.Said`."""

    release: str
    chart: str
    event: Event | None
    file: str
    line: int


def _file(handler: Heard, subject: Subject) -> str:
    return _place(handler, subject, handler.line).rpartition(":")[0]


def _place(handler: Heard, subject: Subject, line: int) -> str:
    if isinstance(handler, Handler):
        return subject.place(handler.origin, handler.file, line)
    return f"{handler.file}:{line}"


def _failure(subject: Subject, handler: Heard, line: int, message: str) -> Failed:
    """Build the failure, with the event, the chart, and the line where the handler failed."""
    chart = handler.chart if isinstance(handler, Handler) else subject.root
    of_chart = f" for {chart}" if chart else ""
    what = f"the handler of {handler.event}{of_chart} failed: {message}"
    return Failed([errors.Violation(_place(handler, subject, line), what)])


def _outcome(event: Event) -> Outcome:
    """Return the outcome of an event whose handler failed."""
    return Outcome.WARNED if event in name.ONLY_WARNS else Outcome.FAILED


def _run_of(handler: Heard, failed: Failed | None, event: Event, *, seconds: float) -> HandlerRun:
    return HandlerRun(
        chart=handler.origin,
        file=handler.file,
        line=handler.line,
        weight=handler.weight,
        seconds=seconds,
        outcome=_outcome(event) if failed is not None else Outcome.SUCCEEDED,
    )
