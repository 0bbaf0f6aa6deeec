"""Servers that relay through a real cluster of NATS while its nodes, and they themselves, are killed."""

import asyncio
import contextlib
import dataclasses
import json
import random
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from integration.log.relay import cluster as clusters
from integration.log.relay.cluster import Certificates, Cluster

import tinkwell.client
from support import server as servers
from support.chaos import archive
from support.chaos.ledger import Ledger
from support.chaos.sql_writer import SqlWriter
from support.chaos.watcher import LibraryWatcher, RawWatcher
from support.history import verdict
from support.history.record import Change, Era, FromRevision, History, Outcome, Selection, Watcher
from support.waiting import eventually
from tinkwell.server.app import event_log
from tinkwell.server.log.relay.count import Role
from tinkwell.server.log.relay.relay import Pace, Relay

pytestmark = [
    pytest.mark.nats,
    pytest.mark.skipif(clusters.PROGRAM is None, reason="needs nats-server, which is not installed"),
]
# A node that leads takes a while to be missed by the others.
DEADLINE_SECONDS = 60.0
END_ELECTION = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
     WHERE application_name = 'tinkwell relay' AND datname = current_database()
"""
HASTY = Pace(alive_seconds=0.2, silence_seconds=1.0, confirm_seconds=1.0, longest_backoff_seconds=0.5)


class Site:
    """Servers over one database and one broker; the relays of those that run, in the order of their start."""

    def __init__(self, database_url: str, cluster: Cluster) -> None:
        self.database_url = database_url
        self.relays: list[Relay] = []
        self.servers: list[servers.Server] = []
        self._cluster = cluster
        self._stacks: list[contextlib.AsyncExitStack] = []

    async def start(self, **settings: object) -> servers.Server:
        """Start another server."""
        stack = contextlib.AsyncExitStack()
        server = await stack.enter_async_context(
            servers.running(self.database_url, nats_replicas=3, **{**self._cluster.settings, **settings})
        )
        self._stacks.append(stack)
        self.servers.append(server)
        return server

    async def stop(self, index: int) -> None:
        """Stop a server and forget it."""
        del self.relays[index], self.servers[index]
        await self._stacks.pop(index).aclose()

    async def stop_all(self) -> None:
        """Stop the servers that are left."""
        while self._stacks:
            await self.stop(-1)

    @property
    def roles(self) -> list[Role]:
        """What the servers do: readers, publishers, followers."""
        return sorted((relay.relay_counts.role for relay in self.relays), reverse=True)

    @property
    def consumed(self) -> int:
        """How many events have come by way of the broker."""
        return sum(relay.relay_counts.consumed_events for relay in self.relays)

    async def reach(self, *roles: Role) -> None:
        """Wait until the servers do this."""
        await eventually(lambda: self.roles == list(roles), deadline_seconds=DEADLINE_SECONDS, interval_seconds=0.02)

    async def follow(self) -> None:
        """Wait until all servers but one take more events from the broker."""
        consumed = self.consumed
        await eventually(
            lambda: (
                self.roles == [Role.PUBLISHING, *[Role.FOLLOWING] * (len(self.relays) - 1)] and self.consumed > consumed
            ),
            deadline_seconds=DEADLINE_SECONDS,
            interval_seconds=0.02,
        )


@pytest.fixture
def certificates() -> Certificates | None:
    """Those that the nodes show and ask for; None where they speak in the clear."""
    return None


@pytest.fixture
async def cluster(tmp_path: Path, certificates: Certificates | None) -> AsyncIterator[Cluster]:
    """Three nodes."""
    async with clusters.running(tmp_path, certificates=certificates) as running:
        yield running


@pytest.fixture
async def site(database_url: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    """A site without servers."""
    made = Site(database_url, cluster)

    class SeenRelay(Relay):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options, pace=HASTY)
            made.relays.append(self)

    monkeypatch.setattr(event_log, "Relay", SeenRelay)
    try:
        yield made
    finally:
        await made.stop_all()


@dataclasses.dataclass
class Seat:
    """Where somebody watches, which may become another server."""

    address: str


class Audience:
    """Two watchers for each server."""

    def __init__(self, site: Site) -> None:
        self.records: list[Watcher] = []
        self._seats = [Seat(server.address) for server in site.servers]
        self.consumers = [
            kind(
                f"{kind.__name__}-{number}",
                Selection(),
                FromRevision(1),
                [seat],
                chance=random.Random(number),
                add=self.records.append,
            )
            for number, seat in enumerate(self._seats)
            for kind in (RawWatcher, LibraryWatcher)
        ]

    def move(self, gone: servers.Server, there: servers.Server) -> None:
        """Let those who watched one server go on at another."""
        for seat in self._seats:
            if seat.address == gone.address:
                seat.address = there.address
        for consumer in self.consumers:
            # The library would try the same server for ever.
            if isinstance(consumer, LibraryWatcher) and not consumer.is_current:
                consumer.leave()

    def has_arrived(self, last: int) -> bool:
        """Whether all of them have been told everything up to the revision."""
        return all(consumer.is_current and consumer.record.streams[-1].bookmark >= last for consumer in self.consumers)


async def add_machines(connection: asyncpg.Connection, ledger: Ledger) -> list[uuid.UUID]:
    """Add machines that all writers change."""
    machines = [uuid.uuid4() for _ in range(3)]
    for number, machine in enumerate(machines):
        token = f"chaos-setup-{number}-1"
        await connection.execute(
            "INSERT INTO hardware (id, metadata) VALUES ($1, $2)", machine, json.dumps({"token": token})
        )
        ledger.add("setup", Outcome.COMMITTED, [Change(token, "CREATED", str(machine), 1)])
    return machines


async def test_whatever_is_killed_every_watcher_receives_everything_once_and_in_order(
    site: Site, cluster: Cluster
) -> None:
    ledger, is_over = Ledger(), asyncio.Event()
    connection = await asyncpg.connect(site.database_url, timeout=10)
    machines = await add_machines(connection, ledger)
    for _ in range(3):
        await site.start(ring_bytes=1 << 20)
    audience = Audience(site)

    async def disturb() -> None:
        await site.follow()
        assert await connection.fetchval(END_ELECTION) == 1
        await let_write()
        await site.follow()
        await cluster.kill(0)
        await let_write()
        await site.follow()
        elected = next(index for index, relay in enumerate(site.relays) if relay.relay_counts.role is Role.PUBLISHING)
        gone = site.servers[elected]
        await site.stop(elected)
        audience.move(gone, site.servers[0])
        await site.follow()
        await cluster.kill()
        await site.reach(Role.READING, Role.READING)
        await let_write()
        await cluster.start()
        await site.follow()

    async def let_write() -> None:
        goal = len(ledger.transactions) + 20
        await eventually(lambda: len(ledger.transactions) >= goal, deadline_seconds=DEADLINE_SECONDS)

    async with asyncio.TaskGroup() as watchers:
        tasks = [watchers.create_task(consumer.run()) for consumer in audience.consumers]
        async with asyncio.TaskGroup() as writers:
            for number in range(3):
                writer = SqlWriter(
                    f"sql{number}", lambda: site.database_url, ledger, hot=machines, chance=random.Random(number)
                )
                writers.create_task(writer.run(is_over))
            await disturb()
            is_over.set()
        last = await connection.fetchval("SELECT max(revision) FROM events")
        await eventually(lambda: audience.has_arrived(last), deadline_seconds=DEADLINE_SECONDS)
        history_id = await connection.fetchval("SELECT history_id::text FROM event_history")
        await connection.close()
        rows = await archive.read_rows(site.database_url)
        violations = verdict.judge(History([Era(history_id, rows)], ledger.transactions, audience.records))
        for task in tasks:
            task.cancel()
    assert violations == []


async def test_a_change_of_an_idle_log_arrives_whole_without_the_database_being_asked(site: Site) -> None:
    for _ in range(2):
        await site.start()
    await site.reach(Role.PUBLISHING, Role.FOLLOWING)
    follower = next(index for index, relay in enumerate(site.relays) if relay.relay_counts.role is Role.FOLLOWING)
    polls = site.relays[follower].counts.polls
    # Within what a resource may have, but in an event larger than a message of this cluster may be.
    filler = 'é"' * 240_000
    async with (
        tinkwell.client.connect(site.servers[follower].address) as client,
        client.events.watch(now=True) as watch,
    ):
        for metadata in ({"n": 1}, {"filler": filler}, {"n": 2}):
            machine = str(uuid.uuid4())
            await client.hardware.push({"id": machine, "metadata": metadata})
            async with asyncio.timeout(DEADLINE_SECONDS):
                event = await anext(watch)
            assert (event.resource_id, event.data["metadata"]) == (machine, metadata)
    assert site.relays[follower].counts.polls == polls
    assert site.relays[follower].relay_counts.fallbacks == 0
    assert site.relays[follower].relay_counts.consumed_events == 3


class TestTls:
    """Nodes that speak TLS alone, and know who connects by a certificate."""

    @pytest.fixture
    def certificates(self, tmp_path: Path) -> Certificates:
        return Certificates.issue(tmp_path)

    async def test_servers_relay_by_nodes_that_ask_for_certificates(self, site: Site) -> None:
        for _ in range(2):
            await site.start()
        await site.reach(Role.PUBLISHING, Role.FOLLOWING)
        follower = next(index for index, relay in enumerate(site.relays) if relay.relay_counts.role is Role.FOLLOWING)
        async with (
            tinkwell.client.connect(site.servers[follower].address) as client,
            client.events.watch(now=True) as watch,
        ):
            await client.events.publish("rack.opened")
            async with asyncio.timeout(DEADLINE_SECONDS):
                assert (await anext(watch)).name == "rack.opened"
        assert site.relays[follower].relay_counts.consumed_events == 1

    async def test_a_server_that_the_nodes_do_not_trust_reads_the_log_itself(
        self, site: Site, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        await site.start()
        await site.reach(Role.PUBLISHING)
        stranger = Certificates.issue(tmp_path_factory.mktemp("stranger"))
        server = await site.start(**stranger.settings)
        await site.reach(Role.READING, Role.PUBLISHING)
        async with tinkwell.client.connect(server.address) as client, client.events.watch(now=True) as watch:
            await client.events.publish("rack.opened")
            async with asyncio.timeout(DEADLINE_SECONDS):
                assert (await anext(watch)).name == "rack.opened"
        assert [relay.relay_counts.consumed_events for relay in site.relays] == [0, 0]
