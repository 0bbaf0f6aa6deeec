"""A live cache: right after any interleaving of list, watch, faults and changes, and told in order."""

import asyncio
import dataclasses
import logging
import uuid
from collections.abc import AsyncIterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support import waiting
from tinkwell.api.v1 import event_service_pb2
from tinkwell.client import (
    Client,
    Event,
    EventType,
    Hardware,
    Informer,
    ResourceType,
    State,
    Template,
    Workflow,
    backoff,
    errors,
    testing,
)
from tinkwell.client.testing.log import EventLog
from tinkwell.client.testing.world import World
from tinkwell.client.watch import informer, reflector, selection, watch
from tinkwell.core import errors as core

IDS = ["m1", "m2", "m3"]


class Simulation:
    """A server in memory whose lists and watches advance one step at a time, between any two of the test's."""

    def __init__(self) -> None:
        self.log = EventLog(batch_size=2)
        self.world = World(self.log)
        self.told: list[Event] = []
        self.mirror: dict[str, Hardware] = {}
        self.list_fails = 0
        source = reflector.Reflector(self._list, self._watch, pause=backoff.Backoff(draw=lambda *_: 0.0), sleep=_yield)
        self.informer: Informer[Hardware] = Informer(
            ResourceType.HARDWARE, self._list, self._watch, Hardware.from_json, strict=True, source=source
        )
        self.informer.on(None, self._on_event)

    async def _list(self) -> AsyncIterator[Hardware]:
        await _yield()
        if self.list_fails:
            self.list_fails -= 1
            raise errors.Unavailable("restarting")
        for machine in self.world.all(Hardware):
            yield machine
            await _yield()

    def _watch(self) -> watch.Watch:
        return watch.Watch(
            lambda request: LogResponses(self.log, request),
            selection.Selection(now=True),
            pause=backoff.Backoff(draw=lambda *_: 0.0),
            sleep=_yield,
        )

    def _on_event(self, event: Event, old: Hardware | None, new: Hardware | None) -> None:
        """Rebuild the cache from what handlers are told alone."""
        assert old == self.mirror.get(event.resource_id)
        if old is None:
            assert event.event_type is EventType.CREATED, "only a creation brings something into being"
        self.told.append(event)
        if new is None:
            assert event.event_type is EventType.DELETED
            del self.mirror[event.resource_id]
        else:
            self.mirror[event.resource_id] = new

    def is_settled(self) -> bool:
        cached = {machine.id: machine.version for machine in self.informer.items()}
        stored = {machine.id: machine.version for machine in self.world.all(Hardware)}
        return self.informer.has_synced and cached == stored


class LogResponses:
    """One call of a watch, answered from the log without a network."""

    def __init__(self, log: EventLog, request: event_service_pb2.WatchRequest) -> None:
        self._stream = log.follow(request, [ResourceType.HARDWARE])

    async def read(self) -> event_service_pb2.WatchResponse | None:
        try:
            return await anext(self._stream, None)
        except core.TinkwellError as error:
            mirror: type[errors.Error] = getattr(errors, type(error).__name__)
            raise mirror(str(error)) from error

    def cancel(self) -> None:
        pass


async def _yield(_: float = 0.0) -> None:
    await asyncio.sleep(0)


def put(simulation: Simulation, id_: str) -> None:
    simulation.world.put(Hardware(id_))


def remove(simulation: Simulation, id_: str) -> None:
    if id_ in simulation.world.resources[ResourceType.HARDWARE]:
        simulation.world.remove(Hardware(id_))


def remove_by_hand(simulation: Simulation, id_: str) -> None:
    """Delete the row itself, so that a new one begins again at version 1."""
    remove(simulation, id_)
    if id_ not in simulation.world.resources[ResourceType.HARDWARE]:
        simulation.world.forget(id_)


def phone_home_late(simulation: Simulation, id_: str) -> None:
    """Record a phone call that carries the machine as it was long ago, maybe before its deletion."""
    simulation.world.emit(
        EventType.HARDWARE_PHONE_HOME, ResourceType.HARDWARE, resource_id=id_, version=1, data={"id": id_, "version": 1}
    )


def drop(simulation: Simulation, _: str) -> None:
    simulation.log.drop_connections()


