"""Transactions that are out of the ordinary: one that holds a gap open, and one that changes many rows.

Each returns whether it really happened.
"""

import asyncio
import contextlib
import json
import time
import uuid
from collections.abc import Sequence

import asyncpg

from support.chaos import session
from support.chaos.bulk import Bulk
from support.chaos.ledger import Marks
from support.chaos.scene import Scene
from support.history.record import Change, Outcome
from tinkwell.server.database import engine

_MANY_ROWS, _SOME_ROWS = 50_000, 4_000
_COMMAND_SECONDS = 180
_WIDTHS_AHEAD = 4
# How many revisions may be drawn before writing fails.
_AHEAD = r"""
    SELECT max((regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO \(''(\d+)''\)'))[1]::bigint)
           - (SELECT last_value FROM events_revision)
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'events'::regclass
"""


class WriteFaults:
    """Writes as nobody should, or as one seldom does."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._chance = scene.chance
        self._marks = Marks("gap")
        self._bulk = Bulk("bulk", rows=_MANY_ROWS if scene.is_thorough else _SOME_ROWS)
        self._one_bulk = asyncio.Lock()

    async def hold_gap_open(self) -> bool:
        """Draw revisions, then wait, so that nothing above them may be delivered; then commit or not."""
        self._marks.begin()
        changes: list[Change] = []
        outcome, began = Outcome.ROLLED_BACK, time.time()
        try:
            async with self._scene.gate.passed(), session.connected(self._scene.pair.url) as connection:
                began = time.time()
                await connection.execute("BEGIN")
                for _ in range(self._chance.randint(1, 3)):
                    changes += [await self._insert(connection)]
                await connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
                await asyncio.sleep(self._scene.moment(0.5, 4))
                if self._chance.random() < 0.5:
                    outcome = Outcome.UNKNOWN
                    await connection.execute("COMMIT")
                    outcome = Outcome.COMMITTED
                else:
                    await connection.execute("ROLLBACK")
        except session.ERRORS:
            # Its gap was held open all the same, if it got that far.
            return bool(changes)
        finally:
            self._scene.ledger.add("gap", outcome, changes, began=began)
        return True

    async def _insert(self, connection: asyncpg.Connection) -> Change:
        machine, token = uuid.UUID(int=self._chance.getrandbits(128), version=4), self._marks.next()
        await connection.execute(
            "INSERT INTO hardware (id, metadata) VALUES ($1, $2)", machine, json.dumps({"token": token})
        )
        return Change(token, "CREATED", str(machine), 1)

    async def change_many(self) -> bool:
        """Change many rows in one transaction, and commit it or not."""
        async with self._one_bulk:
            if not await self._has_room():
                return False
            changes: Sequence[Change] = ()
            outcome, began = Outcome.ROLLED_BACK, time.time()
            try:
                async with (
                    self._scene.gate.passed(),
                    session.connected(self._scene.pair.url, command_seconds=_COMMAND_SECONDS) as connection,
                ):
                    began = time.time()
                    await connection.execute("BEGIN")
                    changes = await self._bulk.change(connection, self._chance)
                    if self._chance.random() < 0.3:
                        await self._roll_back(connection)
                        return True
                    outcome = Outcome.UNKNOWN
                    await connection.execute("COMMIT")
                    outcome = Outcome.COMMITTED
            except session.ERRORS as error:
                if outcome is Outcome.UNKNOWN and not isinstance(error, engine.CONNECTION_ERRORS):
                    outcome = Outcome.ROLLED_BACK
                return False
            finally:
                self._scene.ledger.add("bulk", outcome, changes, began=began)
            return True

    async def _roll_back(self, connection: asyncpg.Connection) -> None:
        if self._chance.random() < 0.7:
            await connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        await connection.execute("ROLLBACK")

    async def _has_room(self) -> bool:
        """Whether there are partitions enough, if need be after more were added."""
        for _ in range(2):
            with contextlib.suppress(*session.ERRORS):
                async with session.connected(self._scene.pair.url) as connection:
                    ahead = await connection.fetchval(_AHEAD)
                if ahead is not None and ahead > _WIDTHS_AHEAD * _MANY_ROWS:
                    return True
                await self._scene.forgetting.run(lambda: self._scene.pair.url)
        return False
