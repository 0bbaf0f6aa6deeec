"""Releases through the client: what it sends, how it waits, and what it says where that fails."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.release_provisioner import MANIFEST, PLAN, RENDERED, Provisioner, apply
from support.waiting import eventually
from tinkwell.client import (
    Client,
    Informer,
    OperationHandle,
    Release,
    ReleaseFailed,
    blocking,
    errors,
    testing,
)
from tinkwell.client.testing.gate import ReceivedCall
from tinkwell.core import errors as core_errors
from tinkwell.core.event.kinds import EventType, State
from tinkwell.core.release.kinds import ReleaseState


async def test_files_and_a_manifest_exclude_each_other(client: Client) -> None:
    for arguments in ({}, {"files": {"a": "{}"}, "manifest": "{}"}):
        with pytest.raises(errors.InvalidField, match="files or manifest: exactly one is needed"):
            await client.releases.apply("shop", **arguments)  # type: ignore[arg-type]


async def test_a_manifest_may_be_an_object(server: testing.FakeServer, client: Client) -> None:
    await client.releases.apply("shop", manifest={"resources": {"a": {"type": "acme/a:1", "config": {"b": "ä"}}}})
    (request,) = server.requests("Apply")
    assert [(file.name, file.text) for file in request.files] == [
        ("manifest", '{"resources":{"a":{"type":"acme/a:1","config":{"b":"ä"}}}}')
    ]


async def test_a_request_whose_answer_was_lost_is_repeated_as_the_same(
    server: testing.FakeServer, client: Client
) -> None:
    async def lose(call: ReceivedCall, answer: Callable[[], Awaitable[Any]]) -> Any:
        response = await answer()
        if len(server.requests("Apply")) == 1:
            raise core_errors.Unavailable("the line is cut")
        return response

    server.gate.around = lose
    handle = await apply(client)
    first, second = server.requests("Apply")
    assert first.operation_id == second.operation_id == handle.id
    assert len([found async for found in client.releases.operations("shop")]) == 1


async def test_a_plan_whose_answer_was_lost_is_sent_again_as_a_whole(
    server: testing.FakeServer, client: Client
) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    await client.releases.acquire(handle.id, owner.token)
    server.fail_next(core_errors.Unavailable("the server is stopping"), method="SubmitPlan")
    submitted = await owner.submit(handle.id)
    assert submitted.revision == 1
    parts = [part.WhichOneof("part") for part in server.requests("SubmitPlan")]
    assert parts[-4:] == ["head", "document", "document", "document"]


async def test_a_plan_that_is_refused_while_it_is_sent_fails(server: testing.FakeServer, client: Client) -> None:
    # gRPC may lose the reason, and then the connection is taken for lost.
    handle, owner = await apply(client), await Provisioner.enter(client)
    server.fail_next(core_errors.LeaseLost(owner.token), method="SubmitPlan", times=100)
    large = RENDERED[:-1] + ', "x": "' + "y" * 3_000_000 + '"}'
    for _ in range(10):
        with pytest.raises((errors.LeaseLost, errors.Unavailable)):
            await owner.submit(handle.id, manifest=large)


async def test_the_result_is_waited_for_over_lost_connections(server: testing.FakeServer, client: Client) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    waiting = asyncio.create_task(handle.result())
    await eventually(lambda: bool(server.requests("Watch")))
    await owner.begin(handle.id)
    await server.stop()
    await server.start()
    await owner.install(handle.id, "role")
    server.change_history()
    await owner.install(handle.id, "db")
    await owner.finish(handle.id)
    async with asyncio.timeout(20):
        assert (await waiting).state is State.SUCCEEDED


async def test_the_result_of_what_has_ended_needs_no_watch(server: testing.FakeServer, client: Client) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    await owner.deploy(handle)
    assert (await handle.result()).state is State.SUCCEEDED
    assert server.requests("Watch") == []


async def test_a_failure_is_told_as_well_when_nothing_of_it_is_left(server: testing.FakeServer, client: Client) -> None:
    handle = await apply(client)
    await client.releases.cancel(handle.id, reason="not now")
    server.fail_next(core_errors.NotFound("OPERATION", handle.id), method="ListNodes")
    with pytest.raises(ReleaseFailed, match="ended as CANCELLED: not now") as raised:
        await handle.result()
    assert (raised.value.node, raised.value.step, raised.value.log_tail) == (None, None, ())
    assert isinstance(raised.value, errors.Error)


async def test_the_last_lines_of_the_failed_step_are_kept(client: Client) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    await owner.begin(handle.id)
    await owner.fail(handle.id, "role", *(f"line {number}" for number in range(50)))
    await owner.finish(handle.id, State.FAILED, path="role")
    with pytest.raises(ReleaseFailed) as raised:
        await handle.result()
    assert raised.value.log_tail == tuple(f"line {number}" for number in range(30, 50))
    assert str(raised.value) == (
        "install of shop ended as FAILED: role failed at action create (exit 3): exited with code 3"
    )


async def test_work_without_its_operation_is_a_fault_of_the_server(
    server: testing.FakeServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(self: object, request: object, context: object) -> Any:
        nothing_at_all: tuple[Any, ...] = ()
        for part in nothing_at_all:
            yield part

    monkeypatch.setattr("tinkwell.client.testing.release.servicer.ReleaseServicer.GetWork", nothing)
    await server.stop()
    await server.start()
    with pytest.raises(errors.Error, match="without its operation"):
        await client.releases.work("o1", 1)


async def test_the_plans_of_former_revisions_come_by_their_numbers(client: Client) -> None:
    owner = await Provisioner.enter(client)
    await owner.deploy(await apply(client))
    second = await client.releases.apply("shop", manifest=MANIFEST)
    await client.releases.acquire(second.id, owner.token)
    work = await client.releases.work(second.id, owner.token)
    assert dict(work.removed_plans) == {1: PLAN.dump()}
    assert [found.path for found in work.resources] == ["role", "db"]


async def test_an_informer_keeps_releases_and_hears_of_their_operations(client: Client) -> None:
    heard: list[str] = []
    informer: Informer[Release] = client.releases.informer()
    informer.on(None, lambda event, old, new: heard.append(event.name))
    running = asyncio.create_task(informer.run())
    await informer.wait_synced()
    owner = await Provisioner.enter(client)
    await owner.deploy(await apply(client))
    await eventually(lambda: "release.deployed" in heard)
    assert [found.state for found in informer.items()] == [ReleaseState.DEPLOYED]
    assert {"operation.started", "node.ready", "step.succeeded"} <= set(heard)
    await owner.uninstall(await client.releases.uninstall("shop"))
    await eventually(lambda: "release.deleted" in heard)
    assert informer.items() == []
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_scripts_without_a_loop_wait_for_the_result_too(server: testing.FakeServer, client: Client) -> None:
    owner = await Provisioner.enter(client)

    def script() -> tuple[str, State]:
        with blocking.connect(server.address) as twin:
            handle = twin.releases.apply("shop", files={"shop.yaml": MANIFEST}, timeout_seconds=60)
            assert handle.operation.state is State.PENDING
            return handle.id, handle.result().state

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        done = group.create_task(asyncio.to_thread(script))
        await eventually(lambda: bool(server.requests("Apply")))
        operation_id = server.requests("Apply")[0].operation_id
        await owner.deploy(OperationHandle(await client.releases.operation(operation_id), client.releases))
    assert done.result() == (operation_id, State.SUCCEEDED)


async def test_a_script_plans_and_applies_what_was_planned(server: testing.FakeServer, client: Client) -> None:
    owner = await Provisioner.enter(client)

    def script() -> tuple[dict[str, object], str]:
        with blocking.connect(server.address) as twin:
            planned = twin.releases.plan("shop", files={"shop.yaml": MANIFEST})
            return planned.plan(), twin.releases.apply_plan(planned.id).operation.plan_of

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        done = group.create_task(asyncio.to_thread(script))
        await eventually(lambda: bool(server.requests("Plan")))
        operation_id = server.requests("Plan")[0].operation_id
        await owner.look(OperationHandle(await client.releases.operation(operation_id), client.releases), {"nodes": []})
    assert done.result() == ({"nodes": []}, operation_id)


async def test_a_test_may_put_a_release_into_any_state(server: testing.FakeServer, client: Client) -> None:
    release = server.put(Release("r1", "default", "shop"))
    watch = client.releases.watch(resource_id="r1", now=True)
    async with watch:
        server.put(Release("r1", "default", "shop", ReleaseState.FAILED, operation_id="o1"))
        assert (await anext(watch)).event_type is EventType.RELEASE_FAILED
    assert (await client.releases.get("shop")).version == release.version + 1
