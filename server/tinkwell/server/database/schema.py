"""The state of the schema: what a database records of it, whether a release may run on it, and how it is moved.

Alembic runs the revisions. After the last one, in the same transaction, the changed files of functions are run
completely (`tinkwell.migrations.repeatable`). Concurrent upgrades take turns.
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

# The statement by which Alembic makes its table, which is needed before that as a lock (`_take_turn`).
_VERSIONS = "CREATE TABLE alembic_version (version_num varchar(32) NOT NULL CONSTRAINT alembic_version_pkc PRIMARY KEY)"
# The errors for a table that another transaction has just created.
_MADE_BY_OTHERS = (asyncpg.UniqueViolationError, asyncpg.DuplicateTableError)
_TIMEOUT_SECONDS = 300


class Refused(Exception):
    """The schema must not be used or moved. The text says what to do."""


@dataclass(frozen=True, slots=True)
class Release:
    """A release, as far as the schema goes: its version, and the places of its revisions and SQL files."""

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
        """Return all of its revisions, oldest first."""
        return list(script.ScriptDirectory.from_config(self.config()).walk_revisions())[::-1]

    def knows(self, revision: str) -> bool:
        """Return whether it has such a revision."""
        return any(known.revision == revision for known in self.revisions())

    def config(self) -> config.Config:
        """Return Alembic's configuration for it."""
        settings = config.Config()
        settings.set_main_option("script_location", str(self.location))
        return settings


@dataclass(frozen=True, slots=True)
class State:
    """What a database records of its schema. An empty one records nothing, and a downgraded one only its revision."""

    revision: str | None = None
    # The SHA-256 of each file of functions that was run.
    files: Mapping[str, str] = field(default_factory=dict)
    # The release that moved it there, and the oldest release that may still run on it.
    release: str | None = None
    oldest_release: str | None = None


@functools.cache
def this_release() -> Release:
    """Return the running release."""
    return Release(metadata.version("tinkwell"), Path(str(resources.files("tinkwell.migrations"))))


def is_newer(state: State, release: Release) -> bool:
    """Return whether a later release has moved the schema to its present state."""
    if state.revision is None:
        return False
    # A later release may have changed only functions, at a revision that this release knows.
    return not release.knows(state.revision) or is_later(state.release, release.version)


def refusal(state: State, release: Release) -> str | None:
    """Return why a server of the release must not run on a schema in this state, or None if it may."""
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
    """Return whether a version comes after another one.

    A version before a release, such as 1.0rc1, counts as the release.
    """
    return version is not None and _numbers(version) > _numbers(other)


async def current(database_url: str) -> State:
    """Return the state of the database's schema. Raises `Refused` for a state that no release knows."""
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
    """Move the database to the newest revision and the functions of a release, by default of this one.

    A schema that a later release has moved further stays unchanged if it allows this release. A server role, which must
    exist, gets the privileges that a server needs if it does not own the schema. Raises `Refused`.
    """
    chosen = release or this_release()

    def step(connection: Connection, settings: config.Config) -> State:
        state = _current(connection)
        if is_newer(state, chosen):
            _refuse_impossible(state, chosen, server_role)
            return state
        command.upgrade(settings, "head")
        repeatable.run(connection, chosen.location)
        _record(connection, chosen)
        if server_role is not None:
            _grant(connection, chosen, server_role)
        return _current(connection)

    return await _run(database_url, chosen, step)


async def downgrade(database_url: str, revision: str, *, release: Release | None = None) -> None:
    """Move the database back to the revision; "base" removes everything.

    Functions stay unchanged until the release with that revision runs its own upgrade. Raises `Refused`.
    """

    def step(connection: Connection, settings: config.Config) -> None:
        _current(connection)
        command.downgrade(settings, revision)
        if _is_recorded(connection):
            connection.execute(sqlalchemy.text("DELETE FROM schema_file"))
            connection.execute(sqlalchemy.text("DELETE FROM schema_release"))

    await _run(database_url, release or this_release(), step)


async def _run(database_url: str, release: Release, step: Callable[[Connection, config.Config], T]) -> T:
    """Take a step in one transaction, so that a failed step changes nothing."""

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
    """Another transaction has created the lock's table first."""


def _take_turn(connection: Connection) -> None:
    """Let no other process move the schema until the transaction ends.

    This locks a table, which no role but its owner may lock. An advisory lock could be taken by any role.
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
    if not _is_recorded(connection):
        raise Refused(
            "the database was made before the first release, and cannot be upgraded, "
            "since nothing has been released: make a new one"
        )
    kept = connection.execute(sqlalchemy.text("SELECT release, oldest_release FROM schema_release")).one_or_none()
    release, oldest_release = kept or (None, None)
    return State(revision, repeatable.kept(connection), release, oldest_release)


def _refuse_encoding(connection: Connection) -> None:
    """Refuse a database that cannot store all text, or, as SQL_ASCII, stores any bytes as text."""
    encoding = connection.execute(sqlalchemy.text("SHOW server_encoding")).scalar_one()
    if encoding != "UTF8":
        raise Refused(
            f"the database's encoding is {encoding}, and must be UTF8: "
            "create another one with ENCODING 'UTF8' TEMPLATE template0"
        )


def _refuse_impossible(state: State, release: Release, server_role: str | None) -> None:
    """Refuse requests that are impossible after a later release has moved the schema further."""
    if text := refusal(state, release):
        raise Refused(text)
    if server_role is not None:
        raise Refused("a later release has upgraded the schema: grant with that release what its servers need")


def _grant(connection: Connection, release: Release, role: str) -> None:
    exists = sqlalchemy.text("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = :role)")
    if not connection.execute(exists, {"role": role}).scalar_one():
        raise Refused(f"there is no role {role!r}: create it, or name the one that servers connect as")
    grant.run(connection, release.location, role)


def _is_recorded(connection: Connection) -> bool:
    """Return whether the schema has the tables that record its state."""
    return bool(connection.execute(sqlalchemy.text("SELECT to_regclass('schema_release') IS NOT NULL")).scalar_one())


def _record(connection: Connection, release: Release) -> None:
    connection.execute(sqlalchemy.text("DELETE FROM schema_release"))
    connection.execute(
        sqlalchemy.text("INSERT INTO schema_release (release, oldest_release) VALUES (:release, :oldest_release)"),
        {"release": release.version, "oldest_release": release.oldest_release},
    )


def _numbers(version: str) -> tuple[int, ...]:
    leading = re.match(r"\d+(\.\d+)*", version)
    assert leading is not None, version
    return tuple(int(number) for number in re.sub(r"(\.0+)+$", "", leading[0]).split("."))
