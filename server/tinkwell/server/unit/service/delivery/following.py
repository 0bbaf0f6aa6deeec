"""What is answered when something of a unit has ended: what NextEvent would say, or why it was refused."""

import dataclasses

from tinkwell.core import errors
from tinkwell.server.unit.service.delivery.record import Next, NoEvent, Why
from tinkwell.server.unit.service.delivery.turn import Agent, AwaitsLeader, Turn
from tinkwell.server.unit.store.agent.hold import Held

# There is no election in the transaction of a commit: NextEvent holds it, and looks for what has not been looked for.
_ASK = NoEvent(Why.NOTHING_DUE, 0.0)


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """What the caller is to be told, although something was written."""

    error: errors.TinkwellError


async def following(turn: Turn, held: Held, *, lease_token: int, grants: bool) -> Next:
    """Grant what comes next if that is wanted, and to somebody who is alive and serves the unit."""
    is_alive = held.own is not None and held.own.is_live
    if not (grants and is_alive and held.is_served and held.serving is not None):
        # Nobody has looked for what is due.
        return _ASK if grants else NoEvent(Why.NOTHING_DUE)
    try:
        found = await turn.next(Agent(lease_token, held.serving), elects=True)
    except AwaitsLeader:
        return _ASK
    is_at_rest = isinstance(found, NoEvent) and found.why is Why.NOTHING_DUE
    return _ASK if is_at_rest and held.lacks_leader else found
