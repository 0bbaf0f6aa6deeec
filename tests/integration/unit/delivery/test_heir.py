"""Two agents of one engine, such as one state directory, of which one at a time serves units.

One that was started anew while the other one took over has its lease, which is alive, but none of its units.
"""

import grpc
import pytest

from support import edge
from support.unit_site import Agent, Site, bag

HERE = "here"


async def _handed_over(site: Site) -> tuple[str, Agent, Agent]:
    """A unit in the midst of its install, whose agent begins anew and serves nothing, and the agent that follows it."""
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    former = await site.agent("one", HERE)
    await former.next(unit)
    # Its lease lives on under the next token, as that of a process which waits for the folder.
    await site.agent("one", HERE)
    return unit, former, await site.agent("two", HERE)


async def test_the_units_of_an_agent_go_to_who_follows_it_while_its_lease_is_alive(site: Site) -> None:
    unit, former, heir = await _handed_over(site)
    assert (await heir.next(unit)).grant.event.attempt == 2
    told = await edge.refused(site.stub.CommitEvent(former.committing(unit)))
    assert told.reason == "LEASE_LOST"
    await heir.commit(unit)
    assert (await site.told(unit))[0] == "install COMMITTED"


async def test_the_outcome_that_an_agent_has_left_is_heard_from_who_follows_it(site: Site) -> None:
    unit, former, heir = await _handed_over(site)
    heir.grants = former.grants
    await heir.commit(unit)
    assert (await site.told(unit))[0] == "install COMMITTED"
    assert await site.sql.fetchval("SELECT attempt FROM unit_event WHERE ordinal = 1") == 1
    # From now on it is the heir's.
    assert (await heir.next(unit)).grant.event.kind == "leader-elected"
    holder = await site.sql.fetchval("SELECT l.owner FROM unit u JOIN lease l ON l.id = u.lease_id")
    assert holder == "two"


async def test_a_late_outcome_of_the_former_attempt_is_refused(site: Site) -> None:
    unit, former, heir = await _handed_over(site)
    await heir.next(unit)
    again = await site.agent("one", HERE)
    again.grants = former.grants
    told = await edge.refused(site.stub.CommitEvent(again.committing(unit)))
    assert (told.code, told.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "LEASE_LOST")
    await heir.commit(unit)
    assert (await site.told(unit))[0] == "install COMMITTED"


@pytest.mark.parametrize(("engine", "named"), [(HERE, True), ("elsewhere", False)])
async def test_who_follows_an_agent_is_named_its_units_and_nobody_else_is(site: Site, engine: str, named: bool) -> None:
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    former = await site.agent("one", HERE)
    await former.run(unit)
    other = await site.agent("two", engine)
    assert (unit in await other.serve()) is named


async def test_whoever_has_another_engine_waits_as_long_as_the_lease_is_alive(site: Site) -> None:
    unit, former, _ = await _handed_over(site)
    other = await site.agent("three", "elsewhere")
    assert (await edge.refused(site.stub.NextEvent(other.asking(unit)))).reason == "LEASE_HELD"
    other.grants = former.grants
    told = await edge.refused(site.stub.CommitEvent(other.committing(unit, bags=[bag(1, a="b")])))
    assert told.reason == "LEASE_LOST"
