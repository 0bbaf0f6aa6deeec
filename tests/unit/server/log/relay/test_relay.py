"""Servers that go over from the database to the stream and back: no event is lost, repeated or out of order."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import cast

import hypothesis
from hypothesis import strategies as st
from unit.server.log.relay import fake
from unit.server.log.relay.fake import Broker, Database, Server, until

from support import virtual_time
from support.log_event import make_event
from tinkwell.core.event.kinds import EventType
from tinkwell.core.event.page import row_of
from tinkwell.core.event.selection import Selection
from tinkwell.server.log.relay import envelope
from tinkwell.server.log.relay.broker import Letter
from tinkwell.server.log.relay.count import Role

Scene = Callable[[Database, Broker, list[Server]], Awaitable[None]]


def play(scene: Scene, *, servers: int = 3) -> None:
    """Play a scene with settled servers; in the end all of them must be settled again."""

    async def run() -> None:
        database, broker = Database(), Broker()
        database.commit()
        async with fake.running(database, broker, count=servers) as running:
            await until(lambda: fake.are_settled(running, database))
            await scene(database, broker, running)
            database.commit()
            await until(lambda: fake.are_settled(running, database))

    virtual_time.run(run())


def publisher(servers: list[Server]) -> Server:
    return next(server for server in servers if server.relay.relay_counts.role is Role.PUBLISHING)


def followers(servers: list[Server]) -> list[Server]:
    return [server for server in servers if server.relay.relay_counts.role is Role.FOLLOWING]


def test_one_server_publishes_and_the_others_follow_without_asking_the_database() -> None:
    async def scene(database: Database, broker: Broker, servers: list[Server]) -> None:
        publishing = publisher(servers)
        for _ in range(100):
            database.commit()
            await asyncio.sleep(0.01)
        await until(lambda: all(server.has_all(database) for server in servers))
        assert all(server.relay.relay_counts.consumed_events >= 100 for server in followers(servers))
        assert publisher(servers) is publishing
        pages = database.pages
        await publishing.stop()
        servers.remove(publishing)
        # Nobody reads while nobody has noticed.
        await asyncio.sleep(1)
        assert database.pages == pages

    play(scene)


def test_when_the_publisher_dies_another_one_goes_on_where_the_stream_ends() -> None:
    async def scene(database: Database, broker: Broker, servers: list[Server]) -> None:
        dead = publisher(servers)
        await dead.stop()
        servers.remove(dead)
        for _ in range(20):
            database.commit()
        await until(lambda: fake.are_settled(servers, database))
        letters = [letter for letter in broker.messages if letter is not None]
        assert all(before.through == after.after for before, after in itertools.pairwise(letters))

    play(scene)


def test_a_publisher_that_cannot_read_the_log_any_more_gives_way_to_one_that_can() -> None:
    async def scene(database: Database, broker: Broker, servers: list[Server]) -> None:
        deaf = publisher(servers)
        deaf.line.is_cut = True
        database.commit()
        others = [server for server in servers if server is not deaf]
        await until(lambda: all(server.has_all(database) for server in servers), within_seconds=20)
        assert Role.PUBLISHING in {server.relay.relay_counts.role for server in others}
        deaf.line.is_cut = False

    play(scene)


def test_a_server_that_is_full_of_watchers_publishes_all_the_same() -> None:
    async def scene(database: Database, broker: Broker, servers: list[Server]) -> None:
        for server in servers:
            for _ in range(fake.MAX_SUBSCRIBERS):
                server.hub.subscribe(Selection(), position=1)
        dead = publisher(servers)
        await dead.stop()
        servers.remove(dead)
        await until(lambda: fake.are_settled(servers, database))

    play(scene)


def test_while_the_broker_is_away_everybody_reads_the_database() -> None:
    async def scene(database: Database, broker: Broker, servers: list[Server]) -> None:
        broker.is_away = True
        broker.wake()
        database.commit()
        await until(lambda: all(server.has_all(database) for server in servers), within_seconds=2)
        assert fake.roles(servers) == [Role.READING] * 3
        broker.is_away = False
        # What the stream lacks is put behind what it holds.
        await until(lambda: fake.are_settled(servers, database))
        letters = [letter for letter in broker.messages if letter is not None]
        assert all(before.through == after.after for before, after in itertools.pairwise(letters))

    play(scene)


def test_a_broker_that_is_away_for_hours_ends_no_server() -> None:
    async def scene(database: Database, broker: Broker, servers: list[Server]) -> None:
        broker.is_away = True
        broker.wake()
        await asyncio.sleep(3 * 60 * 60)
        broker.is_away = False
        await until(lambda: fake.are_settled(servers, database))

    play(scene, servers=1)


def test_a_lost_connection_that_is_replaced_at_once_sends_nobody_to_the_database() -> None:
    async def scene(database: Database, broker: Broker, servers: list[Server]) -> None:
        fallbacks = [server.relay.relay_counts.fallbacks for server in servers]
        # Another publisher goes on before anybody has a session again.
        last = database.last
        database.commit()
        broker.cut()
        [letter] = envelope.letters(
            [row_of(database.events[-1])], history_id="h1", after=last, through=last + 1, payload_bytes=2_000
        )
        broker.append(letter)
        await until(lambda: all(server.has_all(database) for server in servers), within_seconds=1)
        assert [server.relay.relay_counts.fallbacks for server in servers] == fallbacks

    play(scene)


def test_events_too_large_for_a_message_are_read_from_the_table() -> None:
    async def scene(database: Database, broker: Broker, servers: list[Server]) -> None:
        for size in (0, 10_000, 0, 10_000, 10_000, 0):
            database.commit(size=size)
        await until(lambda: all(server.has_all(database) for server in servers))
        assert sum(letter is not None and letter.payload is None for letter in broker.messages) == 3
        assert len(followers(servers)) == 2

    play(scene)


def test_a_large_event_that_the_table_does_not_give_sends_followers_to_the_database() -> None:
    async def scene(database: Database, broker: Broker, servers: list[Server]) -> None:
        database.is_away = True
        broker.append(Letter("h1", database.last, database.last + 1, None))
        await until(lambda: not followers(servers))
        database.is_away = False
        database.commit()

    play(scene)


def test_a_large_event_of_a_kind_that_followers_do_not_know_sends_them_to_the_database() -> None:
    async def scene(database: Database, broker: Broker, servers: list[Server]) -> None:
        following = followers(servers)
        unknown = cast("EventType", "WORKFLOW_PAUSED")
        event = make_event(database.last + 1, data=database.history_id + "x" * 10_000)
        database.events.append(event._replace(event_type=unknown))
        database.ring()
        await until(lambda: all(server.has_all(database) for server in servers))
        assert all(server.relay.relay_counts.fallbacks == 1 for server in following)

    play(scene)


def test_another_history_ends_the_former_one_everywhere() -> None:
    async def scene(database: Database, broker: Broker, servers: list[Server]) -> None:
        database.begin_history()
        await until(lambda: all(server.hub.history_id == "h1'" for server in servers))
        # What the new history holds above where it began was another event in the old one.
        database.commit()

    play(scene)


def test_a_stream_of_another_history_is_not_followed() -> None:
    async def scene(database: Database, broker: Broker, servers: list[Server]) -> None:
        broker.append(Letter("other", database.last, database.last + 1, b"[]"))
        await until(lambda: not followers(servers))
        assert all(server.hub.released == database.last for server in servers)

    play(scene)


def test_messages_that_are_not_ours_are_not_believed() -> None:
    async def scene(database: Database, broker: Broker, servers: list[Server]) -> None:
        last = database.last
        for letter in (
            None,
            Letter("h1", last, last + 5, b"garbage"),
            Letter("h1", last, last + 5, b"[[1]]"),
            # Events that are not where the letter says.
            Letter("h1", last, last + 5, b'[[%d,"","HARDWARE","","","CREATED","",1,1,"",""]]' % (last + 6)),
            Letter("h1", last + 2, last + 5, b"[]"),
        ):
            broker.append(letter)
            await until(lambda: not followers(servers))
            await until(lambda: fake.are_settled(servers, database))

    play(scene)


def test_without_a_working_election_the_stream_refuses_all_publishers_but_one() -> None:
    async def scene(database: Database, broker: Broker, servers: list[Server]) -> None:
        database.elects_all = True
        for server in list(servers):
            await server.stop()
            servers.remove(server)
        servers += [fake.start(database, broker) for _ in range(3)]
        await until(lambda: all(server.hub.is_open for server in servers))
        for _ in range(300):
            database.commit()
            await asyncio.sleep(0.02)
        assert sum(server.relay.relay_counts.refusals for server in servers) >= 2
        letters = [letter for letter in broker.messages if letter is not None]
        assert all(before.through >= after.after for before, after in itertools.pairwise(letters[1:]))

    play(scene)


def test_forgotten_events_make_a_break_and_not_a_wrong_stream() -> None:
    async def scene(database: Database, broker: Broker, servers: list[Server]) -> None:
        broker.is_away = True
        broker.wake()
        for _ in range(100):
            database.commit(size=1_000)
        await until(lambda: all(server.has_all(database) for server in servers))
        # More than the rings hold, and no longer in the table.
        database.oldest = 90
        broker.is_away = False

    play(scene)


class Storm:
    """Things that happen, by their name and how much of it."""

    def __init__(self, database: Database, broker: Broker, servers: list[Server]) -> None:
        self._database = database
        self._broker = broker
        self._servers = servers

    async def commit(self, amount: int) -> None:
        for _ in range(amount * 3):
            self._database.commit()

    async def commit_large(self, amount: int) -> None:
        self._database.commit(size=3_000 * amount)

    async def roll_back(self, amount: int) -> None:
        self._database.commit(skipped=amount)

    async def wait(self, amount: int) -> None:
        await asyncio.sleep((0, 0.001, 0.01, 0.1, 1, 4)[amount])

    async def switch_broker(self, amount: int) -> None:
        self._broker.is_away = not self._broker.is_away
        self._broker.wake()

    async def cut_sessions(self, amount: int) -> None:
        self._broker.cut()

    async def lose_acknowledgements(self, amount: int) -> None:
        self._broker.lost_acknowledgements += amount

    async def forget_messages(self, amount: int) -> None:
        self._broker.forget(amount)

    async def repeat_message(self, amount: int) -> None:
        if amount < len(self._broker.messages):
            self._broker.append(self._broker.messages[-1 - amount])

    async def add_garbage(self, amount: int) -> None:
        last = self._database.last
        self._broker.append(Letter(self._database.history_id, last + amount, last + 2 * amount, b"garbage"))

    async def switch_database(self, amount: int) -> None:
        self._database.is_away = not self._database.is_away

    async def replace_database(self, amount: int) -> None:
        if self._database.last > 1:
            self._database.begin_history()

    async def switch_lock(self, amount: int) -> None:
        self._database.elects_all = not self._database.elects_all

    async def depose_publisher(self, amount: int) -> None:
        self._database.depose()

    async def stop_server(self, amount: int) -> None:
        if len(self._servers) > 1:
            await self._servers.pop(amount % len(self._servers)).stop()

    async def start_server(self, amount: int) -> None:
        if len(self._servers) < 4:
            self._servers.append(fake.start(self._database, self._broker))

    async def end(self) -> None:
        """Let nothing more go wrong."""
        self._broker.is_away = self._database.is_away = self._database.elects_all = False
        self._broker.lost_acknowledgements = 0
        self._broker.wake()


NAMES = [name for name in vars(Storm) if not name.startswith("_") and name != "end"]
# What lets something happen in between comes up more often.
ACTION = st.tuples(st.sampled_from(NAMES + ["commit", "wait", "wait"] * 2), st.integers(0, 5))


@hypothesis.settings(max_examples=60)
@hypothesis.given(st.lists(ACTION, min_size=5, max_size=40))
def test_whatever_happens_every_hub_is_given_everything_once_and_in_order(actions: list[tuple[str, int]]) -> None:
    async def scene(database: Database, broker: Broker, servers: list[Server]) -> None:
        storm = Storm(database, broker, servers)
        for name, amount in actions:
            await getattr(storm, name)(amount)
        await storm.end()
        for _ in range(5):
            database.commit()
            await asyncio.sleep(1)

    play(scene, servers=2)
