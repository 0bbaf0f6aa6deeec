"""Lists the revisions of secrets that are lost with a key; they are deleted together with all else that it has sealed.

A lost revision is not replaced: a unit that reads it is refused until its owner writes a newer revision.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tinkwell.core.release import name as namespaces
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.secret.service import forget as secrets
from tinkwell.server.unit.service.secret import sealed
from tinkwell.server.unit.store.secret import asking as store
from tinkwell.server.unit.store.secret.asking import Secret


@dataclass(frozen=True, slots=True)
class LostRevision:
    """A lost revision. `title` is the name of its secret, or the label of a user's secret."""

    title: str
    revision: int


class Losses:
    """Finds the revisions that a key has sealed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def look(self, key: bytes) -> Sequence[LostRevision]:
        """Return the revisions that are lost with a key, given by its id, in the order of titles and revisions."""

        async def work(transaction: Transaction) -> Sequence[LostRevision]:
            transaction.changed = False
            found = await secrets.sealed_by(transaction.connection, key)
            ids = [each.owner.id for each in found if each.owner.kind == sealed.KIND]
            lost = [(secret_id, int(number)) for secret_id, _, number in (each.partition("/") for each in ids)]
            known = {secret_id: await store.find_by_id(transaction.fetch, secret_id) for secret_id, _ in lost}
            return [
                LostRevision(_title(secret), revision)
                for secret_id, revision in lost
                if (secret := known[secret_id]) is not None
            ]

        return sorted((await self._database.write(work, actor="")).value, key=lambda each: (each.title, each.revision))


def _title(secret: Secret) -> str:
    name = secret.label if secret.label and not secret.owner else secret.name
    where = "" if secret.namespace == namespaces.DEFAULT_NAMESPACE else f" of namespace {secret.namespace}"
    return f"secret {name}{where}"
