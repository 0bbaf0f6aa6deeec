"""The state of the schema: what a database says of it, whether a release may run on that, and how it is moved.

Alembic runs the revisions. After the last one, in the same transaction, the files of functions that have changed are
run whole (`tinkwell.migrations.repeatable`). Two that upgrade at once take turns.
"""

import asyncio
import contextlib
import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata, resources
from pathlib import Path
from typing import TypeVar

import asyncpg
import sqlalchemy
from alembic import command, config, script
from alembic.runtime import migration
from sqlalchemy import exc
from sqlalchemy.engine import Connection

from tinkwell.migrations import grant, repeatable
from tinkwell.server.database import engine

T = TypeVar("T")

# As Alembic makes it.
_VERSIONS = "CREATE TABLE alembic_version (version_num varchar(32) NOT NULL CONSTRAINT alembic_version_pkc PRIMARY KEY)"
# What is said to those who make a table that another one has just made.
_MADE_BY_OTHERS = (asyncpg.UniqueViolationError, asyncpg.DuplicateTableError)
_TIMEOUT_SECONDS = 300


class Refused(Exception):
    """The schema must not be used or moved; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Release:
    """A release, as far as the schema goes: its version, and where its revisions and SQL files are."""

    version: str
    location: Path

    @property
    def head(self) -> str:
        """The newest revision that it knows."""
        return self.revisions()[-1].revision

    @property
    def oldest_release(self) -> str:
        """The oldest release that may still run on its newest revision."""
        return str(self.revisions()[-1].module.oldest_release)

    @property
    def files(self) -> Mapping[str, str]:
        """The SHA-256 of each of its files of functions."""
        return repeatable.hashes(self.location)

    def revisions(self) -> list[script.Script]:
        """Return all its revisions, the oldest first."""
        return list(script.ScriptDirectory.from_config(self.config()).walk_revisions())[::-1]

    def knows(self, revision: str) -> bool:
        """Whether it has such a revision."""
        return any(known.revision == revision for known in self.revisions())

    def config(self) -> config.Config:
        """Return Alembic's configuration for it."""
        settings = config.Config()
        settings.set_main_option("script_location", str(self.location))
        return settings


@dataclass(frozen=True, slots=True)
class State:
    """What a database says of its schema. An empty one says nothing, and one that was downgraded its revision alone."""

    revision: str | None = None
    # The SHA-256 of each file of functions that was run.
    files: Mapping[str, str] = field(default_factory=dict)
    # The release that brought it to where it is, and the oldest one that may still run on it.
    release: str | None = None
    oldest_release: str | None = None


@functools.cache
def this_release() -> Release:
    """Return the release that runs."""
    return Release(metadata.version("tinkwell"), Path(str(resources.files("tinkwell.migrations"))))


def is_newer(state: State, release: Release) -> bool:
    """Whether a later release has brought the schema to where it is."""
    if state.revision is None:
        return False
    return not release.knows(state.revision) or is_later(state.release, release.version)


def refusal(state: State, release: Release) -> str | None:
    """Return why a server of the release must not run on a schema in this state; None if it may."""
    if is_newer(state, release):
        if state.oldest_release is None:
            return f"the schema is at {state.revision}, which this release does not know: upgrade the server"
        if is_later(state.oldest_release, release.version):
            return (
                f"the schema is at {state.revision}, on which release {state.oldest_release} and later ones may run, "
                f"and this is {release.version}: upgrade the server"
            )
        return None
    if state.revision != release.head:
        return f"the schema is at {state.revision or 'nothing'}, not at {release.head}: run `tinkwell db upgrade`"
    if state.files != release.files:
        return "the schema's functions are older than this release needs: run `tinkwell db upgrade`"
    return None


def is_later(version: str | None, other: str) -> bool:
    """Whether a version comes after another one. What precedes a release, such as 1.0rc1, counts as that release."""
    return version is not None and _numbers(version) > _numbers(other)


async def current(database_url: str) -> State:
    """Return the state that the database's schema is in; raises `Refused` if no release knows such a one."""
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS), engine.connect(database_url) as connection:
            return await connection.run_sync(_current)
    except exc.ProgrammingError as error:
        if error.orig and isinstance(error.orig.__cause__, asyncpg.InsufficientPrivilegeError):
            raise Refused(
                "this role may not read what the schema says of itself: "
                "let its owner run `tinkwell db upgrade --server-role ROLE`"
            ) from error
        raise


async def upgrade(database_url: str, *, server_role: str | None = None, release: Release | None = None) -> State:
    """Bring the database to the newest revision and the functions of a release, by default of this one.

    A schema that a later release has brought further stays as it is if that says that this one may still run on it.
    A server role, which must exist, gets what a server needs that does not own the schema. Raises `Refused`.
    """
    chosen = release or this_release()

    def step(connection: Connection, settings: config.Config) -> State:
        state = _current(connection)
        if is_newer(state, chosen):
            _leave(state, chosen, server_role)
            return state
        command.upgrade(settings, "head")
        repeatable.run(connection, chosen.location)
        _keep(connection, chosen)
        if server_role is not None:
            _grant(connection, chosen, server_role)
        return _current(connection)

    return await _run(database_url, chosen, step)


