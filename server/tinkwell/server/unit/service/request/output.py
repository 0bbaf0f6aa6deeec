"""The logs of units: the newest stored lines first, if requested, and then new lines as they arrive."""

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Sequence

from tinkwell.core.release import name as namespaces
from tinkwell.core.unit.record import LogLine
from tinkwell.core.value import parse
from tinkwell.server.database.database import Database
from tinkwell.server.unit.service.request import deploying
from tinkwell.server.unit.service.request import request as requests
from tinkwell.server.unit.service.request.removing import missing
from tinkwell.server.unit.store.request import application as applications
from tinkwell.server.unit.store.request import event as events
from tinkwell.server.unit.store.request import unit
from tinkwell.server.workflow.service import follower

# A line has at most 128 KiB, so a page takes at most 4 MiB.
_PAGE = 32


@dataclasses.dataclass(frozen=True, slots=True)
class _Page:
    lines: Sequence[LogLine]
    is_over: bool


class UnitLogs:
    """Streams the logs of units."""

    def __init__(self, database: Database, *, poll_seconds: float = follower.POLL_SECONDS) -> None:
        self._database = database
        self._followers = follower.Followers(poll_seconds=poll_seconds, page=_PAGE)

    def close(self) -> None:
        """End all watchers that wait for more lines. Their clients may go on at another server."""
        self._followers.close()

    @property
    def watcher_count(self) -> int:
        """The number of watchers now."""
        return self._followers.count

    async def watch(
        self, namespace: str, name: str, *, follow: bool, newest: int
    ) -> AsyncGenerator[Sequence[LogLine], None]:
        """Yield the lines of a unit, or of all units that an application has at the start, in batches.

        `newest` is the number of stored lines to begin with, 0 for all. With `follow`, go on until the unit or the
        application is gone. Raises `errors.InvalidField`, `errors.NotFound`, and the errors of `Followers.watch`.
        """
        parse.parse_int_range("limit", newest, low=0, high=requests.MAX_LINES)
        namespace = namespaces.parse_namespace("namespace", namespace)
        key, is_unit = await self._find(namespace, name)
        start, seen = 0, dict[str, int]()
        if newest:
            start = await events.find_newest(self._database.fetch, await self._units(key, is_unit), count=newest)

        async def read(last: LogLine | None) -> _Page:
            units = await self._units(key, is_unit)
            after = {unit_id: seen.get(unit_id, start) for unit_id in units}
            lines = await events.list_lines(self._database.fetch, after, limit=_PAGE)
            seen.update({line.unit_id: line.id for line in lines})
            return _Page(lines, is_over=not units)

        async with contextlib.aclosing(self._followers.watch(key, read, _size, follow=follow)) as batches:
            async for batch in batches:
                yield batch

    async def _find(self, namespace: str, name: str) -> tuple[str, bool]:
        if "/" in name:
            named = requests.parse_unit(namespace, name)
            found = await unit.find(self._database.fetch, named.namespace, named.name)
            if found is None:
                raise missing(name)
            return found.id, True
        named = requests.parse_application(namespace, name, field="name")
        application = await applications.find(self._database.fetch, named.namespace, named.name)
        if application is None:
            raise deploying.missing(named.namespace, named.name)
        return application.id, False

    async def _units(self, key: str, is_unit: bool) -> Sequence[str]:
        if is_unit:
            return await unit.exists(self._database.fetch, key)
        return await unit.list_ids(self._database.fetch, key)


def _size(line: LogLine) -> int:
    return len(line.text.encode()) + len(line.unit) + len(line.event_name)
