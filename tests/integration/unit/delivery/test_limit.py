"""What one event may leave has limits, each of which is named by the one error that it ends in."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from support import edge
from support.unit_site import Agent, Site, bag, edits
from tinkwell.api.v1 import application_service_pb2 as application_pb
from tinkwell.api.v1 import unit_service_pb2 as pb
from tinkwell.client import channel
from tinkwell.core.unit import limit

_KIB = 1 << 10


async def _granted(site: Site) -> tuple[Agent, str, int]:
    """A unit of a peer relation that is granted an event."""
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    relation = await site.rows.relate(("web", "cluster"))
    agent = await site.agent()
    await agent.run(unit)
    await site.sql.execute("UPDATE unit SET next_tick_at = clock_timestamp()")
    await agent.next(unit)
    return agent, unit, relation


def _bag(relation: int, texts: Mapping[str, str]) -> pb.BagEdit:
    return pb.BagEdit(relation=relation, edits=edits(**texts))


def _notices(count: int) -> list[application_pb.Notice]:
    return [application_pb.Notice(ordinal=1, handler=f"Web.handler_{number}", event="{}") for number in range(count)]


_MANY = {f"key-{number}": "x" for number in range(257)}
_LONG = {"key": "x" * (64 * _KIB + 1)}
_LARGE = {f"key-{number}": "x" * (63 * _KIB) for number in range(17)}
_LARGE_BYTES = len(json.dumps(_LARGE))
_ONE_MIB = "x" * (1 << 20)

BEYOND: dict[str, tuple[dict[str, Any], str, str]] = {
    "keys of a bag": ({"bag": _MANY}, "effects.bags[0]", "the bag would have 257 keys; at most 256 may be"),
    "a value of a bag": ({"bag": _LONG}, 'effects.bags[0].edits["key"]', "is longer than 65,536 bytes"),
    "a bag": (
        {"bag": _LARGE},
        "effects.bags[0]",
        f"there would be {_LARGE_BYTES:,} bytes of JSON in all; at most 1,048,576 may be",
    ),
    "the state": (
        {"state": edits(key=_ONE_MIB)},
        "effects.state",
        "there would be 1,048,587 bytes of JSON in all; at most 1,048,576 may be",
    ),
    "notices": (
        {"deferred": _notices(1_001)},
        "effects.deferred",
        "there would be 1,001 notices; at most 1,000 may wait",
    ),
}


@pytest.mark.parametrize("what", BEYOND)
async def test_an_event_that_leaves_more_than_there_may_be_fails_with_the_limit(site: Site, what: str) -> None:
    effects, field, sentence = BEYOND[what]
    agent, unit, relation = await _granted(site)
    if "bag" in effects:
        effects = {"bags": [_bag(relation, effects["bag"])]}
    told = await edge.refused(site.stub.CommitEvent(agent.committing(unit, **effects)))
    assert (told.reason, told.fields) == ("COMMIT_REFUSED", {field: sentence})
    assert (await site.told(unit))[-1] == "update-status ERROR"
    message = await site.sql.fetchval("SELECT message FROM unit_event WHERE state = 'ERROR'")
    assert message == f"refused: {field}: {sentence}"
    assert [await site.count(table) for table in ("unit_state", "deferred_notice")] == [0, 0]


async def test_just_as_much_as_there_may_be_is_taken(site: Site) -> None:
    agent, unit, relation = await _granted(site)
    filled = {f"{number:03}": "é" * 2_040 + '"' for number in range(256)}
    filled["255"] += "x" * ((1 << 20) - len(json.dumps(filled, ensure_ascii=False).encode()))
    effects = {"bags": [_bag(relation, filled)], "state": edits(key=_ONE_MIB[11:]), "deferred": _notices(1_000)}
    assert (await agent.commit(unit, **effects)).none.reason == pb.NO_EVENT_REASON_NOTHING_DUE
    await site.sql.execute("UPDATE unit SET next_tick_at = clock_timestamp()")
    granted = (await agent.next(unit)).grant
    assert [len(each.own.data) for each in granted.relations] == [256]
    assert (len(granted.state["key"]), len(granted.deferred)) == ((1 << 20) - 11, 1_000)
    # And one more of each is refused, whenever what is there was written.
    effects = {"bags": [bag(relation, more="x")], "state": edits(more="x"), "deferred": _notices(1_001)[1_000:]}
    told = await edge.refused(site.stub.CommitEvent(agent.committing(unit, **effects)))
    assert list(told.fields) == ["effects.bags[0]", "effects.state", "effects.deferred"]


async def test_what_takes_more_as_json_than_as_text_is_refused_and_no_fault(site: Site) -> None:
    agent, unit, relation = await _granted(site)
    controls = {f"key-{number}": "\x01" * (60 * _KIB) for number in range(4)}
    effects = {"bags": [_bag(relation, controls)], "state": edits(key='"' * (600 * _KIB))}
    told = await edge.refused(site.stub.CommitEvent(agent.committing(unit, **effects)))
    assert (told.reason, list(told.fields)) == ("COMMIT_REFUSED", ["effects.bags[0]", "effects.state"])


async def test_a_line_has_a_limit_and_so_have_the_lines_of_an_attempt(site: Site) -> None:
    agent, unit, _ = await _granted(site)
    ordinal = agent.grants[unit].event.ordinal

    def request(*numbers: int, text: str = "x") -> pb.AppendUnitLogsRequest:
        lines = [
            application_pb.UnitLogLine(ordinal=ordinal, attempt=1, number=number, level="INFO", text=text)
            for number in numbers
        ]
        return pb.AppendUnitLogsRequest(lease_token=agent.token, unit_id=unit, lines=lines)

    told = await edge.refused(site.stub.AppendLogs(request(1, text="x" * (128 * _KIB + 1))))
    assert told.fields == {"lines[0].text": "must be text of at most 131,072 bytes, without U+0000"}
    assert (await site.stub.AppendLogs(request(1, text="x" * (128 * _KIB)))).accepted == 1
    told = await edge.refused(site.stub.AppendLogs(request(*range(1, 1_002))))
    assert told.fields == {"lines": "there are 1,001; at most 1,000 may come at once"}
    # What comes beyond the last line is not kept, and the answer says how many were.
    assert (await site.stub.AppendLogs(request(9_999, 10_000, 10_001, 10_002))).accepted == 2
    assert await site.count("unit_log") == 3


async def test_all_own_bags_together_have_a_limit_and_the_longest_grant_goes_to_an_agent(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = limit.OWN_BAGS_BYTES + limit.OWN_BAGS_BYTES + 4 * limit.STATE_BYTES + limit.NOTICES * (17 * _KIB)
    assert most < channel.MAX_ANSWER_BYTES
    agent, unit, relation = await _granted(site)
    await agent.commit(unit, bags=[_bag(relation, {"key": "x" * 1_000})])
    monkeypatch.setattr(limit, "OWN_BAGS_BYTES", 900)
    await site.sql.execute("UPDATE unit SET next_tick_at = clock_timestamp()")
    await agent.next(unit)
    told = await edge.refused(site.stub.CommitEvent(agent.committing(unit, bags=[_bag(relation, {"more": "x"})])))
    assert told.fields["effects.bags"] == (
        "there would be 1,008 bytes in all bags of the unit and its application; at most 900 may be"
    )
    await site.retry_now()
    await agent.next(unit)
    # Whoever is beyond it may take something away.
    await agent.commit(unit, bags=[_bag(relation, {"key": "x" * 950})])