async def downgrade(database_url: str, revision: str, *, release: Release | None = None) -> None:
    """Take the database back to the revision; "base" removes everything.

    Functions stay as they are until the release that has the revision runs its own upgrade. Raises `Refused`.
    """

    def step(connection: Connection, settings: config.Config) -> None:
        _current(connection)
        command.downgrade(settings, revision)
        if _is_kept(connection):
            connection.execute(sqlalchemy.text("DELETE FROM schema_file"))
            connection.execute(sqlalchemy.text("DELETE FROM schema_release"))

    await _run(database_url, release or this_release(), step)


async def _run(database_url: str, release: Release, step: Callable[[Connection, config.Config], T]) -> T:
    """Take a step in one transaction, so that one that fails leaves the schema as it was."""

    def locked(connection: Connection) -> T:
        _take_turn(connection)
        settings = release.config()
        settings.attributes["connection"] = connection
        return step(connection, settings)

    async with asyncio.timeout(_TIMEOUT_SECONDS), engine.connect(database_url) as connection:
        while True:
            with contextlib.suppress(_NotFirst):
                async with connection.begin():
                    return await connection.run_sync(locked)


class _NotFirst(Exception):
    """Another one was faster to make the table that is locked."""


def _take_turn(connection: Connection) -> None:
    """Let nobody else move the schema until the transaction ends.

    It is a lock of a table, which only its owner may take, and no advisory lock, which would be anybody's.
    """
    if not connection.execute(sqlalchemy.text("SELECT to_regclass('alembic_version') IS NOT NULL")).scalar_one():
        try:
            connection.execute(sqlalchemy.text(_VERSIONS))
        except exc.DBAPIError as error:
            if error.orig and isinstance(error.orig.__cause__, _MADE_BY_OTHERS):
                raise _NotFirst from error
            raise
    connection.execute(sqlalchemy.text("LOCK TABLE ONLY alembic_version IN SHARE ROW EXCLUSIVE MODE"))


def _current(connection: Connection) -> State:
    _refuse_encoding(connection)
    revision = migration.MigrationContext.configure(connection).get_current_revision()
    if revision is None:
        return State()
    if not _is_kept(connection):
        raise Refused(
            "the database was made before the first release, from which nothing leads on, "
            "since nothing has been released: make a new one"
        )
    kept = connection.execute(sqlalchemy.text("SELECT release, oldest_release FROM schema_release")).one_or_none()
    release, oldest_release = kept or (None, None)
    return State(revision, repeatable.kept(connection), release, oldest_release)


def _refuse_encoding(connection: Connection) -> None:
    """Refuse a database that cannot keep all text, or, as SQL_ASCII, keeps any bytes as if they were text."""
    encoding = connection.execute(sqlalchemy.text("SHOW server_encoding")).scalar_one()
    if encoding != "UTF8":
        raise Refused(
            f"the database's encoding is {encoding}, and must be UTF8: "
            "create another one with ENCODING 'UTF8' TEMPLATE template0"
        )


def _leave(state: State, release: Release, server_role: str | None) -> None:
    """Refuse what cannot be had where a later release has brought the schema further."""
    if text := refusal(state, release):
        raise Refused(text)
    if server_role is not None:
        raise Refused("a later release has brought the schema further: grant with that release what its servers need")


def _grant(connection: Connection, release: Release, role: str) -> None:
    exists = sqlalchemy.text("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = :role)")
    if not connection.execute(exists, {"role": role}).scalar_one():
        raise Refused(f"there is no role {role!r}: create it, or name the one that servers connect as")
    grant.run(connection, release.location, role)


def _is_kept(connection: Connection) -> bool:
    """Whether the schema has the tables in which it keeps what it is."""
    return bool(connection.execute(sqlalchemy.text("SELECT to_regclass('schema_release') IS NOT NULL")).scalar_one())


def _keep(connection: Connection, release: Release) -> None:
    connection.execute(sqlalchemy.text("DELETE FROM schema_release"))
    connection.execute(
        sqlalchemy.text("INSERT INTO schema_release (release, oldest_release) VALUES (:release, :oldest_release)"),
        {"release": release.version, "oldest_release": release.oldest_release},
    )


def _numbers(version: str) -> tuple[int, ...]:
    leading = re.match(r"\d+(\.\d+)*", version)
    assert leading is not None, version
    return tuple(int(number) for number in re.sub(r"(\.0+)+$", "", leading[0]).split("."))
