"""Machines that enrolled themselves: counted, because their number is limited."""

import sqlalchemy
from sqlalchemy import bindparam, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.server.hardware.store import table

_HARDWARE = table.hardware.c
_ENROLMENT = table.self_enrolment.c

# This mode conflicts with itself, but with no reader or writer of the table. Only servers and the owner may lock it.
_TAKE_TURN = sqlalchemy.text("LOCK TABLE ONLY self_enrolment IN SHARE UPDATE EXCLUSIVE MODE")
_COUNT = (
    select(func.count())
    .select_from(table.self_enrolment)
    .join(table.hardware, _HARDWARE.id == _ENROLMENT.hardware_id)
    .where(_HARDWARE.deleted_at.is_(None))
)
_FIND = select(_HARDWARE.id).where(_HARDWARE.id == bindparam("hardware_id"))
_ADD = sqlalchemy.insert(table.self_enrolment)


async def take_turn(connection: AsyncConnection) -> None:
    """Let no other machine enrol until the transaction ends, so that the count stays right."""
    await connection.execute(_TAKE_TURN)


async def count(connection: AsyncConnection) -> int:
    """Return the number of live machines that enrolled themselves."""
    return int((await connection.execute(_COUNT)).scalar_one())


async def is_free(connection: AsyncConnection, hardware_id: str) -> bool:
    """Return whether no machine has or had this id."""
    return (await connection.execute(_FIND, {"hardware_id": hardware_id})).first() is None


async def add(connection: AsyncConnection, hardware_id: str) -> None:
    """Record that a machine enrolled itself."""
    await connection.execute(_ADD, {"hardware_id": hardware_id})
