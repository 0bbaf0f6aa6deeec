"""Elections: whose unit's lease is over leads no more, and the next leader has the next term."""

import dataclasses
from collections.abc import Sequence

from tinkwell.server.database.database import Fetch, Transaction
from tinkwell.server.unit.store.agent.hold import HAS_LEADER

LACKING = f"""
    SELECT CAST(a.id AS text) AS id FROM application a
     WHERE a.life = 'ALIVE' AND NOT {HAS_LEADER}
       AND EXISTS (SELECT FROM unit u JOIN lease l ON l.id = u.lease_id
                    WHERE u.application_id = a.id AND u.life = 'ALIVE' AND l.expires_at > clock_timestamp())
     ORDER BY a.id
"""  # noqa: S608
_LACKS = f"SELECT a.life = 'ALIVE' AND NOT {HAS_LEADER} AS lacks FROM application a WHERE a.id = $1::text::uuid"  # noqa: S608
_CANDIDATES = """
    SELECT u.number, u.is_started
      FROM unit u JOIN lease l ON l.id = u.lease_id
     WHERE u.application_id = $1::text::uuid AND u.life = 'ALIVE' AND l.expires_at > clock_timestamp()
     ORDER BY u.number
"""
_ELECT = "UPDATE application SET leader = $2, term = term + 1, leader_until = NULL WHERE id = $1::text::uuid"


@dataclasses.dataclass(frozen=True, slots=True)
class Candidate:
    """A living unit that an agent serves which is alive."""

    number: int
    is_started: bool


async def lacking(fetch: Fetch) -> Sequence[str]:
    """Return the ids of living applications that nobody leads, and somebody could."""
    return [row["id"] for row in await fetch(LACKING)]


async def lacks(transaction: Transaction, application_id: str) -> bool:
    """Return whether an application, which is locked, lives and has no leader."""
    found = await transaction.fetch(_LACKS, application_id)
    return bool(found) and found[0]["lacks"]


async def candidates(transaction: Transaction, application_id: str) -> Sequence[Candidate]:
    """Return who may be elected, by number."""
    return [Candidate(**dict(row)) for row in await transaction.fetch(_CANDIDATES, application_id)]


async def elect(transaction: Transaction, application_id: str, number: int) -> None:
    """Give an application, which is locked, a leader and the next term."""
    await transaction.fetch(_ELECT, application_id, number)
