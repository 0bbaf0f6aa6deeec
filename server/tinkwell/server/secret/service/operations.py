"""Secrets of documents: sealed into rows beside them, opened, and deleted, within transactions of other rooms.

A document is stored with null in place of each secret, and the secret is sealed in a row of its own. A caller seals the
document and stores the result in one transaction. The sealed rows are deleted with the owner of the document. The
caller decides who may see opened secrets: for an operation, the holder of its lease.

The secret texts of a document are sealed beside its values. A value may be a whole configuration that only contains a
secret, and the text is needed to find and mask the secret in other documents.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core import errors
from tinkwell.core.secret import document as secret_document
from tinkwell.core.secret.mask import Masker
from tinkwell.core.value import document
from tinkwell.core.value.document import JsonValue
from tinkwell.server.database import offload
from tinkwell.server.secret import seal
from tinkwell.server.secret.keys import Keys
from tinkwell.server.secret.seal import Owner, Place
from tinkwell.server.secret.store import queries

_THREADS = 2
# The maskers of current operations, which take a while to build from many texts.
_MASKERS = 16
# In place of a pointer, for the texts of a document.
TEXTS = "#"
# In place of a pointer, for a document whose values were deleted because their key is lost.
FORGOTTEN = "#forgotten"

masker_of = functools.lru_cache(_MASKERS)(Masker)


@dataclass(frozen=True, slots=True)
class Opened:
    """The sealed parts of an owner's document: values by JSON pointer, and the secret texts in it.

    `has_forgotten`: there was more, which was deleted with its key.
    """

    owner: Owner
    values: Sequence[tuple[str, JsonValue]] = field(default=(), repr=False)
    texts: frozenset[str] = field(default=frozenset(), repr=False)
    has_forgotten: bool = False

    def restore(self, stored: JsonValue) -> JsonValue:
        """Return the document as it was before it was sealed. Raises `errors.SecretsDisabled` if it does not fit."""
        try:
            return secret_document.restore(stored, self.values)
        except ValueError as error:
            raise errors.SecretsDisabled(
                f"a document of {self.owner.kind} {self.owner.id} was changed: {error}"
            ) from error


@dataclass(frozen=True, slots=True)
class Document:
    """A document in the clear, with JSON pointers to the values that are sealed in any case.

    A `sensitive` value is secret wherever its text occurs, and so are `texts`; a `hidden` value is sealed only at its
    place. A document that was `opened` stays sealed where it was.
    """

    value: JsonValue = field(repr=False)
    sensitive: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    texts: frozenset[str] = field(default=frozenset(), repr=False)
    opened: Opened | None = None

    @property
    def sealed(self) -> frozenset[str]:
        """The pointers at which it was sealed."""
        return frozenset(place for place, _ in self.opened.values) if self.opened is not None else frozenset()

    def is_stored(self, owner: Owner, extracted: secret_document.Extracted, texts: frozenset[str]) -> bool:
        """Return whether the document is already stored in this form."""
        if self.opened is None or self.opened.owner != owner or self.opened.texts != texts:
            return False
        return self.sealed == {place for place, _ in extracted.values}


class SecretService:
    """Seals and opens with the keys of a server. Without keys, it refuses secrets."""

    def __init__(self, keys: Keys | None) -> None:
        self._keys = keys
        self._aside = offload.Aside(_THREADS)

    def require(self) -> Keys:
        """Return the keys. Raises `errors.SecretsDisabled` if there are none."""
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
        """Seal an owner's documents, given by name, and return them without secrets, in the form to store.

        Secret are the sensitive values, and in all documents each string and number that contains the text of such a
        value or one of `secrets`, which `texts` returns for values that are sealed already. A whole document may become
        null. Raises `errors.InvalidField` for a sensitive value that is too short or too long,
        `errors.SecretsDisabled`, and `errors.LostRace` if another transaction stores secrets of the same document.
        """
        extracted = await self._aside.run(_extract, owner, documents, frozenset(secrets))
        changed = {name: found for name, found in extracted.items() if not found.is_stored}
        values = [(Place(owner, name, at), value) for name, found in changed.items() for at, value in found.rows()]
        sealed = await self._aside.run(_seal_all, self.require(), values) if values else []
        if changed:
            await queries.put(connection, owner, list(changed), sealed)
        return {name: found.extracted.document for name, found in extracted.items()}

    async def open(self, connection: AsyncConnection, owner: Owner) -> dict[str, Opened]:
        """Return the sealed parts of an owner's documents, by name.

        Raises `errors.SecretsDisabled` if a key is missing, or if a value was tampered with.
        """
        values: dict[str, list[tuple[str, JsonValue]]] = {}
        texts: dict[str, frozenset[str]] = {}
        rows = await queries.of_owner(connection, owner)
        forgotten = {row.place.document for row in rows if row.place.pointer == FORGOTTEN}
        for place, value in await self._open([row for row in rows if row.place.pointer != FORGOTTEN]):
            if place.pointer == TEXTS:
                texts[place.document] = _texts(value)
            else:
                values.setdefault(place.document, []).append((place.pointer, value))
        return {
            name: Opened(owner, values.get(name, ()), texts.get(name, frozenset()), has_forgotten=name in forgotten)
            for name in dict.fromkeys([*values, *texts, *forgotten])
        }

    async def texts(self, connection: AsyncConnection, owners: Iterable[Owner]) -> frozenset[str]:
        """Return the secret texts of the documents of some owners. Raises the errors of `open`."""
        found = await self._open(await queries.texts_of(connection, list(owners), TEXTS))
        return frozenset(text for _, value in found for text in _texts(value))

    async def _open(self, rows: Sequence[queries.Row]) -> list[tuple[Place, JsonValue]]:
        return await self._aside.run(_open_all, self.require(), rows) if rows else []


@dataclass(frozen=True, slots=True)
class _Found:
    """The result of sealing a document, and whether it is stored in this form already."""

    extracted: secret_document.Extracted
    texts: frozenset[str]
    is_stored: bool

    def rows(self) -> Sequence[tuple[str, JsonValue]]:
        """Return the parts to be sealed."""
        texts: list[JsonValue] = [*sorted(self.texts)]
        return [*self.extracted.values, *([(TEXTS, texts)] if texts else [])]


def _extract(owner: Owner, documents: Mapping[str, Document], secrets: frozenset[str]) -> dict[str, _Found]:
    texts = {
        name: secret_document.texts_at(name, found.value, found.sensitive)
        | found.texts
        | (found.opened.texts if found.opened is not None else frozenset())
        for name, found in documents.items()
    }
    known = secrets.union(*texts.values())
    masker = masker_of(known) if known else None
    extracted = {}
    for name, found in documents.items():
        pointers = (*found.sensitive, *found.hidden, *found.sealed)
        taken = secret_document.extract(found.value, pointers=pointers, masker=masker)
        extracted[name] = _Found(taken, texts[name], found.is_stored(owner, taken, texts[name]))
    return extracted


def _texts(value: JsonValue) -> frozenset[str]:
    return frozenset(text for text in value if isinstance(text, str)) if isinstance(value, list) else frozenset()


def _seal_all(known: Keys, values: Sequence[tuple[Place, JsonValue]]) -> list[tuple[Place, bytes]]:
    return [(place, seal.seal(known.first, place, document.dump_json(value).encode())) for place, value in values]


def _open_all(known: Keys, rows: Sequence[queries.Row]) -> list[tuple[Place, JsonValue]]:
    opened: list[tuple[Place, JsonValue]] = []
    for row in rows:
        try:
            text = seal.open_sealed(known, row.place, row.sealed)
        except seal.NotOpened as error:
            raise errors.SecretsDisabled(str(error)) from error
        opened.append((row.place, document.parse_json(row.place.document, text, max_bytes=len(text))))
    return opened
