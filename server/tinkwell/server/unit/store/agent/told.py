"""What a unit reports besides its events, independent of their outcome: its status, and lines of its log."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from tinkwell.server.database.database import Transaction

# While an event has failed, the unit shows that, and the status of its charm is kept for later.
_STATUS = """
    UPDATE unit u
       SET status_name = n.status_name, status_message = n.status_message, said_name = n.said_name,
           said_message = n.said_message, workload_version = n.workload_version
      FROM (SELECT id,
                   CASE status_name WHEN 'error' THEN status_name ELSE coalesce($2, status_name) END AS status_name,
                   CASE status_name WHEN 'error' THEN status_message ELSE coalesce($3, status_message) END
                       AS status_message,
                   CASE status_name WHEN 'error' THEN coalesce($2, said_name) ELSE '' END AS said_name,
                   CASE status_name WHEN 'error' THEN coalesce($3, said_message) ELSE '' END AS said_message,
                   coalesce($4, workload_version) AS workload_version
              FROM unit WHERE id = $1::text::uuid) n
     WHERE u.id = n.id
       AND (u.status_name, u.status_message, u.said_name, u.said_message, u.workload_version)
           IS DISTINCT FROM (n.status_name, n.status_message, n.said_name, n.said_message, n.workload_version)
"""
_APPLICATION_STATUS = """
    UPDATE application SET status_name = $2, status_message = $3
     WHERE id = $1::text::uuid AND (status_name, status_message) IS DISTINCT FROM ($2, $3)
"""
_APPEND = """
    INSERT INTO unit_log (unit_id, ordinal, attempt, number, level, line)
    SELECT $1::text::uuid, given.ordinal, given.attempt, given.number, given.level, given.line
      FROM unnest($2::bigint[], $3::integer[], $4::bigint[], $5::text[], $6::text[])
           WITH ORDINALITY AS given (ordinal, attempt, number, level, line, place)
     ORDER BY given.place
        ON CONFLICT DO NOTHING
"""
_ATTEMPTS = """
    SELECT ordinal, attempt FROM unit_event WHERE unit_id = $1::text::uuid AND ordinal = ANY ($2::bigint[])
"""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NewLine:
    """A line that a unit has logged in an event. `number` counts from 1 within the attempt."""

    ordinal: int
    attempt: int
    number: int
    level: str
    text: str


async def set_status(
    transaction: Transaction, unit_id: str, *, name: str | None, message: str | None, workload_version: str | None
) -> None:
    """Write the given parts of a unit's status. A part that is None stays."""
    await transaction.fetch(_STATUS, unit_id, name, message, workload_version)


async def set_application_status(transaction: Transaction, application_id: str, name: str, message: str) -> None:
    """Write the status that the leader sets for its application, which is locked."""
    await transaction.fetch(_APPLICATION_STATUS, application_id, name, message)


async def attempts(transaction: Transaction, unit_id: str, ordinals: Collection[int]) -> Mapping[int, int]:
    """Return the numbers of attempts at events of a unit. Events that do not exist, or were deleted, are left out."""
    found = await transaction.fetch(_ATTEMPTS, unit_id, list(ordinals))
    return {row["ordinal"]: row["attempt"] for row in found}


async def append(transaction: Transaction, unit_id: str, lines: Sequence[NewLine]) -> None:
    """Add lines to the log of a locked unit. A line that exists stays unchanged."""
    names = ("ordinal", "attempt", "number", "level", "text")
    await transaction.fetch(_APPEND, unit_id, *([getattr(line, name) for line in lines] for name in names))
