"""Secrets of documents: sealed into rows beside them, opened, and deleted, within transactions of other rooms.

A document is stored with null in the place of each secret, and what stood there is sealed in a row of its own. Whoever
stores the document seals it, and stores what comes back, in one transaction; whoever deletes it deletes what is sealed.
Who may have what is opened is for the caller to decide: of an operation, the holder of its lease.

Beside the values stand the texts that are secret in a document, sealed as well: a value may be a whole configuration
that only contains one, and it is by its text that a secret is found in other documents, and masked.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core import errors
from tinkwell.core.secret import digest
from tinkwell.core.secret import document as secret_document
from tinkwell.core.secret import text as secret_text
from tinkwell.core.secret.mask import Masker
from tinkwell.core.value import document, parse, pointer
from tinkwell.core.value.document import JsonValue
from tinkwell.server.database import offload
from tinkwell.server.secret import seal
from tinkwell.server.secret.keys import Keys
from tinkwell.server.secret.seal import Owner, Place
from tinkwell.server.secret.store import queries

_THREADS = 2
# What stands in the place of a pointer, and is none, for the texts of a document.
_TEXTS = "#"

# What was taken out of a document: JSON pointers with what stood there, as `core.secret.document.restore` takes them.
Opened: TypeAlias = Sequence[tuple[str, JsonValue]]


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it is, and the JSON pointers of what is sensitive in it."""

    value: JsonValue
    sensitive: tuple[str, ...] = ()


class SecretService:
    """Seals and opens by the keys of a server; one without keys refuses what is secret."""

    def __init__(self, keys: Keys | None) -> None:
        self._keys = keys
        self._aside = offload.Aside(_THREADS)

    def require(self) -> Keys:
        """Return the keys. Raises `errors.SecretsDisabled` where there are none."""
        if self._keys is None:
            raise errors.SecretsDisabled
        return self._keys

    async def seal(
        self,
        connection: AsyncConnection,
        owner: Owner,
        documents: Mapping[str, Document],
        *,
        secrets: Iterable[str] = (),
    ) -> dict[str, JsonValue]:
        """Return documents of an owner, by their names, without what is secret; store that, in the place of what was.

        Secret is what is sensitive in one of them, and in all of them each string and number that contains a text of
        that, or one of `secrets`: those that `texts` gives for what is sealed already. A whole document may be null in
        the end. Raises `errors.InvalidField` for a sensitive value that is too short or too long,
        `errors.SecretsDisabled`, and `errors.LostRace` where another transaction stores those of the same document.
        """
        extracted, texts = await self._aside.run(_extract, documents, frozenset(secrets))
        values = [(Place(owner, name, at), value) for name, found in extracted.items() for at, value in found.values]
        values += [(Place(owner, name, _TEXTS), [*sorted(found)]) for name, found in texts.items() if found]
        sealed = await self._aside.run(_seal_all, self.require(), values) if values else []
        await queries.put(connection, owner, list(documents), sealed)
        return {name: found.document for name, found in extracted.items()}

    async def open(self, connection: AsyncConnection, owner: Owner) -> dict[str, Opened]:
        """Return what was taken out of an owner's documents, by their names.

        Raises `errors.SecretsDisabled` where a key is missing, and `seal.NotOpened` for what was tampered with.
        """
        opened: dict[str, list[tuple[str, JsonValue]]] = {}
        for place, value in await self._open(connection, owner):
            if place.pointer != _TEXTS:
                opened.setdefault(place.document, []).append((place.pointer, value))
        return dict(opened)

    async def texts(self, connection: AsyncConnection, owner: Owner) -> frozenset[str]:
        """Return the texts that are secret in an owner's documents. Raises what `open` raises."""
        lists = [value for place, value in await self._open(connection, owner) if place.pointer == _TEXTS]
        return frozenset(text for found in lists if isinstance(found, list) for text in found if isinstance(text, str))

    async def delete(self, connection: AsyncConnection, kind: str, ids: Sequence[str]) -> None:
        """Delete all that is sealed of owners of a kind."""
        await queries.delete(connection, kind, ids)

    def digest(self, text: str) -> str:
        """Return the keyed digest of a text that holds secrets: the id of the key, a colon, and the digest.

        Raises `errors.SecretsDisabled`.
        """
        key = self.require().first
        return f"{key.id.hex()}:{digest.keyed(key.digesting, text)}"

    def is_digest(self, text: str, stored: str) -> bool:
        """Return whether a stored digest is that of a text; False also where its key is not there any more."""
        id_digits, _, expected = stored.partition(":")
        key = self._keys.find(bytes.fromhex(id_digits)) if self._keys is not None else None
        return key is not None and digest.is_equal(digest.keyed(key.digesting, text), expected)

    async def _open(self, connection: AsyncConnection, owner: Owner) -> list[tuple[Place, JsonValue]]:
        rows = await queries.of_owner(connection, owner)
        return await self._aside.run(_open_all, self.require(), rows) if rows else []


def _extract(
    documents: Mapping[str, Document], secrets: frozenset[str]
) -> tuple[dict[str, secret_document.Extracted], dict[str, frozenset[str]]]:
    """Return the documents without what is secret, and the texts that are secret in each."""
    named = {name: secret_document.extract(found.value, pointers=found.sensitive) for name, found in documents.items()}
    texts = {
        name: secret_text.texts_of((_field(name, at), value) for at, value in found.values)
        for name, found in named.items()
    }
    known = secrets.union(*texts.values())
    if not known:
        return named, texts
    masker = Masker(known)
    return {
        name: secret_document.extract(found.value, pointers=found.sensitive, masker=masker)
        for name, found in documents.items()
    }, texts


def _field(name: str, at: str) -> str:
    field = name
    for part in pointer.parse_pointer(name, at):
        field = parse.child(field, part)
    return field


def _seal_all(known: Keys, values: Sequence[tuple[Place, JsonValue]]) -> list[tuple[Place, bytes]]:
    return [(place, seal.seal(known.first, place, document.dump_json(value).encode())) for place, value in values]


def _open_all(known: Keys, rows: Sequence[queries.Row]) -> list[tuple[Place, JsonValue]]:
    opened: list[tuple[Place, JsonValue]] = []
    for row in rows:
        text = seal.open_sealed(known, row.place, row.sealed)
        opened.append((row.place, document.parse_json(row.place.document, text, max_bytes=len(text))))
    return opened
