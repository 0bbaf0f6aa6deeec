"""Says which revisions of secrets are lost with a key; they are forgotten together with all else that it has sealed.

Nothing stands in for a lost one: whoever reads it is refused until its owner gives it a newer revision.
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
    """A revision that is lost. `title` is what its secret is called: by its label if that is a user's."""

    title: str
    revision: int


class Losses:
    """Looks what a key has sealed of secrets."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def look(self, key: bytes) -> Sequence[LostRevision]:
        """Return what is lost with a key, by its id, in the order of titles and revisions."""

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
