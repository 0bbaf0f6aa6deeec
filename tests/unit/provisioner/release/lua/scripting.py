"""Scripts of charts, in a real child process or in the test's own."""

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, cast

import pytest

from tinkwell.core import errors
from tinkwell.core.release.lifecycle_event.name import Event
from tinkwell.core.value.document import JsonObject
from tinkwell.provisioner.release.lua import child
from tinkwell.provisioner.release.lua.registration import Handler
from tinkwell.provisioner.release.lua.scripts import Answer, ChartScripts, HandlerFailed, Request, Scripts
from tinkwell.sandbox.child import Child

INIT = "ext/lua/init.lua"
RELEASE: JsonObject = {"name": "shop", "namespace": "default", "revision": 1}


class _SameProcess:
    @contextlib.asynccontextmanager
    async def held(self) -> AsyncIterator[Callable[[bytes], Awaitable[bytes]]]:
        yield self._call

    async def _call(self, request: bytes) -> bytes:
        return json.dumps(child.handle(json.loads(request), lambda _: None)).encode()

    async def close(self) -> None:
        pass


def chart(path: str, files: Mapping[str, str] | str) -> ChartScripts:
    """Make a chart with some files, or with the one text as its init.lua."""
    name = path.rpartition(".")[2]
    given = {INIT: files} if isinstance(files, str) else dict(files)
    return ChartScripts(path=path, name=name, metadata={"name": name, "version": "1.0.0"}, files=given)


def same_process(*charts: ChartScripts) -> Scripts:
    made = Scripts(charts)
    made._child = cast(Child, _SameProcess())
    return made


def request(event: Event, values: Any = None, *, manifest: Any = None, **context: Any) -> Request:
    return Request(
        event=event,
        chart="shop",
        name="shop",
        namespace="default",
        metadata={"name": "shop", "version": "1.0.0", "keywords": ["a", "b"]},
        values=values if values is not None else {},
        manifest=manifest,
        context={"release": RELEASE, "config": {"dry_run": False}, "state": {}, **context},
    )


def on(event: str, body: str) -> str:
    """Write a script that hears one event."""
    arguments = "name, namespace, chart, values, manifest, context"
    return f'function init(events)\n  events.on("{event}", 0.5, function ({arguments})\n{body}\n  end)\nend\n'


async def run(body: str, values: Any = None, *, event: Event = Event.PRE_RENDER, **others: Any) -> Answer:
    """Call a handler of these lines."""
    scripts = same_process(chart("shop", on(event, body)))
    (handler,), _ = await scripts.load()
    return await scripts.call(handler, request(event, values, **others))


async def failed(body: str, values: Any = None, *, event: Event = Event.PRE_RENDER, **others: Any) -> HandlerFailed:
    """Call a handler of these lines, which fails."""
    with pytest.raises(HandlerFailed) as raised:
        await run(body, values, event=event, **others)
    return raised.value


async def loaded(*charts: ChartScripts) -> tuple[Scripts, list[Handler], list[str]]:
    scripts = same_process(*charts)
    handlers, lines = await scripts.load()
    return scripts, list(handlers), list(lines)


async def refused(*charts: ChartScripts) -> dict[str, str]:
    """Return what is wrong with scripts that do not load, by field."""
    with pytest.raises(errors.InvalidField) as raised:
        await loaded(*charts)
    return {violation.field: violation.description for violation in raised.value.violations}
