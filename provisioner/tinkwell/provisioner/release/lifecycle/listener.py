"""Functions in Python that hear events. They belong to an installation of Tinkwell, and hear the roots of all releases.

    [project.entry-points."tinkwell.lifecycle"]
    notify = "acme.notify:register"

    def register(events):
        events.on("pre-render", 0.5, default_region)

    def default_region(request):
        request.values.setdefault("region", "eu-1")

Listeners are trusted like the program itself. Each call runs in a thread of its own. A thread cannot be killed: if it
takes too long, the provisioner stops waiting for it and ignores its changes.
"""

import asyncio
import concurrent.futures
import copy
import importlib.metadata
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tinkwell.core import errors
from tinkwell.core.release.lifecycle_event import name
from tinkwell.core.release.lifecycle_event.registry import Listener, Registry, WrongRegistry
from tinkwell.core.value import document
from tinkwell.core.value.document import JsonObject
from tinkwell.provisioner.release.lua.scripts import Answer, HandlerFailed, Request

GROUP = "tinkwell.lifecycle"
CALL_SECONDS = 10.0
MAX_BYTES = 8 * 1024 * 1024
_SHOWN_FRAMES = 8


@dataclass(slots=True, kw_only=True)
class ListenerRequest:
    """The argument of a listener function, a copy of its own.

    The function may change `values` and `context["templates"]` at pre-render, `manifest` from post-render to
    post-validate, and `context["state"]` always. `chart` has the metadata of the chart; it is empty for a release
    without charts.
    """

    event: str
    release: JsonObject
    namespace: str
    chart: JsonObject
    values: JsonObject
    manifest: JsonObject | None
    context: JsonObject


Function: TypeAlias = Callable[[ListenerRequest], object]
Lifecycle: TypeAlias = Registry[Function]


class Registration:
    """The argument of an entry point's `register`."""

    def __init__(self, registry: Lifecycle, origin: str) -> None:
        self._registry = registry
        self._origin = origin

    def on(self, event: str, weight: float, function: Function) -> None:
        """Register a function for an event; `weight` is from 0, called first, to 1, called last."""
        self._registry.on(event, weight, function, origin=self._origin)


def are_installed() -> bool:
    """Return whether any installed package has an entry point of the group."""
    return bool(importlib.metadata.entry_points(group=GROUP))


def load(registry: Lifecycle) -> None:
    """Register the listeners of installed packages; raises `WrongRegistry` for one that cannot be registered."""
    for point in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda each: each.name):
        try:
            point.load()(Registration(registry, point.name))
        except WrongRegistry:
            raise
        except Exception as error:
            raise WrongRegistry(f"the entry point {point.name} of {GROUP} cannot be loaded: {error}") from error


async def call(listener: Listener[Function], request: Request, *, seconds: float = CALL_SECONDS) -> Answer:
    """Call a function with an event; raises `HandlerFailed`."""
    given = ListenerRequest(
        event=request.event,
        release=copy.deepcopy(_object(request.context["release"])),
        namespace=request.namespace,
        chart=copy.deepcopy(request.metadata),
        values=copy.deepcopy(request.values),
        manifest=copy.deepcopy(request.manifest),
        context=copy.deepcopy(request.context),
    )
    began = time.monotonic()
    try:
        await _in_thread(listener, given, seconds)
        return _answer(request, given, seconds=time.monotonic() - began)
    except TimeoutError:
        message, told = f"takes longer than {seconds:g} s", ""
    except errors.InvalidField as error:
        message, told = f"gives what is no JSON: {error}", ""
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        told = "".join(traceback.format_exception(error, limit=-_SHOWN_FRAMES))
    raise HandlerFailed(
        event=request.event,
        chart=request.chart,
        file=listener.file,
        line=listener.line,
        message=message,
        traceback=told,
    )


async def _in_thread(listener: Listener[Function], given: ListenerRequest, seconds: float) -> None:
    ended: concurrent.futures.Future[None] = concurrent.futures.Future()

    def work() -> None:
        ended.set_running_or_notify_cancel()
        try:
            listener.function(given)
        except StopIteration as error:  # a future of asyncio cannot hold a StopIteration
            ended.set_exception(RuntimeError(f"StopIteration: {error}"))
        except Exception as error:  # `call` raises it again
            ended.set_exception(error)
        else:
            ended.set_result(None)

    threading.Thread(target=work, name=f"lifecycle {listener.file}", daemon=True).start()
    async with asyncio.timeout(seconds):
        await asyncio.wrap_future(ended)


def _answer(request: Request, given: ListenerRequest, *, seconds: float) -> Answer:
    """Find the changes that a function made; raises `errors.InvalidField` for values that are no JSON."""
    dropped: list[str] = []
    sources, rendered = request.event in name.CHANGES_SOURCES, request.event in name.CHANGES_MANIFEST
    values = _changed("values", request.values, given.values, sources, dropped)
    templates = _changed(
        "context.templates", request.context["templates"], given.context.get("templates"), sources, dropped
    )
    manifest = _changed("manifest", request.manifest, given.manifest, rendered, dropped)
    state = document.check_json("context.state", given.context.get("state"), max_bytes=MAX_BYTES)
    return Answer(
        values=values,
        templates={path: str(text) for path, text in templates.items()} if templates is not None else None,
        manifest=manifest,
        state=_object(state),
        lines=(),
        warnings=(),
        dropped=tuple(dropped),
        seconds=seconds,
    )


def _changed(what: str, before: object, now: object, may_change: bool, dropped: list[str]) -> JsonObject | None:
    if now == before:
        return None
    if not may_change:
        dropped.append(what)
        return None
    return _object(document.check_json(what, now, max_bytes=MAX_BYTES))


def _object(value: object) -> JsonObject:
    if not isinstance(value, dict):
        raise errors.InvalidField.of("", f"must be an object, and not {document.describe(value)}")
    return value
