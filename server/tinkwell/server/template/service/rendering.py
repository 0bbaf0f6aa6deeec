"""Checks and renders templates for the whole server, without delaying other calls.

Theory of operation. A caller who may store a template can make the server compute: run its actions, parse the result as
YAML, flatten it. So the event loop does only what takes two or three milliseconds (see `core.template.quick`), and no
thread does any of it, because threads take turns with the loop. All other work goes to a few limited child processes,
which end with their caller. If all of them are busy, a call waits, and too many waiting calls are refused. A child also
returns what it has learned about a small template, so that the next workflow of that template is rendered at once.

Recoveries have a child of their own, so that a caller with many requests does not delay the recoveries of others.
"""

import json
import logging
from types import TracebackType
from typing import Protocol, cast

from tinkwell.core import errors
from tinkwell.core.template import frozen, template
from tinkwell.core.template.frozen import Frozen
from tinkwell.core.template.quick import Lesson, QuickTemplates
from tinkwell.core.value import parse
from tinkwell.core.value.document import JsonObject
from tinkwell.sandbox import errors as sandbox
from tinkwell.sandbox import import_path
from tinkwell.sandbox.limit import Limits
from tinkwell.server.template.service.children import Children

_log = logging.getLogger(__name__)

MODULE = "tinkwell.server.template.service.child"
# The largest allowed template takes some seconds of processor time, and a hundred megabytes.
LIMITS = Limits(cpu_seconds=10.0, wall_seconds=25.0, request_bytes=16 * 1024 * 1024)
# The number of children. Each may use a whole processor.
PLACES = 2
MAX_WAITING = 32
_RECOVERY_PLACES = 1
# Many workflows may end at the same time.
_MAX_WAITING_RECOVERIES = 1_000

_DEVICES = "hardware"


class Computing(Protocol):
    """Answers the requests that `child.handle` describes."""

    async def call(self, request: bytes) -> bytes:
        """Answer one request. Raises `errors.LimitReached` and `sandbox.SandboxError`."""

    async def close(self) -> None:
        """Refuse further requests."""


class Rendering:
    """Checks and renders templates. Every method raises `errors.InvalidField` that names the error.

    Methods that wait also raise `errors.LimitReached` if too many calls wait already, and `errors.Unavailable` if there
    is no child.
    """

    def __init__(self, children: Computing | None = None, for_recovery: Computing | None = None) -> None:
        """Start no child yet."""
        self._children = children or make_children()
        self._for_recovery = for_recovery or make_children(places=_RECOVERY_PLACES, max_waiting=_MAX_WAITING_RECOVERIES)
        self._quick = QuickTemplates()

    async def __aenter__(self) -> "Rendering":
        """Start no child; the first call that needs one does."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the children."""
        await self.close()

    async def close(self) -> None:
        """End the children."""
        await self._children.close()
        await self._for_recovery.close()

    async def check(self, text: str, *, field: str) -> str:
        """Check a template before its values are known, and return its name."""
        answer = await self._ask(self._children, "check", text, field)
        return cast(str, answer["name"])

    def render_quickly(self, text: str, devices: JsonObject, *, field: str) -> Frozen | None:
        """Render a template that was used lately, or return None if that might take more than some milliseconds."""
        return self._quick.render(text, devices, field=field, devices_field=_DEVICES)

    async def render(self, text: str, devices_text: str, *, field: str, is_recovery: bool = False) -> Frozen:
        """Render a template, however long that takes. `devices_text` is JSON in the form of `parse_devices`."""
        children = self._for_recovery if is_recovery else self._children
        try:
            answer = await self._ask(children, "render", text, field, devices=devices_text)
        except sandbox.SandboxError as error:
            if not is_recovery:
                raise
            # The end of a workflow waits for this, and the same template might fail in the same way for ever.
            _log.exception("a recovery cannot be rendered")
            raise errors.TinkwellError(f"its template cannot be rendered: {error.reason}") from error
        return frozen.load(cast(JsonObject, answer["frozen"]))

    async def _ask(self, children: Computing, call: str, text: str, field: str, **more: str) -> JsonObject:
        parse.check_size(field, text, max_bytes=template.MAX_TEMPLATE_BYTES)
        may_learn = self._quick.may_learn(text)
        request = {"call": call, "text": text, "field": field, "may_learn": may_learn, **more}
        try:
            found = await children.call(json.dumps(request, ensure_ascii=False).encode())
        except sandbox.Exceeded as error:
            why = f"is too much work: reading it {error.reason}; make it smaller, or make several templates of it"
            raise errors.InvalidField.of(field, why) from error
        except sandbox.Died as error:
            if children is self._for_recovery:
                raise
            raise errors.Unavailable(f"templates cannot be rendered: {error.reason}; try again") from error
        except sandbox.NotStarted as error:
            raise errors.Unavailable(f"templates cannot be rendered: {error.reason}; try again") from error
        answer = cast(JsonObject, json.loads(found))
        if violations := cast("list[tuple[str, str]]", answer.get("violations")):
            raise errors.InvalidField(errors.Violation(name, description) for name, description in violations)
        if lesson := cast("Lesson | None", answer["lesson"]):
            self._quick.learn(text, lesson)
        return answer


def make_children(*, places: int = PLACES, max_waiting: int = MAX_WAITING, limits: Limits = LIMITS) -> Children:
    """Make the children, without starting any."""
    paths = import_path.of("ruamel.yaml", extra="server")
    what = "templates are rendered"
    return Children(MODULE, paths, what=what, limits=limits, places=places, max_waiting=max_waiting)
