"""Implements ListReleases: the core event `list`, with the functions of this installation before and after it.

If no function listens, releases are streamed as they are read. Otherwise they are all read first, so that no function
holds a database connection.
"""

import contextlib
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tinkwell.core import errors
from tinkwell.core.release import name as names
from tinkwell.core.release.kinds import ReleaseState
from tinkwell.core.release.lifecycle_event.name import CoreEvent, Event
from tinkwell.core.release.lifecycle_event.registry import Listener, Registry
from tinkwell.core.release.record import Release
from tinkwell.core.value import parse
from tinkwell.server.database.database import Database
from tinkwell.server.release.service import listener
from tinkwell.server.release.service.listener import Function, HandlerFailed, ListRequest
from tinkwell.server.release.store import queries

# The number of releases that a function receives in one call.
PAGE = 500
MAX_ANNOTATIONS = 64
MAX_ANNOTATION_BYTES = 256
_SHOWN = (
    "id",
    "namespace",
    "name",
    "state",
    "revision",
    "latest_revision",
    "chart_name",
    "chart_version",
    "description",
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Listed:
    """A release, and its annotations from functions."""

    release: Release
    annotations: Mapping[str, str] = field(default_factory=dict)


class Listing:
    """Carries out the core event `list`."""

    def __init__(self, database: Database, registry: Registry[Function]) -> None:
        self._database = database
        self._before = listener.hearing(registry, Event.PRE_LIST)
        self._after = listener.hearing(registry, Event.POST_LIST)
        registry.implement(CoreEvent.LIST, self)
        registry.check()

    async def stream(
        self, namespace: str, states: Sequence[ReleaseState], *, include_planned: bool = False
    ) -> AsyncGenerator[Listed, None]:
        """Yield the releases of a namespace, or of all if it is empty, in any of the states, or in all.

        Without states, PLANNED releases are left out unless the request includes them. Raises `errors.InvalidField`,
        also if a function that listens to pre-list refuses the request or widens it.
        """
        namespace = namespace and names.parse_namespace("namespace", namespace)
        for each in self._before:
            namespace, states = await _narrow(each, namespace, states)
        found = self._read(namespace, states, include_planned=include_planned)
        async with contextlib.aclosing(found) as releases:
            if not self._after:
                async for release in releases:
                    yield Listed(release)
                return
            read = [Listed(release) async for release in releases]
        for start in range(0, len(read), PAGE):
            for listed in await self._tell(namespace, states, read[start : start + PAGE]):
                yield listed

    async def _read(
        self, namespace: str, states: Sequence[ReleaseState], *, include_planned: bool
    ) -> AsyncGenerator[Release, None]:
        async with (
            self._database.snapshot() as connection,
            contextlib.aclosing(
                queries.list_releases(connection, namespace, states, include_planned=include_planned)
            ) as releases,
        ):
            async for release in releases:
                yield release

    async def _tell(self, namespace: str, states: Sequence[ReleaseState], page: Sequence[Listed]) -> Sequence[Listed]:
        """Pass a page to all functions. If one fails, this is logged as a warning, and its changes are dropped."""
        for each in self._after:
            rows = [_row(listed) for listed in page]
            request = ListRequest(
                event=Event.POST_LIST, namespace=namespace, states=[state.value for state in states], releases=rows
            )
            try:
                await listener.call(each, request)
                page = _changed(page, request.releases)
            except (HandlerFailed, errors.InvalidField) as error:
                logger.warning("what is listed stays as it was, since %s", error)
        return page


async def _narrow(
    hearing: Listener[Function], namespace: str, states: Sequence[ReleaseState]
) -> tuple[str, Sequence[ReleaseState]]:
    asked = [state.value for state in states]
    request = ListRequest(event=Event.PRE_LIST, namespace=namespace, states=[*asked])
    try:
        await listener.call(hearing, request)
    except HandlerFailed as error:
        raise errors.InvalidField.of("pre-list", str(error)) from error
    who = f"the handler {hearing.file} (line {hearing.line})"
    if namespace and request.namespace != namespace:
        raise errors.InvalidField.of("namespace", f"{who} asks for another one; it may only narrow what was asked for")
    if not (set(request.states) <= (set(asked) or {state.value for state in ReleaseState})) or (
        asked and not request.states
    ):
        raise errors.InvalidField.of("states", f"{who} asks for others; it may only narrow what was asked for")
    checked = request.namespace and names.parse_namespace("namespace", request.namespace)
    return checked, [ReleaseState(state) for state in request.states]


def _row(listed: Listed) -> dict[str, object]:
    shown: dict[str, object] = {name: str(getattr(listed.release, name)) for name in _SHOWN}
    numbers = {"revision": listed.release.revision, "latest_revision": listed.release.latest_revision}
    return {**shown, **numbers, "annotations": {**listed.annotations}}


def _changed(page: Sequence[Listed], rows: Sequence[dict[str, object]]) -> Sequence[Listed]:
    """Return the rows that were kept, in order, with their annotations. Raises `errors.InvalidField`."""
    kept = {str(row.get("id")): row.get("annotations") for row in rows}
    return [
        replace(listed, annotations=_annotations(listed.release.name, kept[listed.release.id]))
        for listed in page
        if listed.release.id in kept
    ]


def _annotations(name: str, given: object) -> Mapping[str, str]:
    place = parse.child("releases", name)
    if not isinstance(given, dict) or len(given) > MAX_ANNOTATIONS:
        raise errors.InvalidField.of(f"{place}.annotations", f"must be an object of at most {MAX_ANNOTATIONS} texts")
    found = {}
    for key, text in given.items():
        at = parse.child(f"{place}.annotations", str(key))
        if not isinstance(key, str) or not isinstance(text, str):
            raise errors.InvalidField.of(at, "must be a text under a text")
        parse.parse_text(at, key, max_bytes=MAX_ANNOTATION_BYTES)
        found[key] = parse.parse_text(at, text, max_bytes=MAX_ANNOTATION_BYTES, allow_empty=True)
    return found
