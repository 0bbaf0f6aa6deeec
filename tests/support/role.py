"""Roles of PostgreSQL that own nothing, as servers and people may run."""

import contextlib
import os
import urllib.parse

import asyncpg

# If set, servers of tests connect as this role, which has what `tinkwell db upgrade --server-role` grants.
SERVER_ROLE = os.environ.get("TEST_SERVER_ROLE") or None
# Roles of single tests. The first has a name that is one only in quotes.
SERVER, PERSON, OWNER = 'a "server" at work', "a person", "an owner"
# All that this account of the operating system may be in embedded clusters of tests, beside their owner.
ALL = (SERVER, PERSON, OWNER, *([SERVER_ROLE] if SERVER_ROLE else []))


def quoted(name: str) -> str:
    """Return the name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def url_of(url: str, name: str) -> str:
    """Return the URL with which the role connects to the database of another one's URL."""
    parts = urllib.parse.urlsplit(url)
    _, colon, password = parts.netloc.rpartition("@")[0].partition(":")
    address = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{urllib.parse.quote(name, safe='')}{colon}{password}@{address}").geturl()


def url_of_server(url: str) -> str:
    """Return the URL with which servers connect to the database of its owner's URL."""
    return url_of(url, SERVER_ROLE) if SERVER_ROLE else url


async def create_for_servers(url: str) -> None:
    """Make the role that servers of this run have, if they have one, in the cluster of its owner's URL."""
    if SERVER_ROLE:
        await create(url, SERVER_ROLE)


async def create(url: str, name: str) -> None:
    """Make a role that connects to the cluster of its owner's URL as the owner does, unless there is one."""
    owner = await asyncpg.connect(url)
    try:
        if not await owner.fetchval("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", name):
            password = (urllib.parse.urlsplit(url).password or "").replace("'", "''")
            # Another process of the run may be faster.
            with contextlib.suppress(asyncpg.DuplicateObjectError, asyncpg.UniqueViolationError):
                await owner.execute(f"CREATE ROLE {quoted(name)} LOGIN PASSWORD '{password}'")
    finally:
        await owner.close()
