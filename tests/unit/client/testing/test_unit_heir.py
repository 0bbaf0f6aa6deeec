"""The fake server lets one agent of an engine follow another one, whose lease may be alive, as the real one does."""

import pytest

from support.unit_agent import WEB, Agent, charm
from tinkwell import client
from tinkwell.client import Grant, errors, testing
from tinkwell.core.unit.effect import NO_EFFECTS


async def test_units_go_to_who_has_the_engine_of_their_agent_and_to_nobody_else() -> None:
    async with testing.FakeServer() as fake, client.connect(fake.address) as connected:
        former = await Agent.enter(connected, "one", engine="here")
        await connected.applications.deploy("web", charm(WEB), anywhere=True)
        unit = await connected.applications.unit("web/0")
        first = await connected.units.next_event(former.token, unit.id)
        assert isinstance(first, Grant)
        other = await Agent.enter(connected, "other", engine="there")
        with pytest.raises(errors.LeaseHeld):
            await connected.units.next_event(other.token, unit.id)
        heir = await Agent.enter(connected, "two", engine="here")
        again = await connected.units.next_event(heir.token, unit.id)
        assert isinstance(again, Grant)
        assert (again.event.id, again.event.attempt) == (first.event.id, 2)
        with pytest.raises(errors.LeaseLost):
            await connected.units.commit(former.token, first.event.id, 1, NO_EFFECTS)
        await connected.units.commit(heir.token, again.event.id, 2, NO_EFFECTS)


async def test_an_outcome_is_heard_from_who_follows() -> None:
    async with testing.FakeServer() as fake, client.connect(fake.address) as connected:
        former = await Agent.enter(connected, "one", engine="here")
        await connected.applications.deploy("web", charm(WEB), anywhere=True)
        unit = await connected.applications.unit("web/0")
        first = await connected.units.next_event(former.token, unit.id)
        assert isinstance(first, Grant)
        heir = await Agent.enter(connected, "two", engine="here")
        await connected.units.commit(heir.token, first.event.id, 1, NO_EFFECTS)
        await heir.run()
        events = [each async for each in connected.applications.events("web/0")]
        assert {each.attempt for each in events} == {1}
