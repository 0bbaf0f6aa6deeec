"""All who watch: who they are, how they come and go, and whether they have arrived."""

import asyncio
import contextlib
import random
import uuid
from collections.abc import AsyncIterator, Sequence

from support.chaos.watcher import Addressed, Consumer, LibraryWatcher, RawWatcher
from support.history.record import FromRevision, Now, Selection, Since, Start, Watcher

_HARDWARE = frozenset({"HARDWARE"})


class Audience:
    """The watchers that stay for the whole run, and visitors that stay for a while."""

    def __init__(self, servers: Sequence[Addressed], *, hot: Sequence[uuid.UUID], chance: random.Random) -> None:
        self.records: list[Watcher] = []
        self.residents: list[Consumer] = []
        self._servers = servers
        self._chance = chance
        self._visitors = 0
        first = FromRevision(1)
        hot_one = Selection(resource_types=_HARDWARE, resource_id=str(hot[0]))
        named = Selection(names=frozenset({"hardware.deleted", "template.updated", "chaos.called"}))
        wanted: list[tuple[str, type[Consumer], Selection, Start]] = [
            ("raw-all", RawWatcher, Selection(), first),
            ("raw-all-now", RawWatcher, Selection(), Now()),
            ("raw-all-since", RawWatcher, Selection(), Since(5)),
            ("raw-hardware", RawWatcher, Selection(resource_types=_HARDWARE), first),
            ("raw-template", RawWatcher, Selection(resource_types=frozenset({"TEMPLATE"})), Now()),
            ("raw-created", RawWatcher, Selection(event_types=frozenset({"CREATED", "CUSTOM"})), Since(60)),
            ("raw-named", RawWatcher, named, first),
            ("raw-hot", RawWatcher, hot_one, Now()),
            ("raw-nothing", RawWatcher, Selection(names=frozenset({"chaos.never"})), Now()),
            ("library-all", LibraryWatcher, Selection(), first),
            ("library-all-now", LibraryWatcher, Selection(), Now()),
            ("library-all-since", LibraryWatcher, Selection(), Since(5)),
            ("library-hardware", LibraryWatcher, Selection(resource_types=_HARDWARE), Now()),
            ("library-named", LibraryWatcher, named, Since(60)),
            ("library-hot", LibraryWatcher, hot_one, first),
        ]
        for name, kind, selection, start in wanted:
            self.residents.append(self._make(kind, name, selection, start, servers))

    def some(self) -> Consumer:
        """Pick a resident."""
        return self._chance.choice(self.residents)

    @contextlib.asynccontextmanager
    async def visitor(self, start: Start, server: Addressed) -> AsyncIterator[Consumer]:
        """Let somebody watch everything at one server for as long as the block lasts."""
        self._visitors += 1
        visitor = self._make(RawWatcher, f"visitor-{self._visitors}", Selection(), start, [server], must_arrive=False)
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(visitor.run())
            try:
                yield visitor
            finally:
                task.cancel()

    def _make(
        self,
        kind: type[Consumer],
        name: str,
        selection: Selection,
        start: Start,
        servers: Sequence[Addressed],
        *,
        must_arrive: bool = True,
    ) -> Consumer:
        chance = random.Random(self._chance.random())
        return kind(name, selection, start, servers, chance=chance, add=self.records.append, must_arrive=must_arrive)

    def has_arrived(self, last: int) -> bool:
        """Whether every resident is live and has been told all up to the revision."""
        return all(resident.has_arrived(last) for resident in self.residents)