def compact(simulation: Simulation, _: str) -> None:
    simulation.log.compact(simulation.log.tail + 1)
    simulation.log.drop_connections()


def restore(simulation: Simulation, id_: str) -> None:
    """Go back to a backup, in which some resources are older or missing, with another history."""
    machines = simulation.world.resources[ResourceType.HARDWARE]
    machines.pop(id_, None)
    for other, machine in machines.items():
        machines[other] = dataclasses.replace(machine, version=max(machine.version - 1, 1))
        simulation.world._versions[other] = machines[other].version
    simulation.log.change_history(tail=simulation.log.tail // 2)


def fail_list(simulation: Simulation, _: str) -> None:
    simulation.list_fails += 1


STEPS = [put, put, put, remove, remove_by_hand, phone_home_late, drop, compact, restore, fail_list]
scripts = st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from(IDS), st.integers(0, 30)), max_size=40)


# A log that forgets events between the first response and the first events of a watch.
FORGETFUL = [
    *((fail_list, "m1", 2), (put, "m1", 3), (remove_by_hand, "m1", 0), (compact, "m1", 14), (put, "m1", 2)),
    *((compact, "m1", 0), (fail_list, "m1", 0), (put, "m2", 1), (fail_list, "m3", 30)),
]


@example(before=["m2", "m3", "m1"], script=FORGETFUL)
@settings(max_examples=300, deadline=None)
@given(before=st.lists(st.sampled_from(IDS), max_size=3), script=scripts)
def test_the_cache_is_right_after_any_interleaving(before: list[str], script: list[tuple[object, str, int]]) -> None:
    asyncio.run(_simulate(before, script))


async def _simulate(before: list[str], script: list[tuple[object, str, int]]) -> None:
    simulation = Simulation()
    for id_ in before:
        put(simulation, id_)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(simulation.informer.run())
        for step, id_, pause in script:
            assert callable(step)
            step(simulation, id_)
            for _ in range(pause):
                await asyncio.sleep(0)
        await waiting.eventually(simulation.is_settled, interval_seconds=0)
        running.cancel()
    assert simulation.mirror == {machine.id: machine for machine in simulation.informer.items()}
    revisions = [event.revision for event in simulation.told if not event.is_synthetic]
    if not any(step is restore for step, _, _ in script):
        assert revisions == sorted(set(revisions)), "within one history no event comes twice or late"


def machine() -> Hardware:
    return Hardware(str(uuid.uuid4()), network={"interfaces": [{"dhcp": {"uefi": True}}]})


class Running:
    """An informer that runs while a test looks at it."""

    def __init__(self, observed: Informer[Hardware]) -> None:
        self.observed = observed
        self.told: list[tuple[EventType, Hardware | None, Hardware | None]] = []
        observed.on(None, lambda event, old, new: self.told.append((event.event_type, old, new)))

    async def __aenter__(self) -> "Running":
        self._task = asyncio.create_task(self.observed.run())
        await self.observed.wait_synced()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def test_the_first_list_reaches_handlers_as_creations(server: testing.FakeServer, client: Client) -> None:
    stored = [server.put(machine()) for _ in range(5)]
    async with Running(client.hardware.informer()) as running:
        assert running.told == [(EventType.CREATED, None, each) for each in stored]
        assert running.observed.items() == stored
        assert running.observed.get(stored[0].id) == stored[0]
        assert running.observed.get("unknown") is None


async def test_handlers_are_told_old_and_new(server: testing.FakeServer, client: Client) -> None:
    async with Running(client.hardware.informer()) as running:
        first = server.put(machine())
        second = server.put(first)
        server.remove(second)
        await waiting.eventually(lambda: len(running.told) == 3)
    assert running.told == [
        (EventType.CREATED, None, first),
        (EventType.UPDATED, first, second),
        (EventType.DELETED, second, None),
    ]


async def test_a_phone_call_is_told_but_changes_nothing(server: testing.FakeServer, client: Client) -> None:
    stored = server.put(machine())
    async with Running(client.hardware.informer()) as running:
        await client.hardware.phone_home(id=stored.id, data={"a": 1})
        await waiting.eventually(lambda: len(running.told) == 2)
        assert running.told[1] == (EventType.HARDWARE_PHONE_HOME, stored, stored)
        assert running.observed.items() == [stored]


