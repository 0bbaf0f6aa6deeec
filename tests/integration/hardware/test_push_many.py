"""Many machines pushed by one call: in order, in whole batches, and up to the first one that is refused."""

import asyncio
import collections
import uuid
from collections.abc import AsyncIterable, AsyncIterator, Sequence

import asyncpg
import grpc.aio
import pytest

import tinkwell.client
from support import edge, resource, waiting
from support.resource import Resources
from tinkwell.api.v1 import hardware_service_pb2 as pb
from tinkwell.client import Client
from tinkwell.client import errors as client_errors
from tinkwell.core import errors
from tinkwell.core.hardware import network
from tinkwell.server.hardware.api import push_stream
from tinkwell.server.hardware.service import bulk_push
from tinkwell.server.hardware.service.check import Sent
from tinkwell.server.hardware.service.operations import HardwareService


def machine_id(number: int) -> str:
    # Neither their order nor its reverse is the order of ids.
    return str(uuid.uuid5(uuid.NAMESPACE_OID, str(number)))


def mac(number: int) -> str:
    return f"52:54:00:{number >> 16 & 255:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"


def machine(
    number: int, *, mac_number: int | None = None, metadata: str = "{}", expected: int | None = None
) -> pb.PushRequest:
    dhcp = pb.DHCP(mac=mac(number if mac_number is None else mac_number))
    data = pb.Hardware(
        id=machine_id(number), metadata=metadata, network=pb.Network(interfaces=[pb.Interface(dhcp=dhcp)])
    )
    return pb.PushRequest(data=data, expected_version=expected)


def requests(pushes: Sequence[pb.PushRequest], *, at_once: int = 40) -> list[pb.PushManyRequest]:
    return [pb.PushManyRequest(machines=pushes[start : start + at_once]) for start in range(0, len(pushes), at_once)]


async def push(
    resources: Resources, pushes: Sequence[pb.PushRequest], *, at_once: int = 40
) -> tuple[list[pb.PushManyResponse], edge.Refusal | None]:
    """Push all, and return the responses and how the call was refused."""
    call = resources.hardware.PushMany(iter(requests(pushes, at_once=at_once)))
    responses: list[pb.PushManyResponse] = []
    try:
        while isinstance(response := await call.read(), pb.PushManyResponse):
            responses.append(response)
    except grpc.aio.AioRpcError as error:
        return responses, edge.refusal(error)
    return responses, None


async def collect(call: AsyncIterable[bytes]) -> list[bytes]:
    return [response async for response in call]


async def accepted(resources: Resources, pushes: Sequence[pb.PushRequest]) -> pb.PushManyResponse:
    responses, refusal = await push(resources, pushes)
    assert refusal is None
    return responses[-1]


async def stored_ids(resources: Resources) -> set[str]:
    return {str(row["id"]) for row in await resources.fetch("SELECT id FROM hardware WHERE deleted_at IS NULL")}


def ids(numbers: Sequence[int]) -> set[str]:
    return {machine_id(number) for number in numbers}


async def test_events_come_in_the_order_of_the_stream_and_batches_are_bounded(resources: Resources) -> None:
    responses, refusal = await push(resources, [machine(number) for number in range(700)])
    assert refusal is None
    assert (responses[-1].stored, responses[-1].changed, responses[-1].revision) == (700, 700, 700)
    assert [response.stored for response in responses] == sorted({response.stored for response in responses})
    assert [str(event["resource_id"]) for event in await resources.events()] == [machine_id(n) for n in range(700)]
    # A row's xmin is the transaction that wrote it.
    batches = await resources.fetch("SELECT count(*) AS machines FROM hardware GROUP BY xmin::text")
    assert len(batches) == len(responses) <= 18
    assert max(row["machines"] for row in batches) <= bulk_push.MAX_BATCH_MACHINES


async def test_one_message_may_hold_more_than_a_batch(resources: Resources) -> None:
    responses, refusal = await push(resources, [machine(number) for number in range(600)], at_once=600)
    assert refusal is None
    assert [response.stored for response in responses] == [250, 500, 600]


async def test_what_is_the_same_already_is_counted_and_changes_nothing(resources: Resources) -> None:
    await accepted(resources, [machine(number) for number in range(100)])
    changed = [machine(number, metadata='{"a": 1}' if number == 30 else "{}") for number in range(100)]
    again = await accepted(resources, changed)
    assert (again.stored, again.changed, again.revision) == (100, 1, 101)
    same = await accepted(resources, changed)
    assert (same.stored, same.changed, same.revision) == (100, 0, 0)


async def test_a_deleted_machine_comes_back(resources: Resources) -> None:
    await accepted(resources, [machine(0), machine(1)])
    await resources.hardware.Delete(pb.DeleteRequest(id=machine_id(0)))
    assert (await accepted(resources, [machine(0), machine(1)])).changed == 1
    assert [event["event_type"] for event in await resources.events()] == ["CREATED", "CREATED", "DELETED", "CREATED"]


