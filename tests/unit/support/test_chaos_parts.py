"""What the chaos of the log is made of: the gate of writers, changes of many rows, and the chronicle of logs."""

import asyncio
import dataclasses

from support.chaos.bulk import Changes
from support.chaos.chronicle import Chronicle, Turn
from support.chaos.gate import Gate
from support.history.record import Change, Era, Row
from support.waiting import eventually


def row(revision: int, token: str = "") -> Row:
    return Row(revision, hash((revision, token)), "TEMPLATE", f"r{revision}", "", "CREATED", "n", 1, token, 0.0)


async def test_a_closed_gate_waits_for_those_inside_and_keeps_the_others_out() -> None:
    gate, steps = Gate(), list[str]()
    may_leave = asyncio.Event()

    async def write(name: str) -> None:
        async with gate.passed():
            steps.append(f"{name} enters")
            await may_leave.wait()
            steps.append(f"{name} leaves")

    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        tasks.create_task(write("first"))
        await eventually(lambda: bool(steps))
        asyncio.get_running_loop().call_later(0.01, may_leave.set)
        async with gate.closed():
            steps.append("closed")
            tasks.create_task(write("second"))
            await asyncio.sleep(0.01)
            steps.append("opened")
    assert steps == ["first enters", "first leaves", "closed", "opened", "second enters", "second leaves"]


def test_changes_of_many_rows_are_what_they_would_be_one_by_one() -> None:
    changes = Changes(17, "UPDATED", token="chaos-bulk-3-", resource_id="b01c0000-0000-0003-0000-")
    assert len(changes) == len(list(changes)) == 17
    last = Change("chaos-bulk-3-17", "UPDATED", "b01c0000-0000-0003-0000-000000000011")
    assert [changes[16], changes[-1], *changes[16:], list(changes)[16]] == [last] * 4
    assert Changes(1, "CUSTOM", token="t", resource_id="")[0] == Change("t1", "CUSTOM")


def test_a_chronicle_keeps_what_was_forgotten_of_each_log_as_long_as_the_log_lasts() -> None:
    chronicle = Chronicle()
    chronicle.present = Era("old", [])
    one, two, three = map(row, (1, 2, 3))
    chronicle.forget([one, two])
    # The other log has lost that the second event was forgotten, and the third altogether.
    turn = Turn(rows=[three], oldest=3, history_id="new", oldest_now=2, begun_at=5.0, holds_until=4.0)
    chronicle.turn(turn)
    old, new = chronicle.end([dataclasses.replace(two), row(3, "another")], 2)
    assert [each.revision for each in old.rows] == [1, 2, 3]
    assert new.rows == [one, two, row(3, "another")]
    assert (new.rows[0] is old.rows[0], new.rows[1] is old.rows[1]) == (True, True)
    assert (old.oldest, new.oldest, new.history_id, new.begun_at, new.holds_until) == (3, 2, "new", 5.0, 4.0)
