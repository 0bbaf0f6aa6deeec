"""The schemas that are compared, and the server that reads each. Only the notification differs, or all is left out."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import bell, process
from bench import cluster as cluster_of
from bench.cluster import Cluster

# The reader listens to a channel of its own.
_LISTEN = "UPDATE bell_secret SET channel = 'tinkwell_bell'"
_NOTIFY_EACH = """
    CREATE FUNCTION notify_each() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    AS $$ BEGIN NOTIFY tinkwell_bell; RETURN NULL; END $$
"""
_TRIGGER = "CREATE TRIGGER events_notify AFTER INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION notify_each()"


@dataclass(frozen=True, slots=True)
class Variant:
    """What makes the schema out of Tinkwell's, whether its reader only polls, and how many events a commit records.

    A server does not start where something that it relies on is missing; that is taken away once it has.
    """

    statements: tuple[str, ...] = ()
    once_served: tuple[str, ...] = ()
    only_polls: bool = False
    events: int = 1

    @asynccontextmanager
    async def served(self, cluster: Cluster, directory: Path) -> AsyncIterator[tuple[str, process.Server]]:
        """Make a database of this schema and run a server over it; yields the database's URL and the server."""
        command = (sys.executable, "-m", "bench.commit.polling") if self.only_polls else (process.COMMAND,)
        async with (
            cluster.database(self.statements) as url,
            process.server(url, directory=directory, command=command) as server,
        ):
            await cluster_of.execute(url, *self.once_served)
            yield url, server


VARIANTS = {
    "bell": Variant(),
    "no notification": Variant((bell.WITHOUT,), only_polls=True),
    "NOTIFY each": Variant((bell.WITHOUT, _LISTEN, _NOTIFY_EACH, _TRIGGER)),
    "no triggers": Variant(
        once_served=("DROP TRIGGER hardware_event ON hardware", "DROP TRIGGER hardware_addresses ON hardware"),
        events=0,
    ),
}
