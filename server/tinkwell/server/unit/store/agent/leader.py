"""Elections: a unit whose lease is over loses the lead, and the next leader has the next term."""

from collections.abc import Sequence

from tinkwell.core.unit.resolver.leadership import Candidate
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
_HAS = f"SELECT {HAS_LEADER} AS has FROM application a WHERE a.id = $1::text::uuid"  # noqa: S608
_CANDIDATES = """
    SELECT u.name, u.is_started
      FROM unit u JOIN lease l ON l.id = u.lease_id
     WHERE u.application_id = $1::text::uuid AND u.life = 'ALIVE' AND l.expires_at > clock_timestamp()
     ORDER BY u.number
"""
_ELECT = "UPDATE application SET leader = $2, term = term + 1, leader_until = NULL WHERE id = $1::text::uuid"


async def lacking(fetch: Fetch) -> Sequence[str]:
    """Return the ids of living applications that have no leader and a candidate."""
    return [row["id"] for row in await fetch(LACKING)]


async def lacks(transaction: Transaction, application_id: str) -> bool:
    """Return whether a locked application is alive and has no leader."""
    found = await transaction.fetch(_LACKS, application_id)
    return bool(found) and found[0]["lacks"]


async def has_leader(transaction: Transaction, application_id: str) -> bool:
    """Return whether a locked application has a leader whose term is not over."""
    return bool((await transaction.fetch(_HAS, application_id))[0]["has"])


async def candidates(transaction: Transaction, application_id: str) -> Sequence[Candidate]:
    """Return the candidates: living units with a live agent, by number."""
    rows = await transaction.fetch(_CANDIDATES, application_id)
    return [Candidate(unit=row["name"], is_started=row["is_started"], is_live=True) for row in rows]


async def elect(transaction: Transaction, application_id: str, number: int) -> None:
    """Give a locked application a leader and the next term."""
    await transaction.fetch(_ELECT, application_id, number)
