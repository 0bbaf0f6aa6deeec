"""Roles of PostgreSQL that own nothing, as servers and people may run."""

import contextlib
import os
import urllib.parse
from pathlib import Path

import asyncpg

from support import waiting
from tinkwell.server.app.dev import account

# If set, servers of tests connect as this role, which has what `tinkwell db upgrade --server-role` grants.
SERVER_ROLE = os.environ.get("TEST_SERVER_ROLE") or None


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


async def admit_servers(url: str) -> None:
    """Let servers of this run connect to the cluster of its owner's URL, which was started just now."""
    if SERVER_ROLE:
        await admit(url, SERVER_ROLE)


async def admit(url: str, name: str) -> None:
    """Let a role, new or not, connect to the cluster of its owner's URL in the same way as the owner."""
    owner = await asyncpg.connect(url)
    try:
        if not await owner.fetchval("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", name):
            password = (urllib.parse.urlsplit(url).password or "").replace("'", "''")
            # Another process of the run may be faster.
            with contextlib.suppress(asyncpg.DuplicateObjectError, asyncpg.UniqueViolationError):
                await owner.execute(f"CREATE ROLE {quoted(name)} LOGIN PASSWORD '{password}'")
        if urllib.parse.urlsplit(url).hostname is None:
            await _vouch(owner, name)
    finally:
        await owner.close()

    async def may_connect() -> bool:
        try:
            await (await asyncpg.connect(url_of(url, name))).close()
        except asyncpg.InvalidAuthorizationSpecificationError:
            return False
        return True

    await waiting.eventually(may_connect)


async def _vouch(owner: asyncpg.Connection, name: str) -> None:
    """Have an embedded cluster take this account of the operating system for the role, until it is started again."""
    files = [Path(await owner.fetchval(f"SHOW {name}_file")) for name in ("hba", "ident")]
    lines = (f"local all {quoted(name)} peer map=owner\n", f'owner "{account.own().name}" {quoted(name)}\n')
    for path, line in zip(files, lines, strict=True):
        path.write_text(path.read_text() + line)
    await owner.execute("SELECT pg_reload_conf()")
