"""Creates, finds, lists, updates and deletes templates."""

import contextlib
import dataclasses
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import TypeVar

from tinkwell.core import errors
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.template.record import Template
from tinkwell.core.value import parse
from tinkwell.server.database.database import Database, Transaction, Written
from tinkwell.server.template.service.rendering import Rendering
from tinkwell.server.template.store import queries

T = TypeVar("T")

_PARSE: Mapping[queries.Key, Callable[[str, str], str]] = {"id": parse.parse_uuid, "name": parse.parse_name}


@dataclasses.dataclass(frozen=True, slots=True)
class Created:
    """A template's id, and the revision of its creation, which is 0 if the template existed before."""

    id: str
    revision: int


@dataclasses.dataclass(frozen=True, slots=True)
class Updated:
    """A template's version after an update, and the revision of its event, which is 0 if the update changed nothing."""

    version: int
    revision: int


class TemplateService:
    """The operations on templates. Methods that take an id or a name raise `errors.InvalidField` for it."""

    def __init__(self, database: Database, rendering: Rendering) -> None:
        self._database = database
        self._rendering = rendering

    async def create(self, *, template_id: str, name: str, data: str, actor: str) -> Created:
        """Create a template. An empty id is replaced by a new one, and an empty name by the name in the YAML.

        A repeated call with an id changes nothing. Raises `errors.InvalidField`, and `errors.AlreadyExists` for the
        name of another template, and for the id of another or a deleted template.
        """
        template_id = parse.parse_uuid("id", template_id) if template_id else str(uuid.uuid4())
        name = name and parse.parse_name("name", name)
        own_name = await self._rendering.check(data, field="data")
        name = name or parse.parse_name("data.name", own_name)

        async def work(transaction: Transaction) -> None:
            if await queries.insert(transaction.connection, template_id, name, data):
                return
            transaction.changed = False
            if not await queries.is_given(transaction.connection, template_id):
                raise errors.AlreadyExists("name", name)
            stored = await queries.find(transaction.connection, "id", template_id)
            if stored is None or (stored.name, stored.data) != (name, data):
                raise errors.AlreadyExists("id", template_id)

        return Created(template_id, (await self._write(work, actor)).revision)

    async def find(self, key: queries.Key, text: str) -> Template:
        """Return the template with an id or a name. Raises `errors.NotFound`."""
        text = _PARSE[key](key, text)
        found = await self._database.read(lambda connection: queries.find(connection, key, text))
        if found is None:
            raise errors.NotFound(ResourceType.TEMPLATE, text)
        return found

    async def list_named(self, pattern: str) -> AsyncGenerator[Template, None]:
        """Yield the templates of one snapshot without their data, oldest first.

        The pattern is compared with names, ignoring case; `*` stands for any characters, and an empty pattern matches
        all.
        """
        pattern = parse.parse_text("name", pattern, max_bytes=parse.MAX_NAME_BYTES, allow_empty=True)
        async with (
            self._database.snapshot() as connection,
            contextlib.aclosing(queries.list_live(connection, pattern)) as templates,
        ):
            async for listed in templates:
                yield listed

    async def update(
        self, *, template_id: str, name: str, data: str, expected_version: int | None, actor: str
    ) -> Updated:
        """Change a template. Empty fields stay unchanged, and so do workflows made from the template.

        Raises `errors.InvalidField`, `errors.NotFound`, `errors.AlreadyExists` for the name of another template, and
        `errors.LostRace` unless the template has the expected version.
        """
        template_id = parse.parse_uuid("id", template_id)
        name = name and parse.parse_name("name", name)
        if expected_version is not None:
            parse.parse_int_range("expected_version", expected_version, low=0, high=2**63 - 1)
        if data:
            await self._rendering.check(data, field="data")

        async def work(transaction: Transaction) -> int:
            stored = await queries.lock(transaction.connection, template_id)
            if stored is None:
                raise errors.NotFound(ResourceType.TEMPLATE, template_id)
            if expected_version not in (None, stored.version):
                raise errors.LostRace(
                    f"template {template_id} has the version {stored.version}; version {expected_version} was expected"
                )
            wanted = (name or stored.name, data or stored.data)
            if wanted == (stored.name, stored.data):
                transaction.changed = False
                return stored.version
            return await queries.update(transaction.connection, template_id, *wanted)

        written = await self._write(work, actor)
        return Updated(written.value, written.revision)

    async def delete(self, key: queries.Key, text: str, *, actor: str) -> int:
        """Delete the template with an id or a name, and return the revision.

        Raises `errors.NotFound`, also for one that is deleted already.
        """
        text = _PARSE[key](key, text)

        async def work(transaction: Transaction) -> None:
            if not await queries.mark_deleted(transaction.connection, key, text):
                raise errors.NotFound(ResourceType.TEMPLATE, text)

        return (await self._database.write(work, actor=actor)).revision

    async def _write(self, work: Callable[[Transaction], Awaitable[T]], actor: str) -> Written[T]:
        """Write, and add the owner of a name to the error that it is taken."""
        try:
            return await self._database.write(work, actor=actor)
        except errors.AlreadyExists as taken:
            raise await self._with_owner(taken) from taken

    async def _with_owner(self, taken: errors.AlreadyExists) -> errors.AlreadyExists:
        if taken.what != "name":
            return taken
        # The transaction that found the owner is over, so the owner may be gone.
        owner = await self._database.read(lambda connection: queries.find(connection, "name", taken.value))
        return errors.AlreadyExists(taken.what, taken.value, taken_by=owner.id if owner else "")
