"""The answer to a call that ends an event or a task: what NextEvent would return, or the reason for a refusal."""

import dataclasses

from tinkwell.core import errors
from tinkwell.server.unit.service.delivery.record import Next, NoEvent, Why
from tinkwell.server.unit.service.delivery.turn import Agent, AwaitsLeader, Turn
from tinkwell.server.unit.store.agent.hold import Held

# A commit's transaction holds no election. NextEvent does, and also looks for what this transaction has not looked for.
_ASK = NoEvent(Why.NOTHING_DUE, 0.0)


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """An error for the caller of a transaction that is committed nevertheless."""

    error: errors.TinkwellError


async def following(turn: Turn, held: Held, *, lease_token: int, grants: bool) -> Next:
    """Grant the next event if the caller wants it, its lease is alive, and it serves the unit."""
    is_alive = held.own is not None and held.own.is_live
    if not (grants and is_alive and held.is_served and held.serving is not None):
        # This call has not looked for a due event.
        return _ASK if grants else NoEvent(Why.NOTHING_DUE)
    try:
        found = await turn.next(Agent(lease_token, held.serving), elects=True)
    except AwaitsLeader:
        return _ASK
    is_at_rest = isinstance(found, NoEvent) and found.why is Why.NOTHING_DUE
    return _ASK if is_at_rest and held.lacks_leader else found
