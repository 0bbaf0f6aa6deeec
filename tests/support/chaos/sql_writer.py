"""A writer that speaks SQL as psql does, and does with transactions whatever is allowed."""

import asyncio
import contextlib
import dataclasses
import json
import random
import time
import uuid
from collections.abc import Callable, Sequence

import asyncpg

from support.chaos import session
from support.chaos.gate import Gate
from support.chaos.ledger import Ledger, Marks, find_token
from support.history.record import Change, Outcome
from tinkwell.server.database import engine

APPLICATION = "chaos writer"
_CONNECT_SECONDS = 5
_COMMAND_SECONDS = 30
_SETTINGS = {**session.SETTINGS, "application_name": APPLICATION, "lock_timeout": "8s"}
_LONGEST_HOLD_SECONDS = 3.0
_BIG_BYTES = 120_000
_INSERT = "INSERT INTO hardware (id, metadata) VALUES ($1, $2)"
# What the session saw of its own transaction once it was committed.
_LEARN = """
    SELECT revision, event_type, data::text FROM events
     WHERE revision > $1 AND revision <= currval('events_revision') AND data::text LIKE '%' || $2 || '%'
"""


@dataclasses.dataclass(frozen=True, slots=True)
class _Machine:
    id: uuid.UUID
    token: str


