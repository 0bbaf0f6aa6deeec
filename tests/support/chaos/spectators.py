"""Those who watch from the first revision on: each must see the log in its order, whatever server it is at."""

import random
from collections.abc import Sequence

from support.chaos.server import Server
from support.chaos.watcher import Consumer, LibraryWatcher, RawWatcher
from support.history.record import FromRevision, Selection, Start, Watcher


class Spectators:
    """Watchers, one at each server and some that go from one to another.

    Some select by `resource_types`, and one by `names` of events.
    """

    def __init__(
        self,
        servers: Sequence[Server],
        *,
        resource_types: frozenset[str],
        names: frozenset[str],
        chance: random.Random,
    ) -> None:
        self.records: list[Watcher] = []
        first: Start = FromRevision(1)
        of_types = Selection(resource_types=resource_types)
        wanted: list[tuple[str, type[Consumer], Selection, Sequence[Server]]] = [
            *((f"library-{server.name}", LibraryWatcher, Selection(), [server]) for server in servers),
            ("library-types", LibraryWatcher, of_types, servers),
            ("raw-all", RawWatcher, Selection(), servers),
            ("raw-types", RawWatcher, of_types, servers),
            ("raw-names", RawWatcher, Selection(names=names), servers),
        ]
        self.residents = [
            kind(name, selection, first, at, chance=random.Random(chance.random()), add=self.records.append)
            for name, kind, selection, at in wanted
        ]

    def has_arrived(self, last: int) -> bool:
        """Whether everybody is live and has been told all up to the revision."""
        return all(resident.has_arrived(last) for resident in self.residents)
