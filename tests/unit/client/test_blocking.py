"""The client for scripts: the same calls and errors, from threads without an event loop."""

import asyncio
import contextlib
import inspect
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, assert_type

import pytest

import tinkwell.client
from tinkwell.client import Event, EventType, Hardware, LogLine, State, Workflow, blocking, errors, testing
from tinkwell.client.runner import Runner
from tinkwell.core import errors as core

T = TypeVar("T")


async def script(server: testing.FakeServer, run: Callable[[blocking.Client], T]) -> T:
    """Run a script in a thread of its own, as if there were no event loop."""

    def connected() -> T:
        with blocking.connect(server.address) as client:
            return run(client)

    async with asyncio.timeout(30):
        return await asyncio.to_thread(connected)


async def test_a_script_calls_and_iterates(server: testing.FakeServer) -> None:
    id_ = str(uuid.uuid4())

    def run(client: blocking.Client) -> list[Hardware]:
        client.wait_ready(5)
        assert client.hardware.push({"id": id_, "metadata": {"a": 1}}).version == 1
        assert client.hardware.by_id(id_).metadata == {"a": 1}
        return list(client.hardware.all())

    assert [machine.id for machine in await script(server, run)] == [id_]


async def test_errors_are_the_same(server: testing.FakeServer) -> None:
    def run(client: blocking.Client) -> None:
        with pytest.raises(errors.NotFound):
            client.hardware.by_id("unknown")
        with pytest.raises(errors.InvalidField, match="netwrk"):
            client.hardware.push({"id": "m1", "netwrk": {}})
        server.fail_next(core.TinkwellError("fault"))
        with pytest.raises(errors.Internal):
            list(client.templates.list())

    await script(server, run)


async def test_a_script_watches_and_leaves_when_it_has_seen_enough(server: testing.FakeServer) -> None:
    for _ in range(5):
        server.emit(EventType.CUSTOM, name="rack.door_opened")

    def run(client: blocking.Client) -> list[int]:
        seen = []
        for event in client.events.watch():
            seen.append(event.revision)
            if len(seen) == 3:
                break
        return seen

    assert await script(server, run) == [1, 2, 3]


async def test_a_watch_is_a_context_that_is_live_inside(server: testing.FakeServer) -> None:
    def run(client: blocking.Client) -> None:
        liveness = []
        with client.events.watch(now=True) as events:
            liveness.append(events.is_live)
            published = client.events.publish("rack.door_opened")
            assert next(events).id == published.id
            assert (events.revision, events.history_id) == (1, server.log.history_id)
        liveness.append(events.is_live)
        assert liveness == [True, False]
        assert list(events) == []

    await script(server, run)


async def test_callbacks_run_in_the_thread_of_the_caller(server: testing.FakeServer) -> None:
    server.emit(EventType.CUSTOM, name="rack.door_opened")

    def run(client: blocking.Client) -> int | None:
        threads: list[int | None] = []

        def callback(event: Event) -> None:
            threads.append(threading.get_ident())
            client.hardware.all()
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            client.events.watch_events(callback, names=["rack.door_opened"])
        assert threads == [threading.get_ident()]
        return threads[0]

    assert await script(server, run) != threading.get_ident()


async def test_a_hook_that_calls_the_client_is_told_that_it_cannot(server: testing.FakeServer) -> None:
    def run(client: blocking.Client) -> None:
        events = client.events.watch(on_created=lambda _: print(client.hardware.by_id("m1")))
        with pytest.raises(RuntimeError, match="would wait for itself"):
            events.wait_live()

    await script(server, run)


async def test_a_watch_may_be_closed_from_another_thread(server: testing.FakeServer) -> None:
    def run(client: blocking.Client) -> None:
        events = client.events.watch()
        events.wait_live()
        closer = threading.Thread(target=events.close)
        closer.start()
        assert list(events) == []
        closer.join()

    await script(server, run)


async def test_closing_the_client_ends_calls_of_other_threads(server: testing.FakeServer) -> None:
    def run() -> None:
        client = blocking.connect(server.address)
        events = client.events.watch()
        events.wait_live()
        closer = threading.Thread(target=client.close)
        closer.start()
        with pytest.raises(errors.Closed):
            next(events)
        closer.join()
        with pytest.raises(errors.Closed):
            client.hardware.by_id("m1")
        client.close()

    await asyncio.to_thread(run)