async def test_the_later_of_two_pushes_of_a_machine_wins(resources: Resources) -> None:
    pushes = [machine(0), machine(1), machine(0, metadata='{"later": true}'), machine(2)]
    assert (await accepted(resources, pushes)).changed == 4
    found = await resources.hardware.ByID(pb.ByIDRequest(id=machine_id(0)))
    assert (found.version, found.metadata) == (2, '{"later": true}')


async def test_an_address_may_be_handed_on_in_the_order_of_the_stream(resources: Resources) -> None:
    await accepted(resources, [machine(0), machine(1)])
    assert (await accepted(resources, [machine(0, mac_number=9), machine(1, mac_number=0)])).changed == 2
    _, refusal = await push(resources, [machine(1, mac_number=9), machine(0, mac_number=0)])
    assert refusal is not None
    assert refusal.metadata == {"what": "mac", "value": mac(9), "taken_by": machine_id(0)}


@pytest.mark.parametrize("place", [0, 1, 299, 500, 599])
async def test_a_wrong_machine_is_named_by_its_place_and_only_those_before_it_are_stored(
    resources: Resources, place: int
) -> None:
    pushes = [machine(number) for number in range(600)]
    pushes[place].data.network.interfaces[0].dhcp.mac = "nonsense"
    responses, refusal = await push(resources, pushes)
    assert refusal is not None
    assert (refusal.code.name, refusal.reason) == ("INVALID_ARGUMENT", "INVALID_FIELD")
    assert list(refusal.fields) == [f"machines[{place}].data.network.interfaces[0].dhcp.mac"]
    assert (responses[-1].stored, responses[-1].stopped) == (place, True)
    assert await stored_ids(resources) == ids(range(place))


@pytest.mark.parametrize(("place", "owner"), [(0, 600), (599, 598), (257, 3)])
async def test_a_machine_whose_address_is_taken_is_named_and_only_those_before_it_are_stored(
    resources: Resources, place: int, owner: int
) -> None:
    await accepted(resources, [machine(600)])
    pushes = [machine(number, mac_number=owner if number == place else None) for number in range(600)]
    responses, refusal = await push(resources, pushes, at_once=200)
    assert refusal is not None
    assert refusal.reason == "ALREADY_EXISTS"
    assert refusal.message == f"machines[{place}]: mac {mac(owner)} is already taken by {machine_id(owner)}"
    assert (responses[-1].stored, responses[-1].stopped) == (place, True)
    assert await stored_ids(resources) == ids([*range(place), 600])


async def test_each_machine_may_have_an_expected_version(resources: Resources) -> None:
    new = [machine(number, expected=0) for number in range(100)]
    assert (await accepted(resources, new)).changed == 100
    changed = [machine(number, metadata='{"a": 1}', expected=2 if number == 60 else 1) for number in range(100)]
    responses, refusal = await push(resources, changed)
    assert refusal is not None
    assert refusal.reason == "LOST_RACE"
    assert refusal.message == f"machines[60]: hardware {machine_id(60)} has the version 1; version 2 was expected"
    assert responses[-1].stored == 60
    await resources.hardware.Delete(pb.DeleteRequest(id=machine_id(99)))
    assert (await accepted(resources, [machine(99, expected=0)])).changed == 1
    _, refusal = await push(resources, [machine(200, expected=1)])
    assert refusal is not None
    assert refusal.message == f"machines[0]: hardware {machine_id(200)} does not exist; version 1 was expected"


async def test_a_machine_too_large_for_the_database_is_named(resources: Resources) -> None:
    large = machine(1, metadata="[" + ",".join(["1e300"] * 5_000) + "]")
    large.data.metadata = f'{{"a": {large.data.metadata}}}'
    responses, refusal = await push(resources, [machine(0), large, machine(2)])
    assert refusal is not None
    assert list(refusal.fields) == ["machines[1].data.metadata"]
    assert responses[-1].stored == 1


async def test_a_request_that_cannot_be_decoded_names_its_field_in_the_whole_stream(resources: Resources) -> None:
    async def encoded() -> AsyncIterator[bytes]:
        yield pb.PushManyRequest(machines=[machine(0), machine(1)]).SerializeToString()
        yield pb.PushManyRequest(machines=[machine(2)]).SerializeToString() + b"\x0a\x02\x38\x01"

    method = "/tinkwell.api.v1.HardwareService/PushMany"
    push_many: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = resources.edge.channel.stream_stream(method)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await collect(push_many(encoded()))
    assert list(edge.refusal(caught.value).fields) == ["machines[3].7"]
    assert await stored_ids(resources) == ids([0, 1])


