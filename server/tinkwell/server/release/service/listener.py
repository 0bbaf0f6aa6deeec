"""Python functions that listen to the listing of releases. They are part of an installation, and trusted like it.

    [project.entry-points."tinkwell.lifecycle"]
    teams = "acme.teams:register"

    def register(events):
        events.on("pre-list", 0.5, only_ours)
        events.on("post-list", 0.5, name_teams)

    def only_ours(request):
        request.namespace = request.namespace or "ours"

    def name_teams(request):
        for release in request.releases:
            release["annotations"]["team"] = TEAMS[release["name"]]

The same entry points register the functions that provisioners call; each process calls those for its own events. A
function runs in a thread of its own. A thread cannot be ended, so the server stops waiting for one that takes too long.
"""

import asyncio
import concurrent.futures
import importlib.metadata
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tinkwell.core.release.lifecycle_event import order
from tinkwell.core.release.lifecycle_event.name import CoreEvent, Event
from tinkwell.core.release.lifecycle_event.registry import Listener, Registry, WrongRegistry

GROUP = "tinkwell.lifecycle"
CALL_SECONDS = 10.0


@dataclass(slots=True, kw_only=True)
class ListRequest:
    """The argument of a function: a copy of its own.

    At pre-list a function may narrow `namespace`, which is empty for all, and `states`, which is empty for all. At
    post-list it may remove rows from `releases`, and add texts by name to the `annotations` of a row.
    """

    event: str
    namespace: str
    states: list[str]
    releases: list[dict[str, object]] = field(default_factory=list)


Function: TypeAlias = Callable[[ListRequest], object]


class HandlerFailed(Exception):
    """A function that listens to an event has raised an error or takes too long."""


class Registration:
    """The argument of an entry point's `register`."""

    def __init__(self, registry: Registry[Function], origin: str) -> None:
        self._registry = registry
        self._origin = origin

    def on(self, event: str, weight: float, function: Function) -> None:
        """Register a function for an event. `weight` goes from 0, first, to 1, last."""
        self._registry.on(event, weight, function, origin=self._origin)


def load() -> Registry[Function]:
    """Load the entry points that are installed beside this program. Raises `WrongRegistry` for one that fails."""
    registry: Registry[Function] = Registry([CoreEvent.LIST])
    for point in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda each: each.name):
        try:
            point.load()(Registration(registry, point.name))
        except WrongRegistry:
            raise
        except Exception as error:
            raise WrongRegistry(f"the entry point {point.name} of {GROUP} cannot be loaded: {error}") from error
    return registry


def hearing(registry: Registry[Function], event: Event) -> Sequence[Listener[Function]]:
    """Return the functions that listen to an event, in order."""
    return order.in_order((each for each in registry.listeners if each.event is event), ())


async def call(listener: Listener[Function], request: ListRequest, *, seconds: float = CALL_SECONDS) -> None:
    """Call a function for an event. It may change the request. Raises `HandlerFailed`."""
    title = f"the handler {listener.file} (line {listener.line}) of {request.event}"
    try:
        async with asyncio.timeout(seconds):
            await _in_thread(listener, request)
    except TimeoutError as error:
        raise HandlerFailed(f"{title} takes longer than {seconds:g} s") from error
    except Exception as error:
        raise HandlerFailed(f"{title} failed: {type(error).__name__}: {error}") from error


async def _in_thread(listener: Listener[Function], request: ListRequest) -> None:
    ended: concurrent.futures.Future[None] = concurrent.futures.Future()

    def work() -> None:
        ended.set_running_or_notify_cancel()
        try:
            listener.function(request)
        except StopIteration as error:  # no future of asyncio takes it
            ended.set_exception(RuntimeError(f"StopIteration: {error}"))
        except Exception as error:  # it is raised again where it is waited for
            ended.set_exception(error)
        else:
            ended.set_result(None)

    threading.Thread(target=work, name=f"lifecycle {listener.file}", daemon=True).start()
    await asyncio.wrap_future(ended)
