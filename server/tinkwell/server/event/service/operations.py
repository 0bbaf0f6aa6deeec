"""Custom events, and the named positions of consumers that want theirs kept."""

import dataclasses
from typing import TypeAlias

from tinkwell.core import errors
from tinkwell.core.event import kinds
from tinkwell.core.value import document, parse
from tinkwell.server.database import offload
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.event.store import queries

_PARSERS = 2
# A document above this is read aside, lest it hold other calls up.
_LARGE_CHARACTERS = 16 * 1024

# What the service returns, for the layer above.
Position: TypeAlias = queries.Position


@dataclasses.dataclass(frozen=True, slots=True)
class Published:
    """A custom event as it was recorded."""

    id: str
    revision: int


class EventService:
    """Publish, GetPosition and CommitPosition."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._aside = offload.Aside(_PARSERS)

    async def publish(self, *, name: str, resource_id: str, data: str, actor: str) -> Published:
        """Record a custom event. Raises `errors.InvalidField`."""
        name = parse.parse_event_name("name", name)
        if kinds.is_own(name):
            prefix = name.split(".", 1)[0]
            raise errors.InvalidField.of("name", f"names below {prefix}. are the server's own; choose another prefix")
        if resource_id:
            resource_id = parse.parse_uuid("resource_id", resource_id)
        payload = await self._normal(data or "{}")
        published = await queries.publish(self._database, name=name, resource_id=resource_id, data=payload, actor=actor)
        return Published(*published)

    async def _normal(self, data: str) -> str:
        return _normalise(data) if len(data) <= _LARGE_CHARACTERS else await self._aside.run(_normalise, data)

    async def get_position(self, *, name: str, claim: bool, actor: str) -> Position:
        """Return a named position; with `claim`, take it over. Raises `errors.NotFound` for one never claimed."""
        name = parse.parse_name("name", name)
        if claim:
            written = await self._database.write(lambda tx: _claim(tx, name), actor=actor)
            return written.value
        position = await self._database.read(lambda connection: queries.get_position(connection, name))
        if position is None:
            raise errors.NotFound("POSITION", name)
        return position

    async def commit_position(self, *, name: str, revision: int, history_id: str, token: int, actor: str) -> Position:
        """Move a claimed position on.

        Raises `errors.LostRace` when somebody else has claimed it since, and `errors.InvalidField` for a revision that
        lies before the stored one or beyond the end of the log.
        """
        name = parse.parse_name("name", name)
        revision = parse.parse_int_range("revision", revision, low=0, high=2**63 - 1)
        history_id = parse.parse_uuid("history_id", history_id)

        async def work(transaction: Transaction) -> Position:
            transaction.changed = False
            stored = await queries.lock_position(transaction.connection, name)
            if stored is None:
                raise errors.NotFound("POSITION", name)
            if stored.token != token:
                raise errors.LostRace(f"position {name} was claimed by another consumer; claim it again to go on")
            if history_id == stored.history_id and revision < stored.revision:
                raise errors.InvalidField.of("revision", f"{revision} lies before the stored {stored.revision}")
            if revision > await queries.last_drawn(transaction.connection):
                raise errors.InvalidField.of("revision", f"{revision} lies beyond the end of the log")
            return await queries.commit_position(
                transaction.connection, name=name, revision=revision, history_id=history_id
            )

        return (await self._database.write(work, actor=actor)).value


async def _claim(transaction: Transaction, name: str) -> Position:
    transaction.changed = False
    return await queries.claim_position(transaction.connection, name)


def _normalise(data: str) -> str:
    return document.dump_json(document.parse_json_object("data", data))
