"""Events of one's own, and named positions."""

import pytest

from tinkwell.client import Client, EventType, ResourceType, errors, testing


async def test_a_published_event_reaches_watchers(server: testing.FakeServer, client: Client) -> None:
    async with client.events.watch(names=["rack.door_opened"], now=True) as events:
        await client.events.publish("rack.door_closed")
        published = await client.events.publish("rack.door_opened", resource_id="r1", data={"rack": 5})
        event = await anext(events)
    assert (event.id, event.revision) == (published.id, published.revision)
    assert (event.resource_type, event.event_type) == (ResourceType.CUSTOM, EventType.CUSTOM)
    assert (event.resource_id, event.data) == ("r1", {"rack": 5})


async def test_the_data_of_an_event_may_be_json_text(server: testing.FakeServer, client: Client) -> None:
    await client.events.publish("rack.door_opened", data='{"rack": 5}')
    assert server.log.events[-1].data == {"rack": 5}


@pytest.mark.parametrize("data", ["[1]", "{", {"a": float("inf")}, {"a": object()}])
async def test_data_that_is_no_json_object_is_refused_before_anything_is_sent(
    server: testing.FakeServer, client: Client, data: object
) -> None:
    with pytest.raises(errors.InvalidField, match="data"):
        await client.events.publish("rack.door_opened", data=data)  # type: ignore[arg-type]
    assert server.calls == []


async def test_a_built_in_name_is_refused(client: Client) -> None:
    with pytest.raises(errors.InvalidField, match="name"):
        await client.events.publish("workflow.timeout")


async def test_a_position_belongs_to_whom_claimed_it_last(client: Client) -> None:
    with pytest.raises(errors.NotFound):
        await client.events.position("mailer")
    first = await client.events.position("mailer", claim=True)
    assert first.revision == 0
    second = await client.events.position("mailer", claim=True)
    with pytest.raises(errors.LostRace):
        await client.events.commit_position("mailer", revision=5, history_id="h1", token=first.token)
    stored = await client.events.commit_position("mailer", revision=5, history_id="h1", token=second.token)
    assert (stored.revision, stored.history_id) == (5, "h1")
    assert await client.events.position("mailer") == stored