def test_calls_that_come_while_the_client_closes_end_too() -> None:
    async def nothing() -> None:
        pass

    def call(runner: Runner) -> None:
        with contextlib.suppress(errors.Closed):
            while True:
                runner.run(nothing())

    # A call that is taken and never begun shows as a warning, "was never awaited", which pytest makes an error.
    for _ in range(50):
        runner = Runner()
        callers = [threading.Thread(target=call, args=[runner]) for _ in range(3)]
        for caller in callers:
            caller.start()
        runner.stop()
        for caller in callers:
            caller.join(10)
        assert not any(caller.is_alive() for caller in callers)


def test_a_call_may_come_in_the_middle_of_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = Runner()
    submit = asyncio.run_coroutine_threadsafe

    async def number(value: int) -> int:
        return value

    def submit_after_another(*args: Any) -> Any:
        monkeypatch.undo()
        # As when the garbage collector closes an iterator just then.
        assert runner.run(number(1)) == 1
        return submit(*args)

    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", submit_after_another)
    assert runner.run(number(2)) == 2
    runner.stop()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # SystemExit ends the thread
def test_a_hook_that_ends_the_loop_ends_all_calls() -> None:
    async def exit_() -> None:
        raise SystemExit

    runner = Runner()
    with pytest.raises(SystemExit):
        runner.run(exit_())
    with pytest.raises(errors.Closed):
        runner.run(asyncio.sleep(60))
    runner.stop()


async def test_many_threads_may_share_a_client(server: testing.FakeServer) -> None:
    ids = [str(uuid.uuid4()) for _ in range(20)]

    def run(client: blocking.Client) -> None:
        threads = [threading.Thread(target=client.hardware.push, args=[{"id": id_}]) for id_ in ids]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {machine.id for machine in client.hardware.all()} == set(ids)

    await script(server, run)


async def test_output_is_appended_and_read(server: testing.FakeServer) -> None:
    workflow = server.put(Workflow(str(uuid.uuid4()), state=State.RUNNING))
    lines = [LogLine("a1", 1, number, "text") for number in range(1, 4)]

    def run(client: blocking.Client) -> list[LogLine]:
        assert client.workflows.append_logs(workflow.id, lines) == 3
        return list(client.workflows.logs(workflow.id))

    assert await script(server, run) == lines


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "tinkwell-client"]


def test_a_wrong_option_leaves_no_thread_behind() -> None:
    with pytest.raises(errors.InvalidField, match="address"):
        blocking.connect("http://localhost")
    assert threads() == []


def test_a_client_that_is_closed_leaves_no_thread_behind() -> None:
    with blocking.connect("localhost:1") as client:
        assert threads() == ["tinkwell-client"]
        with pytest.raises(errors.Unavailable):
            client.hardware.by_id("m1")
    assert threads() == []


PAIRS: list[tuple[type, type]] = [
    (getattr(tinkwell.client, name), getattr(blocking, name))
    for name in tinkwell.client.__all__
    if name.endswith("Client") and name != "Client"
]


@pytest.mark.parametrize(("asynchronous", "twin"), PAIRS, ids=lambda kind: kind.__name__)
def test_every_method_has_its_twin_with_the_same_parameters(asynchronous: type, twin: type) -> None:
    names = {name for name in dir(asynchronous) if not name.startswith("_")} - {
        "informer",
        "unit_informer",
        "task_informer",
    }
    assert {name for name in dir(twin) if not name.startswith("_")} == names
    for name in names - {"watch", "watch_events"}:
        parameters: Any = inspect.signature(getattr(asynchronous, name)).parameters
        assert inspect.signature(getattr(twin, name)).parameters == parameters
        assert getattr(twin, name).__doc__ == getattr(asynchronous, name).__doc__


def test_the_client_has_the_same_names() -> None:
    assert {name for name in dir(blocking.Client) if name[0] != "_"} == {"address", "close", "wait_ready"}
    assert {name for name in dir(tinkwell.client.Client) if name[0] != "_"} == {"address", "close", "wait_ready"}
    assert inspect.signature(blocking.connect).parameters == inspect.signature(tinkwell.client.connect).parameters


def types(client: blocking.Client) -> None:
    """What a type checker sees; it is checked, never run."""
    assert_type(client.hardware.by_id("m1"), Hardware)
    assert_type(client.workflows.logs("w1", follow=True), Iterator[LogLine])
    assert_type(client.workflows.data("w1"), tinkwell.client.Document)
    client.hardware.by_id(5)  # type: ignore[arg-type]
    client.hardware.watch(form_revision=5)  # type: ignore[call-arg]