async def test_the_cache_survives_a_restart_of_the_server(server: testing.FakeServer, client: Client) -> None:
    first, second = server.put(machine()), server.put(machine())
    async with Running(client.hardware.informer()) as running:
        await server.stop()
        server.remove(first)
        third = server.put(machine())
        await server.start()
        await waiting.eventually(lambda: running.observed.items() == [second, third])
    assert [kind for kind, _, _ in running.told[2:]] == [EventType.DELETED, EventType.CREATED]


@pytest.mark.parametrize("is_other_history", [True, False])
async def test_lost_history_is_made_good_by_a_new_list(
    server: testing.FakeServer, client: Client, is_other_history: bool
) -> None:
    kept, changed, removed = server.put(machine()), server.put(machine()), server.put(machine())
    async with Running(client.hardware.informer()) as running:
        await server.stop()
        newer = server.put(changed)
        server.remove(removed)
        added = server.put(machine())
        server.compact(server.log.tail + 1)
        if is_other_history:
            server.change_history(tail=2)
        await server.start()
        await waiting.eventually(lambda: len(running.told) == 6)
        assert running.observed.items() == [kept, newer, added]
    assert running.told[3:] == [
        (EventType.UPDATED, changed, newer),
        (EventType.CREATED, None, added),
        (EventType.DELETED, removed, None),
    ]


async def test_events_made_up_from_a_list_say_so(server: testing.FakeServer, client: Client) -> None:
    stored = server.put(machine())
    seen: list[Event] = []
    observed = client.hardware.informer()
    observed.on("CREATED", lambda event, old, new: seen.append(event))
    async with Running(observed):
        server.put(machine())
        await waiting.eventually(lambda: len(seen) == 2)
    assert [event.is_synthetic for event in seen] == [True, False]
    assert (seen[0].name, seen[0].version, seen[0].resource) == ("hardware.created", 1, stored)


async def test_handlers_run_one_after_another_in_the_order_they_were_registered(
    server: testing.FakeServer, client: Client
) -> None:
    told: list[str] = []
    observed = client.hardware.informer()

    async def slow(event: Event, old: Hardware | None, new: Hardware | None) -> None:
        told.append(f"slow begins {event.version}")
        await asyncio.sleep(0)
        told.append(f"slow ends {event.version}")

    observed.on(None, slow)
    observed.on(EventType.UPDATED, lambda event, old, new: told.append(f"fast {event.version}"))
    async with Running(observed):
        stored = server.put(machine())
        server.put(stored)
        await waiting.eventually(lambda: len(told) == 5)
    assert told == ["slow begins 1", "slow ends 1", "slow begins 2", "slow ends 2", "fast 2"]


def fail(event: Event, old: object, new: object) -> None:
    raise ZeroDivisionError