class SqlWriter:
    """Writes until cancelled, and comes back after a lost connection, to wherever the database's URL leads then.

    `hot` are machines that all writers change. Each transaction passes the gate.
    """

    def __init__(
        self,
        name: str,
        database_url: Callable[[], str],
        ledger: Ledger,
        *,
        hot: Sequence[uuid.UUID],
        chance: random.Random,
        gate: Gate | None = None,
    ) -> None:
        self._name = name
        self._url = database_url
        self._gate = gate or Gate()
        self._ledger = ledger
        self._hot = hot
        self._chance = chance
        self._marks = Marks(name)
        # Committed machines and templates that no other writer knows.
        self._machines: list[_Machine] = []
        self._templates: list[uuid.UUID] = []

    async def run(self, is_over: asyncio.Event) -> None:
        """Write until it is over."""
        while not is_over.is_set():
            with contextlib.suppress(*session.ERRORS):
                connection = await asyncpg.connect(
                    self._url(), timeout=_CONNECT_SECONDS, command_timeout=_COMMAND_SECONDS, server_settings=_SETTINGS
                )
                try:
                    while not is_over.is_set() and not connection.is_closed():
                        async with self._gate.passed():
                            await self._transact(connection)
                        await asyncio.sleep(self._chance.uniform(0, 0.12))
                finally:
                    connection.terminate()
            await asyncio.sleep(0.05)

    async def _transact(self, connection: asyncpg.Connection) -> None:
        self._marks.begin()
        changes: list[Change] = []
        machines: list[_Machine] = []
        outcome, began = Outcome.ROLLED_BACK, time.time()
        try:
            await connection.execute("BEGIN")
            low = await connection.fetchval("SELECT last_value FROM events_revision")
            await self._change(connection, changes, machines)
            if self._chance.random() < 0.1:
                await connection.execute("ROLLBACK")
                return
            outcome = Outcome.UNKNOWN
            await connection.execute("COMMIT")
            outcome = Outcome.COMMITTED
            self._machines += machines
            changes[:] = await self._learn(connection, low, changes)
        except session.ERRORS as error:
            if outcome is Outcome.UNKNOWN and not isinstance(error, engine.CONNECTION_ERRORS):
                outcome = Outcome.ROLLED_BACK
            if isinstance(error, asyncpg.InternalServerError):
                connection.terminate()  # its plans may be for what a restore has dropped
            if not connection.is_closed():
                with contextlib.suppress(*session.ERRORS):
                    await connection.execute("ROLLBACK")
        finally:
            self._ledger.add(self._name, outcome, changes, began=began)

    async def _change(self, connection: asyncpg.Connection, changes: list[Change], machines: list[_Machine]) -> None:
        """Make some changes, with savepoints, revisions drawn early, and pauses in between."""
        for _ in range(self._chance.choice((1, 1, 1, 2, 4, 10))):
            if self._chance.random() < 0.1:
                await self._try_in_vain(connection)
            changes += await self._step(connection, machines)
            if self._chance.random() < 0.15:
                await connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        if self._chance.random() < 0.03:
            await asyncio.sleep(self._chance.uniform(0.05, _LONGEST_HOLD_SECONDS))

    async def _try_in_vain(self, connection: asyncpg.Connection) -> None:
        """Roll a savepoint back, so that what was written in it must never be seen."""
        undone: list[Change] = []
        began = time.time()
        try:
            await connection.execute("SAVEPOINT attempt")
            undone += await self._insert(connection, [])
            if self._chance.random() < 0.5:
                await connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
            await connection.execute("ROLLBACK TO SAVEPOINT attempt")
        finally:
            self._ledger.add(f"{self._name} savepoint", Outcome.ROLLED_BACK, undone, began=began)

    async def _step(self, connection: asyncpg.Connection, machines: list[_Machine]) -> list[Change]:
        (step,) = self._chance.choices(
            ("insert", "touch", "delete", "create template", "update template", "publish"), (40, 25, 10, 8, 8, 9)
        )
        match step:
            case "touch":
                return await self._touch(connection)
            case "delete" if self._machines:
                return await self._delete(connection, self._machines.pop(self._chance.randrange(len(self._machines))))
            case "create template":
                return await self._create_template(connection)
            case "update template" if self._templates:
                return await self._update_template(connection, self._chance.choice(self._templates))
            case "publish":
                return await self._publish(connection)
            case _:
                return await self._insert(connection, machines)

    async def _insert(self, connection: asyncpg.Connection, machines: list[_Machine]) -> list[Change]:
        machine = _Machine(uuid.UUID(int=self._chance.getrandbits(128), version=4), self._marks.next())
        change = Change(machine.token, "CREATED", str(machine.id), 1)
        await connection.execute(_INSERT, machine.id, self._metadata(machine.token))
        machines.append(machine)
        return [change]

    async def _touch(self, connection: asyncpg.Connection) -> list[Change]:
        """Touch a machine that everybody changes: update it, delete it, or bring it back."""
        machine, token = self._chance.choice(self._hot), self._marks.next()
        found = await connection.fetch("SELECT deleted_at IS NULL FROM hardware WHERE id = $1 FOR UPDATE", machine)
        if not found:  # it has been forgotten since it was deleted
            await connection.execute(_INSERT, machine, self._metadata(token))
            return [Change(token, "CREATED", str(machine), 1)]
        is_live = found[0][0]
        is_deleted = is_live and self._chance.random() < 0.15
        version = await connection.fetchval(
            "UPDATE hardware SET metadata = $2, deleted_at = CASE WHEN $3 THEN now() END WHERE id = $1"
            " RETURNING version",
            machine,
            self._metadata(token),
            is_deleted,
        )
        kind = "DELETED" if is_deleted else "UPDATED" if is_live else "CREATED"
        return [Change(token, kind, str(machine), version)]

    async def _delete(self, connection: asyncpg.Connection, machine: _Machine) -> list[Change]:
        version = await connection.fetchval("DELETE FROM hardware WHERE id = $1 RETURNING version", machine.id)
        # Another log may have taken the place of the one that it was in.
        return [Change(machine.token, "DELETED", str(machine.id), version + 1)] if version else []

    async def _create_template(self, connection: asyncpg.Connection) -> list[Change]:
        template, token = uuid.UUID(int=self._chance.getrandbits(128), version=4), self._marks.next()
        await connection.execute(
            "INSERT INTO template (id, name, data) VALUES ($1, $2, $3)", template, f"t-{template}", f"name: {token}"
        )
        # It may be rolled back, which an update finds out.
        self._templates = [*self._templates[-20:], template]
        return [Change(token, "CREATED", str(template), 1)]

    async def _update_template(self, connection: asyncpg.Connection, template: uuid.UUID) -> list[Change]:
        token = self._marks.next()
        version = await connection.fetchval(
            "UPDATE template SET data = $2 WHERE id = $1 RETURNING version", template, f"name: {token}"
        )
        return [Change(token, "UPDATED", str(template), version)] if version else []

    async def _publish(self, connection: asyncpg.Connection) -> list[Change]:
        token = self._marks.next()
        await connection.execute(
            "SELECT publish_event('chaos.published', NULL, $1::json, 'chaos')", json.dumps({"token": token})
        )
        return [Change(token, "CUSTOM")]

    def _metadata(self, token: str) -> str:
        size = self._chance.randrange(_BIG_BYTES) if self._chance.random() < 0.03 else self._chance.randrange(400)
        return json.dumps({"token": token, "pad": "x" * size})

    async def _learn(self, connection: asyncpg.Connection, low: int, changes: list[Change]) -> list[Change]:
        """Read which revisions the committed changes got; they may never be others from then on."""
        try:
            rows = await connection.fetch(_LEARN, low, self._marks.prefix)
        except session.ERRORS:
            return changes
        learned = {(find_token(text), kind): revision for revision, kind, text in rows}
        return [
            dataclasses.replace(change, revision=learned.get((change.token, change.event_type), 0))
            for change in changes
        ]
