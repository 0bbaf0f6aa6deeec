"""Effects as JSON, as outcome files keep them."""

import json
from typing import Any

from tinkwell.core.unit.effect import BagEdit, Effects, Notice, Port, StorageRequest
from tinkwell.core.unit.kinds import Owner


def encode(effects: Effects) -> bytes:
    """Write effects."""
    return json.dumps(
        {
            "term": effects.term,
            "bags": [[each.relation, each.owner.value, dict(each.edits)] for each in effects.bags],
            "state": dict(effects.state),
            "opened": [[each.protocol, each.number] for each in effects.opened],
            "closed": [[each.protocol, each.number] for each in effects.closed],
            "storages": [[each.storage, each.count] for each in effects.storages],
            "deferred": [[each.ordinal, each.handler, each.event] for each in effects.deferred],
            "consumed": [[each.ordinal, each.handler, each.event] for each in effects.consumed],
        }
    ).encode()


def decode(content: bytes) -> Effects:
    """Read effects; raises `ValueError` for what are none, such as what another release has written."""
    try:
        return _effects(json.loads(content))
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"these are no effects: {error!r}") from error


def _effects(found: dict[str, Any]) -> Effects:
    return Effects(
        term=found["term"],
        bags=tuple(
            BagEdit(relation=relation, owner=Owner(owner), edits=dict(edits))
            for relation, owner, edits in found["bags"]
        ),
        state=dict(found["state"]),
        opened=tuple(Port(protocol=protocol, number=number) for protocol, number in found["opened"]),
        closed=tuple(Port(protocol=protocol, number=number) for protocol, number in found["closed"]),
        storages=tuple(StorageRequest(storage=storage, count=count) for storage, count in found["storages"]),
        deferred=_notices(found["deferred"]),
        consumed=_notices(found["consumed"]),
    )


def _notices(found: list[list[Any]]) -> tuple[Notice, ...]:
    return tuple(Notice(ordinal=ordinal, handler=handler, event=event) for ordinal, handler, event in found)
