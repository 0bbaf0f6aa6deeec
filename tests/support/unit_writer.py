"""Many who change one namespace at once: agents, operators, and who takes away what nobody needs any more."""

import dataclasses
import random
from collections.abc import Awaitable, Callable

import asyncpg

from support import unit_secret_writer
from support.unit_rows import Rows, Turn
from tinkwell.core.unit.kinds import EventState

_UNITS = "SELECT CAST(id AS text) AS id FROM unit WHERE namespace = $1 AND life <> 'DEAD' ORDER BY random() LIMIT 1"
_ELECT = """
    UPDATE application a SET leader = lowest.number, term = term + 1
      FROM (SELECT min(number) AS number FROM unit u JOIN application w ON w.id = u.application_id
             WHERE w.namespace = $1 AND w.name = $2 AND u.life = 'ALIVE') lowest
     WHERE a.namespace = $1 AND a.name = $2 AND a.life = 'ALIVE' AND lowest.number IS NOT NULL
"""
_ELECT_IF_NOBODY = f"""
    {_ELECT}
       AND NOT EXISTS (SELECT FROM unit u
                        WHERE u.application_id = a.id AND u.number = a.leader AND u.life <> 'DEAD')
"""
_ALL_UNITS = "SELECT CAST(id AS text) AS id FROM unit WHERE namespace = $1 AND life <> 'DEAD' ORDER BY name"
_REAP = (
    """
    DELETE FROM unit u WHERE u.namespace = $1 AND u.life = 'DEAD'
       AND NOT EXISTS (SELECT FROM unit_member m WHERE m.member_id = u.id)
    """,
    """
    DELETE FROM relation r WHERE r.namespace = $1 AND r.life <> 'ALIVE'
       AND NOT EXISTS (SELECT FROM relation_member m WHERE m.relation_id = r.id AND m.membership <> 'LEFT')
    """,
)
_MOST_UNITS = 3
_NAMES = ("a", "b", "c")


@dataclasses.dataclass(slots=True)
class Writer:
    """One of them, with its own sequence of choices."""

    rows: Rows
    chance: random.Random

    async def write(self, count: int) -> None:
        """Do so many things. Who meets somebody else's change has done nothing, and goes on."""
        deeds: list[tuple[Callable[[], Awaitable[None]], int]] = [
            (self._turn, 120),
            (self._add, 8),
            (self._remove, 2),
            (self._force, 1),
            (self._relate, 2),
            (self._unrelate, 2),
            (self._configure, 3),
            (self._elect, 3),
            (self._allot, 2),
            (self._detach, 1),
            (self._reap, 10),
            (self._change_secret, 45),
        ]
        for _ in range(count):
            (deed,) = self.chance.choices([each for each, _ in deeds], [weight for _, weight in deeds])
            try:
                await deed()
            except (asyncpg.IntegrityConstraintViolationError, asyncpg.DeadlockDetectedError):
                continue

    async def rest(self) -> None:
        """Go on without faults until nothing is due any more."""
        is_busy = True
        while is_busy:
            is_busy = False
            for name in _NAMES:
                await self.rows.sql.execute(_ELECT_IF_NOBODY, self.rows.namespace, name)
            for row in await self.rows.sql.fetch(_ALL_UNITS, self.rows.namespace):
                is_busy = await self.rows.locked(row["id"], _finish) or is_busy
            await self._reap()

    async def _turn(self) -> None:
        if (unit_id := await self._some_unit()) is not None:
            await self.rows.locked(unit_id, self._go_on)

    async def _go_on(self, turn: Turn) -> None:
        loaded = await turn.load()
        if loaded.in_flight is None:
            await turn.grant()
        elif loaded.in_flight.state is EventState.ERROR:
            await turn.judge()
        elif self.chance.random() < 0.15:
            await turn.fail()
        else:
            told = [number for number, each in loaded.ledger.relations.items() if not each.broken]
            numbers = [number for number in told if self.chance.random() < 0.3]
            await turn.commit({number: {"n": str(self.chance.randrange(100))} for number in numbers})

    async def _add(self) -> None:
        application = self.chance.choice(_NAMES)
        alive = "SELECT count(*) FROM unit WHERE namespace = $1 AND name LIKE $2 || '/%' AND life = 'ALIVE'"
        if await self.rows.sql.fetchval(alive, self.rows.namespace, application) < _MOST_UNITS:
            unit_id = await self.rows.unit(application)
            if unit_id and self.chance.random() < 0.3:
                await self.rows.locked(unit_id, Turn.allot)

    async def _remove(self) -> None:
        await self._execute(
            "UPDATE unit SET life = 'DYING' WHERE id = ("
            "SELECT id FROM unit WHERE namespace = $1 AND life = 'ALIVE' ORDER BY random() LIMIT 1) AND life = 'ALIVE'"
        )

    async def _force(self) -> None:
        if (unit_id := await self._some_unit()) is not None:
            await self.rows.locked(unit_id, Turn.force)

    async def _relate(self) -> None:
        first, second = self.chance.sample(_NAMES, 2)
        await self.rows.relate(*((name, "db") for name in sorted((first, second))))

    async def _unrelate(self) -> None:
        await self._execute(
            "UPDATE relation SET life = 'DYING' WHERE id = (SELECT id FROM relation WHERE namespace = $1"
            " AND life = 'ALIVE' AND NOT is_peer ORDER BY random() LIMIT 1) AND life = 'ALIVE'"
        )

    async def _configure(self) -> None:
        value = self.chance.randrange(100)
        await self._execute(
            f"UPDATE application SET config = '{{\"n\": {value}}}'"
            f" WHERE namespace = $1 AND name = '{self.chance.choice(_NAMES)}'"
        )

    async def _elect(self) -> None:
        await self.rows.sql.execute(_ELECT, self.rows.namespace, self.chance.choice(_NAMES))

    async def _allot(self) -> None:
        if (unit_id := await self._some_unit()) is not None:
            await self.rows.locked(unit_id, Turn.allot)

    async def _detach(self) -> None:
        await self._execute(
            "UPDATE storage SET life = 'DYING', is_kept = random() < 0.5 WHERE namespace = $1 AND unit_id IS NOT NULL"
            " AND random() < 0.3"
        )

    async def _change_secret(self) -> None:
        statements, weights = zip(*unit_secret_writer.CHANGES, strict=True)
        (statement,) = self.chance.choices(statements, weights)
        await self._execute(statement)

    async def _reap(self) -> None:
        for statement in _REAP:
            await self._execute(statement)

    async def _execute(self, statement: str) -> None:
        await self.rows.sql.execute(statement, self.rows.namespace)

    async def _some_unit(self) -> str | None:
        found: str | None = await self.rows.sql.fetchval(_UNITS, self.rows.namespace)
        return found


async def _finish(turn: Turn) -> bool:
    """Take a unit one step on; False if nothing is due."""
    flight = (await turn.load()).in_flight
    if flight is None:
        return await turn.grant() is not None
    if flight.state is EventState.ERROR:
        await turn.judge()
    else:
        await turn.commit()
    return True
