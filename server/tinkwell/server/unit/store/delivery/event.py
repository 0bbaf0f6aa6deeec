"""Grants, ends and retries a unit's events. The caller has locked the unit's row."""

import dataclasses
import json

from tinkwell.core.unit.kinds import EventState
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.server.database.database import Transaction
from tinkwell.server.unit.store.agent.own import Bag
from tinkwell.server.unit.store.delivery.row import NewEvent

# The number of events of a unit that are kept, with their logs, besides those that its charm has deferred. Older ones
# are deleted some at a time.
KEPT_EVENTS = 1_000
_FORGOTTEN_AT_ONCE = 100

WRITE = """
    WITH next AS (
        UPDATE unit SET last_ordinal = last_ordinal + 1 WHERE id = $1::text::uuid
        RETURNING id, namespace, application_id, name, last_ordinal
    )
    INSERT INTO unit_event (
        namespace, application_id, unit_id, unit, ordinal, state, kind, relation, endpoint, remote_application,
        remote_unit, departing_unit, storage, secret, secret_revision, is_mirrored, is_echo, seen_config, seen_charm,
        seen_term, seen_bag, lease_token, started_at, deadline_at, finished_at, is_peer, phase, cause, reason,
        leaving, actor)
    SELECT next.namespace, next.application_id, next.id, next.name, next.last_ordinal, CAST($2 AS text), $3, $4, $5, $6,
           $7, $8, $9, $25, $26, $10, $11, $12, $13, $14, $15,
           $16, clock_timestamp(), clock_timestamp() + make_interval(secs => $17),
           CASE WHEN CAST($2 AS text) <> 'RUNNING' THEN clock_timestamp() END, $18, $19, $20::text::json, $21, $22, $23
      FROM next
    RETURNING CAST(id AS text) AS id, ordinal,
              (SELECT CAST(json_build_array(b.data, b.version) AS text)
                 FROM relation r JOIN relation_bag b ON b.relation_id = r.id AND b.owner = $24
                WHERE r.namespace = unit_event.namespace AND r.number = unit_event.relation) AS bag
"""
END = """
    UPDATE unit_event
       SET state = $2, message = $3, is_lost = $4, retry_at = clock_timestamp() + make_interval(secs => $5),
           deferred = $6, consumed = $7, finished_at = clock_timestamp(), deadline_at = NULL
     WHERE id = $1::text::uuid
"""
RETRY = """
    UPDATE unit_event
       SET state = 'RUNNING', attempt = attempt + 1, lease_token = $2, is_lost = $3, started_at = clock_timestamp(),
           deadline_at = clock_timestamp() + make_interval(secs => $4), retry_at = NULL, finished_at = NULL,
           seen_config = $5, seen_charm = $6, seen_term = $7, seen_bag = $8, secret_revision = $9
     WHERE id = $1::text::uuid
    RETURNING attempt
"""
RETRY_AT = """
    UPDATE unit_event SET retry_at = clock_timestamp() + make_interval(secs => $2) WHERE id = $1::text::uuid
"""
# The token of an attempt whose agent has stopped in order.
HANDED_BACK = -1

HAND_BACK = f"UPDATE unit_event SET lease_token = {HANDED_BACK} WHERE lease_token = $1 AND state = 'RUNNING'"  # noqa: S608
TAKE_OVER = "UPDATE unit_event SET lease_token = $2 WHERE id = $1::text::uuid"
FORGET = """
    DELETE FROM unit_event e
     WHERE e.unit_id = $1::text::uuid AND e.ordinal <= $2 AND e.state NOT IN ('RUNNING', 'ERROR')
       AND NOT EXISTS (SELECT FROM deferred_notice d WHERE d.unit_id = e.unit_id AND d.ordinal = e.ordinal)
"""
FORGET_LINES = "DELETE FROM unit_log WHERE unit_id = $1::text::uuid AND ordinal <= $2"


@dataclasses.dataclass(frozen=True, slots=True)
class WrittenEvent:
    """An event that was written, and the bag to read with it, or None."""

    id: str
    ordinal: int
    bag: Bag | None


async def write_event(transaction: Transaction, unit_id: str, new: NewEvent, *, reads: str = "") -> WrittenEvent:
    """Write an event as the unit's next one.

    `reads` is the owner of a bag of the event's relation, which is returned with it.
    """
    event, seen = new.event, new.event.seen
    row = (
        await transaction.fetch(
            WRITE,
            unit_id,
            *(new.state, event.kind, event.relation, event.endpoint, event.application, event.unit),
            *(event.departing_unit, event.storage, event.is_mirrored, event.is_echo),
            *(seen.config, seen.charm, seen.term, seen.bag, new.lease_token, new.timeout_seconds),
            *(new.is_peer, new.phase, new.cause, new.reason, new.leaving, new.actor, reads, event.secret),
            event.revision,
        )
    )[0]
    if row["ordinal"] % _FORGOTTEN_AT_ONCE == 0:
        for statement in (FORGET, FORGET_LINES):
            await transaction.fetch(statement, unit_id, row["ordinal"] - KEPT_EVENTS)
    data, version = json.loads(row["bag"]) if row["bag"] is not None else ({}, 0)
    return WrittenEvent(row["id"], row["ordinal"], Bag(reads, data, version) if reads else None)


async def end_event(
    transaction: Transaction,
    event_id: str,
    state: EventState,
    *,
    message: str = "",
    is_lost: bool = False,
    retry_in_seconds: float | None = None,
    deferred: int = 0,
    consumed: int = 0,
) -> None:
    """End an attempt: with ERROR, and a retry in `retry_in_seconds`, or with a final state."""
    await transaction.fetch(END, event_id, state, message, is_lost, retry_in_seconds, deferred, consumed)


async def retry_event(
    transaction: Transaction,
    event_id: str,
    event: UnitEvent,
    *,
    lease_token: int,
    timeout_seconds: float,
    is_lost: bool = False,
) -> int:
    """Begin the next attempt, which sees what `event` says, and return its number.

    `is_lost`: the former attempt was lost, and its progress is unknown.
    """
    seen = event.seen
    values = (lease_token, is_lost, timeout_seconds, seen.config, seen.charm, seen.term, seen.bag, event.revision)
    attempt: int = (await transaction.fetch(RETRY, event_id, *values))[0]["attempt"]
    return attempt


async def retry_in(transaction: Transaction, event_id: str, seconds: float) -> None:
    """Retry an event in ERROR in `seconds`, 0 for now."""
    await transaction.fetch(RETRY_AT, event_id, seconds)


async def take_over(transaction: Transaction, event_id: str, lease_token: int) -> None:
    """Put a running attempt under another token, for example after its agent came back."""
    await transaction.fetch(TAKE_OVER, event_id, lease_token)


async def hand_back(transaction: Transaction, lease_token: int) -> None:
    """Let all attempts under a token be repeated by the next agent, without counting as lost."""
    await transaction.fetch(HAND_BACK, lease_token)