async def test_an_entry_without_a_machine_is_refused_after_those_before_it(resources: Resources) -> None:
    _, refusal = await push(resources, [machine(0), pb.PushRequest(), machine(1)])
    assert refusal is not None
    assert list(refusal.fields) == ["machines[1].data"]
    assert await stored_ids(resources) == ids([0])


async def test_an_empty_stream_is_no_mistake(resources: Resources) -> None:
    assert await push(resources, []) == ([], None)


async def test_a_client_that_vanishes_leaves_whole_batches(resources: Resources) -> None:
    async def endless() -> AsyncIterator[pb.PushManyRequest]:
        number = 0
        while True:
            yield pb.PushManyRequest(machines=[machine(number + offset) for offset in range(50)])
            number += 50

    call = resources.hardware.PushMany(endless())
    response = await call.read()
    assert isinstance(response, pb.PushManyResponse)
    call.cancel()
    # The next write waits for its turn behind what the former call still does.
    await resources.hardware.Push(machine(1_000_000))
    stored = await stored_ids(resources) - ids([1_000_000])
    assert len(stored) >= response.stored
    assert stored == ids(range(len(stored)))
    assert len(stored) % 50 == 0


async def test_two_pushes_in_opposite_order_both_succeed(resources: Resources) -> None:
    def pushes(name: str) -> list[pb.PushRequest]:
        return [machine(number, metadata=f'{{"by": "{name}"}}') for number in range(300)]

    one, other = await asyncio.gather(accepted(resources, pushes("one")), accepted(resources, pushes("other")[::-1]))
    assert one.stored == other.stored == 300
    assert one.changed + other.changed == 600
    versions = collections.defaultdict[str, list[int]](list)
    for event in await resources.events():
        versions[str(event["resource_id"])].append(event["version"])
    assert versions == {machine_id(number): [1, 2] for number in range(300)}


async def test_no_more_is_taken_while_the_database_is_busy(resources: Resources) -> None:
    taken = 0

    async def messages() -> AsyncIterator[Sequence[Sent]]:
        nonlocal taken
        for _ in range(100):
            message = [Sent(machine_id(taken + offset), "", network.Network(), None) for offset in range(50)]
            taken += 50
            yield message

    async def ignore(*_: bulk_push.Progress) -> None:
        pass

    writer = await asyncpg.connect(resources.database_url)
    try:
        blocking = writer.transaction()
        await blocking.start()
        await writer.execute("LOCK TABLE hardware IN EXCLUSIVE MODE")
        service = HardwareService(resources.database)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(service.push_many(messages(), invite=ignore, report=ignore, actor="test"))
            await waiting.eventually(lambda: taken >= bulk_push.MAX_BATCH_MACHINES)
            for _ in range(2_000):
                await asyncio.sleep(0)
            # One batch is being stored, one is pending, and one message waits to be.
            assert taken <= 2 * bulk_push.MAX_BATCH_MACHINES + 2 * 50
            await blocking.rollback()
    finally:
        await writer.close()
    assert len(await stored_ids(resources)) == 5_000


async def test_more_streams_than_a_server_takes_are_refused_before_they_send(database_url: str) -> None:
    is_open, may_end = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[dict[str, object]]:
        is_open.set()
        yield {"id": machine_id(1)}
        await may_end.wait()

    async with (
        resource.serving(database_url, max_streams=1) as resources,
        tinkwell.client.connect(resources.edge.address) as client,
    ):
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            first = tasks.create_task(client.hardware.push_many(slow()))
            await is_open.wait()
            with pytest.raises(client_errors.LimitReached):
                await client.hardware.push_many([{"id": machine_id(2)}])
            may_end.set()
        assert first.result().stored == 1
        assert (await client.hardware.push_many([{"id": machine_id(2)}])).stored == 1


async def test_a_client_that_sends_nothing_is_not_waited_for() -> None:
    async def silent() -> AsyncIterator[pb.PushManyRequest]:
        await asyncio.get_running_loop().create_future()
        yield pb.PushManyRequest()

    with pytest.raises(errors.TooSlow, match=r"sent nothing for 0\.01 seconds"):
        await anext(push_stream.receive(silent(), silence_seconds=0.01))


async def test_a_watcher_receives_the_events_of_all_in_order(client: Client) -> None:
    numbers = range(10_000)
    seen: list[tuple[int, str]] = []

    async def watch() -> None:
        async for event in events:
            seen.append((event.revision, event.resource_id))
            if len(seen) == len(numbers):
                return

    async with client.hardware.watch(now=True) as events, asyncio.TaskGroup() as tasks:
        tasks.create_task(watch())
        done = await client.hardware.push_many({"id": machine_id(number)} for number in numbers)
    assert done.changed == len(numbers)
    assert seen == [(number + 1, machine_id(number)) for number in numbers]