async def test_a_handler_that_fails_is_logged_and_the_others_go_on(
    server: testing.FakeServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    observed = client.hardware.informer()
    observed.on(None, fail)
    with caplog.at_level(logging.ERROR):
        async with Running(observed) as running:
            stored = server.put(machine())
            await waiting.eventually(lambda: len(running.told) == 1)
    assert f"a handler failed for hardware.created of {stored.id}" in caplog.text


async def test_a_handler_that_fails_ends_a_strict_informer(server: testing.FakeServer, client: Client) -> None:
    server.put(machine())
    observed = client.hardware.informer(strict=True)
    observed.on(None, fail)
    with pytest.raises(ZeroDivisionError):
        await observed.run()
    with pytest.raises(errors.Closed, match="before it was in step"):
        await observed.wait_synced()


async def test_an_informer_that_is_refused_ends_and_so_does_who_waits_for_it() -> None:
    async with testing.FakeServer(token="secret") as server, _connect(server) as client:
        observed = client.hardware.informer()
        running = asyncio.create_task(observed.run())
        with pytest.raises(errors.Closed) as caught:
            await observed.wait_synced()
        with pytest.raises(errors.Unauthenticated):
            await running
    assert isinstance(caught.value.__cause__, errors.Unauthenticated)


def _connect(server: testing.FakeServer) -> Client:
    import tinkwell.client

    return tinkwell.client.connect(server.address)


async def test_a_wrong_event_type_is_refused(client: Client) -> None:
    with pytest.raises(errors.InvalidField, match="event_type"):
        client.hardware.informer().on("TIMEOUT", fail)


async def test_workflows_are_cached_without_data_and_actions_are_only_told(
    server: testing.FakeServer, client: Client
) -> None:
    told: list[tuple[str, object, object]] = []
    observed = client.workflows.informer()
    observed.on(None, lambda event, old, new: told.append((event.name, old, new)))
    running = asyncio.create_task(observed.run())
    await observed.wait_synced()
    stored = server.put(Workflow(str(uuid.uuid4()), data="version: '0.1'"))
    server.emit(EventType.ACTION_STARTED, ResourceType.ACTION, resource_id="a1", parent_id=stored.id)
    server.put(dataclasses.replace(stored, state=State.RUNNING))
    late = server.put(dataclasses.replace(stored, state=State.TIMEOUT))
    await waiting.eventually(lambda: len(told) == 4)
    assert [name for name, _, _ in told] == [
        "workflow.created",
        "action.started",
        "workflow.started",
        "workflow.timeout",
    ]
    assert told[1][1:] == (None, None)
    assert observed.items() == [dataclasses.replace(late, data=None)]
    running.cancel()


async def test_templates_are_cached_as_lists_give_them(server: testing.FakeServer, client: Client) -> None:
    listed = server.put(Template(str(uuid.uuid4()), "a", data="x"))
    observed = client.templates.informer()
    running = asyncio.create_task(observed.run())
    await observed.wait_synced()
    created = server.put(Template(str(uuid.uuid4()), "b", data="y"))
    await waiting.eventually(lambda: len(observed.items()) == 2)
    assert observed.items() == [dataclasses.replace(each, data=None) for each in (listed, created)]
    running.cancel()


async def test_a_start_in_the_middle_of_a_thousand_changes(server: testing.FakeServer, client: Client) -> None:
    machines = [machine() for _ in range(50)]

    async def change() -> None:
        for number in range(1000):
            each = machines[number * 7 % 50]
            if number % 5 == 4 and each.id in server.world.resources[ResourceType.HARDWARE]:
                server.remove(each)
            else:
                server.put(each)
            if number % 200 == 150:
                server.drop_connections()
            await asyncio.sleep(0)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        changing = group.create_task(change())
        await waiting.eventually(lambda: server.log.tail > 300)
        observed = client.hardware.informer()
        running = group.create_task(observed.run())
        await changing

        def is_right() -> bool:
            return {each.id: each for each in observed.items()} == server.world.resources[ResourceType.HARDWARE]

        await waiting.eventually(is_right)
        running.cancel()


WORKFLOW = Workflow("w1", version=3, state=State.TIMEOUT)


@pytest.mark.parametrize(
    ("event_type", "version", "is_told"),
    [
        (EventType.CREATED, 1, False),
        (EventType.UPDATED, 3, False),
        (EventType.WORKFLOW_TIMEOUT, 3, True),
        (EventType.DELETED, 2, False),
        (EventType.DELETED, 3, True),
        (EventType.UPDATED, 4, True),
        (EventType.DELETED, 4, True),
    ],
)
def test_what_a_list_contains_is_not_told_again_but_for_transitions(
    event_type: EventType, version: int, is_told: bool
) -> None:
    observed: Informer[Workflow] = informer.Informer(
        ResourceType.WORKFLOW, lambda: _nothing(), lambda: pytest.fail("unused"), Workflow.from_json
    )
    observed._replace(reflector.Listed((WORKFLOW,), 5))
    data = dataclasses.replace(WORKFLOW, version=version).to_json()
    event = Event("e1", 6, ResourceType.WORKFLOW, event_type, "workflow.x", "w1", version=version, data=data)
    change = observed._apply(event)
    assert (change is not None) is is_told
    if version <= 3 and event_type is not EventType.DELETED:
        assert observed.get("w1") is WORKFLOW


async def _nothing() -> AsyncIterator[Workflow]:
    for item in list[Workflow]():
        yield item
