"""A live copy of all resources of one type, and handlers that are called for each change.

How the copy stays right. A list and the events around it overlap, and a list does not say which revision it shows:

* Events of one watch come in commit order, so the state in an event replaces the cached one. After a list the version
decides: an event that is not newer than the listed resource is contained in the list. * A resource that is neither
listed nor created since was deleted before the list was read. A late event about it, from
  before its deletion, must not bring it back; only CREATED adds. (A deleted machine that is pushed again is CREATED.)
* A machine's phone call carries the machine as it was read then, maybe before its last change. It changes nothing.
* After a deletion made by hand in the database, a new resource may have the same id and begin again at version 1. Its
DELETED and CREATED come in order, so these rules hold for it too.
"""

import inspect
import logging
from asyncio import Event as Flag
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from datetime import datetime
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from tinkwell.client import errors
from tinkwell.client.value import field
from tinkwell.client.watch import reflector, watch
from tinkwell.client.watch.event import Event
from tinkwell.core.event.kinds import EventType, ResourceType

logger = logging.getLogger(__name__)


class Resource(Protocol):
    """The part of a resource that an informer reads."""

    @property
    def id(self) -> str:
        """The id."""

    @property
    def version(self) -> int:
        """The number of changes so far."""

    @property
    def updated_at(self) -> datetime | None:
        """The time of the last change."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""


T = TypeVar("T", bound=Resource)
Handler = Callable[[Event, T | None, T | None], Awaitable[None] | None]


class _Change(NamedTuple, Generic[T]):
    event: Event
    old: T | None
    new: T | None


class Informer(Generic[T]):
    """A local cache of resources with handlers; a list and a watch keep it up to date.

        informer = client.workflows.informer()
        informer.on(EventType.WORKFLOW_TIMEOUT, on_timeout)
        async with asyncio.TaskGroup() as group:
            group.create_task(informer.run())
            await informer.wait_synced()
            print(informer.items())

    Handlers run in the informer's own task, one after another: events in the order of revisions, and the handlers of an
    event in the order of their registration. While a handler runs, no other event is handled, and the server keeps the
    waiting events; so do long work in another task. A handler gets `(event, old, new)`, the cached resource before and
    after the event. `old` is None for a new resource, `new` for a deleted one, and both for an event about something
    that is not cached, such as an action. An error of a handler is logged; it ends `run` only if the informer is
    strict.

    Handlers get the first list as CREATED events. When history was lost, they get the differences of a new list as
    CREATED, UPDATED and DELETED events. Such events are `is_synthetic`; the changes in between are not known. Across
    restarts, handlers get each change at least once, and the cache eventually equals the server's state. Between
    resources, revisions are the only promised order.
    """

    def __init__(
        self,
        resource_type: ResourceType,
        list_all: Callable[[], AsyncIterator[T]],
        open_watch: Callable[[], watch.Watch],
        read: Callable[[object], T],
        *,
        strict: bool = False,
        source: reflector.Reflector[T] | None = None,
    ) -> None:
        self._resource_type = resource_type
        self._read = read
        self._strict = strict
        self._source = source or reflector.Reflector(list_all, open_watch)
        self._handlers: list[tuple[EventType | None, Handler[T]]] = []
        self._cache: dict[str, T] = {}
        self._settled = Flag()
        self._failure: BaseException | None = None
        self.has_synced = False

    def on(self, event_type: EventType | str | None, handler: Handler[T]) -> None:
        """Register a handler, plain or async, for events of a type, or for all with None."""
        wanted = None if event_type is None else field.member(EventType, event_type, "event_type")
        self._handlers.append((wanted, handler))

    def get(self, id: str) -> T | None:  # noqa: A002
        """Get a resource from the cache."""
        return self._cache.get(id)

    def items(self) -> list[T]:
        """Get all resources from the cache."""
        return list(self._cache.values())

    async def wait_synced(self) -> None:
        """Wait until the first list is in the cache and handled; raises what ended `run` before."""
        await self._settled.wait()
        if not self.has_synced:
            raise errors.Closed("the informer ended before it was in step") from self._failure

    async def run(self) -> None:
        """Keep the cache right and call handlers until cancelled; raises errors that retrying cannot mend."""
        try:
            async with aclosing(self._source.stream()) as parts:
                async for part in parts:
                    await self._take(part)
        except BaseException as error:
            self._failure = error
            raise
        finally:
            self._settled.set()

    async def _take(self, part: reflector.Listed[T] | Event) -> None:
        if isinstance(part, Event):
            change = self._apply(part)
            if change is not None:
                await self._tell(change)
            return
        for change in self._replace(part):
            await self._tell(change)
        self.has_synced = True
        self._settled.set()

    def _apply(self, event: Event) -> _Change[T] | None:
        """Bring an event into the cache; None if handlers have got its state already, from a list."""
        if event.resource_type is not self._resource_type:
            return _Change(event, None, None)
        old = self._cache.get(event.resource_id)
        is_contained = old is not None and old.version >= event.version
        match event.event_type:
            case EventType.CREATED:
                return None if is_contained else self._keep(event, old)
            case EventType.DELETED:
                if old is None or old.version > event.version:
                    return None
                del self._cache[event.resource_id]
                return _Change(event, old, None)
            case _ if old is None:
                return None
            case EventType.UPDATED:
                return None if is_contained else self._keep(event, old)
            case EventType.HARDWARE_PHONE_HOME:
                return _Change(event, old, old)
            case _:
                # A list shows a state but not the transition, so handlers get the event even if the list contains it.
                return _Change(event, old, old) if is_contained else self._keep(event, old)

    def _keep(self, event: Event, old: T | None) -> _Change[T]:
        new = self._cache[event.resource_id] = self._read(event.data)
        return _Change(event, old, new)

    def _replace(self, listed: reflector.Listed[T]) -> list[_Change[T]]:
        before, self._cache = self._cache, {item.id: item for item in listed.items}
        changes = []
        for id_, new in self._cache.items():
            old = before.pop(id_, None)
            if old is None:
                changes.append(self._synthetic(EventType.CREATED, None, new, listed.revision))
            elif (old.version, old.updated_at) != (new.version, new.updated_at):
                changes.append(self._synthetic(EventType.UPDATED, old, new, listed.revision))
        changes += [self._synthetic(EventType.DELETED, old, None, listed.revision) for old in before.values()]
        return changes

    def _synthetic(self, event_type: EventType, old: T | None, new: T | None, revision: int) -> _Change[T]:
        resource = new if new is not None else old
        assert resource is not None
        event = Event(
            id="",
            revision=revision,
            resource_type=self._resource_type,
            event_type=event_type,
            name=f"{self._resource_type}.{event_type}".lower(),
            resource_id=resource.id,
            version=resource.version,
            created_at=resource.updated_at,
            data=resource.to_json(),
        )
        return _Change(event, old, new)

    async def _tell(self, change: _Change[T]) -> None:
        for wanted, handler in self._handlers:
            if wanted is None or wanted is change.event.event_type:
                try:
                    result = handler(*change)
                    if inspect.isawaitable(result):
                        await result
                except Exception:
                    if self._strict:
                        raise
                    logger.exception("a handler failed for %s of %s", change.event.name, change.event.resource_id)
