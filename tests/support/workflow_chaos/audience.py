"""Those who watch a run: each must see the same events in the same order as the log, whatever server it is at."""

import random
from collections.abc import Sequence

from support.chaos.server import Server
from support.chaos.watcher import Consumer, LibraryWatcher, RawWatcher
from support.history.record import FromRevision, Selection, Start, Watcher

_WORKFLOWS = Selection(resource_types=frozenset({"WORKFLOW", "ACTION"}))
_ENDS = Selection(names=frozenset({"workflow.succeeded", "workflow.failed", "workflow.timeout", "workflow.cancelled"}))


class Audience:
    """Watchers, one at each server and some that go from one to another."""

    def __init__(self, servers: Sequence[Server], *, chance: random.Random) -> None:
        self.records: list[Watcher] = []
        first: Start = FromRevision(1)
        wanted: list[tuple[str, type[Consumer], Selection, Sequence[Server]]] = [
            *((f"library-{server.name}", LibraryWatcher, Selection(), [server]) for server in servers),
            ("library-workflow", LibraryWatcher, _WORKFLOWS, servers),
            ("raw-all", RawWatcher, Selection(), servers),
            ("raw-workflow", RawWatcher, _WORKFLOWS, servers),
            ("raw-ends", RawWatcher, _ENDS, servers),
        ]
        self.residents = [
            kind(name, selection, first, at, chance=random.Random(chance.random()), add=self.records.append)
            for name, kind, selection, at in wanted
        ]

    def has_arrived(self, last: int) -> bool:
        """Whether everybody is live and has been told all up to the revision."""
        return all(resident.has_arrived(last) for resident in self.residents)
